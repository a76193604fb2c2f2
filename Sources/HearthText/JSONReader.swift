/// Reads JSON as RFC 8259 defines it, byte by byte.
///
/// Written by hand, because Foundation's reader turns -9223372036854775808 into an inexact number,
/// and does not distinguish 1 from 1.0 where it matters here.
package struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0
  private var roundsLongIntegers = false

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The one value in `text`. Throws `JSONError` with the position of the error.
  ///
  /// - Parameter roundingLongIntegers: Integers beyond 64 bits are read as doubles, as Protocol
  ///   Buffers do. They are errors otherwise.
  package static func read(_ text: String, roundingLongIntegers: Bool = false) throws -> JSON {
    try read(Array(text.utf8), roundingLongIntegers: roundingLongIntegers)
  }

  /// Same as for a `String`. A byte order mark at the beginning is skipped.
  package static func read(_ utf8: [UInt8], roundingLongIntegers: Bool = false) throws -> JSON {
    var reader = JSONReader(bytes: utf8)
    reader.roundsLongIntegers = roundingLongIntegers
    if utf8.starts(with: [0xFF, 0xFE]) || utf8.starts(with: [0xFE, 0xFF]) {
      throw JSONError("The JSON is UTF-16 text. Save it as UTF-8.")
    }
    if utf8.starts(with: byteOrderMark) { reader.position = byteOrderMark.count }
    let value = try reader.value()
    reader.skipSpace()
    guard reader.next == nil else { throw reader.failure("expected the end") }
    return value
  }

  /// The value in `bytes` at `position`. Moves `position` to the first byte after the value.
  package static func read(_ bytes: [UInt8], at position: inout Int) throws -> JSON {
    var reader = JSONReader(bytes: bytes)
    reader.position = position
    let value = try reader.value()
    position = reader.position
    return value
  }

  /// The number that a text consists of, an integer or a double; nil for another text.
  package static func number(_ text: String) -> JSON? {
    var reader = JSONReader(bytes: Array(text.utf8))
    reader.roundsLongIntegers = true
    guard let number = try? reader.number(), reader.next == nil else { return nil }
    return number
  }

  /// Whether there is no value: only space, and possibly a byte order mark.
  package static func isBlank(_ utf8: ArraySlice<UInt8>) -> Bool {
    let text = utf8.starts(with: byteOrderMark) ? utf8.dropFirst(byteOrderMark.count) : utf8
    return text.allSatisfy(isSpace)
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func failure(_ problem: String) -> JSONError {
    let before = bytes[..<min(position, bytes.count)]
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
    return JSONError("The JSON is not valid: \(problem) at line \(line), column \(column).")
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private mutating func skipSpace() {
    while let byte = next, JSONReader.isSpace(byte) { position += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value() throws -> JSON {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try nested { reader in try reader.object() }
    case UInt8(ascii: "["): return try nested { reader in try reader.array() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .boolean(true))
    case UInt8(ascii: "f"): return try word("false", .boolean(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"): return try number()
    case let digit? where digit.isASCIIDigit: return try number()
    default: throw failure("expected a value")
    }
  }

  /// Limits the nesting to more than any document may have, far from a stack overflow.
  private mutating func nested(_ body: (inout JSONReader) throws -> JSON) throws -> JSON {
    depth += 1
    guard depth <= 100 else { throw failure("nested too deeply") }
    defer { depth -= 1 }
    position += 1
    return try body(&self)
  }

  private mutating func word(_ word: StaticString, _ value: JSON) throws -> JSON {
    let text = word.description.utf8
    guard bytes[position...].starts(with: text) else { throw failure("expected a value") }
    position += text.count
    return value
  }

  private mutating func object() throws -> JSON {
    var members: [JSON.Member] = []
    // By bytes: canonically equivalent names are different fields. Used for more than a few members.
    var names: Set<[UInt8]> = []
    skipSpace()
    if take("}") { return .object([]) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("expected a name in quotes") }
      let name = try string()
      let isRepeated: Bool
      if members.count < 8 {
        isRepeated = members.contains { $0.name.utf8.elementsEqual(name.utf8) }
      } else {
        if members.count == 8 { names = Set(members.map { Array($0.name.utf8) }) }
        isRepeated = !names.insert(Array(name.utf8)).inserted
      }
      guard !isRepeated else { throw failure("the name \"\(name)\" twice") }
      skipSpace()
      guard take(":") else { throw failure("expected a colon") }
      members.append(JSON.Member(name, try value()))
      skipSpace()
    } while take(",")
    guard take("}") else { throw failure("expected a comma or }") }
    return .object(members)
  }

  private mutating func array() throws -> JSON {
    var elements: [JSON] = []
    skipSpace()
    if take("]") { return .array([]) }
    repeat {
      elements.append(try value())
      skipSpace()
    } while take(",")
    guard take("]") else { throw failure("expected a comma or ]") }
    return .array(elements)
  }

  private mutating func number() throws -> JSON {
    let start = position
    _ = take("-")
    if !take("0") { try digits() }
    var isInteger = true
    if take(".") {
      isInteger = false
      try digits()
    }
    if take("e") || take("E") {
      isInteger = false
      if !take("+") { _ = take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    // -0 is read as a double, which keeps the sign.
    if isInteger, text != "-0" {
      if let integer = Int64(text) { return .integer(integer) }
      // One that rounds to an integer of 64 bits would later be taken for this integer.
      if roundsLongIntegers, let double = Double(text), double.isFinite,
        Int64(exactly: double) == nil
      {
        return .double(double)
      }
      throw failure("\(text) is beyond 64 bits; {\"doubleValue\": \"\(text)\"} is possible")
    }
    guard let double = Double(text), double.isFinite else {
      throw failure("\(text) is beyond a double")
    }
    return .double(double)
  }

  private mutating func digits() throws {
    let start = position
    while let byte = next, byte.isASCIIDigit { position += 1 }
    guard position > start else { throw failure("expected a digit") }
  }

  private mutating func string() throws -> String {
    position += 1
    let start = position
    // Most strings have no escapes, and are copied at once.
    while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
      position += 1
    }
    var utf8 = Array(bytes[start..<position])
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        guard let string = String(validating: utf8, as: UTF8.self) else {
          throw failure("text that is not UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        position += 1
        utf8.append(contentsOf: Array(String(try escape()).utf8))
      case 0..<0x20: throw failure("a control character in a string")
      default:
        utf8.append(byte)
        position += 1
      }
    }
    throw failure("a string without its end")
  }

  private mutating func escape() throws -> Unicode.Scalar {
    guard let byte = next else { throw failure("a string without its end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var code = try codeUnit()
      if (0xD800..<0xDC00).contains(code), take("\\"), take("u") {
        let low = try codeUnit()
        guard (0xDC00..<0xE000).contains(low) else { throw failure("half a character") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw failure("half a character") }
      return scalar
    default: throw failure("an unknown escape")
    }
  }

  private mutating func codeUnit() throws -> UInt32 {
    guard position + 4 <= bytes.count,
      bytes[position..<position + 4].allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
      let code = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
    else { throw failure("expected four hexadecimal digits") }
    position += 4
    return code
  }
}

/// An error in a JSON text, and its position.
package struct JSONError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
