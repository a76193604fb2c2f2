import Foundation
import Synchronization

/// A cache size without a limit. Has no effect: data is never evicted.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// The settings of a database. Set them before its first use.
///
///     let settings = FirestoreSettings()
///     settings.cacheSettings = MemoryCacheSettings()
///     Firestore.firestore().settings = settings
///
/// There is no server: `host` and `isSSLEnabled` exist for source compatibility and have no effect.
/// Firestore's cache is the database itself. Nothing is ever evicted from it, so cache sizes are
/// checked and kept, but have no effect. A database with `MemoryCacheSettings` loses its data when
/// it is closed.
///
/// Settings that contradict each other are refused: opening the database, and every use of it,
/// fails with `invalidArgument`.
public final class FirestoreSettings: NSObject, NSCopying {
  /// Has no effect: there is no server.
  public var host = FirestoreSettings.defaultHost
  /// Has no effect: there is no server. `false` is accepted only with another `host` than the
  /// default.
  public var isSSLEnabled = true

  /// The queue for completion handlers and listeners that were added outside of any actor.
  ///
  /// By default each database has its own serial queue, which `settings.dispatchQueue` of the
  /// database returns. The main queue is not the default, because a Linux service has no main run
  /// loop that would drain it.
  ///
  /// A slow callback delays the other callbacks of its queue. It delays a write that waits for one
  /// of them, but by at most 100 ms; see <doc:WritesAndListeners>. It delays no callback of other
  /// queues and no sequence.
  public var dispatchQueue: DispatchQueue {
    get { chosenQueue ?? ownQueue.queue }
    set { chosenQueue = newValue }
  }

  /// Where data is kept. Default: in a file.
  public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
    get {
      if let chosenCache { return chosenCache }
      return legacyIsPersistent ?? true
        ? PersistentCacheSettings(sizeBytes: NSNumber(value: legacySizeBytes ?? defaultCacheBytes))
        : MemoryCacheSettings()
    }
    set { chosenCache = newValue }
  }

  /// Whether data is kept in a file.
  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var isPersistenceEnabled: Bool {
    get { legacyIsPersistent ?? (chosenCache.map { $0 is PersistentCacheSettings } ?? true) }
    set { legacyIsPersistent = newValue }
  }

  /// Has no effect: data is never evicted.
  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var cacheSizeBytes: Int64 {
    get { legacySizeBytes ?? defaultCacheBytes }
    set { legacySizeBytes = newValue }
  }

  // MARK: Not in Firebase's SDK

  /// The failures that an acknowledged write survives. Default: `full`.
  public var durability = Durability.full

  /// Opens an existing file without ever writing to it. Writes then fail with `failedPrecondition`.
  public var isReadOnly = false

  /// How many bytes of writes that are not awaited may wait for their commit, with or without a
  /// completion handler. Default: 64 MiB.
  ///
  /// A write beyond the limit fails with `resourceExhausted`; if no other write waits, one of any
  /// size is accepted. Awaited writes are not counted, and are never refused for this. Bulk writers
  /// have their own limit.
  public var queueLimitBytes = 64 << 20

  /// The address space reserved for the file, in bytes. Default: 64 GiB.
  ///
  /// It is not disk space. It grows automatically when the data exceeds it, and is smaller where
  /// `ulimit -v` or very many open databases require it.
  public var mapSizeBytes = FirestoreSettings.defaultMapSizeBytes.load(ordering: .relaxed)

  /// Also verifies the checksum of a document that is decoded in place, by `getDocument(as:)` and
  /// `getDocuments(as:)`. Default: false.
  ///
  /// Without it, these methods throw `dataLoss` only for bytes that do not form a document. A
  /// document that is copied (snapshots, query results, listeners, exports) is always verified: if
  /// it is damaged, the read throws `dataLoss`.
  public var verifiesChecksumsOnRead = false

  /// Reads every page of the file before it is used, and throws `dataLoss` if one is damaged.
  /// Default: false. Opening then takes as long as reading the file.
  ///
  /// LMDB maps the file into memory and trusts its pages. By default, opening checks the headers,
  /// the file's length and the first page of each table; a page that is damaged elsewhere may end
  /// the process with a signal when it is used. This setting does not find damage that occurs after
  /// the file was opened. `FirestoreFile`'s `check` and `repair`, and an export, never use a page that
  /// they have not checked.
  public var validatesPagesOnOpen = false

  /// The maximum number of threads for one query that reads, or decodes, very many documents.
  /// Default: the number of processors, at most 4. With 1, no query is divided among threads.
  ///
  /// `getDocuments(as:)` decodes results on several threads only if their type is `Sendable`, its
  /// conformance to `Decodable` belongs to no actor, and the decoder has no closures and no
  /// `userInfo`. All other types are decoded where the caller runs.
  public var maxQueryThreads = StoreConfiguration.defaultScanThreads

  /// Opens a file on a network file system. Default: false. LMDB does not support network file
  /// systems: locks may not hold there.
  public var allowsRemoteFileSystem = false

  /// How long past changes are kept for `Firestore.changes(since:)`, `Firestore.read(at:)` and
  /// listeners that resume. Default: one hour. Later commits remove what exceeds this, or
  /// `changeLogLimitBytes`. A retention stored in the file takes precedence; see
  /// `Firestore.setChangeLogRetention(_:)`.
  public var changeLogRetention = Duration.seconds(3600)

  /// About how many bytes of past changes are kept. Default: 64 MiB. A retention stored in the file
  /// takes precedence.
  public var changeLogLimitBytes = 64 << 20

  /// How indexes are created. Does not change the results of queries. Default: `automatic`.
  public var indexPolicy = IndexPolicy.automatic

  /// How indexes are created.
  public enum IndexPolicy: Sendable, Hashable {
    /// Declared indexes, and indexes created for a query that ran three times, each time reading
    /// more than 1,000 documents and more than ten times its result.
    ///
    /// They are created in the background, at most ten for one collection id, and dropped when no
    /// query has read them for 30 days. Each creation and each drop is logged.
    case automatic
    /// Declared indexes only.
    case declared
    /// Declared indexes only. A query whose index does not exist fails with `failedPrecondition`;
    /// the error names the index as an entry of a `firestore.indexes.json`.
    case strict
  }

  /// How often expired documents are deleted; see `Firestore.ttl`. Default: 60 seconds. At
  /// most one year: a longer interval is shortened.
  ///
  /// With nil, only `deleteExpiredDocuments()` or another process deletes them.
  public var ttlSweepInterval: Duration? = .seconds(60)

  /// How far the time of a commit may be ahead of this machine's clock; at least one second. Default: nil, for
  /// any lead.
  ///
  /// A commit's time is never before that of an earlier commit. After a commit under a clock that was ahead, all
  /// later ones are therefore ahead until the clock has caught up, and this is logged as an error once an hour. With
  /// a limit they throw `failedPrecondition` instead, as does a copy of a document whose times are ahead; see
  /// <doc:Production> for the way back. A time after the year 9999 is always refused.
  public var maximumClockLead: Duration?

  /// The wall clock, for `HearthTesting`; nil for the system's. Ignored when settings are compared.
  package var clock: (@Sendable () -> Timestamp)?

  /// The failures that an acknowledged write survives.
  public enum Durability: Sendable, Hashable {
    /// Survives the end of the process, a crash of the system, and a power failure.
    case full
    /// As `full`, but a power failure may lose the very last commit. One flush per commit instead
    /// of two.
    case lastCommitMayBeLost
    /// Survives only the end of the process: a power failure may destroy the whole database. For
    /// tests.
    case unsafeWithoutFlushing
  }

  private var chosenQueue: DispatchQueue?
  /// The callback queue if `dispatchQueue` was not set. Shared by copies. A database replaces it
  /// with its own in its copy of the settings.
  var ownQueue = LazyCallbackQueue()
  private var chosenCache: (any LocalCacheSettings & NSObjectProtocol)?
  private var legacyIsPersistent: Bool?
  private var legacySizeBytes: Int64?

  private static let defaultMapSizeBytes = Atomic<Int>(64 << 30)

  /// For the command line, which calls it before it opens a database.
  package static func setDefaultMapSizeBytes(_ bytes: Int) {
    defaultMapSizeBytes.store(bytes, ordering: .relaxed)
  }

  static let defaultHost = "firestore.googleapis.com"

  public override init() {}

  private static let properties: [ObjectProperty<FirestoreSettings>] = [
    .init(\.host), .init(\.isSSLEnabled), .init(\.durability),
    .init(\.isReadOnly), .init(\.queueLimitBytes), .init(\.mapSizeBytes),
    .init(\.validatesPagesOnOpen), .init(\.verifiesChecksumsOnRead),
    .init(\.maxQueryThreads), .init(\.allowsRemoteFileSystem),
    .init(\.changeLogRetention), .init(\.changeLogLimitBytes), .init(\.indexPolicy),
    .init(\.ttlSweepInterval), .init(\.maximumClockLead),
  ]

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = FirestoreSettings()
    for property in Self.properties { property.copy(self, copy) }
    copy.chosenQueue = chosenQueue
    copy.ownQueue = ownQueue
    copy.clock = clock
    copy.chosenCache = chosenCache
    copy.legacyIsPersistent = legacyIsPersistent
    copy.legacySizeBytes = legacySizeBytes
    return copy
  }

  /// Whether the other settings have the same values.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return Self.properties.allSatisfy { $0.isEqual(self, other) }
      && chosenQueue === other.chosenQueue && cacheSettings.isEqual(other.cacheSettings)
  }

  public override var hash: Int { Hasher.hash(host, isSSLEnabled, cacheSettings.hash) }
}

extension FirestoreSettings {
  func copied() -> FirestoreSettings { copy() as? FirestoreSettings ?? FirestoreSettings() }

  /// The same settings for the backend.
  var embedded: EmbeddedBackend.Settings {
    var settings = EmbeddedBackend.Settings()
    settings.store.isReadOnly = isReadOnly
    settings.store.mapSizeBytes = mapSizeBytes
    settings.store.validatesPages = validatesPagesOnOpen
    settings.store.verifiesChecksumsOnRead = verifiesChecksumsOnRead
    settings.store.scanThreads = max(1, min(maxQueryThreads, 64))
    settings.store.allowsRemoteFileSystem = allowsRemoteFileSystem
    settings.store.retention = ChangeLogRetention(
      age: changeLogRetention, limitBytes: changeLogLimitBytes)
    settings.store.ttlSweepInterval = ttlSweepInterval
    settings.queueLimitBytes = queueLimitBytes
    settings.store.commitTime.maximumLead = maximumClockLead
    if let clock { settings.store.now = { Instant(clock()) } }
    settings.store.durability =
      switch durability {
      case .full: .full
      case .lastCommitMayBeLost: .lastCommitMayBeLost
      case .unsafeWithoutFlushing: .unsafeWithoutFlushing
      }
    settings.indexPolicy =
      switch indexPolicy {
      case .automatic: .automatic
      case .declared: .declared
      case .strict: .strict
      }
    return settings
  }

  /// Whether data is kept in a file.
  var isPersistent: Bool { cacheSettings is PersistentCacheSettings }

  /// The error for settings that contradict each other.
  var validationError: Status? {
    if !isSSLEnabled, host == FirestoreSettings.defaultHost {
      return .invalidArgument(
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.")
    }
    if chosenCache != nil, legacyIsPersistent != nil || legacySizeBytes != nil {
      return .invalidArgument(
        "You can't set 'cacheSettings' together with 'isPersistenceEnabled' or 'cacheSizeBytes'.")
    }
    guard mapSizeBytes > 0, queueLimitBytes > 0, changeLogRetention >= .zero,
      changeLogLimitBytes >= 0, ttlSweepInterval.map({ $0 > .zero }) ?? true
    else {
      return .invalidArgument("Sizes and times in settings cannot be negative.")
    }
    // Commits within a microsecond are ahead of the clock, too.
    guard maximumClockLead.map({ $0 >= .seconds(1) }) ?? true else {
      return .invalidArgument("The setting maximumClockLead is less than one second.")
    }
    let sizeBytes: Int64? =
      switch cacheSettings {
      case let persistent as PersistentCacheSettings: persistent.sizeBytes.int64Value
      case let memory as MemoryCacheSettings:
        (memory.garbageCollectorSettings as? MemoryLRUGCSettings)?.sizeBytes.int64Value
      default: nil
      }
    if let sizeBytes, sizeBytes != FirestoreCacheSizeUnlimited, sizeBytes < smallestCacheBytes {
      return .invalidArgument("Cache size must be set to at least \(smallestCacheBytes) bytes")
    }
    return nil
  }
}

private let defaultCacheBytes: Int64 = 100 * 1024 * 1024
private let smallestCacheBytes: Int64 = 1024 * 1024

/// Where data is kept: `PersistentCacheSettings` or `MemoryCacheSettings`.
public protocol LocalCacheSettings {}

/// Keeps data in a file.
public final class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings {
  let sizeBytes: NSNumber

  public override convenience init() {
    self.init(sizeBytes: NSNumber(value: defaultCacheBytes))
  }

  /// The size is kept, but has no effect: data is never evicted.
  public init(sizeBytes: NSNumber) { self.sizeBytes = sizeBytes }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object is of this class with the same `sizeBytes`.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? PersistentCacheSettings)?.sizeBytes == sizeBytes
  }

  public override var hash: Int { sizeBytes.hash }
}

/// Deletes the data when the database is closed, and at the end of the process.
///
/// Until then the data is in a folder of the temporary directory, for its user only. If a process
/// is killed, the next process that opens such a database deletes the folder.
public final class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings {
  let garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol

  public override convenience init() {
    self.init(garbageCollectorSettings: MemoryLRUGCSettings())
  }

  /// `garbageCollectorSettings` has no effect: nothing is collected.
  public init(
    garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol
  ) {
    self.garbageCollectorSettings = garbageCollectorSettings
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object is of this class with equal settings for collecting garbage.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? MemoryCacheSettings)?.garbageCollectorSettings.isEqual(garbageCollectorSettings)
      ?? false
  }

  public override var hash: Int { garbageCollectorSettings.hash }
}

/// The garbage collection of Firestore's memory cache: `MemoryEagerGCSetting` or
/// `MemoryLRUGCSettings`. Has no effect.
public protocol MemoryGarbageCollectorSettings {}

/// Has no effect; for source compatibility. See `MemoryCacheSettings`.
public final class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings {
  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// True for every object of this class.
  public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

  public override var hash: Int { 0 }
}

/// Has no effect; for source compatibility. See `MemoryCacheSettings`.
public final class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings {
  let sizeBytes: NSNumber

  public override convenience init() {
    self.init(sizeBytes: NSNumber(value: defaultCacheBytes))
  }

  /// Settings with a limit in bytes, which has no effect.
  public init(sizeBytes: NSNumber) { self.sizeBytes = sizeBytes }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object is of this class with the same `sizeBytes`.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? MemoryLRUGCSettings)?.sizeBytes == sizeBytes
  }

  public override var hash: Int { sizeBytes.hash }
}
