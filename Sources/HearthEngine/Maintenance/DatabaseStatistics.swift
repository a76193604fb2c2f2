internal import LMDB

/// A database in figures. All sizes are in bytes.
public struct DatabaseStatistics: Sendable, Hashable {
  /// Every collection that holds documents, in the order of their paths.
  public var collections: [Collection] = []
  /// The file's size, with pages that are free to be used again.
  public var fileBytes = 0
  /// How much of the file is free to be used again, or was never used.
  public var freeBytes = 0
  /// The change log: its size in pages, and the changes it still holds.
  public var changeLogBytes = 0
  public var changesLogged = 0
  /// Changes of documents since the database was made.
  public var changes = 0
  /// Durable commits since the database was made. Writes that waited together share one.
  public var commits = 0
  /// The version of the format that this Hearth writes.
  public var formatVersion = 0

  public struct Collection: Sendable, Hashable {
    /// `books`, or `books/dune/reviews`.
    public var path: String
    public var documents: Int
    /// The documents with their keys, as they are stored.
    public var bytes: Int
  }

  public var documents: Int { collections.reduce(0) { $0 + $1.documents } }
  public var documentBytes: Int { collections.reduce(0) { $0 + $1.bytes } }
}

extension DatabaseStatistics {
  /// Reads every document once.
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
      collections.append(Collection(path: path.text, documents: found, bytes: bytes))
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
