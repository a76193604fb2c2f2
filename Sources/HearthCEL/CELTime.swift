/// Timestamps and durations: their texts, their ranges and the calendar.
///
///     timestamp   seconds since 1970, floor ── days ── year, month, day   (proleptic Gregorian)
///     duration    a count of nanoseconds in an Int64, as in cel-go: ±292 years
enum CELTime {
  static let nanosecondsPerSecond: Int64 = 1_000_000_000
  static let secondsPerDay: Int64 = 86_400
  /// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
  static let timestampSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// A moment in the years 1 to 9999.
  struct Timestamp: Hashable {
    let seconds: Int64
    /// 0 to 999,999,999.
    let nanoseconds: Int64

    /// Nil if the moment is out of range. Nanoseconds of any size and sign are carried.
    init?(seconds: Int64, nanoseconds: Int64) {
      let (carry, rest) = nanoseconds.quotientAndRemainderRoundedDown(by: nanosecondsPerSecond)
      let (sum, overflow) = seconds.addingReportingOverflow(carry)
      guard !overflow, timestampSeconds.contains(sum) else { return nil }
      self.seconds = sum
      self.nanoseconds = rest
    }

    /// Nil if the result is out of range.
    func adding(_ duration: Int64) -> Timestamp? {
      let (seconds, rest) = duration.quotientAndRemainderRoundedDown(by: nanosecondsPerSecond)
      return Timestamp(seconds: self.seconds + seconds, nanoseconds: nanoseconds + rest)
    }

    /// The duration from another moment to this one. Nil if it is out of range.
    func duration(since other: Timestamp) -> Int64? {
      CELTime.duration(
        seconds: seconds - other.seconds, nanoseconds: nanoseconds - other.nanoseconds)
    }

    var value: CELValue { .timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)) }
  }

  /// A duration in nanoseconds. Nil if it is out of range.
  static func duration(seconds: Int64, nanoseconds: Int64) -> Int64? {
    let (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: nanosecondsPerSecond)
    var (whole, overflow) = seconds.addingReportingOverflow(carry)
    guard !overflow else { return nil }
    var part = rest
    // Equal signs: the product of the least number of seconds may only fit with its nanoseconds.
    if whole < 0, part > 0 {
      whole += 1
      part -= nanosecondsPerSecond
    } else if whole > 0, part < 0 {
      whole -= 1
      part += nanosecondsPerSecond
    }
    let product = whole.multipliedReportingOverflow(by: nanosecondsPerSecond)
    guard !product.overflow else { return nil }
    let sum = product.partialValue.addingReportingOverflow(part)
    return sum.overflow ? nil : sum.partialValue
  }

  static func value(ofDuration nanoseconds: Int64) -> CELValue {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: nanosecondsPerSecond)
    return .duration(seconds: seconds, nanoseconds: Int32(rest))
  }

  // MARK: Calendar

  struct Civil {
    var year: Int64
    /// 1 to 12.
    var month: Int64
    /// 1 to 31.
    var day: Int64
  }

  /// The number of days since 1970-01-01. The era of 400 years begins on a 1st of March.
  static func days(of civil: Civil) -> Int64 {
    let year = civil.month <= 2 ? civil.year - 1 : civil.year
    let (era, yearOfEra) = year.quotientAndRemainderRoundedDown(by: 400)
    let month = civil.month > 2 ? civil.month - 3 : civil.month + 9
    let dayOfYear = (153 * month + 2) / 5 + civil.day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  static func civil(ofDays days: Int64) -> Civil {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainderRoundedDown(by: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return Civil(
      year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
      day: dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  static func daysInMonth(_ month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2:
      year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The result of `getFullYear` and its companions, for a moment of a time zone's clock.
  static func component(
    _ name: String, ofSeconds seconds: Int64, nanoseconds: Int64
  ) -> Int64? {
    let (days, time) = seconds.quotientAndRemainderRoundedDown(by: secondsPerDay)
    let civil = civil(ofDays: days)
    switch name {
    case "getFullYear": return civil.year
    case "getMonth": return civil.month - 1
    case "getDate": return civil.day
    case "getDayOfMonth": return civil.day - 1
    case "getDayOfWeek": return (days + 4).quotientAndRemainderRoundedDown(by: 7).remainder
    case "getDayOfYear": return days - self.days(of: Civil(year: civil.year, month: 1, day: 1))
    case "getHours": return time / 3600
    case "getMinutes": return time / 60 % 60
    case "getSeconds": return time % 60
    case "getMilliseconds": return nanoseconds / 1_000_000
    default: return nil
    }
  }

  // MARK: Texts

  /// RFC 3339: `2009-02-13T23:31:30.5Z`, `2009-02-14T00:31:30+01:00`.
  ///
  /// Digits of a fraction after the ninth are ignored. Nil if the text or its range is wrong.
  static func timestamp(_ text: String) -> Timestamp? {
    var reader = Reader(text)
    guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2),
      reader.take("-"), let day = reader.digits(2), reader.take("T"),
      let hour = reader.digits(2), reader.take(":"), let minute = reader.digits(2),
      reader.take(":"), let second = reader.digits(2),
      (1...12).contains(month), day >= 1, day <= daysInMonth(month, of: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    var nanoseconds: Int64 = 0
    if reader.take(".") {
      guard let (numerator, count) = reader.fraction() else { return nil }
      nanoseconds = numerator
      for _ in count..<9 { nanoseconds *= 10 }
    }
    guard let offset = reader.take("Z") ? 0 : reader.offset(), reader.isAtEnd else { return nil }
    let days = days(of: Civil(year: year, month: month, day: day))
    let seconds = days * secondsPerDay + hour * 3600 + minute * 60 + second - offset
    return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
  }

  /// RFC 3339 in UTC, with as many digits of a fraction as are not zero.
  static func text(of timestamp: Timestamp) -> String {
    let (days, time) = timestamp.seconds.quotientAndRemainderRoundedDown(by: secondsPerDay)
    let civil = civil(ofDays: days)
    return padded(civil.year, 4) + "-" + padded(civil.month, 2) + "-" + padded(civil.day, 2) + "T"
      + padded(time / 3600, 2) + ":" + padded(time / 60 % 60, 2) + ":" + padded(time % 60, 2)
      + fractionText(timestamp.nanoseconds) + "Z"
  }

  /// Numbers with units, as in Go: `1h30m`, `-1.5s`, `20ms`, `3us`, `0`. Nil for other texts.
  static func duration(_ text: String) -> DurationText? {
    var reader = Reader(text)
    let isNegative = reader.take("-")
    if !isNegative { _ = reader.take("+") }
    if reader.takeAll("0") { return .nanoseconds(0) }
    var total: UInt64 = 0
    var isOutOfRange = false
    repeat {
      let whole = reader.number()
      let fraction = reader.take(".") ? reader.fraction(digitLimit: 18) : nil
      guard whole != nil || fraction != nil, let unit = reader.unit() else { return nil }
      var part: UInt64 = 0
      if let fraction {
        var scale: UInt64 = 1
        for _ in 0..<fraction.count { scale *= 10 }
        // The quotient is less than the unit.
        part =
          scale.dividingFullWidth(
            UInt64(fraction.numerator).multipliedFullWidth(by: unit)
          ).quotient
      }
      let product = (whole?.value ?? 0).multipliedReportingOverflow(by: unit)
      let sum = total.addingReportingOverflow(product.partialValue)
      let next = sum.partialValue.addingReportingOverflow(part)
      if product.overflow || sum.overflow || next.overflow || whole?.isTooLarge == true {
        isOutOfRange = true
      }
      total = next.partialValue
    } while !reader.isAtEnd
    guard !isOutOfRange, total <= (isNegative ? Int64.min : Int64.max).magnitude else {
      return .outOfRange
    }
    return .nanoseconds(Int64(truncatingIfNeeded: isNegative ? 0 &- total : total))
  }

  enum DurationText {
    case nanoseconds(Int64)
    case outOfRange
  }

  /// Seconds: `1.5s`, `-0.000000001s`.
  static func text(ofDuration nanoseconds: Int64) -> String {
    let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(
      dividingBy: UInt64(nanosecondsPerSecond))
    return (nanoseconds < 0 ? "-" : "") + String(seconds) + fractionText(Int64(rest)) + "s"
  }

  /// The seconds that a time zone is ahead of UTC: `UTC`, `+02:00`, `-02:30`, `02:00`.
  ///
  /// Nil for the name of another zone, whose rules are not known here.
  static func offset(ofZone zone: String) -> Int64? {
    if zone == "UTC" || zone == "Z" { return 0 }
    var reader = Reader(zone)
    guard let offset = reader.offset(isSignOptional: true), reader.isAtEnd else { return nil }
    return offset
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func fractionText(_ nanoseconds: Int64) -> String {
    guard nanoseconds != 0 else { return "" }
    var digits = padded(nanoseconds, 9)
    while digits.hasSuffix("0") { digits.removeLast() }
    return "." + digits
  }

  /// Reads ASCII from the front of a text.
  private struct Reader {
    private var bytes: Substring.UTF8View

    init(_ text: String) { bytes = text[...].utf8 }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
      guard let first = bytes.first, UInt32(first) == scalar.value else { return false }
      bytes.removeFirst()
      return true
    }

    mutating func takeAll(_ text: String) -> Bool {
      guard bytes.elementsEqual(text.utf8) else { return false }
      bytes = bytes.suffix(0)
      return true
    }

    private mutating func nextDigit() -> Int64? {
      guard let first = bytes.first, (48...57).contains(first) else { return nil }
      bytes.removeFirst()
      return Int64(first) - 48
    }

    /// Exactly `count` digits, at most 18.
    mutating func digits(_ count: Int) -> Int64? {
      var number: Int64 = 0
      for _ in 0..<count {
        guard let digit = nextDigit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// As many digits as there are. Nil if there is none.
    mutating func number() -> (value: UInt64, isTooLarge: Bool)? {
      guard let first = nextDigit() else { return nil }
      var number = UInt64(first)
      var isTooLarge = false
      while let digit = nextDigit() {
        let product = number.multipliedReportingOverflow(by: 10)
        let sum = product.partialValue.addingReportingOverflow(UInt64(digit))
        if product.overflow || sum.overflow { isTooLarge = true }
        number = sum.partialValue
      }
      return (number, isTooLarge)
    }

    /// The first digits of a fraction, as a number, and how many they are. The others are skipped.
    mutating func fraction(digitLimit: Int = 9) -> (numerator: Int64, count: Int)? {
      guard var number = nextDigit() else { return nil }
      var count = 1
      while count < digitLimit, let digit = nextDigit() {
        number = number * 10 + digit
        count += 1
      }
      while nextDigit() != nil {}
      return (number, count)
    }

    mutating func unit() -> UInt64? {
      if take("h") { return 3_600_000_000_000 }
      if take("s") { return 1_000_000_000 }
      if take("m") { return take("s") ? 1_000_000 : 60_000_000_000 }
      if take("n") { return take("s") ? 1 : nil }
      if take("u") { return take("s") ? 1000 : nil }
      // The micro sign and the Greek letter mu.
      for letter in ["µs", "μs"] where bytes.starts(with: letter.utf8) {
        bytes.removeFirst(letter.utf8.count)
        return 1000
      }
      return nil
    }

    /// `+hh:mm` or `-hh:mm`, in seconds.
    mutating func offset(isSignOptional: Bool = false) -> Int64? {
      let isNegative = take("-")
      guard isNegative || take("+") || isSignOptional, let hours = digits(2), take(":"),
        let minutes = digits(2), hours < 24, minutes < 60
      else { return nil }
      let seconds = hours * 3600 + minutes * 60
      return isNegative ? -seconds : seconds
    }
  }
}
