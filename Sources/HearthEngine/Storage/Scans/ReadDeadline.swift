import Glibc
import Synchronization

/// When a read ends before it is done: it then throws `Passed`.
///
/// The time that it may hold a thread with other work (`soon`). The read runs again, from the
/// beginning, on a thread that has no other work. So a short read costs no change of threads, and a
/// long one costs its caller's executor no more than `nanoseconds`.
///
/// Or the moment when nobody wants its result any more (`ReadCancellation`).
struct ReadDeadline: Sendable {
  /// The deadline has passed. Never leaves the backend.
  struct Passed: Error {}

  /// With pages in memory, what runs between two checks takes less than 10 µs.
  static let nanoseconds: UInt64 = 40_000
  /// Larger documents are never copied before a time is over: copying takes too long.
  static let copyLimitBytes = 32 << 10

  private let end: UInt64
  private let cancellation: ReadCancellation?

  /// A deadline that begins now.
  static var soon: ReadDeadline { ReadDeadline(end: now + nanoseconds, cancellation: nil) }
  static let passed = ReadDeadline(end: 0, cancellation: nil)

  static func at(_ cancellation: ReadCancellation) -> ReadDeadline {
    ReadDeadline(end: .max, cancellation: cancellation)
  }

  /// The read is on a thread with other work, and uses no other threads.
  var isSoon: Bool { cancellation == nil }

  var hasPassed: Bool {
    if let cancellation { return cancellation.isCancelled }
    return Self.now >= end
  }

  /// Throws `Passed` after the deadline.
  func check() throws { if hasPassed { throw Passed() } }

  /// Same as `check`, before that many bytes are copied or decoded.
  func check(copying byteCount: Int) throws {
    if isTooSoon(for: byteCount) { throw Passed() }
    try check()
  }

  /// Whether the read would run beyond the time in which it holds a thread with other work, if it
  /// looked at each of that many bytes first.
  func isTooSoon(for byteCount: Int) -> Bool { isSoon && byteCount > Self.copyLimitBytes }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Ends a read whose result nobody wants any more.
final class ReadCancellation: Sendable {
  private let isSet = Atomic<Bool>(false)

  var isCancelled: Bool { isSet.load(ordering: .relaxed) }

  func cancel() { isSet.store(true, ordering: .relaxed) }
}
