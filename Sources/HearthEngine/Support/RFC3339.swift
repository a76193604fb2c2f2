/// Times as text: `1965-08-01T02:00:00.000001+02:00`, of the years 0001 to 9999 in UTC.
///
/// Written by hand, because `Date` cannot hold every microsecond of these years.
package enum RFC3339 {
  /// The seconds since 1970 from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
  package static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// A time in UTC, with `fractionDigits` digits of its second, 0 to 9; further ones are cut off.
  package static func text(seconds: Int64, nanoseconds: Int32, fractionDigits: Int) -> String {
    let (day, second) = seconds.quotientAndRemainder(floorDividingBy: 86_400)
    let date = CivilDate(daysSince1970: day)
    var text = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
    text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    if fractionDigits > 0 { text += "." + padded(Int64(nanoseconds), 9).prefix(fractionDigits) }
    return text + "Z"
  }

  private static func padded(_ number: Int64, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
  }

  /// Reads a time with `Z` or an offset, and with none or 1 to 9 digits of a fraction of its second.
  /// Nil for another text, for a day or a leap second that does not exist here, and outside the years.
  ///
  /// - Parameter takesLowercase: `t` and `z` are taken, too. Protocol Buffers refuse them.
  package static func read(
    _ text: String, takesLowercase: Bool = false
  ) -> (seconds: Int64, nanoseconds: Int32)? {
    var text = text
    return text.withUTF8 { utf8 in
      var rest = Rest(bytes: utf8[...])
      guard let year = rest.number(4), rest.take("-"), let month = rest.number(2), rest.take("-"),
        let day = rest.number(2), rest.take("T") || takesLowercase && rest.take("t"),
        let hour = rest.number(2), rest.take(":"), let minute = rest.number(2), rest.take(":"),
        let second = rest.number(2), year > 0, hour < 24, minute < 60, second < 60
      else { return nil }
      let date = CivilDate(year: year, month: month, day: day)
      guard CivilDate(daysSince1970: date.daysSince1970) == date else { return nil }
      var nanoseconds: Int64 = 0
      if rest.take(".") {
        let count = rest.digitCount
        guard count <= 9, let fraction = rest.number(count) else { return nil }
        nanoseconds = fraction
        for _ in count..<9 { nanoseconds *= 10 }
      }
      guard let offset = rest.offset(takesLowercase: takesLowercase), rest.bytes.isEmpty else {
        return nil
      }
      let time = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
      return seconds.contains(time) ? (time, Int32(nanoseconds)) : nil
    }
  }

  /// The rest of a text.
  private struct Rest {
    var bytes: Slice<UnsafeBufferPointer<UInt8>>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard bytes.first == UInt8(ascii: character) else { return false }
      bytes = bytes.dropFirst()
      return true
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// How many digits come next.
    var digitCount: Int { bytes.prefix { Self.digits.contains($0) }.count }

    /// A number of so many digits, at least one.
    mutating func number(_ count: Int) -> Int64? {
      guard count > 0, bytes.count >= count else { return nil }
      var number: Int64 = 0
      for byte in bytes.prefix(count) {
        guard Self.digits.contains(byte) else { return nil }
        number = number * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      bytes = bytes.dropFirst(count)
      return number
    }

    /// In seconds; 0 for `Z`.
    mutating func offset(takesLowercase: Bool) -> Int64? {
      if take("Z") || takesLowercase && take("z") { return 0 }
      let isBehind = take("-")
      guard isBehind || take("+"), let hours = number(2), take(":"), let minutes = number(2),
        hours < 24, minutes < 60
      else { return nil }
      return (isBehind ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
  }
}
