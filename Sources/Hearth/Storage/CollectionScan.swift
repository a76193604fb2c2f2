import LMDB

/// How many keys a scan has looked at: its cost, whatever the clock says.
final class TouchCount {
  var keys = 0
}

/// A document met by a scan: borrowed, valid until the transaction ends or writes.
struct ScannedDocument {
  var path: ResourcePath
  var key: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
}

/// The documents of one collection in the order of their ids.
///
/// Touches one key a document. Keys that were cut and agree up to the cut are a *run*: its documents
/// are read and sorted by their true names before any of them is told.
final class CollectionScan {
  private let store: StoreSnapshot
  private let collection: ResourcePath
  private let prefix: [UInt8]
  private var cursor: Cursor
  private var isPositioned = false
  /// Sorted backwards, so that the next one is the last.
  private var run: [ScannedDocument] = []
  private let touched: TouchCount
  /// On an entry that has not been told; the next step is not to move.
  private var standsOnNext = false
  private var isAtEnd = false

  init(
    _ collection: ResourcePath, in store: StoreSnapshot, touched: TouchCount = TouchCount()
  ) throws {
    self.store = store
    self.touched = touched
    self.collection = collection
    prefix = store.keyLimit.scanPrefix(KeyLayout.collectionPrefix(collection))
    cursor = try store.lmdb.cursor(store.tables.documents)
  }

  func next() throws -> ScannedDocument? {
    if let document = run.popLast() { return document }
    while try advance() {
      touched.keys += 1
      guard store.keyLimit.isCut(cursor.key) else {
        return ScannedDocument(
          path: try KeyLayout.documentPath(fromKey: cursor.key, in: collection, prefix.count),
          key: cursor.key, record: cursor.value)
      }
      let (documents, hasNext) = try store.run(at: &cursor, touched) {
        $0.parent == self.collection
      }
      run = documents
      standsOnNext = hasNext
      isAtEnd = !hasNext
      if let document = run.popLast() { return document }
    }
    return nil
  }

  private func advance() throws -> Bool {
    if isAtEnd { return false }
    if standsOnNext {
      standsOnNext = false
    } else if isPositioned {
      isAtEnd = try !cursor.next()
    } else {
      isPositioned = true
      isAtEnd = try !prefix.withUnsafeBytes { try cursor.seek(to: $0) }
    }
    if !isAtEnd { isAtEnd = !cursor.key.starts(with: prefix) }
    return !isAtEnd
  }
}

extension StoreSnapshot {
  var keyLimit: KeyLimit { store.keyLimit }

  /// Reads the run that begins at the cursor, and leaves the cursor on the key behind it, if any.
  /// The documents that `isWanted` takes, sorted backwards by path.
  func run(
    at cursor: inout Cursor, _ touched: TouchCount, where isWanted: (ResourcePath) -> Bool
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
      hasNext = try cursor.next()
      read += 1
    }
    touched.keys += read - 1  // the first was counted by whoever found it
    documents.sort { ResourcePath.compare($0.path, $1.path) > 0 }
    return (documents, hasNext)
  }
}
