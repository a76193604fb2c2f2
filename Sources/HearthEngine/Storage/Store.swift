internal import LMDB

/// The open file: its environment, its tables, and the one place that knows both.
///
///     documents    key of (collection id, parent, id)   → the document's record
///     collections  key of the collection's path         → how many documents it holds
///     changes      first sequence                       → a record of the change log
///     logIndex     collection, first sequence           → records of the log with changes of the collection
///     tombstones   document key                         → the sequence that deleted it
///     due          when the document expires            → its key
///     indexes, entries                                  → definitions and entries
///     shapes       hash of names                        → names of the fields of documents alike
///     meta         "format", "state", "expiry", copies of shapes
///
/// Everything above reads through `read`, and only the writer of `Writing` writes.
final class Store: Sendable {
  let path: String
  let configuration: StoreConfiguration
  let environment: Environment
  let tables: Tables
  let pageSizeBytes: Int
  /// Told the last sequence after every commit of this process.
  let commits = CommitNotifier()
  let shapes = FieldNameTableCache()
  /// What the floor of indexes remembers of this file. Believed only where the file says the same.
  let indexMemory = Guarded<(any AnyObject & Sendable)?>(nil)

  var keyLimit: KeyLimit { configuration.keyLimit }

  /// On disk, in `meta`: which indexes were asked for. What it says is for the floor of indexes; a repair
  /// keeps it.
  static let indexConfigurationKey = Array("indexConfiguration".utf8)

  /// Opens the file, made for its owner only if it is not there.
  ///
  /// Throws `failedPrecondition` if a newer Hearth wrote it or it is already open in this process,
  /// `dataLoss` if it is not a database or damaged, `unavailable` if the system refuses.
  ///
  /// - Parameter namedPath: The path by which a person named the file, if it is not `path`: nothing more is
  ///   written once it leads elsewhere.
  init(path: String, named namedPath: String? = nil, configuration: StoreConfiguration) throws {
    self.path = path
    self.configuration = configuration
    var settings = EnvironmentConfiguration(tables: Tables.names)
    settings.mapSizeBytes = configuration.mapSizeBytes
    settings.optionalTables = Set(Tables.laterNames)
    settings.isReadOnly = configuration.isReadOnly
    settings.durability = configuration.durability
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
      try configuration.format.settle(self)
    } catch {
      environment.close()
      throw error
    }
  }

  /// A consistent state of the database, for as long as `body` runs.
  ///
  /// Throws what `body` throws, and `Status` for failures of the storage below.
  func read<Result>(_ body: (StoreSnapshot) throws -> Result) throws -> Result {
    do {
      return try environment.read { snapshot in
        try body(StoreSnapshot(snapshot, self))
      }
    } catch let error as LMDBError {
      throw Status(reading: error)
    }
  }

  func close() {
    commits.close()
    environment.close()
  }

  /// Removes a file. False, and nothing done, if it is open, here or in another process.
  static func remove(at path: String) throws(Status) -> Bool {
    do {
      return try Environment.remove(at: path)
    } catch {
      throw Status(.unavailable, "Cannot remove \(path). \(error.message)", cause: error)
    }
  }
}

/// The tables, opened once with the file.
struct Tables: Sendable {
  let documents, collections, changes, tombstones, due, indexes, entries, shapes, logIndex,
    meta: Table

  let documentsByName, collectionsByName, tombstonesByName: TruncatedKeyTable

  static let names = KeyLayout.Table.allCases.map(\.rawValue)
  /// A file of an earlier format, which is only read, has them not.
  static let laterNames = KeyLayout.Table.allCases.filter { $0.firstFormat > 1 }.map(\.rawValue)

  init(_ environment: Environment) {
    documents = environment.table(KeyLayout.Table.documents.rawValue)
    collections = environment.table(KeyLayout.Table.collections.rawValue)
    changes = environment.table(KeyLayout.Table.changes.rawValue)
    tombstones = environment.table(KeyLayout.Table.tombstones.rawValue)
    due = environment.table(KeyLayout.Table.due.rawValue)
    indexes = environment.table(KeyLayout.Table.indexes.rawValue)
    entries = environment.table(KeyLayout.Table.entries.rawValue)
    shapes = environment.table(KeyLayout.Table.shapes.rawValue)
    logIndex = environment.table(KeyLayout.Table.logIndex.rawValue)
    meta = environment.table(KeyLayout.Table.meta.rawValue)
    documentsByName = TruncatedKeyTable(table: documents) { try DocumentRecord(parsing: $0).path }
    collectionsByName = TruncatedKeyTable(table: collections, pathText: NumberRecord.pathText)
    tombstonesByName = TruncatedKeyTable(table: tombstones, pathText: NumberRecord.pathText)
  }
}
