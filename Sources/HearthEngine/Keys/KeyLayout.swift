internal import HearthText

/// The layout of every table and key. For examples, see `StorageLayout.md`.
///
///     table         key                                              value
///     documents     collection id, path of the parent, document id   the document
///     collections   path of the collection                           number of documents
///     indexes       number of the index                              definition and state
///     entries       number of the index, [path of the parent,]       what the key cannot give back
///                   components, document id or path
///     changes       first sequence of the record                     the record
///     logIndex      collection id, path of the parent, first         further records of the log
///                   sequence of a record                             that change the collection
///     tombstones    as in documents                                  sequence of the deletion
///     due           time, hash of the document's key, ordinal        the document's key
///     shapes        id of the name table                             the field names
///     meta          a name                                           depends on the name
///
/// Keys of documents, collections and entries are truncated to the limit (`KeyLimit`). If a key may
/// be truncated, the value also holds what the full key encodes.
enum KeyLayout {
  /// On disk: the names of the tables.
  enum Table: String, CaseIterable, Sendable {
    case documents, collections, changes, tombstones
    case expirations = "due"
    case indexes, entries
    case nameTables = "shapes"
    case logIndex, meta

    /// The first format version that has this table.
    var firstFormat: UInt8 {
      switch self {
      case .nameTables: 2
      case .logIndex: 3
      default: 1
      }
    }
  }

  /// The smallest bytes that are greater than all bytes that begin with `prefix`; nil is the end of
  /// the table.
  static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var end = Array(prefix[...last])
    end[last] += 1
    return end
  }

  private static func key(_ build: (inout KeyBuffer) -> Void) -> [UInt8] {
    var buffer = KeyBuffer()
    build(&buffer)
    return buffer.bytes
  }

  /// `64 75 6E 65`
  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0, radix: 16, uppercase: true, width: 2) }.joined(separator: " ")
  }
}

// MARK: - Documents

extension KeyLimit {
  /// The key under which a document is stored.
  ///
  ///     books/dune            books 00 │ 00                    │ dune 00
  ///     books/dune/pages/7    pages 00 │ books 00 dune 00 00   │ 7 00
  ///
  /// A collection is one range, in the order of ids. A collection group is also one range, in the
  /// order of parents and then of ids: if no document of a group is below another, they are in the
  /// order of their paths.
  ///
  /// The ordinal is 0. Truncated bytes give neither the path nor the order within a collision run. Two
  /// documents may then have the same bytes, until storage gives one of them another ordinal.
  func documentKey(_ path: ResourcePath) -> TruncatedKey {
    var buffer = KeyBuffer()
    buffer.append(documentKey: path)
    return truncated(buffer.buffer)
  }
}

extension KeyBuffer {
  /// The full key, not truncated.
  mutating func append(documentKey path: ResourcePath) {
    precondition(path.isDocument, "Only documents have document keys.")
    append(collectionPrefix: path.segments.dropLast())
    append(id: path.id)
  }

  mutating func append(collectionPrefix path: ResourcePath) {
    precondition(path.isCollection, "Only collections have documents.")
    append(collectionPrefix: path.segments[...])
  }

  private mutating func append(collectionPrefix ids: ArraySlice<String>) {
    for id in ids.suffix(1) { append(id: id) }
    for id in ids.dropLast() { append(id: id) }
    appendTerminator()
  }
}

extension KeyLayout {
  /// The prefix of the full keys of a collection's documents.
  static func collectionPrefix(_ collection: ResourcePath) -> [UInt8] {
    key { $0.append(collectionPrefix: collection) }
  }

  /// The prefix of the full keys of all documents in collections with this id.
  static func groupPrefix(_ collectionID: String) -> [UInt8] {
    key { $0.append(id: collectionID) }
  }

  /// For a key that is not truncated and begins with the collection's prefix, of `prefixCount`
  /// bytes.
  static func documentPath(
    fromKey bytes: UnsafeRawBufferPointer, in collection: ResourcePath, _ prefixCount: Int
  ) throws(Status) -> ResourcePath {
    guard bytes.count >= prefixCount else { throw .dataLoss("A stored key ends too early.") }
    var reader = KeyReader(UnsafeRawBufferPointer(rebasing: bytes[prefixCount...]))
    let path = collection.appending(try reader.readID())
    try reader.expectEnd()
    return path
  }

  /// Nil if the key is truncated.
  static func documentPath(
    fromKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard
  ) throws(Status) -> ResourcePath? {
    guard !limit.isTruncated(bytes) else { return nil }
    var reader = KeyReader(bytes)
    let collectionID = try reader.readID()
    var path = try reader.readPath()
    path.segments.append(collectionID)
    path.segments.append(try reader.readID())
    try reader.expectEnd()
    guard path.isDocument else {
      throw .dataLoss("A stored key is not that of a document: \(path.text)")
    }
    return path
  }
}

// MARK: - Collections

/// The catalogue contains every collection that has documents, in pre-order.
///
///     books               books 00 00
///     books/dune/pages    books 00 dune 00 pages 00 00
extension KeyLayout {
  /// The full key, not truncated.
  static func catalogueKey(_ collection: ResourcePath) -> [UInt8] {
    precondition(collection.isCollection, "Only collections are in the catalogue.")
    return key { $0.append(path: collection) }
  }

  /// The prefix of the full keys of all collections below a document, or of all collections (the
  /// root). For a collection: of itself and of all collections below its documents.
  static func cataloguePrefix(below path: ResourcePath) -> [UInt8] {
    key { $0.appendIDs(of: path) }
  }

  /// Nil if the key is truncated.
  static func collectionPath(
    fromKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard
  ) throws(Status) -> ResourcePath? {
    guard !limit.isTruncated(bytes) else { return nil }
    var reader = KeyReader(bytes)
    let path = try reader.readPath()
    try reader.expectEnd()
    guard path.isCollection else {
      throw .dataLoss("A stored key is not that of a collection: \(path.text)")
    }
    return path
  }
}

extension KeyLimit {
  /// The stored form of a collection's key, with ordinal 0.
  func catalogueKey(_ collection: ResourcePath) -> TruncatedKey {
    KeyLayout.catalogueKey(collection).withUnsafeBytes { truncated($0) }
  }
}

// MARK: - Index entries

/// An entry's components are between these two: values, each as `append(_:descending:)` writes it.
///
///     collection scope    index, path of the parent │ components │ document id
///     group scope         index                     │ components │ document path
///
/// Entries with equal components are in the order of names.
extension KeyBuffer {
  /// `parent` is the path of the collection's parent, for an index of collection scope.
  mutating func append(entryPrefix index: UInt32, parent: ResourcePath?) {
    append(index: index)
    if let parent { append(path: parent) }
  }

  /// The prefix of every entry of this document.
  mutating func append(entryPrefix index: UInt32, of document: ResourcePath, isGroup: Bool) {
    append(index: index)
    if isGroup { return }
    for id in document.segments.dropLast(2) { append(id: id) }
    append(byte: KeyByte.terminator)
  }

  mutating func append(entryName path: ResourcePath, isGroup: Bool) {
    if isGroup { append(path: path) } else { append(id: path.id) }
  }

  /// One byte up to 239. From 240 on, `F0`…`F3` and one to four bytes, big-endian.
  mutating func append(index: UInt32) {
    guard index >= KeyByte.longIndex else { return append(byte: UInt8(index)) }
    let count = (39 - index.leadingZeroBitCount) / 8
    append(byte: KeyByte.longIndex + UInt8(count - 1))
    for position in (0..<count).reversed() {
      append(byte: UInt8(truncatingIfNeeded: index >> UInt32(8 * position)))
    }
  }
}

// MARK: - Changes, and other numbers

extension KeyLayout {
  /// Big-endian, so that a scan follows the sequence.
  static func sequenceKey(_ sequence: UInt64) -> [UInt8] { key { $0.append(bigEndian: sequence) } }

  static func sequence(fromKey bytes: UnsafeRawBufferPointer) throws(Status) -> UInt64 {
    var reader = KeyReader(bytes)
    let sequence = try reader.readUInt64()
    try reader.expectEnd()
    return sequence
  }

  static func indexKey(_ index: UInt32) -> [UInt8] { key { $0.append(index: index) } }

  static func index(fromKey bytes: UnsafeRawBufferPointer) throws(Status) -> UInt32 {
    var reader = KeyReader(bytes)
    let index = try reader.readIndex()
    try reader.expectEnd()
    return index
  }
}
