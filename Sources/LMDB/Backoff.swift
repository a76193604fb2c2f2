import CLMDB
import Glibc

/// Sleeps in growing steps (1 ms, doubling, at most 50 ms) until a time limit is reached.
struct Backoff {
  private let limit: Duration
  private var waited = Duration.zero
  private var step = Duration.milliseconds(1)

  init(_ limit: Duration) { self.limit = limit }

  /// Returns false, without sleeping, once the limit is reached.
  mutating func wait() -> Bool {
    guard waited < limit else { return false }
    usleep(UInt32(clamping: step.components.attoseconds / 1_000_000_000_000))
    waited += step
    step = min(step * 2, .milliseconds(50))
    return true
  }
}
