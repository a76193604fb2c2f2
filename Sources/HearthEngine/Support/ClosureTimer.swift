import Glibc
import Logging

/// Logs a user's closure that ran for more than a second: while it runs, others wait.
///
/// The clock is coarse, a few milliseconds, because every read in a closure looks at it twice.
package struct ClosureTimer {
  private let began: Int

  /// - Parameter age: How long the closure has been running.
  package init(begunBefore age: Duration = .zero) {
    began = ClosureTimer.milliseconds() - Int(age.components.seconds) * 1000
  }

  package func warnIfLong(_ sentence: @autoclosure () -> Logger.Message, _ logger: Logger) {
    let milliseconds = ClosureTimer.milliseconds() - began
    guard milliseconds > 1000 else { return }
    logger.warning(
      sentence(), metadata: ["duration": "\(Duration.milliseconds(milliseconds))"])
  }

  private static func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
