/// The times that commits may get.
///
///     last commit + 1 µs ─┐
///                         ├─ max ─▶ the time ─▶ later than `latest`? ─▶ the commit is refused
///     the clock ──────────┘
///
/// A commit's time is never before that of an earlier commit. So one commit under a clock that was
/// ahead gives all later ones a time that is ahead too, until the clock has caught up.
package struct CommitTime: Sendable {
  /// How far a commit's time may be ahead of the clock; nil for any lead.
  package var maximumLead: Duration?

  /// The latest time that a commit may get now. No document can have a time after the year 9999.
  func latest(at now: Instant) -> Instant {
    guard let maximumLead else { return .latest }
    let (time, overflow) = now.microseconds.addingReportingOverflow(maximumLead.clampedMicroseconds)
    return overflow ? .latest : min(.latest, Instant(microseconds: time))
  }
}

extension Duration {
  /// At most some 35,000 years, and at least 0 seconds.
  var clampedMicroseconds: Int64 {
    min(max(components.seconds, 0), 1 << 40) * 1_000_000
      + components.attoseconds / 1_000_000_000_000
  }
}

extension Status {
  /// The refusal of a commit whose time would be after `latest`.
  static func commitTime(_ time: Instant, after latest: Instant) -> Status {
    let reason =
      latest < .latest
      ? "which is further ahead of the clock than maximumClockLead allows"
      : "and the last one possible is in the year 9999"
    return Status(
      .failedPrecondition,
      "The commit would get the time \(time.text), \(reason). Nothing was applied. Set the clock. If "
        + "the clock is right, 'hearth repair --times' corrects the times in the database.")
  }
}
