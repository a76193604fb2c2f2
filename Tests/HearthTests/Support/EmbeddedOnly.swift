import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// A test that makes sense only over the embedded backend; everything else runs over every backend.
  static func embedded(_ reason: Comment) -> Self {
    .enabled(if: ProcessInfo.processInfo.environment["HEARTH_TEST_BACKEND"] == nil, reason)
  }
}
