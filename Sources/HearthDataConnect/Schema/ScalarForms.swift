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
    guard result.count == 32, result.allSatisfy({ Lexer.hexadecimalValue($0) != nil }) else {
      return nil
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// `YYYY-MM-DD` of a date, or of a time with everything from `T` removed.
  static func date(_ text: String) -> String? {
    let day = text.prefix { $0 != "T" && $0 != "t" }
    var scanner = DigitScanner(day)
    guard scanner.date() != nil, scanner.isAtEnd else { return nil }
    return String(day)
  }

  /// Whether a text is a time of RFC 3339 from 1583 to 9999, with at most nine fractional digits.
  static func isTimestamp(_ text: String) -> Bool {
    var scanner = DigitScanner(text[...])
    guard let year = scanner.date(), (1583...9999).contains(year),
      scanner.skip("T") || scanner.skip("t"),
      let hour = scanner.number(2), hour < 24, scanner.skip(":"),
      let minute = scanner.number(2), minute < 60, scanner.skip(":"),
      let second = scanner.number(2), second < 60
    else { return false }
    if scanner.skip(".") {
      guard (1...9).contains(scanner.skipDigits()) else { return false }
    }
    if scanner.skip("Z") || scanner.skip("z") { return scanner.isAtEnd }
    guard scanner.skip("+") || scanner.skip("-"),
      let hours = scanner.number(2), hours < 24, scanner.skip(":"),
      let minutes = scanner.number(2), minutes < 60
    else { return false }
    return scanner.isAtEnd
  }

  private struct DigitScanner {
    private var rest: Substring.UTF8View.SubSequence

    init(_ text: Substring) {
      rest = text.utf8[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard let first = rest.first, UInt32(first) == character.value else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return nil }
        value = value * 10 + Int(first - UInt8(ascii: "0"))
        rest.removeFirst()
      }
      return value
    }

    mutating func skipDigits() -> Int {
      var count = 0
      while number(1) != nil { count += 1 }
      return count
    }

    /// `YYYY-MM-DD`; returns the year if the day exists.
    mutating func date() -> Int? {
      guard let year = number(4), skip("-"), let month = number(2), (1...12).contains(month),
        skip("-"), let day = number(2), day >= 1
      else { return nil }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      return day <= days[month - 1] ? year : nil
    }
  }
}
