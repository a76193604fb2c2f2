import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A database over the backend that the tests are run with (`HEARTH_TEST_BACKEND`), and the clock that it
/// looks at.
final class BackendFixture {
  let clock = TestClock()
  let firestore: Firestore
  let backend: any StoreBackend
  private let folder = TemporaryFolder()

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.clock = { [clock] in Timestamp(clock.now) }
    firestore = try Firestore.open(at: folder.path + "/fixture.hearth", settings: settings)
    backend = try #require(firestore.database().backend as? any StoreBackend)
  }
}
