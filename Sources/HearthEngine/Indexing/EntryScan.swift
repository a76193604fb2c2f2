internal import LMDB

/// One entry of an index, as a scan met it. Borrowed: valid until the scan's next step.
struct ScannedEntry {
  /// The full key, also where the stored one is cut.
  let key: UnsafeRawBufferPointer
  let identities: EntryIdentities
  /// Of the range's prefix.
  fileprivate let prefixCount: Int
  /// Of an entry whose stored key is cut: the scan has read the document.
  fileprivate let document: StoredEntry?

  /// What follows the fixed components: those left, and the name. Entries of two indexes with the same
  /// components left meet where their suffixes are equal.
  var suffix: UnsafeRawBufferPointer { key.from(prefixCount) }

  /// From a run of cut keys.
  var isFromRun: Bool { document != nil }
}

/// The entries of a range, in the order of the index or against it.
///
///     let scan = try EntryScan(range, in: snapshot)
///     while let entry = try scan.next() { use(try scan.document(of: entry)) }
///
/// Touches one entry for each it tells. Cut keys that agree up to the cut are a *run*: its documents are
/// read, their full keys made and sorted, and what is not in the range left out, before any is told.
/// So every entry told is in the range, and in order.
///
/// For one user at a time.
final class EntryScan {
  private enum Position {
    /// Next: the first entry of the range.
    case outside
    /// On an entry that was told.
    case onTold
    /// On an entry that was not told.
    case onNext
    case atEnd
  }

  private struct RunEntry {
    var key: PinnedBytes
    var identities: EntryIdentities
    var document: StoredEntry
  }

  private let snapshot: StoreSnapshot
  private let limit: KeyLimit
  let isBackwards: Bool
  private let touched: ReadCounters
  @exclusivity(unchecked) private(set) var range: EntryRange
  /// The bounds of stored keys.
  @exclusivity(unchecked) private var first: [UInt8] = []
  @exclusivity(unchecked) private var end: [UInt8] = []
  @exclusivity(unchecked) private var cursor: Cursor
  @exclusivity(unchecked) private var documents: Cursor
  @exclusivity(unchecked) private var position = Position.outside
  /// Sorted backwards, so that the next one is the last.
  @exclusivity(unchecked) private var run: [RunEntry] = []
  /// Keeps the key that was told last.
  @exclusivity(unchecked) private var told: PinnedBytes?
  @exclusivity(unchecked) private var maker: EntryExtractor?
  @exclusivity(unchecked) private var documentKey = KeyBuffer()
  @exclusivity(unchecked) private var collectionPrefix: [UInt8] = []

  init(
    _ range: EntryRange, in snapshot: StoreSnapshot, isBackwards: Bool = false,
    touched: ReadCounters = ReadCounters()
  ) throws {
    self.range = range
    self.snapshot = snapshot
    self.isBackwards = isBackwards
    self.touched = touched
    limit = snapshot.keyLimit
    cursor = try snapshot.lmdb.cursor(snapshot.tables.entries)
    documents = try snapshot.lmdb.cursor(snapshot.tables.documents)
    collectionPrefix = range.collection.map(KeyLayout.collectionPrefix) ?? []
    reposition()
  }

  /// Goes on with another range, from its beginning; it may be of another index.
  func restart(_ range: EntryRange) {
    if range.index.number != self.range.index.number { maker = nil }
    if range.collection != self.range.collection {
      collectionPrefix = range.collection.map(KeyLayout.collectionPrefix) ?? []
    }
    self.range = range
    run = []
    reposition()
  }

  private func reposition() {
    first = limit.scanStart(range.lower)
    end = limit.scanEnd(range.upper) ?? [0xFF]
    position = range.isEmpty ? .atEnd : .outside
  }

  // MARK: Steps

  func next() throws -> ScannedEntry? {
    while true {
      if let entry = run.popLast() {
        told = entry.key
        return ScannedEntry(
          key: entry.key.buffer, identities: entry.identities, prefixCount: range.prefix.count,
          document: entry.document)
      }
      guard try advance() else { return nil }
      touched.entries += 1
      let key = cursor.key
      guard limit.isCut(key) else {
        return ScannedEntry(
          key: key, identities: try EntryIdentities(cursor.value),
          prefixCount: range.prefix.count, document: nil)
      }
      try readRun()
    }
  }

  /// Leaves out what comes before the first entry with this suffix, or the first behind its place. Against
  /// the order of the index, what comes before the last entry whose suffix is this or begins with it.
  func seek(to suffix: UnsafeRawBufferPointer) {
    let target = range.prefix + suffix
    if isBackwards {
      range.lower(to: EntryRange.end(target))
    } else {
      range.raise(to: target)
    }
    run.removeAll { !isInRange($0.key.buffer) }
    first = limit.scanStart(range.lower)
    end = limit.scanEnd(range.upper) ?? [0xFF]
    // What was told is not told again, and a short way is gone step by step.
    guard position != .outside, position != .atEnd else { return }
    let key = cursor.key
    let isBehind = target.withUnsafeBytes { target in
      isBackwards
        ? UTF8Order.compare(target, key) < 0 && !key.starts(with: target)
        : UTF8Order.compare(target, key) > 0
    }
    if isBehind { position = .outside }
  }

  private func advance() throws -> Bool {
    let found =
      switch position {
      case .atEnd: false
      case .onNext: true
      case .onTold: try isBackwards ? cursor.previous() : cursor.next()
      case .outside: try moveToFirst()
      }
    let isInside = found && isInside(cursor.key)
    position = isInside ? .onTold : .atEnd
    return isInside
  }

  private func moveToFirst() throws -> Bool {
    guard isBackwards else { return try first.withUnsafeBytes { try cursor.seek(to: $0) } }
    guard try end.withUnsafeBytes({ try cursor.seek(to: $0) }) else { return try cursor.last() }
    return try cursor.previous()
  }

  @inline(__always)
  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    isBackwards
      ? first.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      : end.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }

  private func isInRange(_ key: UnsafeRawBufferPointer) -> Bool {
    range.lower.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      && range.upper.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }

  // MARK: Runs

  /// Reads the run at the cursor and moves behind it.
  private func readRun() throws {
    let stored = Array(cursor.key)
    let maker = maker ?? EntryExtractor(range.index)
    self.maker = maker
    var paths: Set<ResourcePath> = []
    var hasNext = true
    while hasNext, stored.withUnsafeBytes({ limit.sameRun($0, cursor.key) }) {
      let path = try EntryRecord.path(cursor.value)
      touched.entries += 1
      hasNext = try isBackwards ? cursor.previous() : cursor.next()
      // Stored once for every key of a document that is cut alike.
      guard paths.insert(path).inserted else { continue }
      touched.runDocuments += 1
      let document = try self.document(at: path)
      let fields = try snapshot.fields(ofRecord: document.record)
      try maker.forEachEntry(of: path, fields) { key, identities in
        guard key.count > limit.cutCount,
          stored.withUnsafeBytes({ key[..<limit.cutCount].elementsEqual($0[..<limit.cutCount]) }),
          isInRange(key)
        else { return }
        run.append(
          RunEntry(
            key: PinnedBytes(copying: key), identities: identities, document: document))
      }
    }
    touched.entries -= 1  // the first was counted already
    position = hasNext ? .onNext : .atEnd
    run.sort {
      let order = UTF8Order.compare($0.key.buffer, $1.key.buffer)
      return isBackwards ? order < 0 : order > 0
    }
  }

  // MARK: Documents

  func fields(of entry: ScannedEntry) throws -> MapView {
    try snapshot.fields(ofRecord: document(of: entry).record)
  }

  /// The document of an entry that was told last. Borrowed as long as the transaction.
  func document(of entry: ScannedEntry) throws -> StoredEntry {
    if let document = entry.document { return document }
    var reader = KeyReader(entry.suffix)
    let components = range.index.definition.components
    for component in components[range.fixedCount...] {
      try reader.skipValue(descending: component.isDescending)
    }
    let name = reader.rest
    documentKey.removeAll()
    if range.collection == nil {
      try documentKey.append(documentKeyFromPath: name)
    } else {
      documentKey.append(raw: collectionPrefix)
      documentKey.append(raw: name)
    }
    guard documentKey.count <= limit.cutCount else {
      return try document(at: path(of: entry))
    }
    guard try documents.seek(exactly: documentKey.buffer) else { throw Status.lostEntry }
    return StoredEntry(key: documents.key, record: documents.value)
  }

  private func document(at path: ResourcePath) throws -> StoredEntry {
    let name = DocumentName(path, limit: limit)
    guard let (key, _) = try snapshot.storedEntry(of: name),
      try key.withUnsafeBytes({ try documents.seek(exactly: $0) })
    else { throw Status.lostEntry }
    return StoredEntry(key: documents.key, record: documents.value)
  }

  func path(of entry: ScannedEntry) throws -> ResourcePath {
    if let document = entry.document { return try snapshot.path(of: document) }
    var reader = KeyReader(entry.suffix)
    for component in range.index.definition.components[range.fixedCount...] {
      try reader.skipValue(descending: component.isDescending)
    }
    let path = try range.collection?.appending(reader.readID()) ?? reader.readPath()
    try reader.expectEnd()
    try path.checkStoredDocument()
    return path
  }

  /// The value of a component that is not fixed, as the document has it; nil if only the document knows.
  func value(of component: Int, in entry: ScannedEntry) throws -> Value? {
    let components = range.index.definition.components
    guard component >= range.fixedCount, component < components.count,
      components[component].kind != .contains
    else { return nil }
    var reader = KeyReader(entry.suffix)
    for before in components[range.fixedCount..<component] {
      try reader.skipValue(descending: before.isDescending)
    }
    let identity = entry.identities[component]
    guard identity != .untold else { return nil }
    return identity.value(try reader.readValue(descending: components[component].isDescending))
  }
}

/// The value of an entry whose key is cut: the document's path, as text. Of all others, what
/// `EntryIdentities` has.
enum EntryRecord {
  static func path(_ value: UnsafeRawBufferPointer) throws(Status) -> ResourcePath {
    guard let text = String(storedUTF8: value) else {
      throw .dataLoss("An index entry's path is not UTF-8.")
    }
    return try ResourcePath(storedDocument: text)
  }
}

extension KeyBuffer {
  /// The key of a document from its path as it ends an entry of group scope.
  fileprivate mutating func append(
    documentKeyFromPath path: UnsafeRawBufferPointer
  ) throws(Status) {
    // Where the last three ids begin, and where the last one ends.
    var starts = (collection: 0, document: 0, end: 0)
    var count = 0
    while true {
      guard starts.end < path.count else { throw .lostEntry }
      let start = starts.end
      if path[start] == KeyByte.terminator { break }
      var next = start
      if path[start] == KeyByte.marker {
        next += 9
      } else {
        while next < path.count, path[next] != KeyByte.terminator { next += 1 }
        next += 1
      }
      starts = (collection: starts.document, document: start, end: next)
      count += 1
    }
    guard count >= 2, count % 2 == 0, starts.end + 1 == path.count else { throw .lostEntry }
    append(raw: UnsafeRawBufferPointer(rebasing: path[starts.collection..<starts.document]))
    append(raw: UnsafeRawBufferPointer(rebasing: path[..<starts.collection]))
    appendTerminator()
    append(raw: UnsafeRawBufferPointer(rebasing: path[starts.document..<starts.end]))
  }
}

extension Status {
  fileprivate static let lostEntry = Status.dataLoss("An index entry is of no stored document.")
}
