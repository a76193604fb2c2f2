import Foundation
import Hearth

extension Timestamp {
  /// `2026-02-28T12:00:00Z`, with 0, 3, 6 or 9 digits of a second.
  var rfc3339: String {
    let days = Int((Double(seconds) / 86_400).rounded(.down))
    let rest = Int(seconds) - days * 86_400
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let day = (try? LocalDate(daysSince1970: days))?.description ?? "\(seconds)"
    var text = "\(day)T\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    if nanoseconds != 0 {
      var digits = String(nanoseconds)
      digits = String(repeating: "0", count: max(0, 9 - digits.utf8.count)) + digits
      while digits.hasSuffix("000") { digits.removeLast(3) }
      text += "." + digits
    }
    return text + "Z"
  }

  /// The first second of the year 1583: variables and literals have none before it.
  static let firstSecondOfVariables: Int64 = -12_212_553_600

  /// A text as in RFC 3339: with `Z` or an offset, 0 to 9 digits of a second, years 1 to 9999 in UTC.
  ///
  /// Throws `DataConnectCodecError` with `.invalidTimestampFormat` for any other text.
  convenience init(rfc3339 text: String) throws(DataConnectCodecError) {
    var bytes = Array(text.utf8)[...]
    func invalid() -> DataConnectCodecError {
      DataConnectCodecError(
        .invalidTimestampFormat,
        "'\(text)' is no timestamp. A timestamp has the form 2026-02-28T12:00:00.000Z.")
    }
    func digits(_ count: Int) throws(DataConnectCodecError) -> Int {
      guard bytes.count >= count else { throw invalid() }
      var number = 0
      for byte in bytes.prefix(count) {
        guard (0x30...0x39).contains(byte) else { throw invalid() }
        number = number * 10 + Int(byte - 0x30)
      }
      bytes = bytes.dropFirst(count)
      return number
    }
    func skip(_ options: String) throws(DataConnectCodecError) {
      guard let first = bytes.first, options.utf8.contains(first) else { throw invalid() }
      bytes = bytes.dropFirst()
    }
    let year = try digits(4)
    try skip("-")
    let month = try digits(2)
    try skip("-")
    let day = try digits(2)
    try skip("Tt")
    let hour = try digits(2)
    try skip(":")
    let minute = try digits(2)
    try skip(":")
    let second = try digits(2)
    var nanoseconds = 0
    if bytes.first == UInt8(ascii: ".") {
      bytes = bytes.dropFirst()
      let fraction = bytes.prefix { (0x30...0x39).contains($0) }
      guard (1...9).contains(fraction.count) else { throw invalid() }
      let count = fraction.count
      nanoseconds = try digits(count)
      for _ in count..<9 { nanoseconds *= 10 }
    }
    var offset = 0
    switch bytes.first {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): bytes = bytes.dropFirst()
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      let sign = bytes.first == UInt8(ascii: "-") ? -1 : 1
      bytes = bytes.dropFirst()
      let hours = try digits(2)
      try skip(":")
      let minutes = try digits(2)
      guard hours < 24, minutes < 60 else { throw invalid() }
      offset = sign * (hours * 3600 + minutes * 60)
    default: throw invalid()
    }
    guard bytes.isEmpty, hour < 24, minute < 60, second < 60,
      let date = try? LocalDate(year: year, month: month, day: day)
    else { throw invalid() }
    let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
    guard (-62_135_596_800...253_402_300_799).contains(seconds) else { throw invalid() }
    self.init(seconds: Int64(seconds), nanoseconds: Int32(nanoseconds))
  }
}
