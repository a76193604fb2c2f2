/// The correction of times that a clock has set which was ahead.
///
///     times up to now      ─▶ stay
///     later times          ─▶ moved back, all by as much as brings the newest one to now, but not
///                             before the newest of the times that stay
///
/// So no time is after now, and what was created or updated later still was. The change log, whose
/// times would have to stay distinct, begins again.
package struct TimeRepair: Sendable {
  /// In microseconds.
  package let now: Int64
  /// The newest of the times that stay; not before 1970.
  package private(set) var kept: Int64 = 0
  /// The newest of all times.
  package private(set) var newest = Int64.min

  init(now: Instant) { self.now = min(now, .latest).microseconds }

  /// Whether a time is later than now.
  var isNeeded: Bool { newest > now }

  /// Takes a stored time into account.
  mutating func note(_ time: Int64) {
    if time <= now { kept = max(kept, time) }
    newest = max(newest, time)
  }

  func corrected(_ time: Int64) -> Int64 {
    guard time > now else { return time }
    let (moved, overflow) = now.subtractingReportingOverflow(newest &- time)
    return overflow ? kept : max(kept, moved)
  }
}
