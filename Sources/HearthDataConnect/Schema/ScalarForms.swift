internal import HearthText

/// The written forms of scalars that are strings.
enum ScalarForms {
  /// 32 hexadecimal digits in lower case, of a UUID with or without dashes, in braces or after
  /// `urn:uuid:`. Nil for other strings.
  static func uuid(_ text: String) -> String? {
    var bytes = Array(text.lowercased().utf8)[...]
    let urn = Array("urn:uuid:".utf8)
    if bytes.starts(with: urn) { bytes = bytes.dropFirst(urn.count) }
    if bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}"), bytes.count > 2 {
      bytes = bytes.dropFirst().dropLast()
    }
    let digits = Array(bytes)
    let dashes = digits.indices.filter { digits[$0] == UInt8(ascii: "-") }
    guard dashes.isEmpty || (dashes == [8, 13, 18, 23] && digits.count == 36) else { return nil }
    let result = digits.filter { $0 != UInt8(ascii: "-") }
    guard result.count == 32, result.allSatisfy({ $0.hexadecimalValue != nil }) else {
      return nil
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// `YYYY-MM-DD` of a date, or of a time with everything from `T` removed.
  static func date(_ text: String) -> String? {
    let day = text.prefix { $0 != "T" && $0 != "t" }
    let date = ASCIIReader.read(String(day)) { $0.date() }
    return date?.exists == true ? String(day) : nil
  }

  /// Whether a text is a time of RFC 3339 from 1583 to 9999, with at most nine fractional digits.
  static func isTimestamp(_ text: String) -> Bool {
    guard let time = RFC3339.time(text, takesLowercase: true) else { return false }
    return (1583...9999).contains(time.date.year)
  }
}
