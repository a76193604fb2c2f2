internal import HearthText
internal import LMDB

/// The size and the contents of a database. All sizes are in bytes.
public struct DatabaseStatistics: Sendable, Hashable {
  /// Every collection that holds documents, in the order of the paths.
  public var collections: [Collection] = []
  /// Size of the file, including pages that are free for reuse.
  public var fileBytes = 0
  /// Size of the parts of the file that are free for reuse or were never used.
  public var freeBytes = 0
  /// Size of the change log's pages.
  public var changeLogBytes = 0
  /// How long changes are kept: as stored in the file, or as in the settings of this process.
  public var retention = ChangeLogRetention(age: .zero, limitBytes: 0)
  /// Whether `retention` is stored in the file, and so applies to every process that writes.
  public var isRetentionStored = false
  /// The oldest time at which `Firestore.read(at:)` can read. Nil if changes have never been
  /// removed: then every past time can be read.
  public var oldestReadableTime: Timestamp?
  /// Which limit of `retention` has removed changes. Nil if changes have never been removed.
  public var retentionEnd: RetentionEnd?
  /// Number of changes that the change log still holds.
  public var changesLogged = 0
  /// Sequence number of the newest change. Each change of a document adds one.
  public var changes = 0
  /// Transactions committed to the file, including index builds and maintenance. Writes that waited
  /// together share one.
  public var commits = 0
  /// The version of the file format that this Hearth writes.
  public var formatVersion = 0

  /// A limit of the change log.
  public enum RetentionEnd: String, Sendable, Hashable {
    /// The age of changes.
    case age
    /// The size of the log: it is as large as it may be, or nearly so.
    case size
  }

  /// A collection and its size.
  public struct Collection: Sendable, Hashable {
    /// Path of the collection: `books`, or `books/dune/reviews`.
    public var path: String
    /// Number of documents directly in the collection.
    public var documents: Int
    /// Size of the documents with their keys, as stored.
    public var bytes: Int
  }

  /// Number of documents in all collections.
  public var documents: Int { collections.reduce(0) { $0 + $1.documents } }
  /// Size of the documents of all collections, with their keys.
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
        throw Status.dataLoss(
          "\(path.text.legible) holds \(found) documents, its count says \(count).")
      }
      collections.append(Collection(path: path.text, documents: found, bytes: bytes))
    }
    let state = try snapshot.state()
    changes = Int(clamping: state.lastSequence)
    changesLogged = Int(clamping: state.lastSequence &+ 1 &- state.firstLoggedSequence)
    let pages = try store.environment.info
    let log = try snapshot.lmdb.statistics(store.tables.changes)
    changeLogBytes = log.pages * pages.pageSizeBytes
    retention = try snapshot.retention()
    isRetentionStored = try ChangeLogRetention.read(snapshot.lmdb, store.tables) != nil
    oldestReadableTime = try snapshot.oldestReadableTime().map { Timestamp($0) }
    if oldestReadableTime != nil {
      // Records are removed whole.
      retentionEnd = changeLogBytes >= retention.limitBytes / 4 * 3 ? .size : .age
    }
    fileBytes = pages.fileSizeBytes
    commits = pages.lastTransactionID
    let used = try KeyLayout.Table.allCases.reduce(0) { sum, table in
      sum + (try snapshot.lmdb.statistics(store.environment.table(table.rawValue)).pages)
    }
    freeBytes = max(0, pages.fileSizeBytes - used * pages.pageSizeBytes)
    formatVersion = Int(FileFormat.current.version)
  }
}
