import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

struct SettingsTests {
  @Test func `the defaults are Firestore's, but for the queue`() {
    let settings = FirestoreSettings()
    #expect(settings.host == "firestore.googleapis.com")
    #expect(settings.isSSLEnabled)
    #expect(settings.isPersistent)
    #expect(settings.cacheSettings.isEqual(PersistentCacheSettings(sizeBytes: 104_857_600)))
    #expect(settings.dispatchQueue !== DispatchQueue.main)
    #expect(settings.dispatchQueue === settings.dispatchQueue)
    #expect(settings.dispatchQueue !== FirestoreSettings().dispatchQueue)
    #expect(settings == FirestoreSettings())
    #expect(settings.validationError == nil)
    #expect(FirestoreCacheSizeUnlimited == -1)
  }

  @Test func `a copy is equal until one changes`() throws {
    let changes: [(FirestoreSettings) -> Void] = [
      { $0.host = "localhost:8080" },
      { $0.isSSLEnabled = false },
      { $0.dispatchQueue = DispatchQueue(label: "other") },
      { $0.cacheSettings = MemoryCacheSettings() },
      { $0.cacheSettings = PersistentCacheSettings(sizeBytes: 2_000_000) },
      { $0.durability = .lastCommitMayBeLost },
      { $0.isReadOnly = true },
      { $0.queueLimitBytes = 1 },
      { $0.mapSizeBytes = 1 },
      { $0.validatesPagesOnOpen = true },
      { $0.verifiesChecksumsOnRead = true },
      { $0.maxQueryThreads += 1 },
      { $0.allowsRemoteFileSystem = true },
      { $0.changeLogRetention = .seconds(1) },
      { $0.changeLogLimitBytes = 1 },
      { $0.indexPolicy = .strict },
      { $0.ttlSweepInterval = nil },
    ]
    for change in changes {
      let settings = FirestoreSettings()
      let copy = try #require(settings.copy() as? FirestoreSettings)
      #expect(copy == settings)
      #expect(copy.hash == settings.hash)
      change(copy)
      #expect(copy != settings)
      #expect(copy.copy() as? FirestoreSettings == copy)
    }
    #expect(!FirestoreSettings().isEqual("settings"))
  }

  @Test func `each setting arrives where files are opened`() {
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    settings.mapSizeBytes = 1 << 30
    settings.validatesPagesOnOpen = true
    settings.verifiesChecksumsOnRead = true
    settings.maxQueryThreads = 7
    settings.allowsRemoteFileSystem = true
    settings.changeLogRetention = .seconds(11)
    settings.changeLogLimitBytes = 13
    settings.ttlSweepInterval = .seconds(17)
    settings.maximumClockLead = .seconds(29)
    settings.queueLimitBytes = 19
    settings.indexPolicy = .strict
    settings.durability = .lastCommitMayBeLost
    settings.clock = { Timestamp(seconds: 23, nanoseconds: 0) }
    let embedded = settings.embedded
    #expect(embedded.queueLimitBytes == 19)
    #expect(embedded.indexPolicy == .strict)
    let store = embedded.store
    #expect(store.isReadOnly && store.validatesPages && store.verifiesChecksumsOnRead)
    #expect(store.allowsRemoteFileSystem)
    #expect(store.mapSizeBytes == 1 << 30)
    #expect(store.scanThreads == 7)
    #expect(store.retention.age == .seconds(11))
    #expect(store.retention.limitBytes == 13)
    #expect(store.ttlSweepInterval == .seconds(17))
    #expect(store.commitTime.maximumLead == .seconds(29))
    #expect(store.durability == .lastCommitMayBeLost)
    #expect(store.now() == Instant(microseconds: 23_000_000))
    settings.ttlSweepInterval = nil
    #expect(settings.embedded.store.ttlSweepInterval == nil)
  }

  @Test func `TLS can only be switched off for a host of one's own`() {
    let settings = FirestoreSettings()
    settings.isSSLEnabled = false
    #expect(
      settings.validationError?.message
        == "You can't set the 'sslEnabled' setting to false unless you also set a non-default "
        + "'host'.")
    settings.host = "localhost:8080"
    #expect(settings.validationError == nil)
  }

  @Test func `a cache has at least a mebibyte`() {
    let settings = FirestoreSettings()
    let sentence = "Cache size must be set to at least 1048576 bytes"
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 1_048_575)
    #expect(settings.validationError?.message == sentence)
    settings.cacheSettings = MemoryCacheSettings(
      garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 1_048_575))
    #expect(settings.validationError?.message == sentence)
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 1_048_576)
    #expect(settings.validationError == nil)
    settings.cacheSettings = PersistentCacheSettings(
      sizeBytes: NSNumber(value: FirestoreCacheSizeUnlimited))
    #expect(settings.validationError == nil)
  }

  @Test func `memory settings make a database that is forgotten`() {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    #expect(!settings.isPersistent)
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    #expect(!settings.isPersistent)
    #expect(settings.validationError == nil)
    settings.cacheSettings = PersistentCacheSettings()
    #expect(settings.isPersistent)
  }

  @available(*, deprecated)
  @Test func `the older settings say the same, but not together with the newer`() {
    let settings = FirestoreSettings()
    #expect(settings.isPersistenceEnabled)
    #expect(settings.cacheSizeBytes == 104_857_600)
    settings.cacheSizeBytes = 1000
    #expect(settings.validationError?.message == "Cache size must be set to at least 1048576 bytes")
    settings.cacheSizeBytes = 2_000_000
    #expect(settings.cacheSettings.isEqual(PersistentCacheSettings(sizeBytes: 2_000_000)))
    #expect(settings.validationError == nil)
    settings.isPersistenceEnabled = false
    #expect(!settings.isPersistent)
    #expect(settings.validationError == nil)
    settings.cacheSettings = PersistentCacheSettings()
    #expect(
      settings.validationError?.message == "You can't set 'cacheSettings' together with "
        + "'isPersistenceEnabled' or 'cacheSizeBytes'.")
  }

  @Test func `cache settings are equal by what they hold`() {
    #expect(PersistentCacheSettings() == PersistentCacheSettings(sizeBytes: 104_857_600))
    #expect(PersistentCacheSettings() != PersistentCacheSettings(sizeBytes: 2_000_000))
    #expect(MemoryLRUGCSettings() == MemoryLRUGCSettings(sizeBytes: 104_857_600))
    #expect(MemoryLRUGCSettings() != MemoryLRUGCSettings(sizeBytes: 2_000_000))
    #expect(MemoryEagerGCSetting() == MemoryEagerGCSetting())
    #expect(MemoryCacheSettings() == MemoryCacheSettings())
    let eager = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    #expect(eager != MemoryCacheSettings())
    #expect(eager.hash == (eager.copy() as? MemoryCacheSettings)?.hash)
    #expect(!MemoryCacheSettings().isEqual(PersistentCacheSettings()))
  }

  /// As large or as odd as their types allow: the database works, or says what it refuses.
  @Test(.embedded("Expiry is the embedded engine's."))
  func `no setting is so large that opening traps`() async throws {
    let folder = TemporaryFolder()
    let accepted: [(FirestoreSettings) -> Void] = [
      { $0.ttlSweepInterval = .seconds(Int64.max) },
      { $0.ttlSweepInterval = Duration(secondsComponent: .max, attosecondsComponent: 0) },
      { $0.ttlSweepInterval = .nanoseconds(1) },
      { $0.changeLogRetention = .seconds(Int64.max) },
      { $0.changeLogLimitBytes = .max },
      { $0.changeLogRetention = .zero },
      { $0.changeLogLimitBytes = 0 },
      { $0.queueLimitBytes = .max },
      { $0.queueLimitBytes = 1 },
      { $0.mapSizeBytes = 1 },
      { $0.maxQueryThreads = .max },
      { $0.maxQueryThreads = .min },
      { $0.cacheSettings = PersistentCacheSettings(sizeBytes: NSNumber(value: Int64.max)) },
    ]
    for (index, change) in accepted.enumerated() {
      let settings = FirestoreSettings()
      settings.durability = .unsafeWithoutFlushing
      change(settings)
      let db = try Firestore.open(at: folder.path + "/\(index).hearth", settings: settings)
      try await db.ttl.setPolicy(collectionGroup: "s", field: "until")
      for n in 0..<3 { try await db.document("s/\(n)").setData(["n": n]) }
      let query = db.collection("s").whereField("n", isLessThan: 9)
      #expect(try await query.getDocuments().count == 3, "\(index)")
      try await db.ttl.deleteExpired()
      try await db.terminate()
    }
    // No machine has that much address space.
    let settings = FirestoreSettings()
    settings.mapSizeBytes = .max
    let error = #expect(throws: NSError.self) {
      try Firestore.open(at: folder.path + "/large.hearth", settings: settings)
    }
    #expect(error?.code == Status.Code.unavailable.rawValue)
  }

  @Test(.embedded("Expiry is the embedded engine's."))
  func `without an interval nothing is swept until it is asked for`() async throws {
    let folder = TemporaryFolder()
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.ttlSweepInterval = nil
    #expect(settings.validationError == nil)
    let db = try Firestore.open(at: folder.path + "/never.hearth", settings: settings)
    try await db.ttl.setPolicy(collectionGroup: "s", field: "until")
    try await db.document("s/1").setData(["until": Timestamp(seconds: 1, nanoseconds: 0)])
    // A sweeper would look within a second.
    try await quietTime(.milliseconds(1500))
    #expect(try await db.document("s/1").getDocument().exists)
    #expect(try await db.ttl.deleteExpired() == 1)
    try await db.terminate()
  }
}
