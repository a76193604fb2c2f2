internal import LMDB

/// One entry of an index, as a scan returns it. Borrowed: valid until the scan's next step.
struct ScannedEntry {
  /// The full key, even if the stored key is truncated.
  let key: UnsafeRawBufferPointer
  let identities: EntryIdentities
  /// The length of the range's prefix.
  fileprivate let prefixCount: Int
  /// The document of an entry with a truncated key, which the scan has read; nil for others.
  fileprivate let document: StoredEntry?

  /// The remaining components and the name, after the fixed components. Entries of two indexes with
  /// the same remaining components join where their suffixes are equal.
  var suffix: UnsafeRawBufferPointer { key.from(prefixCount) }
}

/// The entries of a range, in index order or backwards.
///
///     let scan = try EntryScan(range, in: snapshot)
///     while let entry = try scan.next() { use(try scan.document(of: entry)) }
///
/// Outside collision runs, reads one stored entry for each entry returned. Truncated keys with
/// equal prefixes are a *collision run*: before the scan returns any entry of a run, it reads the
/// documents, restores and sorts their full keys, and drops those outside the range. So every
/// returned entry is in the range, and in order.
///
/// Not thread-safe.
final class EntryScan {
  private struct RunEntry {
    var key: PinnedBytes
    var identities: EntryIdentities
    var document: StoredEntry
  }

  private let snapshot: StoreSnapshot
  private let limit: KeyLimit
  let isBackwards: Bool
  private let touched: ReadCounters
  // Exclusivity is unchecked: one thread uses this, no property is accessed again while it is
  // modified, and a check costs as much as the step it guards.
  @exclusivity(unchecked) private(set) var range: EntryRange
  /// The bounds of stored keys.
  @exclusivity(unchecked) private var first: [UInt8] = []
  @exclusivity(unchecked) private var end: [UInt8] = [] {
    didSet { endHead = end.withUnsafeBytes(\.head) }
  }
  /// Decides for most keys that they are before `end`.
  @exclusivity(unchecked) private var endHead: UInt64 = 0
  @exclusivity(unchecked) private var cursor: EntryCursor
  @exclusivity(unchecked) private var documents: Cursor
  @exclusivity(unchecked) private var position = PrefixWalk.Position.beforeFirst
  /// In reverse: the next entry is the last element.
  @exclusivity(unchecked) private var run: [RunEntry] = []
  /// Keeps the key returned last alive.
  @exclusivity(unchecked) private var returned: PinnedBytes?
  @exclusivity(unchecked) private var maker: EntryExtractor?
  @exclusivity(unchecked) private var documentKey = KeyBuffer()
  @exclusivity(unchecked) private var collectionPrefix: [UInt8] = []

  /// - Parameter stepsBeforePages: See `EntryCursor`.
  init(
    _ range: EntryRange, in snapshot: StoreSnapshot, isBackwards: Bool = false,
    touched: ReadCounters = ReadCounters(), stepsBeforePages: Int = 100
  ) throws {
    self.range = range
    self.snapshot = snapshot
    self.isBackwards = isBackwards
    self.touched = touched
    limit = snapshot.keyLimit
    cursor = try EntryCursor(
      snapshot.tables.entries, in: snapshot.lmdb, stepsBeforePages: stepsBeforePages)
    documents = try snapshot.lmdb.cursor(snapshot.tables.documents)
    collectionPrefix = range.collection.map(KeyLayout.collectionPrefix) ?? []
    reposition()
  }

  /// Restarts at the beginning of another range, possibly of another index.
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
    position = range.isEmpty ? .atEnd : .beforeFirst
  }

  // MARK: Steps

  func next() throws -> ScannedEntry? {
    while true {
      if !run.isEmpty {
        let entry = run.removeLast()
        returned = entry.key
        return ScannedEntry(
          key: entry.key.buffer, identities: entry.identities, prefixCount: range.prefix.count,
          document: entry.document)
      }
      guard try advance() else { return nil }
      try touched.countEntry(until: snapshot.deadline)
      let key = cursor.key
      guard limit.isTruncated(key) else {
        return ScannedEntry(
          key: key, identities: try EntryIdentities(cursor.value),
          prefixCount: range.prefix.count, document: nil)
      }
      guard try cursor.leavePages() else { throw Status.lostEntry }
      try readRun()
    }
  }

  /// Skips entries up to the first whose suffix is `suffix` or greater. Backwards, skips entries up
  /// to the last whose suffix is less than `suffix`, equal to it, or begins with it.
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
    // Seek only forward, so that no entry is returned twice.
    guard position != .beforeFirst, position != .atEnd else { return }
    let key = cursor.key
    let isBehind = target.withUnsafeBytes { target in
      isBackwards
        ? UTF8Order.compare(target, key) < 0 && !key.starts(with: target)
        : UTF8Order.compare(target, key) > 0
    }
    if isBehind { position = .beforeFirst }
  }

  /// The number of the range's entries, or `most` if there are more, without a step to each of them.
  /// Nil if they cannot be counted so: in a write transaction, or if an entry is in a collision run.
  func count(upTo most: Int) throws -> Int? {
    if range.isEmpty { return 0 }
    guard let leaves = try snapshot.lmdb.leaves(snapshot.tables.entries) else { return nil }
    let count = try first.withUnsafeBytes { first in
      try end.withUnsafeBytes { end in
        try leaves.count(from: first, below: end, upTo: most, withoutKeysOf: limit.count) {
          try snapshot.deadline?.check()
        }
      }
    }
    touched.entries += count ?? 0
    return count
  }

  private func advance() throws -> Bool {
    let found =
      switch position {
      case .atEnd: false
      case .onNext: true
      case .onReturned: try isBackwards ? cursor.step(isBackwards: true) : cursor.next()
      case .beforeFirst: try moveToFirst()
      }
    let isInside = found && isInside(cursor.key)
    position = isInside ? .onReturned : .atEnd
    return isInside
  }

  /// Whether the scan walks through the pages. For tests.
  var isInPages: Bool { cursor.isInPages }

  private func moveToFirst() throws -> Bool {
    guard isBackwards else { return try first.withUnsafeBytes { try cursor.seek(to: $0) } }
    guard try end.withUnsafeBytes({ try cursor.seek(to: $0) }) else { return try cursor.last() }
    return try cursor.step(isBackwards: true)
  }

  @inline(__always)
  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    isBackwards
      ? first.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      : key.head < endHead || end.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }

  private func isInRange(_ key: UnsafeRawBufferPointer) -> Bool {
    range.lower.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      && range.upper.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }

  // MARK: Runs

  /// Reads the collision run at the cursor and moves past it.
  private func readRun() throws {
    let stored = Array(cursor.key)
    let maker = maker ?? EntryExtractor(range.index)
    self.maker = maker
    var paths: Set<ResourcePath> = []
    var hasNext = true
    while hasNext, stored.withUnsafeBytes({ limit.sameRun($0, cursor.key) }) {
      let path = try EntryRecord.path(cursor.value)
      touched.entries += 1
      hasNext = try cursor.step(isBackwards: isBackwards)
      // The run has one stored entry for each truncated key of a document.
      guard paths.insert(path).inserted else { continue }
      touched.runDocuments += 1
      let document = try self.document(at: path)
      let fields = try snapshot.fields(ofRecord: document.record)
      try maker.forEachEntry(of: path, fields) { key, identities in
        guard key.count > limit.truncatedCount,
          stored.withUnsafeBytes({
            key[..<limit.truncatedCount].elementsEqual($0[..<limit.truncatedCount])
          }),
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

  /// The document of the entry returned last. Borrowed as long as the transaction.
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
    guard documentKey.count <= limit.truncatedCount else {
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

  /// The value of a component that is not fixed, exactly as in the document; nil if only the
  /// document has it.
  func value(of component: Int, in entry: ScannedEntry) throws -> Value? {
    let components = range.index.definition.components
    guard component >= range.fixedCount, component < components.count,
      components[component].kind.hasValues
    else { return nil }
    var reader = KeyReader(entry.suffix)
    for before in components[range.fixedCount..<component] {
      try reader.skipValue(descending: before.isDescending)
    }
    let identity = entry.identities[component]
    guard identity != .unknown else { return nil }
    return identity.value(try reader.readValue(descending: components[component].isDescending))
  }
}

/// The value of an entry with a truncated key: the document's path, as text. The value of other
/// entries is an `EntryIdentities`.
enum EntryRecord {
  static func path(_ value: UnsafeRawBufferPointer) throws(Status) -> ResourcePath {
    guard let text = String(storedUTF8: value) else {
      throw .dataLoss("An index entry's path is not UTF-8.")
    }
    return try ResourcePath(storedDocument: text)
  }
}

extension KeyBuffer {
  /// Appends the document's key, from the path at the end of a group-scope entry.
  fileprivate mutating func append(
    documentKeyFromPath path: UnsafeRawBufferPointer
  ) throws(Status) {
    // The start of the last collection id, the start of the document id, and its end.
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
