/// One document's change in the change log. Valid only in its transaction, because it borrows
/// bytes.
package struct Change {
  package enum Kind: UInt8, Sendable {
    case created = 0
    case updated = 1
    case deleted = 2
  }

  var sequence: UInt64
  var kind: Kind
  var path: ResourcePath
  var commitTime: Instant
  /// Whether this is the first change of its request.
  var startsCommit: Bool
  /// The sequence of this document's previous change; 0 if the log has none.
  var previousSequence: UInt64
  /// The record in the documents table before the change; nil for a created document. Borrowed.
  var before: UnsafeRawBufferPointer?
}

/// A record of the change log: the changes of consecutive sequences, packed.
///
///     key    first sequence, 8 bytes big-endian
///     value  ┌───────┬─────────────┬──────────────────────┬─────────┐
///            │ frame │ commit time │ change … (count to   │         │
///            │ 5 B   │ 8 B         │ the end of the value)│         │
///            └───────┴─────────────┴──────────────────────┴─────────┘
///     change ┌───────┬──────────────┬──────────────┬──────────┬────┬────────┬──────────┐
///            │ flags │ [time delta] │ [collection] │ [shared] │ id │ [back] │ [before] │
///            └───────┴──────────────┴──────────────┴──────────┴────┴────────┴──────────┘
///
/// `time delta` (zig-zag varint, microseconds) is present in the first change of a commit.
/// `collection` is absent if it is that of the previous change. `shared` is the number of leading
/// id bytes that equal those of the previous id; they are not stored. `back` is sequence - previous
/// sequence. A created document costs about three bytes, and the part of its id that is not shared.
///
/// On disk. Changing a value here changes the file format; see StorageLayout.md.
enum ChangeRecord {
  enum Flags {
    static let kindMask: UInt8 = 0b0000_0011
    static let sameCollection: UInt8 = 0b0000_0100
    static let startsCommit: UInt8 = 0b0000_1000
    static let hasPrevious: UInt8 = 0b0001_0000
    static let hasBefore: UInt8 = 0b0010_0000
    static let sharesID: UInt8 = 0b0100_0000
  }

  /// A record holds about this many bytes, or one change: LMDB keeps values up to half a page
  /// inline.
  static let softLimitBytes = 2000

  /// Builds the records of one group of commits, in order.
  struct Builder {
    private(set) var records: [(first: UInt64, bytes: [UInt8])] = []
    private var open: [UInt8] = []
    private var first: UInt64 = 0
    private var collection: ResourcePath?
    private var id: [UInt8] = []
    private var time = Instant(microseconds: 0)

    mutating func append(_ change: Change) {
      let size = change.path.id.utf8.count + (change.before?.count ?? 0) + 16
      if !open.isEmpty, open.count + size > ChangeRecord.softLimitBytes { close() }
      if open.isEmpty {
        first = change.sequence
        open = RecordFrame.room()
        open.reserveCapacity(max(ChangeRecord.softLimitBytes, size + 64))
        open.append(littleEndian: UInt64(bitPattern: change.commitTime.microseconds))
        time = change.commitTime
        collection = nil
        id.removeAll(keepingCapacity: true)
      }
      let sameCollection = collection.map { change.path.isDirectly(in: $0) } ?? false
      var flags = change.kind.rawValue
      if sameCollection { flags |= Flags.sameCollection }
      if change.startsCommit { flags |= Flags.startsCommit }
      if change.previousSequence != 0 { flags |= Flags.hasPrevious }
      if change.before != nil { flags |= Flags.hasBefore }
      let shared = takeID(change.path.id)
      if shared > 0 { flags |= Flags.sharesID }
      open.append(flags)
      if change.startsCommit {
        open.append(varint: Varint.zigZag(change.commitTime.microseconds &- time.microseconds))
        time = change.commitTime
      }
      if !sameCollection {
        let parent = change.path.parent
        open.append(lengthPrefixed: parent.text.utf8)
        collection = parent
      }
      if shared > 0 { open.append(varint: UInt64(shared)) }
      open.append(lengthPrefixed: id.dropFirst(shared))
      if change.previousSequence != 0 {
        open.append(varint: change.sequence &- change.previousSequence)
      }
      if let before = change.before { open.append(lengthPrefixed: before) }
    }

    /// Replaces `id`. Returns how many of its leading bytes need not be stored.
    private mutating func takeID(_ next: String) -> Int {
      var next = next
      return next.withUTF8 { next in
        let limit = min(id.count, next.count)
        var shared = 0
        while shared < limit, id[shared] == next[shared] { shared += 1 }
        id.replaceSubrange(shared..., with: next[shared...])
        // The length of the shared part takes one byte, so sharing one byte saves nothing.
        return shared > 1 ? shared : 0
      }
    }

    mutating func finish() -> [(first: UInt64, bytes: [UInt8])] {
      close()
      return records
    }

    private mutating func close() {
      guard !open.isEmpty else { return }
      RecordFrame.seal(&open, key: KeyLayout.sequenceKey(first))
      records.append((first, open))
      open = []
    }
  }

  /// Calls `body` with every change of a record, in order, until it returns false. Returns the
  /// sequence after the last change read.
  ///
  /// - Parameter filter: Changes in other collections are skipped.
  @discardableResult
  static func read(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, in filter: CollectionFilter? = nil,
    _ body: (Change) throws -> Bool
  ) throws -> UInt64 {
    if let filter {
      // Most records have no wanted change; this check allocates nothing.
      var isWanted = false
      let next = try forEachCollection(key: key, value: value) {
        if filter.admits($0) { isWanted = true }
      }
      guard isWanted else { return next }
    }
    var sequence = try KeyLayout.sequence(fromKey: key)
    var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
    var time = Instant(microseconds: Int64(bitPattern: try reader.fixed64()))
    var collection = ResourcePath.root
    var isWanted = true
    var idBytes: [UInt8] = []
    while !reader.isAtEnd {
      let flags = try reader.byte()
      guard let kind = Change.Kind(rawValue: flags & Flags.kindMask) else {
        throw Status.dataLoss("A change has an unknown kind.")
      }
      let starts = flags & Flags.startsCommit != 0
      if starts {
        time = Instant(
          microseconds: time.microseconds &+ Varint.unZigZag(try reader.varint()))
      }
      if flags & Flags.sameCollection == 0 {
        let text = try reader.bytes(reader.length())
        isWanted = filter?.admits(text) ?? true
        if isWanted { collection = ResourcePath(relative: try String(ofStored: text)) }
      }
      if flags & Flags.sharesID != 0 {
        let shared = try reader.varint()
        guard shared <= UInt64(idBytes.count) else {
          throw Status.dataLoss("A change shares more of an id than there is.")
        }
        idBytes.removeLast(idBytes.count - Int(shared))
      } else {
        idBytes.removeAll(keepingCapacity: true)
      }
      idBytes += try reader.bytes(reader.length())
      var previous: UInt64 = 0
      if flags & Flags.hasPrevious != 0 {
        let back = try reader.varint()
        guard back > 0, back <= sequence else {
          throw Status.dataLoss("A change points past the beginning of the log.")
        }
        previous = sequence - back
      }
      var before: UnsafeRawBufferPointer?
      if flags & Flags.hasBefore != 0 {
        before = try reader.bytes(reader.length())
      }
      defer { sequence &+= 1 }
      guard isWanted else { continue }
      let path = collection.appending(try idBytes.withUnsafeBytes { try String(ofStored: $0) })
      try path.checkStoredDocument()
      let change = Change(
        sequence: sequence, kind: kind, path: path, commitTime: time,
        startsCommit: starts, previousSequence: previous, before: before)
      guard try body(change) else { break }
    }
    return sequence
  }

  /// Calls `body` with the path text of every collection that has changes in a record, at least
  /// once for each. Returns the sequence after the last change.
  static func forEachCollection(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> UInt64 {
    var sequence = try KeyLayout.sequence(fromKey: key)
    var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
    _ = try reader.fixed64()
    while !reader.isAtEnd {
      let flags = try reader.byte()
      if flags & Flags.startsCommit != 0 { _ = try reader.varint() }
      if flags & Flags.sameCollection == 0 { try body(try reader.bytes(reader.length())) }
      if flags & Flags.sharesID != 0 { _ = try reader.varint() }
      _ = try reader.bytes(reader.length())
      if flags & Flags.hasPrevious != 0 { _ = try reader.varint() }
      if flags & Flags.hasBefore != 0 { _ = try reader.bytes(reader.length()) }
      sequence &+= 1
    }
    return sequence
  }
}

extension ByteCursor {
  /// Reads a length, then that many bytes of UTF-8.
  mutating func text() throws(Status) -> String { try String(ofStored: bytes(length())) }
}

extension String {
  /// Throws `dataLoss` if it is not UTF-8.
  init(ofStored bytes: UnsafeRawBufferPointer) throws(Status) {
    guard let text = String(storedUTF8: bytes) else {
      throw .dataLoss("Stored text is not UTF-8.")
    }
    self = text
  }
}
