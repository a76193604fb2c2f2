internal import LMDB

/// What the file holds, counted: reads every document once. All sizes are in bytes.
package struct StoreStatistics: Sendable {
  /// In the order of their paths.
  package var collections: [(path: ResourcePath, documents: Int, bytes: Int)] = []
  package var fileBytes = 0
  package var freeBytes = 0
  package var changeLogBytes = 0
  package var changesLogged = 0
  package var changes = 0
  package var commits = 0
  package var formatVersion = 0

  init(_ snapshot: StoreSnapshot) throws {
    let store = snapshot.store
    let catalogue = try CatalogueScan(below: .root, in: snapshot)
    while let (path, count) = try catalogue.next() {
      var found = 0
      var bytes = 0
      let scan = try CollectionScan(path, in: snapshot)
      while let document = try scan.next() {
        found += 1
        bytes += document.key.count + document.record.count
      }
      guard found == count else {
        throw Status.dataLoss("\(path.text) holds \(found) documents, its count says \(count).")
      }
      collections.append((path: path, documents: found, bytes: bytes))
    }
    let state = try snapshot.state()
    changes = Int(clamping: state.lastSequence)
    changesLogged = Int(clamping: state.lastSequence &+ 1 &- state.firstLoggedSequence)
    let pages = try store.environment.info
    let log = try snapshot.lmdb.statistics(store.tables.changes)
    changeLogBytes = log.pages * pages.pageSizeBytes
    fileBytes = pages.fileSizeBytes
    commits = pages.lastTransactionID
    let used = try KeyLayout.Table.allCases.reduce(0) { sum, table in
      sum + (try snapshot.lmdb.statistics(store.environment.table(table.rawValue)).pages)
    }
    freeBytes = max(0, pages.fileSizeBytes - used * pages.pageSizeBytes)
    formatVersion = Int(FileFormat.current.version)
  }
}

extension TableStatistics {
  fileprivate var pages: Int { branchPages + leafPages + overflowPages }
}
