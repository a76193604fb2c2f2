internal import LMDB

/// The documents of one collection in ascending or descending order of their ids.
///
/// Reads one key per document. Truncated keys that are equal up to the hash form a *collision run*:
/// the documents of a run are read, and sorted by their full names, before any of them is returned.
///
/// For one user at a time, and no step calls another: the mutable properties skip the checks of
/// exclusive access, which cost as much as the step.
final class CollectionScan {
  private let store: StoreSnapshot
  private let limit: KeyLimit
  private let collection: ResourcePath
  private let isDescending: Bool
  // Exclusivity is unchecked: one thread uses this, no property is accessed again while it is
  // modified, and a check costs as much as the step it guards.
  @exclusivity(unchecked) private var walk: PrefixWalk
  /// In reverse order: the next document is the last element.
  @exclusivity(unchecked) private var run: [StoredEntry] = []
  private let touched: ReadCounters

  /// - Parameters:
  ///   - lowest: Documents with lower ids are not needed, but a few may be returned.
  ///   - highest: Documents with higher ids are not needed, but a few may be returned.
  init(
    _ collection: ResourcePath, in store: StoreSnapshot, from lowest: String? = nil,
    to highest: String? = nil, isDescending: Bool = false, touched: ReadCounters = ReadCounters()
  ) throws {
    self.store = store
    self.touched = touched
    self.collection = collection
    self.isDescending = isDescending
    let limit = store.keyLimit
    self.limit = limit
    let full = KeyLayout.collectionPrefix(collection)
    func start(of id: String) -> [UInt8] {
      var buffer = KeyBuffer()
      buffer.append(raw: full)
      buffer.append(id: id)
      return limit.scanPrefix(buffer.bytes)
    }
    walk = try PrefixWalk(
      limit.scanPrefix(full), of: store.tables.documents, in: store.lmdb,
      from: lowest.map(start), to: highest.map(start), isDescending: isDescending)
  }

  /// The same documents for several threads; nil if only a cursor can read them.
  func leaves() throws -> ParallelCollectionScan? {
    guard !isDescending, let leaves = try store.lmdb.leaves(store.tables.documents) else {
      return nil
    }
    // No document's key begins with FF.
    return ParallelCollectionScan(
      leaves, walk.lowest, walk.end ?? [0xFF], of: collection, in: store)
  }

  func next() throws -> ScannedDocument? {
    guard let entry = try nextEntry() else { return nil }
    return ScannedDocument(path: try path(of: entry), key: entry.key, record: entry.record)
  }

  /// The path of an entry that this scan returned.
  func path(of entry: StoredEntry) throws -> ResourcePath {
    guard !limit.isTruncated(entry.key) else { return try store.path(of: entry) }
    return try KeyLayout.documentPath(fromKey: entry.key, in: collection, walk.prefix.count)
  }

  /// The same as `next`, without making a path.
  func nextEntry() throws -> StoredEntry? {
    if !run.isEmpty { return run.removeLast() }
    while try walk.advance() {
      try touched.countKey(until: store.deadline)
      let key = walk.cursor.key
      guard limit.isTruncated(key) else { return StoredEntry(key: key, record: walk.cursor.value) }
      let (documents, hasNext) = try store.run(
        at: &walk.cursor, touched, isDescending: isDescending
      ) { $0.isDirectly(in: self.collection) }
      walk.wasMoved(toEntry: hasNext)
      run = documents.map { StoredEntry(key: $0.key, record: $0.record) }
      if let entry = run.popLast() { return entry }
    }
    return nil
  }
}

extension StoreSnapshot {
  var keyLimit: KeyLimit { store.keyLimit }

  /// The path of the entry's document.
  func path(of entry: StoredEntry) throws -> ResourcePath {
    if let path = try KeyLayout.documentPath(fromKey: entry.key, limit: keyLimit) { return path }
    guard let text = try DocumentRecord(parsing: entry.record).path else {
      throw Status.dataLoss("A document with a truncated key lacks its path.")
    }
    return try ResourcePath(storedDocument: text)
  }

  /// Reads the collision run that begins at the cursor, and leaves the cursor on the key after it,
  /// if any. Returns the documents that `isWanted` accepts, in reverse order: the next one is last.
  func run(
    at cursor: inout Cursor, _ touched: ReadCounters, isDescending: Bool = false,
    where isWanted: (ResourcePath) -> Bool
  ) throws -> (documents: [ScannedDocument], hasNext: Bool) {
    let first = Array(cursor.key)
    var run: [StoredEntry] = []
    var hasNext = true
    while hasNext, first.withUnsafeBytes({ keyLimit.sameRun($0, cursor.key) }) {
      run.append(StoredEntry(key: cursor.key, record: cursor.value))
      hasNext = try isDescending ? cursor.previous() : cursor.next()
    }
    touched.keys += run.count - 1  // the caller counted the first
    return (try sorted(run, isDescending: isDescending, where: isWanted), hasNext)
  }

  /// The documents of a run that `isWanted` accepts, in reverse order: the next one is last.
  func sorted(
    _ run: [StoredEntry], isDescending: Bool = false, where isWanted: (ResourcePath) -> Bool
  ) throws -> [ScannedDocument] {
    var documents: [ScannedDocument] = []
    for entry in run {
      let path = try path(of: entry)
      guard isWanted(path) else { continue }
      documents.append(ScannedDocument(path: path, key: entry.key, record: entry.record))
    }
    documents.sort {
      let order = ResourcePath.compare($0.path, $1.path)
      return isDescending ? order < 0 : order > 0
    }
    return documents
  }
}
