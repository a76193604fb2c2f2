import Foundation

/// A moment with nanosecond precision, as Firestore's clients pass it.
///
///     let published = Timestamp(date: Date())
///     try await book.updateData(["published": published])
///
/// Stored values keep microseconds: writing rounds down finer digits. The range is years 0001 to
/// 9999. A moment outside this range can be created but not written: the operation that uses it
/// throws `invalidArgument`.
public final class Timestamp: NSObject, NSCopying, Sendable {
  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
  public let seconds: Int64
  /// The fraction of the second, 0..<1,000,000,000, also before 1970.
  public let nanoseconds: Int32

  /// The moment `nanoseconds` after `seconds` since 1970-01-01T00:00:00Z. Both are checked when the
  /// timestamp is written.
  public init(seconds: Int64, nanoseconds: Int32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The moment of a date, rounded down to a nanosecond. If the date is exactly that of a whole
  /// microsecond, the timestamp is this microsecond, so that storing it keeps it.
  public convenience init(date: Date) {
    if let instant = Instant(date), instant.date == date {
      self.init(instant)
      return
    }
    let interval = date.timeIntervalSince1970
    var seconds = interval.rounded(.down)
    // A tiny negative interval has a fraction that rounds to a whole second.
    var nanoseconds = (interval - seconds) * 1e9
    if nanoseconds >= 1e9 {
      seconds += 1
      nanoseconds = 0
    }
    guard let whole = Int64(exactly: seconds) else {
      self.init(seconds: interval > 0 ? .max : .min, nanoseconds: 0)
      return
    }
    self.init(seconds: whole, nanoseconds: Int32(nanoseconds))
  }

  /// The current time.
  public convenience override init() {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    self.init(seconds: Int64(now.tv_sec), nanoseconds: Int32(now.tv_nsec))
  }

  /// The same moment, with the precision of a `Date` (about 0.1 µs for present-day dates).
  public func dateValue() -> Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
  }

  /// Whether this moment is before (`orderedAscending`), at or after the other.
  public func compare(_ other: Timestamp) -> ComparisonResult {
    if seconds != other.seconds {
      return seconds < other.seconds ? .orderedAscending : .orderedDescending
    }
    if nanoseconds != other.nanoseconds {
      return nanoseconds < other.nanoseconds ? .orderedAscending : .orderedDescending
    }
    return .orderedSame
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other timestamp has the same seconds and nanoseconds.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Timestamp else { return false }
    return seconds == other.seconds && nanoseconds == other.nanoseconds
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(seconds)
    hasher.combine(nanoseconds)
    return hasher.finalize()
  }

  public override var description: String {
    "<Timestamp: seconds=\(seconds) nanoseconds=\(nanoseconds)>"
  }
}

extension Timestamp {
  package convenience init(_ instant: Instant) {
    self.init(seconds: instant.seconds, nanoseconds: instant.nanoseconds)
  }

  /// Why this moment cannot be stored; nil if it can.
  var validationError: Status? {
    if !(0..<1_000_000_000).contains(nanoseconds) {
      return .invalidArgument("Timestamp nanoseconds out of range: \(nanoseconds)")
    }
    if Instant(seconds: seconds, nanoseconds: nanoseconds) == nil {
      return .invalidArgument("Timestamp seconds out of range: \(seconds)")
    }
    return nil
  }

  /// The moment as it is stored: microseconds, rounded down.
  func instant() throws(Status) -> Instant {
    guard let instant = Instant(seconds: seconds, nanoseconds: nanoseconds) else {
      throw validationError ?? .invalidArgument("Invalid timestamp")
    }
    return instant
  }
}

extension Instant {
  /// The moment of a timestamp. For one that is out of range: `earliest` if its seconds are
  /// negative, otherwise `latest`.
  package init(_ timestamp: Timestamp) {
    self =
      Instant(seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds)
      ?? (timestamp.seconds < 0 ? .earliest : .latest)
  }
}
