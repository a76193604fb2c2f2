import Foundation
import Synchronization

/// No limit for a cache's size.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// How a database is used. Set before the database's first use.
///
///     let settings = FirestoreSettings()
///     settings.cacheSettings = MemoryCacheSettings()
///     Firestore.firestore().settings = settings
///
/// There is no server: `host` and `isSSLEnabled` are kept for source compatibility and do nothing. What
/// Firestore calls the cache is the database itself: nothing is ever evicted from it, so sizes are
/// checked and kept, but do nothing either. Memory cache settings make a database that is forgotten when
/// it is closed.
///
/// Settings that contradict each other are refused with `invalidArgument` when the database is opened, and at every
/// use until then.
public final class FirestoreSettings: NSObject, NSCopying {
  public var host = FirestoreSettings.defaultHost
  public var isSSLEnabled = true

  /// Where completion handlers and listeners run that were handed over outside of any actor.
  ///
  /// Unless you set it, each database has a serial queue of its own, which `settings.dispatchQueue` of the database
  /// returns. A slow callback delays the others of its queue, and a write that waits for one of them by at most 100
  /// ms; see <doc:WritesAndListeners>. It delays no callback of other queues and no sequence. The main queue is not
  /// the default: a Linux service has no main run loop that would drain it.
  public var dispatchQueue: DispatchQueue {
    get { chosenQueue ?? ownQueue.queue }
    set { chosenQueue = newValue }
  }

  /// How data is kept. By default in a file.
  public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
    get {
      if let chosenCache { return chosenCache }
      return legacyIsPersistent ?? true
        ? PersistentCacheSettings(sizeBytes: NSNumber(value: legacySizeBytes ?? defaultCacheBytes))
        : MemoryCacheSettings()
    }
    set { chosenCache = newValue }
  }

  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var isPersistenceEnabled: Bool {
    get { legacyIsPersistent ?? (chosenCache.map { $0 is PersistentCacheSettings } ?? true) }
    set { legacyIsPersistent = newValue }
  }

  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var cacheSizeBytes: Int64 {
    get { legacySizeBytes ?? defaultCacheBytes }
    set { legacySizeBytes = newValue }
  }

  // MARK: Of this database alone

  /// What an acknowledged write survives.
  public var durability = Durability.full

  /// Opens an existing file without ever writing to it; writes then fail with `failedPrecondition`.
  public var isReadOnly = false

  /// How many bytes of writes that nobody awaits may wait for their commit, with or without a completion handler. A
  /// write beyond it fails with `resourceExhausted`; one is always taken if no other waits, however large. Awaited
  /// writes are not counted and never refused for this; bulk writers have a limit of their own.
  public var queueLimitBytes = 64 << 20

  /// Address space reserved for the file, in bytes: not disk, and grown by itself when data outgrows it.
  /// Smaller where `ulimit -v` or very many open databases ask for it.
  public var mapSizeBytes = FirestoreSettings.defaultMapSizeBytes.load(ordering: .relaxed)

  /// Verifies the checksum of a document also where it is decoded in place, by `getDocument(as:)` and
  /// `getDocuments(as:)`; without this they throw `dataLoss` only for bytes that are no document. A document that
  /// is copied out (snapshots, results of queries, listeners, exports) is always verified, and throws `dataLoss`
  /// if it is damaged.
  public var verifiesChecksumsOnRead = false

  /// Reads every page of the file before it is used, and throws `dataLoss` if one is damaged. Opening then takes as
  /// long as reading the file.
  ///
  /// The file is mapped into memory, and LMDB believes its pages: without this, opening looks at the headers, the
  /// file's length and the first page of each table, and a page damaged elsewhere may end the process with a signal
  /// when it is used. Damage that comes after the file was opened is not found by this. `Firestore.check`, `repair`
  /// and `export` never use a page that they have not looked at.
  public var validatesPagesOnOpen = false

  /// How many threads one query may take where it looks at, or decodes, very many documents: as many as
  /// there are processors, at most four. With 1 every query stays on its caller's thread.
  ///
  /// `getDocuments(as:)` decodes results on several threads only if their type is `Sendable` and its
  /// conformance to `Decodable` belongs to no actor, and if the decoder has no closures and no `userInfo`.
  /// All other types are decoded where the caller runs.
  public var queryThreads = EmbeddedBackend.Settings.defaultQueryThreads

  /// Opens a file on a network file system, which LMDB does not support: locks there may not hold.
  public var allowsRemoteFileSystem = false

  /// For how long, and in about how many bytes at most, past changes are kept for `Firestore.changes(since:)` and for
  /// listeners that resume. What exceeds either is trimmed with later commits.
  public var changeLogRetention: (seconds: Int, bytes: Int) = (3600, 64 << 20)

  /// Which indexes there are. Results of queries are the same under each.
  public var indexPolicy = IndexPolicy.automatic

  /// Who decides which indexes there are.
  public enum IndexPolicy: Sendable, Hashable {
    /// Declared indexes, and indexes created for a query that ran three times, each time reading more than 1,000
    /// documents and more than ten times its result. At most ten for one collection id are created so, in the
    /// background. Those that no query has read for 30 days are dropped. Each is logged.
    case automatic
    /// Declared ones only.
    case declared
    /// Declared ones only, and a query whose index is not there is refused with `failedPrecondition`, which
    /// names it as an entry of a `firestore.indexes.json`.
    case strict
  }

  /// How often documents that have expired are deleted, at least once a year; see `Firestore.setExpiry`. With
  /// nil only `deleteExpiredDocuments()` deletes them, or another process.
  public var expirySweepInterval: Duration? = .seconds(60)

  /// The wall clock, for `HearthTesting`; nil for the system's. Settings with different clocks are equal.
  package var clock: (@Sendable () -> Timestamp)?

  /// What an acknowledged write survives.
  public enum Durability: Sendable, Hashable {
    /// The end of the process, of the system, and of its power.
    case full
    /// The same, but that after a power failure the very last commit may be gone. One flush a commit
    /// instead of two.
    case lastCommitMayBeLost
    /// The end of the process only: a power failure may destroy the whole database. For tests.
    case unsafeWithoutFlushing
  }

  private var chosenQueue: DispatchQueue?
  /// Where callbacks run as long as nobody chose a queue. Shared by copies. A database replaces it with
  /// its own in the settings it keeps.
  var ownQueue = LazyCallbackQueue()
  private var chosenCache: (any LocalCacheSettings & NSObjectProtocol)?
  private var legacyIsPersistent: Bool?
  private var legacySizeBytes: Int64?

  private static let defaultMapSizeBytes = Atomic<Int>(64 << 30)

  /// For the command line, before it opens anything.
  package static func setDefaultMapSizeBytes(_ bytes: Int) {
    defaultMapSizeBytes.store(bytes, ordering: .relaxed)
  }

  static let defaultHost = "firestore.googleapis.com"

  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = FirestoreSettings()
    copy.host = host
    copy.isSSLEnabled = isSSLEnabled
    copy.chosenQueue = chosenQueue
    copy.ownQueue = ownQueue
    copy.durability = durability
    copy.isReadOnly = isReadOnly
    copy.queueLimitBytes = queueLimitBytes
    copy.mapSizeBytes = mapSizeBytes
    copy.validatesPagesOnOpen = validatesPagesOnOpen
    copy.verifiesChecksumsOnRead = verifiesChecksumsOnRead
    copy.queryThreads = queryThreads
    copy.allowsRemoteFileSystem = allowsRemoteFileSystem
    copy.changeLogRetention = changeLogRetention
    copy.indexPolicy = indexPolicy
    copy.expirySweepInterval = expirySweepInterval
    copy.clock = clock
    copy.chosenCache = chosenCache
    copy.legacyIsPersistent = legacyIsPersistent
    copy.legacySizeBytes = legacySizeBytes
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return host == other.host && isSSLEnabled == other.isSSLEnabled
      && durability == other.durability && isReadOnly == other.isReadOnly
      && queueLimitBytes == other.queueLimitBytes && mapSizeBytes == other.mapSizeBytes
      && validatesPagesOnOpen == other.validatesPagesOnOpen
      && verifiesChecksumsOnRead == other.verifiesChecksumsOnRead
      && queryThreads == other.queryThreads
      && allowsRemoteFileSystem == other.allowsRemoteFileSystem
      && changeLogRetention == other.changeLogRetention && indexPolicy == other.indexPolicy
      && expirySweepInterval == other.expirySweepInterval
      && chosenQueue === other.chosenQueue && cacheSettings.isEqual(other.cacheSettings)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(host)
    hasher.combine(isSSLEnabled)
    hasher.combine(cacheSettings.hash)
    return hasher.finalize()
  }
}

extension FirestoreSettings {
  func copied() -> FirestoreSettings { copy() as? FirestoreSettings ?? FirestoreSettings() }

  /// As the backend takes them.
  var embedded: EmbeddedBackend.Settings {
    var settings = EmbeddedBackend.Settings()
    settings.isReadOnly = isReadOnly
    settings.mapSizeBytes = mapSizeBytes
    settings.validatesPages = validatesPagesOnOpen
    settings.verifiesChecksumsOnRead = verifiesChecksumsOnRead
    settings.queryThreads = queryThreads
    settings.allowsRemoteFileSystem = allowsRemoteFileSystem
    settings.changeLogAge = .seconds(changeLogRetention.seconds)
    settings.changeLogBytes = changeLogRetention.bytes
    settings.expirySweepInterval = expirySweepInterval
    settings.queueLimitBytes = queueLimitBytes
    settings.clock = clock
    settings.durability =
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

  /// What the database refuses about these settings.
  var fault: Status? {
    if !isSSLEnabled, host == FirestoreSettings.defaultHost {
      return .invalidArgument(
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.")
    }
    if chosenCache != nil, legacyIsPersistent != nil || legacySizeBytes != nil {
      return .invalidArgument(
        "You can't set 'cacheSettings' together with 'isPersistenceEnabled' or 'cacheSizeBytes'.")
    }
    guard mapSizeBytes > 0, queueLimitBytes > 0, changeLogRetention.seconds >= 0,
      changeLogRetention.bytes >= 0, expirySweepInterval.map({ $0 > .zero }) ?? true
    else {
      return .invalidArgument("Sizes and times in settings cannot be negative.")
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

/// How data is kept: `PersistentCacheSettings` or `MemoryCacheSettings`.
public protocol LocalCacheSettings {}

/// Data is kept in a file.
public final class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings {
  let sizeBytes: NSNumber

  public override convenience init() {
    self.init(sizeBytes: NSNumber(value: defaultCacheBytes))
  }

  /// The size is kept but does nothing: data is never evicted.
  public init(sizeBytes: NSNumber) { self.sizeBytes = sizeBytes }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? PersistentCacheSettings)?.sizeBytes == sizeBytes
  }

  public override var hash: Int { sizeBytes.hash }
}

/// Data is forgotten when the database is closed, and at the end of the process. Until then it is in a folder of
/// the temporary directory, for its user only; what a process leaves that was killed, the next one removes that
/// opens such a database.
public final class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings {
  let garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol

  public override convenience init() {
    self.init(garbageCollectorSettings: MemoryLRUGCSettings())
  }

  /// What is collected on Apple's platforms is kept here: there is no server to read it from again.
  public init(
    garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol
  ) {
    self.garbageCollectorSettings = garbageCollectorSettings
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? MemoryCacheSettings)?.garbageCollectorSettings.isEqual(garbageCollectorSettings)
      ?? false
  }

  public override var hash: Int { garbageCollectorSettings.hash }
}

/// What Firestore's memory cache forgets: `MemoryEagerGCSetting` or `MemoryLRUGCSettings`.
public protocol MemoryGarbageCollectorSettings {}

/// For source compatibility; see `MemoryCacheSettings`.
public final class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings {
  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

  public override var hash: Int { 0 }
}

/// For source compatibility; see `MemoryCacheSettings`.
public final class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings {
  let sizeBytes: NSNumber

  public override convenience init() {
    self.init(sizeBytes: NSNumber(value: defaultCacheBytes))
  }

  public init(sizeBytes: NSNumber) { self.sizeBytes = sizeBytes }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? MemoryLRUGCSettings)?.sizeBytes == sizeBytes
  }

  public override var hash: Int { sizeBytes.hash }
}
