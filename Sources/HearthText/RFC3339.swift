/// Times as text: `1965-08-01T02:00:00.000001+02:00`, of the years 0001 to 9999 in UTC.
///
/// Written by hand, because `Date` cannot hold every microsecond of these years.
package enum RFC3339 {
  /// The seconds since 1970 from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
  package static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// A time as it is written, on the clock of its offset.
  package struct Time {
    package let date: CivilDate
    let secondOfDay: Int64
    package let nanoseconds: Int32
    let offset: Int64

    /// Since 1970-01-01T00:00:00Z.
    package var seconds: Int64 { date.daysSince1970 * 86_400 + secondOfDay - offset }
  }

  /// A time in UTC, with `fractionDigits` digits of its second, 0 to 9; further ones are cut off.
  /// Without a number of digits: up to the last one that is not zero.
  package static func text(
    seconds: Int64, nanoseconds: Int32, fractionDigits: Int? = nil
  ) -> String {
    let (day, second) = seconds.quotientAndRemainder(floorDividingBy: 86_400)
    var text = CivilDate(daysSince1970: day).text + "T" + String(second / 3600, width: 2)
    text += ":" + String(second / 60 % 60, width: 2) + ":" + String(second % 60, width: 2)
    if fractionDigits != 0 { text += fraction(nanoseconds, digits: fractionDigits) }
    return text + "Z"
  }

  /// `.5` for 500,000,000 ns. Empty if there are no digits.
  package static func fraction(_ nanoseconds: Int32, digits: Int? = nil) -> String {
    var text = String(nanoseconds, width: 9)
    if let digits {
      text = String(text.prefix(digits))
    } else {
      while text.utf8.last == UInt8(ascii: "0") { text.removeLast() }
    }
    return text.isEmpty ? "" : "." + text
  }

  /// Reads a time of the years 0001 to 9999 in UTC, and on its own clock. Otherwise as `time`.
  package static func read(
    _ text: String, takesLowercase: Bool = false
  ) -> (seconds: Int64, nanoseconds: Int32)? {
    guard let time = Self.time(text, takesLowercase: takesLowercase), time.date.year > 0 else {
      return nil
    }
    let seconds = time.seconds
    return Self.seconds.contains(seconds) ? (seconds, time.nanoseconds) : nil
  }

  /// Reads a time with `Z` or an offset, and with none or 1 to 9 digits of a fraction of its second.
  /// Nil for another text, and for a day or a leap second that does not exist here. The year, 0000 to
  /// 9999, is that of its own clock.
  ///
  /// - Parameters:
  ///   - takesLowercase: `t` and `z` are taken, too. Protocol Buffers refuse them.
  ///   - cutsFraction: Further digits are ignored. They are refused otherwise.
  package static func time(
    _ text: String, takesLowercase: Bool = false, cutsFraction: Bool = false
  ) -> Time? {
    ASCIIReader.read(text) { reader in
      guard let date = reader.date(), date.exists,
        reader.take("T") || takesLowercase && reader.take("t"),
        let hour = reader.number(2), reader.take(":"), let minute = reader.number(2),
        reader.take(":"), let second = reader.number(2), hour < 24, minute < 60, second < 60
      else { return nil }
      var nanoseconds: Int64 = 0
      if reader.take(".") {
        guard let (digits, count) = reader.number(upTo: 9), !reader.skipDigits() || cutsFraction
        else { return nil }
        nanoseconds = digits
        for _ in count..<9 { nanoseconds *= 10 }
      }
      let isUTC = reader.take("Z") || takesLowercase && reader.take("z")
      guard let offset = isUTC ? 0 : reader.offset() else { return nil }
      return Time(
        date: date, secondOfDay: hour * 3600 + minute * 60 + second,
        nanoseconds: Int32(nanoseconds), offset: offset)
    }
  }
}
