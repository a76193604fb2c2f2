/// Reads signs, and numbers of a known length, from the front of a text.
package struct ASCIIReader {
  private var bytes: Slice<UnsafeBufferPointer<UInt8>>

  /// The result of `body`. Nil if it leaves a part of the text unread.
  package static func read<Result>(
    _ text: String, _ body: (inout ASCIIReader) -> Result?
  ) -> Result? {
    var text = text
    return text.withUTF8 { utf8 in
      var reader = ASCIIReader(bytes: utf8[...])
      let result = body(&reader)
      return reader.isAtEnd ? result : nil
    }
  }

  package var isAtEnd: Bool { bytes.isEmpty }

  package mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard bytes.first == UInt8(ascii: character) else { return false }
    bytes = bytes.dropFirst()
    return true
  }

  package mutating func take(word: String) -> Bool {
    guard bytes.starts(with: word.utf8) else { return false }
    bytes = bytes.dropFirst(word.utf8.count)
    return true
  }

  /// A number of so many digits, 1 to 18.
  package mutating func number(_ count: Int) -> Int64? {
    guard count > 0, bytes.count >= count else { return nil }
    var number: Int64 = 0
    for byte in bytes.prefix(count) {
      guard byte.isASCIIDigit else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    bytes = bytes.dropFirst(count)
    return number
  }

  /// The next digits, 1 to `limit`, as a number, and how many they are.
  package mutating func number(upTo limit: Int) -> (value: Int64, digitCount: Int)? {
    let count = bytes.prefix(limit).prefix { $0.isASCIIDigit }.count
    return number(count).map { ($0, count) }
  }

  /// Skips all digits that come next. Returns whether there are any.
  @discardableResult
  package mutating func skipDigits() -> Bool {
    let rest = bytes.drop { $0.isASCIIDigit }
    defer { bytes = rest }
    return rest.count < bytes.count
  }

  /// `1965-08-01`. The day need not exist.
  package mutating func date() -> CivilDate? {
    guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2)
    else { return nil }
    return CivilDate(year: year, month: month, day: day)
  }

  /// `+02:00` or `-02:30`, in seconds.
  package mutating func offset(isSignOptional: Bool = false) -> Int64? {
    let isBehind = take("-")
    guard isBehind || take("+") || isSignOptional, let hours = number(2), take(":"),
      let minutes = number(2), hours < 24, minutes < 60
    else { return nil }
    return (isBehind ? -1 : 1) * (hours * 3600 + minutes * 60)
  }
}
