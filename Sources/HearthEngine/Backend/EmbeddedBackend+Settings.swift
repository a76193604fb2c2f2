import Logging

extension EmbeddedBackend {
  /// How a file is opened as a database. The public API fills it from `FirestoreSettings`.
  package struct Settings: Sendable {
    /// The failures that an acknowledged write survives.
    package enum Durability: Sendable {
      case full, lastCommitMayBeLost, unsafeWithoutFlushing
    }

    package var isReadOnly = false
    package var durability = Durability.full
    package var mapSizeBytes = 64 << 30
    package var allowsRemoteFileSystem = false
    /// Opening reads every page of the file first.
    package var validatesPages = false
    package var verifiesChecksumsOnRead = false
    /// Limits of the change log, unless the file has its own. It is trimmed to the smaller of the
    /// two.
    package var changeLogAge = Duration.seconds(3600)
    package var changeLogBytes = 64 << 20
    /// Stored in the file, for every process that writes. Nil stores nothing.
    package var retention: ChangeLogRetention?
    /// Whether `retention` leaves one alone that is stored already.
    package var isRetentionDefault = false
    /// Nil turns the sweeps off.
    package var ttlSweepInterval: Duration? = .seconds(60)
    package var maxQueryThreads = Settings.defaultQueryThreads
    /// The limit for waiting writes that their callers do not await.
    package var queueLimitBytes = 64 << 20
    package var indexPolicy = IndexingPolicy.automatic
    /// How long a transaction waits for its turn at a document while no other one there ends.
    package var transactionPatience = DocumentQueues.patience
    /// How far a commit's time may be ahead of the clock; nil for any lead.
    package var maximumClockLead: Duration?
    /// Nil for the system's clock.
    package var clock: (@Sendable () -> Timestamp)?

    /// The clock, in the engine's own types.
    var now: @Sendable () -> Instant {
      guard let clock else { return { Instant.now() } }
      return { Instant(clock()) }
    }

    /// The limits of the change log.
    package var changeLog: ChangeLogRetention {
      retention ?? ChangeLogRetention(age: changeLogAge, limitBytes: changeLogBytes)
    }

    package init() {}

    /// The number of processors, but at most four.
    package static let defaultQueryThreads = StoreConfiguration.defaultScanThreads
  }

  /// The path of the database's file.
  package var path: String { store.path }

  /// Opens a file.
  ///
  /// - Parameter namedPath: The path that the user gave.
  package convenience init(
    at path: String, named namedPath: String, _ settings: Settings, logger: Logger
  ) throws {
    try self.init(
      path: path, named: namedPath, configuration: settings.storeConfiguration,
      queueLimitBytes: settings.queueLimitBytes, indexPolicy: settings.indexPolicy,
      transactionPatience: settings.transactionPatience, logger: logger)
    guard let retention = settings.retention, !settings.isReadOnly else { return }
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
    try self.init(
      path: folder.databasePath, configuration: settings.storeConfiguration,
      queueLimitBytes: settings.queueLimitBytes, indexPolicy: settings.indexPolicy,
      transactionPatience: settings.transactionPatience, logger: logger,
      memoryFolder: folder)
  }
}

extension EmbeddedBackend.Settings {
  /// The settings for the storage layer.
  var storeConfiguration: StoreConfiguration {
    var configuration = StoreConfiguration()
    configuration.isReadOnly = isReadOnly
    configuration.mapSizeBytes = mapSizeBytes
    configuration.validatesPages = validatesPages
    configuration.verifiesChecksumsOnRead = verifiesChecksumsOnRead
    configuration.scanThreads = max(1, min(maxQueryThreads, 64))
    configuration.allowsRemoteFileSystem = allowsRemoteFileSystem
    configuration.changeLogAge = changeLogAge
    configuration.changeLogBytes = changeLogBytes
    configuration.ttlSweepInterval = ttlSweepInterval
    configuration.now = now
    configuration.commitTime.maximumLead = maximumClockLead
    configuration.durability =
      switch durability {
      case .full: .full
      case .lastCommitMayBeLost: .lastCommitMayBeLost
      case .unsafeWithoutFlushing: .unsafeNoSync
      }
    return configuration
  }
}
