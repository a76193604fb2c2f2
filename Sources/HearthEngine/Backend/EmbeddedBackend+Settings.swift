import Logging

extension EmbeddedBackend {
  /// How a file is opened as a database. The face fills it from `FirestoreSettings`.
  package struct Settings: Sendable {
    /// What an acknowledged write survives.
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
    /// The change log keeps the smaller of these two.
    package var changeLogAge = Duration.seconds(3600)
    package var changeLogBytes = 64 << 20
    /// Nil for never.
    package var expirySweepInterval: Duration? = .seconds(60)
    package var queryThreads = Settings.defaultQueryThreads
    /// Of writes that nobody awaits.
    package var queueLimitBytes = 64 << 20
    package var indexPolicy = IndexingPolicy.automatic
    /// Nil for the system's.
    package var clock: (@Sendable () -> Timestamp)?

    /// The clock, in the engine's own terms.
    var now: @Sendable () -> Instant {
      guard let clock else { return { Instant.now() } }
      return { Instant(clock()) }
    }

    package init() {}

    /// As many as there are processors, and no more than four.
    package static let defaultQueryThreads = StoreConfiguration.defaultScanThreads
  }

  /// Where its file is.
  package var path: String { store.path }

  /// Opens a file.
  ///
  /// - Parameter namedPath: The path by which a person named it.
  package convenience init(
    at path: String, named namedPath: String, _ settings: Settings, logger: Logger
  ) throws {
    try self.init(
      path: path, named: namedPath, configuration: settings.storeConfiguration,
      queueLimitBytes: settings.queueLimitBytes, indexPolicy: settings.indexPolicy, logger: logger)
  }

  /// Opens a database that lives in memory, as far as users see: its file is removed with it.
  package convenience init(inMemory settings: Settings, logger: Logger) throws {
    let folder = try MemoryFolder.make()
    try self.init(
      path: folder.databasePath, configuration: settings.storeConfiguration,
      queueLimitBytes: settings.queueLimitBytes, indexPolicy: settings.indexPolicy, logger: logger,
      memoryFolder: folder)
  }
}

extension EmbeddedBackend.Settings {
  /// In the terms of storage, with what checks and builds of whole files need from the floor of indexes.
  var storeConfiguration: StoreConfiguration {
    var configuration = StoreConfiguration()
    configuration.isReadOnly = isReadOnly
    configuration.mapSizeBytes = mapSizeBytes
    configuration.validatesPages = validatesPages
    configuration.verifiesChecksumsOnRead = verifiesChecksumsOnRead
    configuration.scanThreads = max(1, min(queryThreads, 64))
    configuration.allowsRemoteFileSystem = allowsRemoteFileSystem
    configuration.changeLogAge = changeLogAge
    configuration.changeLogBytes = changeLogBytes
    configuration.indexCheck = IndexCheck.run
    configuration.indexBuild = { try IndexManager.build($0) }
    configuration.expirySweepInterval = expirySweepInterval
    configuration.now = now
    configuration.durability =
      switch durability {
      case .full: .full
      case .lastCommitMayBeLost: .lastCommitMayBeLost
      case .unsafeWithoutFlushing: .unsafeNoSync
      }
    return configuration
  }
}
