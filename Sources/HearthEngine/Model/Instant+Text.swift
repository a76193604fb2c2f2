internal import HearthText

/// `1965-08-01T00:00:00.000001Z`: in UTC, to the microsecond.
extension Instant {
  /// Without a fraction if the second is whole, otherwise with six digits.
  package var text: String {
    RFC3339.text(
      seconds: seconds, nanoseconds: nanoseconds, fractionDigits: nanoseconds == 0 ? 0 : 6)
  }

  /// Rounds down to a microsecond. Nil if the text is not a time of the years 0001 to 9999.
  init?(text: String) {
    guard let time = RFC3339.read(text) else { return nil }
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}
