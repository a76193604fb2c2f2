import Foundation
internal import HearthText

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
    guard (1...9999).contains(year),
      CivilDate(year: Int64(year), month: Int64(month), day: Int64(day)).exists
    else { throw DataConnectCodecError.invalidDate("\(year)-\(month)-\(day)") }
    self.year = year
    self.month = month
    self.day = day
  }

  /// Parses a text such as `2026-02-28`. Ignores everything from a `T` on. Throws as
  /// `init(year:month:day:)`, and for a text of another form.
  public init(localDateString text: String) throws {
    guard let day = ASCIIReader.read(String(text.prefix { $0 != "T" }), { $0.date() }) else {
      throw DataConnectCodecError.invalidDate(text)
    }
    try self.init(day)
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
  public var description: String { civil.text }

  /// Whether a day is before another.
  public static func < (lhs: LocalDate, rhs: LocalDate) -> Bool {
    (lhs.year, lhs.month, lhs.day) < (rhs.year, rhs.month, rhs.day)
  }

  // MARK: Arithmetic

  private var civil: CivilDate {
    CivilDate(year: Int64(year), month: Int64(month), day: Int64(day))
  }

  private init(_ day: CivilDate) throws {
    try self.init(year: Int(day.year), month: Int(day.month), day: Int(day.day))
  }

  var daysSince1970: Int { Int(civil.daysSince1970) }

  /// Throws as `init(year:month:day:)`.
  init(daysSince1970 days: Int) throws {
    guard (-719_162...2_932_896).contains(days) else {
      throw DataConnectCodecError.invalidDate("day \(days)")
    }
    try self.init(CivilDate(daysSince1970: Int64(days)))
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
