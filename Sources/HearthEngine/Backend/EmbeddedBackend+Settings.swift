import Logging

extension EmbeddedBackend {
  /// How a database is opened. The public API fills it from `FirestoreSettings`.
  package struct Settings: Sendable {
    /// How its file is opened.
    package var store = StoreConfiguration()
    /// Stored in the file, for every process that writes. Nil stores nothing.
    package var retention: ChangeLogRetention?
    /// Whether `retention` leaves one alone that is stored already.
    package var isRetentionDefault = false
    /// The limit for waiting writes that their callers do not await.
    package var queueLimitBytes = 64 << 20
    package var indexPolicy = IndexingPolicy.automatic
    /// How long a transaction waits for its turn at a document while no other one there ends.
    package var transactionPatience = DocumentQueues.patience

    /// The limits of the change log.
    package var changeLog: ChangeLogRetention { retention ?? store.retention }

    package init() {}
  }

  /// The path of the database's file.
  package var path: String { store.path }

  /// Opens a file.
  ///
  /// - Parameter namedPath: The path that the user gave.
  package convenience init(
    at path: String, named namedPath: String, _ settings: Settings, logger: Logger
  ) throws {
    try self.init(path: path, named: namedPath, settings, logger: logger)
    guard let retention = settings.retention, !settings.store.isReadOnly else { return }
    do {
      try store.setRetention(retention, isDefault: settings.isRetentionDefault)
    } catch {
      close()
      throw error
    }
  }

  /// Opens a database that lives in memory, as far as users see: its file is removed with it.
  package convenience init(inMemory settings: Settings, logger: Logger) throws {
    let folder = try MemoryFolder.make()
    try self.init(path: folder.databasePath, settings, logger: logger, memoryFolder: folder)
  }
}
