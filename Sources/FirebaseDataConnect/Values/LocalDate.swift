import Foundation

/// A day of the proleptic Gregorian calendar, without a time or a zone.
///
///     let day = try LocalDate(year: 2026, month: 2, day: 28)
///     print(day)  // 2026-02-28
public struct LocalDate: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The year, 1 … 9999.
  public let year: Int
  /// The month, 1 … 12.
  public let month: Int
  /// The day of the month, from 1 on.
  public let day: Int

  /// Creates a day. Throws `DataConnectCodecError` with `.invalidLocalDateFormat` if it does not
  /// exist, or if the year is not in 1 … 9999.
  public init(year: Int, month: Int, day: Int) throws {
    guard (1...9999).contains(year), (1...12).contains(month),
      (1...Self.days(in: month, of: year)).contains(day)
    else { throw DataConnectCodecError.invalidDate("\(year)-\(month)-\(day)") }
    self.year = year
    self.month = month
    self.day = day
  }

  /// Parses a text such as `2026-02-28`. Ignores everything from a `T` on. Throws as
  /// `init(year:month:day:)`, and for a text of another form.
  public init(localDateString text: String) throws {
    let date = text.prefix { $0 != "T" }
    let parts = date.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts.map(\.utf8.count) == [4, 2, 2],
      parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
    else { throw DataConnectCodecError.invalidDate(text) }
    try self.init(year: year, month: month, day: day)
  }

  /// The day of a point in time, in a zone. Throws as `init(year:month:day:)` outside of the years
  /// 1 … 9999.
  public init(date: Date, timeZone: TimeZone = .current) throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    let parts = calendar.dateComponents([.era, .year, .month, .day], from: date)
    guard parts.era == 1, let year = parts.year, let month = parts.month, let day = parts.day else {
      throw DataConnectCodecError.invalidDate("\(date)")
    }
    try self.init(year: year, month: month, day: day)
  }

  /// Midnight at the beginning of the day, in the current zone.
  public var date: Date {
    let calendar = Calendar(identifier: .gregorian)
    return calendar.date(from: DateComponents(year: year, month: month, day: day))
      ?? Date(timeIntervalSince1970: Double(daysSince1970) * 86_400)
  }

  /// `YYYY-MM-DD`, with leading zeros.
  public var description: String {
    func padded(_ number: Int, _ count: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
  }

  /// Whether a day is before another.
  public static func < (lhs: LocalDate, rhs: LocalDate) -> Bool {
    (lhs.year, lhs.month, lhs.day) < (rhs.year, rhs.month, rhs.day)
  }

  // MARK: Arithmetic

  static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01. After Howard Hinnant's `days_from_civil`.
  var daysSince1970: Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Throws as `init(year:month:day:)`.
  init(daysSince1970 days: Int) throws {
    guard (-719_162...2_932_896).contains(days) else {
      throw DataConnectCodecError.invalidDate("day \(days)")
    }
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
    try self.init(
      year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
      day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}

extension LocalDate: Codable {
  /// Decodes a text `YYYY-MM-DD`. Throws `DataConnectCodecError` with `.invalidLocalDateFormat` for
  /// another text.
  public init(from decoder: any Decoder) throws {
    try self.init(localDateString: decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes the text `YYYY-MM-DD`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension DataConnectCodecError {
  fileprivate static func invalidDate(_ text: String) -> DataConnectCodecError {
    DataConnectCodecError(
      .invalidLocalDateFormat, "'\(text)' is no date. A date has the form 2026-02-28.")
  }
}
