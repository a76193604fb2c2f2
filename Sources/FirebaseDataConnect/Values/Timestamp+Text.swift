import Foundation
import Hearth
internal import HearthText

extension Timestamp {
  /// `2026-02-28T12:00:00Z`, with 0, 3, 6 or 9 digits of a second.
  var rfc3339: String {
    let isWhole = nanoseconds == 0
    let digits = nanoseconds % 1_000_000 == 0 ? 3 : nanoseconds % 1000 == 0 ? 6 : 9
    return RFC3339.text(
      seconds: seconds, nanoseconds: nanoseconds, fractionDigits: isWhole ? 0 : digits)
  }

  /// The first second of the year 1583: variables and literals have none before it.
  static let firstSecondOfVariables: Int64 = -12_212_553_600

  /// A text as in RFC 3339: with `Z` or an offset, 0 to 9 digits of a second, years 1 to 9999 in UTC.
  ///
  /// Throws `DataConnectCodecError` with `.invalidTimestampFormat` for any other text.
  convenience init(rfc3339 text: String) throws(DataConnectCodecError) {
    guard let time = RFC3339.read(text, takesLowercase: true) else {
      throw DataConnectCodecError(
        .invalidTimestampFormat,
        "'\(text)' is not a timestamp. A timestamp has the form 2026-02-28T12:00:00.000Z.")
    }
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}
