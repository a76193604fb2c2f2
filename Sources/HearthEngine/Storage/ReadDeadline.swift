#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The end of the time that a read may hold a thread with other work.
///
/// A read that reaches it throws `Passed`, and runs again, from the beginning, on a thread that has
/// no other work. So a short read costs no change of threads, and a long one costs its caller's
/// executor no more than `nanoseconds`.
struct ReadDeadline: Sendable {
  /// The deadline has passed. Never leaves the backend.
  struct Passed: Error {}

  /// With pages in memory, what runs between two checks takes less than 10 µs.
  static let nanoseconds: UInt64 = 40_000
  /// Larger documents are never copied before the deadline: copying takes too long.
  static let copyLimitBytes = 32 << 10

  private let end: UInt64

  /// A deadline that begins now.
  static var soon: ReadDeadline { ReadDeadline(end: now + nanoseconds) }
  static let passed = ReadDeadline(end: 0)

  var hasPassed: Bool { Self.now >= end }

  /// Throws `Passed` after the deadline.
  func check() throws { if hasPassed { throw Passed() } }

  /// Same as `check`, before that many bytes are copied or decoded.
  func check(copying byteCount: Int) throws {
    if byteCount > Self.copyLimitBytes { throw Passed() }
    try check()
  }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
