internal import HearthText

/// Timestamps and durations: their texts, their ranges and the calendar.
///
///     timestamp   seconds since 1970, floor ── days ── year, month, day   (proleptic Gregorian)
///     duration    a count of nanoseconds in an Int64, as in cel-go: ±292 years
enum CELTime {
  static let nanosecondsPerSecond: Int64 = 1_000_000_000

  /// A moment in the years 1 to 9999.
  struct Timestamp: Hashable {
    let seconds: Int64
    /// 0 to 999,999,999.
    let nanoseconds: Int64

    /// Nil if the moment is out of range. Nanoseconds of any size and sign are carried.
    init?(seconds: Int64, nanoseconds: Int64) {
      let (carry, rest) = nanoseconds.quotientAndRemainder(floorDividingBy: nanosecondsPerSecond)
      let (sum, overflow) = seconds.addingReportingOverflow(carry)
      guard !overflow, RFC3339.seconds.contains(sum) else { return nil }
      self.seconds = sum
      self.nanoseconds = rest
    }

    /// Nil if the result is out of range.
    func adding(_ duration: Int64) -> Timestamp? {
      let (seconds, rest) = duration.quotientAndRemainder(floorDividingBy: nanosecondsPerSecond)
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

  /// A moment of a time zone's clock.
  struct Moment {
    /// Since 1970.
    let days: Int64
    let secondOfDay: Int64
    let nanoseconds: Int64
    var date: CivilDate { CivilDate(daysSince1970: days) }

    init(seconds: Int64, nanoseconds: Int64) {
      (days, secondOfDay) = seconds.quotientAndRemainder(floorDividingBy: 86_400)
      self.nanoseconds = nanoseconds
    }
  }

  /// The parts of a moment, by the methods that return them.
  static let timestampParts: [String: @Sendable (Moment) -> Int64] = [
    "getFullYear": { $0.date.year }, "getMonth": { $0.date.month - 1 },
    "getDate": { $0.date.day }, "getDayOfMonth": { $0.date.day - 1 },
    "getDayOfWeek": { ($0.days + 4).quotientAndRemainder(floorDividingBy: 7).remainder },
    "getDayOfYear": {
      $0.days - CivilDate(year: $0.date.year, month: 1, day: 1).daysSince1970
    },
    "getHours": { $0.secondOfDay / 3600 }, "getMinutes": { $0.secondOfDay / 60 % 60 },
    "getSeconds": { $0.secondOfDay % 60 }, "getMilliseconds": { $0.nanoseconds / 1_000_000 },
  ]

  /// The parts of a duration in nanoseconds, by the methods that return them.
  static let durationParts: [String: @Sendable (Int64) -> Int64] = [
    "getHours": { $0 / 3_600_000_000_000 }, "getMinutes": { $0 / 60_000_000_000 },
    "getSeconds": { $0 / 1_000_000_000 }, "getMilliseconds": { $0 % 1_000_000_000 / 1_000_000 },
  ]

  // MARK: Texts

  /// RFC 3339: `2009-02-13T23:31:30.5Z`, `2009-02-14T00:31:30+01:00`.
  ///
  /// Digits of a fraction after the ninth are ignored. Nil if the text or its range is wrong.
  static func timestamp(_ text: String) -> Timestamp? {
    RFC3339.time(text, cutsFraction: true).flatMap {
      Timestamp(seconds: $0.seconds, nanoseconds: Int64($0.nanoseconds))
    }
  }

  /// RFC 3339 in UTC, with as many digits of a fraction as are not zero.
  static func text(of timestamp: Timestamp) -> String {
    RFC3339.text(seconds: timestamp.seconds, nanoseconds: Int32(timestamp.nanoseconds))
  }

  /// Numbers with units, as in Go: `1h30m`, `-1.5s`, `20ms`, `3us`, `0`. Nil for other texts.
  static func duration(_ text: String) -> DurationText? {
    if ["0", "+0", "-0"].contains(text) { return .nanoseconds(0) }
    return ASCIIReader.read(text) { $0.duration() }
  }

  enum DurationText {
    case nanoseconds(Int64)
    case outOfRange
  }

  /// Seconds: `1.5s`, `-0.000000001s`.
  static func text(ofDuration nanoseconds: Int64) -> String {
    let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(
      dividingBy: UInt64(nanosecondsPerSecond))
    return (nanoseconds < 0 ? "-" : "") + String(seconds) + RFC3339.fraction(Int32(rest)) + "s"
  }

  /// The seconds that a time zone is ahead of UTC: `UTC`, `+02:00`, `-02:30`, `02:00`.
  ///
  /// Nil for the name of another zone, whose rules are not known here.
  static func offset(ofZone zone: String) -> Int64? {
    if zone == "UTC" || zone == "Z" { return 0 }
    return ASCIIReader.read(zone) { $0.offset(isSignOptional: true) }
  }
}

extension ASCIIReader {
  /// The rest, as a duration.
  fileprivate mutating func duration() -> CELTime.DurationText? {
    let isNegative = take("-")
    if !isNegative { _ = take("+") }
    var total: UInt64 = 0
    var isOutOfRange = false
    repeat {
      let whole = wholeNumber()
      let fraction = take(".") ? number(upTo: 18) : nil
      skipDigits()
      guard whole != nil || fraction != nil, let unit = nextUnit() else { return nil }
      var part: UInt64 = 0
      if let fraction {
        var scale: UInt64 = 1
        for _ in 0..<fraction.digitCount { scale *= 10 }
        // The quotient is less than the unit.
        part =
          scale.dividingFullWidth(
            UInt64(fraction.value).multipliedFullWidth(by: unit)
          ).quotient
      }
      let product = (whole?.value ?? 0).multipliedReportingOverflow(by: unit)
      let sum = total.addingReportingOverflow(product.partialValue)
      let next = sum.partialValue.addingReportingOverflow(part)
      if product.overflow || sum.overflow || next.overflow || whole?.isTooLarge == true {
        isOutOfRange = true
      }
      total = next.partialValue
    } while !isAtEnd
    guard !isOutOfRange, total <= (isNegative ? Int64.min : Int64.max).magnitude else {
      return .outOfRange
    }
    return .nanoseconds(Int64(truncatingIfNeeded: isNegative ? 0 &- total : total))
  }

  /// As many digits as there are. Nil if there is none.
  private mutating func wholeNumber() -> (value: UInt64, isTooLarge: Bool)? {
    guard let first = number(1) else { return nil }
    var value = UInt64(first)
    var isTooLarge = false
    while let digit = number(1) {
      let product = value.multipliedReportingOverflow(by: 10)
      let sum = product.partialValue.addingReportingOverflow(UInt64(digit))
      if product.overflow || sum.overflow { isTooLarge = true }
      value = sum.partialValue
    }
    return (value, isTooLarge)
  }

  /// The nanoseconds of a unit. There are two signs for micro.
  private mutating func nextUnit() -> UInt64? {
    let units: [(String, UInt64)] = [
      ("h", 3_600_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("m", 60_000_000_000),
      ("us", 1000), ("µs", 1000), ("μs", 1000), ("ns", 1),
    ]
    for (word, nanoseconds) in units where take(word: word) { return nanoseconds }
    return nil
  }
}
