import Foundation

extension Instant {
  /// Rounds to the nearest microsecond, so that a stored time read as a `Date` and written again
  /// stays the same: a present-day `Date` is up to 0.2 µs off. Nil outside the years 0001 to 9999.
  package init?(_ date: Date) {
    // The interval that `Date` stores. Its seconds since 1970 are rounded once more.
    let interval = date.timeIntervalSinceReferenceDate
    let seconds = interval.rounded(.down)
    guard let whole = Int64(exactly: seconds), whole.magnitude < 1_000_000_000_000 else {
      return nil
    }
    let sinceReference = whole * 1_000_000 + Int64(((interval - seconds) * 1e6).rounded())
    let microseconds = sinceReference + 978_307_200 * 1_000_000
    guard microseconds >= Instant.earliest.microseconds,
      microseconds <= Instant.latest.microseconds
    else { return nil }
    self.init(microseconds: microseconds)
  }

  /// The same `Date` as that of a `Timestamp` of this moment.
  var date: Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
  }
}
