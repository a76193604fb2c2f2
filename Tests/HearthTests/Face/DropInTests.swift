import FirebaseCore
import FirebaseFirestore
import FirebaseSharedSwift
import Foundation
import TestSupport
import Testing

import class FirebaseCore.FirebaseApp
import class FirebaseCore.Timestamp
import class FirebaseFirestore.GeoPoint

/// What apps import, all in one file, without looking inside.
@Suite(.ownThreads) struct DropInTests {
  @Test func `an app's imports find the same types`() {
    let timestamp: FirebaseCore.Timestamp = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(type(of: timestamp) == FirebaseFirestore.Timestamp.self)
    #expect(type(of: timestamp) == FirebaseSharedSwift.Timestamp.self)
    #expect(
      GeoPoint(latitude: 1, longitude: 2) == FirebaseFirestore.GeoPoint(latitude: 1, longitude: 2))
    let app: FirebaseCore.FirebaseApp? = FirebaseApp.app(name: "nobody")
    #expect(app == nil)
  }

  /// The usages of Firestore's own compile tests.
  @Test func `an app's source compiles`() throws {
    let error: any Error = NSError(domain: FirestoreErrorDomain, code: 14)
    switch error {
    case FirestoreErrorCode.unavailable: break
    default: Issue.record("A code does not match.")
    }
    #expect(
      FirestoreErrorCode.Code(rawValue: (error as NSError).code) == FirestoreErrorCode.unavailable)
    #expect((error as NSError).code == FirestoreErrorCode.unavailable.rawValue)

    let settings = FirestoreSettings()
    settings.host = "localhost"
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 104_857_600)
    settings.cacheSettings = MemoryCacheSettings(
      garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 2_000_000))

    let data: [AnyHashable: Any] = [
      "likes": FieldValue.increment(Int64(1)), "score": FieldValue.increment(1.5),
      FieldPath(["a", "b.c"]): FieldValue.arrayRemove(["x", 1]),
      "low": FieldValue.minimum(Int64(1)), "high": FieldValue.maximum(2.5),
      "now": FieldValue.serverTimestamp(), "when": Timestamp(date: Date()), "gone": NSNull(),
    ]
    #expect(data.count == 8)

    let block: (NSErrorPointer) -> Any? = { errorPointer in
      errorPointer?.pointee = error as NSError
      return nil
    }
    #expect(block(nil) == nil)
  }
}
