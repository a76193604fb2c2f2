import Foundation

extension Instant {
  /// The nearest microsecond, so that a stored time read as a `Date` and written again stays the same:
  /// a `Date` of our days is up to 0.2 µs off. Nil outside the years 0001 to 9999.
  init?(_ date: Date) {
    let microseconds = (date.timeIntervalSince1970 * 1e6).rounded()
    guard microseconds >= Double(Instant.earliest.microseconds),
      microseconds <= Double(Instant.latest.microseconds)
    else { return nil }
    self.init(microseconds: min(Int64(microseconds), Instant.latest.microseconds))
  }

  var date: Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
  }
}
