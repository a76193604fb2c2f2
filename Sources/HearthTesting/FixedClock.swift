import Foundation
import Hearth

/// A clock that a test sets.
///
///     let clock = FixedClock(at: Date(timeIntervalSince1970: 1_700_000_000))
///     let database = try TemporaryDatabase(clock: clock)
///     let dune = database.firestore.document("books/dune")
///     try await dune.setData(["seen": FieldValue.serverTimestamp()])
///     let seen = try await dune.getDocument()["seen"] as? Timestamp
///     assert(seen == clock.now)
///     clock.advance(by: .seconds(60))
///
/// Commits take their time from it: server timestamps, `createTime` and `updateTime`. No two
/// commits have the same time: while the clock does not move, each is one microsecond after the one
/// before. Relative times in queries, time to live, and the age of the change log are by this clock,
/// too; a commit looks at the age of the log at most once a second of the machine's time.
public final class FixedClock: Sendable {
  private let microseconds: Guarded<Int64>

  /// Sets the clock to `date`, by default 2026-01-01T00:00:00Z.
  public init(at date: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
    microseconds = Guarded(FixedClock.microseconds(date))
  }

  /// The current time, in whole microseconds, as times are stored.
  public var now: Timestamp {
    Timestamp(Instant(microseconds: microseconds.withLock { $0 }))
  }

  /// Sets the clock, forwards or back.
  ///
  /// Commit times never go back: until the clock catches up, each is one microsecond after the one
  /// before.
  public func set(_ date: Date) {
    microseconds.withLock { $0 = FixedClock.microseconds(date) }
  }

  /// Moves the clock by `duration`, in whole microseconds.
  public func advance(by duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let step = attoseconds / 1_000_000_000_000
    microseconds.withLock { microseconds in
      let moved = Double(microseconds) + Double(seconds) * 1e6
      guard abs(moved) < 2e17 else { return }
      microseconds += seconds * 1_000_000 + step
    }
  }

  /// A date out of range counts as 1970.
  private static func microseconds(_ date: Date) -> Int64 {
    let interval = date.timeIntervalSince1970
    guard abs(interval) < 2e11 else { return 0 }
    let whole = interval.rounded(.down)
    return Int64(whole) * 1_000_000 + Int64(((interval - whole) * 1e6).rounded())
  }
}

extension FirestoreSettings {
  /// Makes a database that is opened with these settings take its time from `clock`.
  ///
  ///     let settings = FirestoreSettings()
  ///     settings.useClock(clock)
  ///     let db = try Firestore.open(at: path, settings: settings)
  public func useClock(_ clock: FixedClock) {
    self.clock = { clock.now }
  }
}
