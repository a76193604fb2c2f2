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
  /// The moment that is stored, if the date of `init(date:)` is the nearest one to a whole microsecond.
  /// Not a part of the value: two timestamps with the same nanoseconds are equal.
  private let microsecondOfDate: Instant?

  /// The moment `nanoseconds` after `seconds` since 1970-01-01T00:00:00Z. Both are checked when the
  /// timestamp is written.
  public convenience init(seconds: Int64, nanoseconds: Int32) {
    self.init(seconds, nanoseconds, microsecondOfDate: nil)
  }

  private init(_ seconds: Int64, _ nanoseconds: Int32, microsecondOfDate: Instant?) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
    self.microsecondOfDate = microsecondOfDate
  }

  /// The moment of a date, rounded down to a nanosecond, as in Firebase's SDK. A `Date` is a
  /// floating-point number, so that 0.123 s of the present becomes 122,999,906 ns.
  ///
  ///     let time = Timestamp(date: Date(timeIntervalSince1970: 1_570_484_031.123))
  ///     print(time.nanoseconds)  // 122999906
  ///
  /// Written, it is the same moment as the date: of a date that is the nearest one to a whole
  /// microsecond, this microsecond (123,000 µs here), so that the date comes back as it was.
  public convenience init(date: Date) {
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
    let instant = Instant(date)
    self.init(
      whole, Int32(nanoseconds), microsecondOfDate: instant?.date == date ? instant : nil)
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
      let remedy = seconds == Self.distantPast ? Self.distantPastRemedy : ""
      return .invalidArgument("Timestamp seconds out of range: \(seconds)\(remedy)")
    }
    return nil
  }

  private static let distantPast = Int64(Date.distantPast.timeIntervalSince1970)
  private static let distantPastRemedy =
    ". This is Date.distantPast, two days before the year 1, with which stored times begin. Leave the "
    + "field or the condition out, or use Timestamp(seconds: -62_135_596_800, nanoseconds: 0)."

  /// The moment as it is stored: microseconds, rounded down.
  func instant() throws(Status) -> Instant {
    if let microsecondOfDate { return microsecondOfDate }
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
      (try? timestamp.instant())
      ?? (timestamp.seconds < 0 ? .earliest : .latest)
  }
}
