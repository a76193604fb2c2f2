internal import HearthText
internal import LMDB
import Synchronization

/// The open file: its environment, its tables, and the one type that knows both.
///
/// Tables by their names on disk, with key and value:
///
///     documents    key of (collection id, parent, id)   → the document's record
///     collections  key of the collection's path         → how many documents it holds
///     changes      first sequence                       → a record of the change log
///     logIndex     collection, first sequence           → log records with its changes
///     tombstones   document key                         → the sequence that deleted it
///     due          expiration time, document key's hash → the document's key
///     indexes, entries                                  → index definitions and entries
///     shapes       hash of the names                    → a name table
///     meta         "format", "state", "expiry", copies of name tables, …
///
/// All layers above read through `read`. Only the writer of `Writing` writes.
final class Store: Sendable {
  let path: String
  let configuration: StoreConfiguration
  let environment: Environment
  let tables: Tables
  let pageSizeBytes: Int
  /// Called after every commit of this process, on the writer's thread. Must return quickly.
  let commitObserver = Guarded<(@Sendable () -> Void)?>(nil)
  let nameTables = FieldNameTableCache()
  /// The Indexing layer's memory of this file, of a type that it names: the store only keeps it.
  let indexMemory = GenerationSlot<IndexMemory>()
  /// Plans of queries, of a type that the Planning layer names.
  let planMemory = GenerationSlot<PlannedQueries>()
  /// Up to this commit, the file has a format that this process reads. A transaction that sees a
  /// later one looks again; while the file is being opened, none does.
  private let readableCommit = Atomic(Int.max)

  var keyLimit: KeyLimit { configuration.keyLimit }

  /// On disk, in `meta`: which indexes were requested. Only the Indexing layer reads the content; a
  /// repair keeps it.
  static let indexConfigurationKey = Array("indexConfiguration".utf8)

  /// Opens the file. Creates it, with access for its owner only, if it does not exist.
  ///
  /// Throws `failedPrecondition` if a newer Hearth wrote it, it is already open in this process, or
  /// it is empty and opened read-only; `dataLoss` if it is not a database or damaged; `notFound` if
  /// it does not exist and is opened read-only; `resourceExhausted` if there is no room for a new
  /// file, which is then removed again; `unavailable` if the system refuses.
  ///
  /// - Parameter namedPath: The path that the user gave, if it is not `path`. Once it leads to
  ///   another file, nothing more is written.
  init(path: String, named namedPath: String? = nil, configuration: StoreConfiguration) throws {
    self.path = path
    self.configuration = configuration
    var settings = EnvironmentConfiguration(tables: Tables.names)
    settings.mapSizeBytes = configuration.mapSizeBytes
    settings.optionalTables = Set(Tables.laterNames)
    settings.isReadOnly = configuration.isReadOnly
    settings.durability =
      switch configuration.durability {
      case .full: .full
      case .lastCommitMayBeLost: .lastCommitMayBeLost
      case .unsafeWithoutFlushing: .unsafeNoSync
      }
    settings.allowsRemoteFileSystem = configuration.allowsRemoteFileSystem
    settings.validatesPages = configuration.validatesPages
    settings.poisonsBorrowedBytes = configuration.poisonsBorrowedBytes
    settings.faultInjector = configuration.faultInjector
    do {
      environment = try Environment.open(at: path, named: namedPath, configuration: settings)
      pageSizeBytes = try environment.info.pageSizeBytes
    } catch {
      throw Status(opening: path, error, mapSizeBytes: configuration.mapSizeBytes)
    }
    tables = Tables(environment)
    do {
      try configuration.format.prepare(self)
      readableCommit.store(0, ordering: .relaxed)
    } catch {
      environment.closeAndWithdraw()
      throw error
    }
  }

  /// Runs `body` on a consistent snapshot of the database.
  ///
  /// Throws what `body` throws, and `Status` for storage failures and for a file that another
  /// process has upgraded.
  ///
  /// - Parameter deadline: When the reads of the snapshot throw `ReadDeadline.Passed`.
  func read<Result>(
    until deadline: ReadDeadline? = nil, _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    do {
      return try environment.read { snapshot in
        let commit = snapshot.transactionID
        if commit > readableCommit.load(ordering: .relaxed) {
          try configuration.format.checkReadable(snapshot, tables)
          readableCommit.store(commit, ordering: .relaxed)
        }
        return try body(StoreSnapshot(snapshot, self, until: deadline))
      }
    } catch let error as LMDBError {
      throw Status(reading: error)
    }
  }

  func close() {
    commitObserver.withLock { $0 = nil }
    environment.close()
  }

  /// Removes a file. Returns false, and does nothing, if it is open, here or in another process.
  static func remove(at path: String) throws(Status) -> Bool {
    do {
      return try Environment.remove(at: path)
    } catch {
      throw Status(.unavailable, "Cannot remove \(path.legible). \(error.message)", cause: error)
    }
  }
}

/// The tables, opened once with the file.
struct Tables: Sendable {
  let documents, collections, changes, tombstones, expirations, indexes, entries, nameTables,
    logIndex,
    meta: Table

  let documentsByName, collectionsByName, tombstonesByName: TruncatedKeyTable

  static let names = KeyLayout.Table.allCases.map(\.rawValue)
  /// Missing in a file of an earlier format that is opened read-only.
  static let laterNames = KeyLayout.Table.allCases.filter { $0.firstFormat > 1 }.map(\.rawValue)

  init(_ environment: Environment) {
    documents = environment.table(KeyLayout.Table.documents.rawValue)
    collections = environment.table(KeyLayout.Table.collections.rawValue)
    changes = environment.table(KeyLayout.Table.changes.rawValue)
    tombstones = environment.table(KeyLayout.Table.tombstones.rawValue)
    expirations = environment.table(KeyLayout.Table.expirations.rawValue)
    indexes = environment.table(KeyLayout.Table.indexes.rawValue)
    entries = environment.table(KeyLayout.Table.entries.rawValue)
    nameTables = environment.table(KeyLayout.Table.nameTables.rawValue)
    logIndex = environment.table(KeyLayout.Table.logIndex.rawValue)
    meta = environment.table(KeyLayout.Table.meta.rawValue)
    documentsByName = TruncatedKeyTable(table: documents) { try DocumentRecord(parsing: $0).path }
    collectionsByName = TruncatedKeyTable(table: collections, pathText: NumberRecord.pathText)
    tombstonesByName = TruncatedKeyTable(table: tombstones, pathText: NumberRecord.pathText)
  }
}
