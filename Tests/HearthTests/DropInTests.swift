import FirebaseCore
import class FirebaseCore.Timestamp
import FirebaseFirestore
import FirebaseSharedSwift
import Foundation
import Testing

/// What apps import, all in one file.
struct DropInTests {
  @Test func `an app's imports find the same types`() throws {
    let timestamp: FirebaseCore.Timestamp = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(type(of: timestamp) == FirebaseFirestore.Timestamp.self)
    #expect(FirebaseFirestore.GeoPoint(latitude: 1, longitude: 2).latitude == 1)
    #expect(FieldValue.delete() == FieldValue.delete())
    let app: FirebaseCore.FirebaseApp? = FirebaseApp.app(name: "nobody")
    #expect(app == nil)
  }
}
