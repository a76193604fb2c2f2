import Foundation

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
/// Settings that contradict each other are refused when they are given to the database.
public final class FirestoreSettings: NSObject, NSCopying {
  public var host = FirestoreSettings.defaultHost
  public var isSSLEnabled = true

  /// Where completion handlers and listeners run. By default a serial queue of our own: a Linux service
  /// has no main run loop that would drain the main queue.
  public var dispatchQueue = FirestoreSettings.defaultQueue

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

  private var chosenCache: (any LocalCacheSettings & NSObjectProtocol)?
  private var legacyIsPersistent: Bool?
  private var legacySizeBytes: Int64?

  static let defaultHost = "firestore.googleapis.com"
  static let defaultQueue = DispatchQueue(label: "hearth.callbacks")

  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = FirestoreSettings()
    copy.host = host
    copy.isSSLEnabled = isSSLEnabled
    copy.dispatchQueue = dispatchQueue
    copy.chosenCache = chosenCache
    copy.legacyIsPersistent = legacyIsPersistent
    copy.legacySizeBytes = legacySizeBytes
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return host == other.host && isSSLEnabled == other.isSSLEnabled
      && dispatchQueue === other.dispatchQueue && cacheSettings.isEqual(other.cacheSettings)
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

/// Data is forgotten when the database is closed.
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
