import Foundation
import Hearth

/// The values of `…_date` and `…_time`: a point in time relative to that of the execution, in UTC.
///
///     createdAt: {ge_time: {now: true, sub: {days: 7}}}
///     birthday: {eq_date: {today: true}}
struct RelativeTime {
  let now: Timestamp

  /// A `.string` for a date, else a `.timestamp`.
  ///
  /// Throws `OperationFailure` for a form of another kind, or a time that does not exist.
  func value(_ relative: DataValue, isDate: Bool) throws -> DataValue {
    guard case .object(let object) = relative else {
      throw OperationFailure("A relative time is an object with 'now', 'today', 'at' or 'on'.")
    }
    var time = now
    if case .string(let text)? = object["on"] {
      time = try Timestamp(rfc3339: "\(LocalDate(localDateString: text))T00:00:00Z")
    } else if let at = object["at"] {
      time = try Timestamp(dataConnectValue: at)
    }
    for (name, sign) in [("add", 1), ("sub", -1)] {
      guard case .object(let duration)? = object[name] else { continue }
      time = try time.adding(duration, sign)
    }
    if case .string(let unit)? = object["truncateTo"] { time = try time.truncated(to: unit) }
    return isDate ? .string(String(time.rfc3339.prefix(10))) : .timestamp(time)
  }
}

extension Timestamp {
  private static var calendar: Calendar {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    return calendar
  }

  /// A duration as in the schema: `{days: 7, hours: 1}`; negative for a sign of -1.
  func adding(_ duration: DataObject, _ sign: Int) throws -> Timestamp {
    var nanoseconds = Int64(self.nanoseconds)
    var date = Date(timeIntervalSince1970: Double(seconds))
    for (name, value) in duration.members {
      guard case .int(let count) = value, count.magnitude < 1 << 40 else {
        throw OperationFailure("A duration consists of whole numbers, and is not that long.")
      }
      let amount = Int(count) * sign
      let components: [String: Calendar.Component] = [
        "seconds": .second, "minutes": .minute, "hours": .hour, "days": .day, "months": .month,
        "years": .year,
      ]
      if let component = components[name] {
        guard let added = Self.calendar.date(byAdding: component, value: amount, to: date) else {
          throw OperationFailure("A duration is too long.")
        }
        date = added
      } else if name == "weeks" {
        date += Double(amount) * 604_800
      } else if name == "milliseconds" {
        nanoseconds += Int64(amount % 1000) * 1_000_000
        date += Double(amount / 1000)
      } else if name == "microseconds" {
        nanoseconds += Int64(amount % 1_000_000) * 1000
        date += Double(amount / 1_000_000)
      } else {
        throw OperationFailure("A duration has no '\(name)'.")
      }
    }
    let carried = Int64((Double(nanoseconds) / 1e9).rounded(.down))
    guard let whole = Int64(exactly: date.timeIntervalSince1970.rounded()),
      whole.magnitude < 1 << 40
    else { throw OperationFailure("A time is too far away.") }
    return Timestamp(
      seconds: whole + carried, nanoseconds: Int32(nanoseconds - carried * 1_000_000_000))
  }

  /// The beginning of the `SECOND`, `MINUTE`, `HOUR`, `DAY`, `WEEK` (Monday), `MONTH` or `YEAR`.
  func truncated(to unit: String) throws -> Timestamp {
    let components: [String: Calendar.Component] = [
      "SECOND": .second, "MINUTE": .minute, "HOUR": .hour, "DAY": .day, "WEEK": .weekOfYear,
      "MONTH": .month, "YEAR": .year,
    ]
    guard let component = components[unit],
      let interval = Self.calendar.dateInterval(
        of: component, for: Date(timeIntervalSince1970: Double(seconds)))
    else { throw OperationFailure("A time cannot be truncated to '\(unit)'.") }
    return Timestamp(
      seconds: Int64(interval.start.timeIntervalSince1970.rounded()), nanoseconds: 0)
  }
}
