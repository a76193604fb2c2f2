import Foundation
import Testing

/// The store of documents that the tests of the public API are run over.
package enum TestStore {
  /// That of `HEARTH_TEST_BACKEND`: `memory` or `postgres`. Nil for a file.
  package static let name = ProcessInfo.processInfo.environment["HEARTH_TEST_BACKEND"]

  package static let isFile = name == nil
}

extension Trait where Self == ConditionTrait {
  /// A test that makes sense only over the embedded backend; everything else runs over every backend.
  package static func embedded(_ reason: Comment) -> Self {
    .enabled(if: TestStore.isFile, reason)
  }
}
