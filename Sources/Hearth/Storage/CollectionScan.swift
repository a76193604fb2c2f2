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
  private var walk: PrefixWalk
  /// Sorted backwards, so that the next one is the last.
  private var run: [ScannedDocument] = []
  private let touched: TouchCount

  init(
    _ collection: ResourcePath, in store: StoreSnapshot, touched: TouchCount = TouchCount()
  ) throws {
    self.store = store
    self.touched = touched
    self.collection = collection
    let prefix = store.keyLimit.scanPrefix(KeyLayout.collectionPrefix(collection))
    walk = try PrefixWalk(prefix, of: store.tables.documents, in: store.lmdb)
  }

  func next() throws -> ScannedDocument? {
    if let document = run.popLast() { return document }
    while try walk.advance() {
      touched.keys += 1
      guard store.keyLimit.isCut(walk.cursor.key) else {
        return ScannedDocument(
          path: try KeyLayout.documentPath(
            fromKey: walk.cursor.key, in: collection, walk.prefix.count),
          key: walk.cursor.key, record: walk.cursor.value)
      }
      let (documents, hasNext) = try store.run(at: &walk.cursor, touched) {
        $0.isDirectly(in: self.collection)
      }
      walk.wasMoved(toEntry: hasNext)
      run = documents
      if let document = run.popLast() { return document }
    }
    return nil
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
