import Foundation

/// The processor time that a thread or this process has used. Unlike the time of day, it does not pass
/// while others use the processor.
package enum ProcessorTime {
  package static var ofThread: Duration { read(CLOCK_THREAD_CPUTIME_ID) }
  /// Of all threads.
  package static var ofProcess: Duration { read(CLOCK_PROCESS_CPUTIME_ID) }

  private static func read(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// How often both are run at most.
  private static let rounds = 20

  /// How many times as long `many` takes as `few`, on this thread.
  ///
  /// The least times are compared: others that use the same caches make a run slower, and none faster.
  /// Both are run in turns until their ratio is below `limit`, so only what never comes below it is
  /// measured for long.
  package static func ratio(
    of many: () throws -> Void, to few: () throws -> Void, below limit: Double
  ) rethrows -> Double {
    var (least, most) = (Duration.seconds(3600), Duration.seconds(3600))
    var ratio = Double.infinity
    for round in 0..<rounds where round < 3 || ratio >= limit {
      least = min(least, try time(few))
      most = min(most, try time(many))
      ratio = most / max(least, .nanoseconds(1))
    }
    return ratio
  }

  /// The power of the number of elements that the time of `many` grows with, which has `factor` times the
  /// elements of `few`: 1 if each element takes the same time, 2 if each looks at all others.
  ///
  /// A limit of 1.5 is as far from the one as from the other. The more `factor` is, the less caches
  /// and other work on the machine move it: with 16, times may be off by a factor of 4.
  package static func exponent(
    of many: () throws -> Void, to few: () throws -> Void, factor: Double
  ) rethrows -> Double {
    let limit = 1.5
    return try log(ratio(of: many, to: few, below: pow(factor, limit))) / log(factor)
  }

  private static func time(_ body: () throws -> Void) rethrows -> Duration {
    let start = ofThread
    try body()
    return ofThread - start
  }
}
