/// A moment, in whole microseconds since 1970-01-01T00:00:00Z: Firestore's stored precision.
///
/// The range is that of `google.protobuf.Timestamp`, years 0001 to 9999.
package struct Instant: Hashable, Comparable, Sendable {
  package var microseconds: Int64

  /// 0001-01-01T00:00:00Z.
  static let earliest = Instant(microseconds: -62_135_596_800 * 1_000_000)
  /// 9999-12-31T23:59:59.999999Z.
  static let latest = Instant(microseconds: 253_402_300_800 * 1_000_000 - 1)

  package init(microseconds: Int64) {
    self.microseconds = microseconds
  }

  /// Rounds down to a microsecond, as Firestore does. Nil outside the years 0001 to 9999, or if
  /// `nanoseconds` is not in 0..<1,000,000,000.
  package init?(seconds: Int64, nanoseconds: Int32) {
    guard (-62_135_596_800..<253_402_300_800).contains(seconds),
      (0..<1_000_000_000).contains(nanoseconds)
    else { return nil }
    microseconds = seconds * 1_000_000 + Int64(nanoseconds) / 1000
  }

  /// Whole seconds, rounded down.
  package var seconds: Int64 {
    let quotient = microseconds / 1_000_000
    return microseconds % 1_000_000 < 0 ? quotient - 1 : quotient
  }

  /// The fraction of the second, 0..<1,000,000,000.
  package var nanoseconds: Int32 {
    Int32((microseconds - seconds * 1_000_000) * 1000)
  }

  package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.microseconds < rhs.microseconds }
}
