import Foundation
import Hearth

/// Compares a time with one that is relative to now. The value is a text, as in Parse.
///
///     let recent = Book.query(relative("createdAt" > "12 days ago"))
///     let due = Loan.query(relative("due" < "in 1 week 2 days"))
///
/// Units are years (365 days), weeks, days, hours, minutes and seconds; `now` is the time itself.
/// Only `<`, `<=`, `>` and `>=` are possible: for another comparison, and a text of another form,
/// the query throws `ParseError` with `.invalidQuery`. The results of a live query also change when
/// time passes.
public func relative(_ constraint: QueryConstraint) -> QueryConstraint {
  let comparison = constraint.comparison
  return QueryConstraint { context in
    guard let comparison, let text = comparison.value as? String,
      let offset = RelativeTime.seconds(text)
    else {
      throw ParseError(
        .invalidQuery, "A relative time is written \"2 days ago\", \"in 3 hours\" or \"now\".")
    }
    try QueryConstraint.refuseArrays(comparison.key, context)
    // Firestore's dotted names, and a relative time includes its own microsecond.
    let time = Duration.seconds(offset)
    let before = time - .microseconds(1)
    switch comparison.operator {
    case .less: return .whereField(comparison.key, isBeforeNow: before)
    case .lessOrEqual: return .whereField(comparison.key, isBeforeNow: time)
    case .greater: return .whereField(comparison.key, isAfterNow: time)
    case .greaterOrEqual: return .whereField(comparison.key, isAfterNow: before)
    case .equal:
      throw ParseError(.invalidQuery, "A relative time is compared with <, <=, > or >=.")
    }
  }
}

private enum RelativeTime {
  private static let units = [
    "year": 365 * 86_400, "yr": 365 * 86_400, "week": 7 * 86_400, "wk": 7 * 86_400, "day": 86_400,
    "hour": 3_600, "hr": 3_600, "minute": 60, "min": 60, "second": 1, "sec": 1,
  ]

  /// Negative for the past. Nil for a text that is none.
  static func seconds(_ text: String) -> Int? {
    var words = text.lowercased().split(whereSeparator: \.isWhitespace)[...]
    if Array(words) == ["now"] { return 0 }
    let isPast = words.last == "ago"
    guard isPast != (words.first == "in") else { return nil }
    words = isPast ? words.dropLast() : words.dropFirst()
    guard !words.isEmpty, words.count.isMultiple(of: 2) else { return nil }
    var sum = 0
    while let number = words.popFirst(), let name = words.popFirst() {
      let singular = name.hasSuffix("s") ? String(name.dropLast()) : String(name)
      guard let count = Int(number), count >= 0, let unit = units[singular] else { return nil }
      let (seconds, isTooMany) = count.multipliedReportingOverflow(by: unit)
      let (total, isTooLong) = sum.addingReportingOverflow(seconds)
      // More than that is beyond the times that can be stored.
      guard !isTooMany, !isTooLong, total <= 400_000_000_000 else { return nil }
      sum = total
    }
    return isPast ? -sum : sum
  }
}
