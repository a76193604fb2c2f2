internal import LMDB

/// What an answer has cost, whatever the clock says.
final class ReadCounters {
  /// Keys that scans have looked at.
  @exclusivity(unchecked) var keys = 0
  /// Documents whose fields were looked at.
  @exclusivity(unchecked) var documents = 0
  /// Entries of indexes that scans have looked at.
  @exclusivity(unchecked) var entries = 0
  /// Documents read to sort runs of cut entries.
  @exclusivity(unchecked) var runDocuments = 0
  /// Entries looked at to choose a plan.
  @exclusivity(unchecked) var probes = 0
}

/// A document met by a scan: borrowed, valid until the transaction ends or writes.
struct ScannedDocument {
  var path: ResourcePath
  var key: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
}

/// Where a document is stored and what is there: borrowed, valid until the transaction ends or writes.
struct StoredEntry {
  var key: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
}

/// The documents of one collection in the order of their ids, or against it.
///
/// Touches one key a document. Keys that were cut and agree up to the cut are a *run*: its documents
/// are read and sorted by their true names before any of them is told.
///
/// For one user at a time, and no step calls another: what moves is exempt from the checks of
/// exclusive access, which cost as much as the step.
final class CollectionScan {
  private let store: StoreSnapshot
  private let limit: KeyLimit
  private let collection: ResourcePath
  private let isDescending: Bool
  @exclusivity(unchecked) private var walk: PrefixWalk
  /// Sorted backwards, so that the next one is the last.
  @exclusivity(unchecked) private var run: [StoredEntry] = []
  private let touched: ReadCounters

  /// - Parameters:
  ///   - lowest: No document with a lower id is wanted; a few may be told all the same.
  ///   - highest: No document with a higher id is wanted; a few may be told all the same.
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

  /// The same documents for several threads; nil where only a cursor gets at them.
  func leaves() throws -> ParallelCollectionScan? {
    guard !isDescending, let leaves = try store.lmdb.leaves(store.tables.documents) else {
      return nil
    }
    return ParallelCollectionScan(leaves, walk.lowest, walk.end, of: collection, in: store)
  }

  func next() throws -> ScannedDocument? {
    guard let entry = try nextEntry() else { return nil }
    return ScannedDocument(path: try path(of: entry), key: entry.key, record: entry.record)
  }

  /// The path that the scan found the entry by.
  func path(of entry: StoredEntry) throws -> ResourcePath {
    guard !limit.isCut(entry.key) else { return try store.path(of: entry) }
    return try KeyLayout.documentPath(fromKey: entry.key, in: collection, walk.prefix.count)
  }

  /// As `next`, without making a path.
  func nextEntry() throws -> StoredEntry? {
    if !run.isEmpty { return run.removeLast() }
    while try walk.advance() {
      touched.keys += 1
      let key = walk.cursor.key
      guard limit.isCut(key) else { return StoredEntry(key: key, record: walk.cursor.value) }
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

  /// What the entry's document is called.
  func path(of entry: StoredEntry) throws -> ResourcePath {
    if let path = try KeyLayout.documentPath(fromKey: entry.key, limit: keyLimit) { return path }
    guard let text = try DocumentRecord(parsing: entry.record).path else {
      throw Status.dataLoss("A document with a cut key lacks its path.")
    }
    return try ResourcePath(storedDocument: text)
  }

  /// Reads the run that begins at the cursor, and leaves the cursor on the key behind it, if any.
  /// The documents that `isWanted` takes, the next one to be told last.
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
    touched.keys += run.count - 1  // the first was counted by whoever found it
    return (try sorted(run, isDescending: isDescending, where: isWanted), hasNext)
  }

  /// The documents of a run that `isWanted` takes, the next one to be told last.
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
