import LMDB

/// What an answer has cost, whatever the clock says.
final class TouchCount {
  /// Keys that scans have looked at.
  @exclusivity(unchecked) var keys = 0
  /// Documents whose fields were looked at.
  @exclusivity(unchecked) var documents = 0
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
  private let prefix: [UInt8]
  /// What the keys of the outermost ids begin with.
  private let lowest: [UInt8]
  private let highest: [UInt8]?
  private let isDescending: Bool
  @exclusivity(unchecked) private var cursor: Cursor
  @exclusivity(unchecked) private var isPositioned = false
  /// Sorted backwards, so that the next one is the last.
  @exclusivity(unchecked) private var run: [StoredEntry] = []
  private let touched: TouchCount
  /// On an entry that has not been told; the next step is not to move.
  @exclusivity(unchecked) private var standsOnNext = false
  @exclusivity(unchecked) private var isAtEnd = false

  /// - Parameters:
  ///   - lowest: No document with a lower id is wanted; a few may be told all the same.
  ///   - highest: No document with a higher id is wanted; a few may be told all the same.
  init(
    _ collection: ResourcePath, in store: StoreSnapshot, from lowest: String? = nil,
    to highest: String? = nil, isDescending: Bool = false, touched: TouchCount = TouchCount()
  ) throws {
    self.store = store
    self.touched = touched
    self.collection = collection
    self.isDescending = isDescending
    let limit = store.keyLimit
    self.limit = limit
    let full = KeyLayout.collectionPrefix(collection)
    let prefix = limit.scanPrefix(full)
    func start(of id: String) -> [UInt8] {
      var buffer = KeyBuffer()
      buffer.append(raw: full)
      buffer.append(id: id)
      return limit.scanPrefix(buffer.bytes)
    }
    self.prefix = prefix
    self.lowest = lowest.map(start) ?? prefix
    self.highest = highest.map(start)
    cursor = try store.lmdb.cursor(store.tables.documents)
  }

  func next() throws -> ScannedDocument? {
    guard let entry = try nextEntry() else { return nil }
    return ScannedDocument(path: try path(of: entry), key: entry.key, record: entry.record)
  }

  /// The path that the scan found the entry by.
  func path(of entry: StoredEntry) throws -> ResourcePath {
    guard !limit.isCut(entry.key) else { return try store.path(of: entry) }
    return try KeyLayout.documentPath(fromKey: entry.key, in: collection, prefix.count)
  }

  /// As `next`, without making a path.
  func nextEntry() throws -> StoredEntry? {
    if !run.isEmpty { return run.removeLast() }
    while try advance() {
      touched.keys += 1
      let key = cursor.key
      guard limit.isCut(key) else { return StoredEntry(key: key, record: cursor.value) }
      let (documents, hasNext) = try store.run(
        at: &cursor, touched, isDescending: isDescending
      ) { $0.parent == self.collection }
      run = documents.map { StoredEntry(key: $0.key, record: $0.record) }
      standsOnNext = hasNext
      isAtEnd = !hasNext
      if let entry = run.popLast() { return entry }
    }
    return nil
  }

  private func advance() throws -> Bool {
    if isAtEnd { return false }
    if standsOnNext {
      standsOnNext = false
    } else if isPositioned {
      isAtEnd = try !(isDescending ? cursor.previous() : cursor.next())
    } else {
      isPositioned = true
      isAtEnd = try !position()
    }
    if !isAtEnd { isAtEnd = !isInside(cursor.key) }
    return !isAtEnd
  }

  private func position() throws -> Bool {
    guard isDescending else { return try lowest.withUnsafeBytes { try cursor.seek(to: $0) } }
    guard let behind = KeyLayout.end(ofPrefix: highest ?? prefix),
      try behind.withUnsafeBytes({ try cursor.seek(to: $0) })
    else { return try cursor.last() }
    return try cursor.previous()
  }

  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    guard key.begins(with: prefix) else { return false }
    if isDescending {
      return lowest.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
    }
    guard let highest else { return true }
    return highest.withUnsafeBytes { UTF8Order.compare(key, $0) <= 0 } || key.begins(with: highest)
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  func begins(with prefix: [UInt8]) -> Bool {
    guard count >= prefix.count else { return false }
    return prefix.withUnsafeBytes {
      UTF8Order.compare(UnsafeRawBufferPointer(rebasing: self[..<$0.count]), $0) == 0
    }
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
    return ResourcePath(relative: text)
  }

  /// Reads the run that begins at the cursor, and leaves the cursor on the key behind it, if any.
  /// The documents that `isWanted` takes, the next one to be told last.
  func run(
    at cursor: inout Cursor, _ touched: TouchCount, isDescending: Bool = false,
    where isWanted: (ResourcePath) -> Bool
  ) throws -> (documents: [ScannedDocument], hasNext: Bool) {
    let first = Array(cursor.key)
    var documents: [ScannedDocument] = []
    var hasNext = true
    var read = 0
    while hasNext, first.withUnsafeBytes({ keyLimit.sameRun($0, cursor.key) }) {
      guard let text = try DocumentRecord(parsing: cursor.value).path else {
        throw Status.dataLoss("A document with a cut key lacks its path.")
      }
      let path = ResourcePath(relative: text)
      if isWanted(path) {
        documents.append(ScannedDocument(path: path, key: cursor.key, record: cursor.value))
      }
      hasNext = try isDescending ? cursor.previous() : cursor.next()
      read += 1
    }
    touched.keys += read - 1  // the first was counted by whoever found it
    documents.sort {
      let order = ResourcePath.compare($0.path, $1.path)
      return isDescending ? order < 0 : order > 0
    }
    return (documents, hasNext)
  }
}
