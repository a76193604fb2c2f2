/// `1965-08-01T00:00:00.000001Z`: in UTC, to the microsecond.
///
/// Written by hand, because `Date` cannot hold every microsecond of the years 0001 to 9999.
extension Instant {
  /// Without a fraction if the second is whole, otherwise with six digits.
  var text: String {
    let (day, second) = seconds.quotientAndRemainder(floorDividingBy: 86_400)
    let date = CivilDate(daysSince1970: day)
    let fraction = nanoseconds == 0 ? "" : "." + Self.digits(Int64(nanoseconds) / 1000, 6)
    return "\(Self.digits(date.year, 4))-\(Self.digits(date.month, 2))-\(Self.digits(date.day, 2))T"
      + "\(Self.digits(second / 3600, 2)):\(Self.digits(second / 60 % 60, 2)):"
      + "\(Self.digits(second % 60, 2))\(fraction)Z"
  }

  /// Rounds down to a microsecond. Nil if the text is not a time of the years 0001 to 9999 in UTC.
  init?(text: String) {
    var rest = Array(text.utf8)[...]
    func number(_ count: Int, _ end: Unicode.Scalar?) -> Int64? {
      guard rest.count >= count else { return nil }
      var number: Int64 = 0
      for byte in rest.prefix(count) {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        number = number * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      rest = rest.dropFirst(count)
      guard let end else { return number }
      guard rest.first == UInt8(ascii: end) else { return nil }
      rest = rest.dropFirst()
      return number
    }
    guard let year = number(4, "-"), let month = number(2, "-"), let day = number(2, "T"),
      let hour = number(2, ":"), let minute = number(2, ":"), let second = number(2, nil),
      hour < 24, minute < 60, second < 60
    else { return nil }
    var nanoseconds: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      let count = min(rest.count - 1, 9)
      guard count > 0, let fraction = number(count, nil) else { return nil }
      nanoseconds = fraction
      for _ in count..<9 { nanoseconds *= 10 }
    }
    let date = CivilDate(year: year, month: month, day: day)
    guard rest.elementsEqual([UInt8(ascii: "Z")]),
      CivilDate(daysSince1970: date.daysSince1970) == date
    else { return nil }
    self.init(
      seconds: date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second,
      nanoseconds: Int32(nanoseconds))
  }

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }
}

/// A day of the proleptic Gregorian calendar. Conversions begin the year in March, so that a leap
/// day is last.
package struct CivilDate: Equatable {
  package var year: Int64
  package var month: Int64
  package var day: Int64

  package init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  package init(daysSince1970 days: Int64) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(floorDividingBy: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  package var daysSince1970: Int64 {
    let (era, yearOfEra) =
      (month <= 2 ? year - 1 : year).quotientAndRemainder(floorDividingBy: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}

extension Int64 {
  package func quotientAndRemainder(
    floorDividingBy divisor: Int64
  ) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
