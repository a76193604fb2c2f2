import Foundation

/// A boundary that moves with the time of a read, and never back: `afterNow` matches timestamps after it, `beforeNow`
/// the others.
enum RelativeTime: Hashable, Sendable {
  /// The time of the read plus microseconds.
  case offset(Int64)
  /// The last microsecond before a day, which is counted from that of the read: 0 is today.
  case beforeDay(Int, in: TimeZone)

  /// Enough for all days from that of the first timestamp to that of the last.
  static let days = -4_000_000...4_000_000

  /// Whether a calendar can compute the boundary.
  var isKnown: Bool {
    if case .beforeDay(let day, _) = self { Self.days.contains(day) } else { true }
  }

  func boundary(at now: Instant) -> Instant {
    switch self {
    case .offset(let microseconds): now.adding(saturating: microseconds)
    case .beforeDay(let days, let zone):
      Self.start(of: days, from: now, in: zone).adding(saturating: -1)
    }
  }

  /// The first time of a read at which the boundary has reached `instant`.
  func crossing(of instant: Instant) -> Instant {
    switch self {
    case .offset(let microseconds):
      instant.adding(saturating: microseconds == .min ? .max : -microseconds)
    case .beforeDay(let days, let zone): Self.start(of: 1 - days, from: instant, in: zone)
    }
  }

  /// When a day starts: at midnight, or where clocks skip it, after that.
  private static func start(of days: Int, from instant: Instant, in zone: TimeZone) -> Instant {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let today = calendar.startOfDay(
      for: Date(timeIntervalSince1970: TimeInterval(instant.seconds)))
    // Noon exists on each day.
    let noon = today.addingTimeInterval(43_200)
    return calendar.date(byAdding: .day, value: days, to: noon)
      .flatMap { Instant(calendar.startOfDay(for: $0)) } ?? (days < 0 ? .earliest : .latest)
  }
}

extension StructuredQuery.Comparison {
  /// The comparison at a time: of a relative one, with a timestamp. It is only a condition, as before: results are not
  /// ordered by its field, and need not have it.
  func resolved(at now: Instant) -> StructuredQuery.Comparison {
    guard let relativeTime else { return self }
    var resolved = self
    resolved.operator = `operator` == .afterNow ? .greaterThan : .lessThanOrEqual
    resolved.operand = .constant(.timestamp(relativeTime.boundary(at: now)))
    resolved.isUnordered = true
    return resolved
  }
}
