internal import HearthText

/// The tokens of GraphQL, one at a time.
///
///     bytes   m o v i e s ( l i m i t :   1 0 )
///     tokens  name        ( name      :   int )
///
/// Never fails: a part that is no token becomes `.invalid` with its sentence, and at least one byte
/// is consumed for each token.
struct Lexer {
  struct Token {
    enum Kind: Equatable {
      /// One of `! $ & ( ) : = @ [ ] { | }`, or `...`.
      case punctuator
      case name
      case int
      case float
      case string
      case invalid
      case end
    }

    var kind: Kind
    /// The content of strings; the sentence of `invalid`; otherwise the token as written.
    var text: String
    var position: Position
  }

  private static let punctuators = Set("!$&():=@[]{|}".utf8)

  private let bytes: [UInt8]
  private let file: Int
  private var offset = 0
  private var line = 1
  private var column = 1

  init(_ text: String, file: Int) {
    self.bytes = Array(text.utf8)
    self.file = file
    // A byte order mark counts for nothing.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  mutating func next() -> Token {
    skipIgnored()
    let position = Position(file: file, line: line, column: column)
    func token(_ kind: Token.Kind, _ text: String) -> Token {
      Token(kind: kind, text: text, position: position)
    }
    guard let byte = peek(0) else { return token(.end, "") }
    switch byte {
    case _ where Self.punctuators.contains(byte):
      advance()
      return token(.punctuator, String(UnicodeScalar(byte)))
    case UInt8(ascii: "."):
      guard peek(1) == byte, peek(2) == byte else {
        advance()
        return token(.invalid, "A single dot is no token: write `...` for a fragment.")
      }
      for _ in 0..<3 { advance() }
      return token(.punctuator, "...")
    case UInt8(ascii: "\""):
      let isBlock = peek(1) == byte && peek(2) == byte
      let (text, error) = isBlock ? blockString() : string()
      if let error { return token(.invalid, error) }
      return token(.string, text)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      let (kind, text) = number()
      return token(kind, text)
    case UInt8(ascii: "'"):
      advance()
      return token(.invalid, "Strings have double quotes: write \"…\" instead of '…'.")
    default:
      guard byte.isASCIIWord else {
        let scalar = invalidScalar()
        return token(.invalid, "Unexpected character \(scalar): remove it or put it in a string.")
      }
      let start = offset
      while let byte = peek(0), byte.isASCIIWord { advance() }
      return token(.name, String(decoding: bytes[start..<offset], as: UTF8.self))
    }
  }

  // MARK: Bytes

  private func peek(_ distance: Int) -> UInt8? {
    let index = offset + distance
    return index < bytes.count ? bytes[index] : nil
  }

  /// Consumes a byte. A continuation byte of UTF-8 is no column.
  private mutating func advance() {
    let byte = bytes[offset]
    offset += 1
    if byte == 0x0A || (byte == 0x0D && peek(0) != 0x0A) {
      line += 1
      column = 1
    } else if byte & 0xC0 != 0x80, byte != 0x0D {
      column += 1
    }
  }

  private mutating func skipIgnored() {
    while let byte = peek(0) {
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","): advance()
      case UInt8(ascii: "#"):
        while let byte = peek(0), byte != 0x0A, byte != 0x0D { advance() }
      default: return
      }
    }
  }

  /// Consumes a scalar and returns it in a form that can be printed.
  private mutating func invalidScalar() -> String {
    let start = offset
    advance()
    while let byte = peek(0), byte & 0xC0 == 0x80 { advance() }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    guard let scalar = text.unicodeScalars.first else { return "" }
    let code = "U+" + String(scalar.value, radix: 16, uppercase: true, width: 4)
    return scalar.value < 0x20 || scalar.value == 0x7F ? code : "“\(text)” (\(code))"
  }

  // MARK: Numbers

  private mutating func number() -> (Token.Kind, String) {
    let start = offset
    func text(_ lexer: Lexer) -> String {
      String(decoding: lexer.bytes[start..<lexer.offset], as: UTF8.self)
    }
    if peek(0) == UInt8(ascii: "-") { advance() }
    guard let first = peek(0), first.isASCIIDigit else {
      return (.invalid, "A minus sign is followed by digits.")
    }
    advance()
    var isValid = true
    if first == UInt8(ascii: "0") {
      while let byte = peek(0), byte.isASCIIDigit {
        isValid = false
        advance()
      }
    } else {
      skipDigits()
    }
    var kind = Token.Kind.int
    if peek(0) == UInt8(ascii: "."), let next = peek(1), next.isASCIIDigit {
      kind = .float
      advance()
      skipDigits()
    }
    if let byte = peek(0), byte | 0x20 == UInt8(ascii: "e") {
      kind = .float
      advance()
      if let sign = peek(0), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { advance() }
      if let digit = peek(0), digit.isASCIIDigit { skipDigits() } else { isValid = false }
    }
    while let byte = peek(0), byte.isASCIIWord {
      isValid = false
      advance()
    }
    if peek(0) == UInt8(ascii: "."), peek(1) != UInt8(ascii: ".") {
      isValid = false
      advance()
    }
    guard isValid else {
      return (.invalid, "\(text(self)) is no number: write it like 12 or -1.5e3.")
    }
    return (kind, text(self))
  }

  private mutating func skipDigits() {
    while let byte = peek(0), byte.isASCIIDigit { advance() }
  }

  // MARK: Strings

  private mutating func string() -> (String, error: String?) {
    advance()
    var content: [UInt8] = []
    var error: String?
    while let byte = peek(0), byte != 0x0A, byte != 0x0D {
      advance()
      if byte == UInt8(ascii: "\"") {
        return (String(decoding: content, as: UTF8.self), error)
      }
      guard byte == UInt8(ascii: "\\") else {
        content.append(byte)
        continue
      }
      guard let escape = peek(0), escape != 0x0A, escape != 0x0D else { break }
      advance()
      switch escape {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(escape)
      case UInt8(ascii: "b"): content.append(0x08)
      case UInt8(ascii: "f"): content.append(0x0C)
      case UInt8(ascii: "n"): content.append(0x0A)
      case UInt8(ascii: "r"): content.append(0x0D)
      case UInt8(ascii: "t"): content.append(0x09)
      case UInt8(ascii: "u"):
        if let scalar = unicodeEscape() {
          content += Array(String(scalar).utf8)
        } else {
          error = error ?? "\\u is followed by four hexadecimal digits, or by digits in braces."
        }
      default:
        error =
          error
          ?? "Unknown escape in a string. Known ones are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u."
      }
    }
    return ("", error ?? "The string has no end: close it with a double quote on the same line.")
  }

  /// After `\u`: four digits, two times four as a surrogate pair, or digits in braces.
  private mutating func unicodeEscape() -> Unicode.Scalar? {
    if peek(0) == UInt8(ascii: "{") {
      advance()
      var value: UInt32 = 0
      var count = 0
      while let digit = peek(0)?.hexadecimalValue, count < 8 {
        value = value &* 16 &+ digit
        count += 1
        advance()
      }
      guard count > 0, peek(0) == UInt8(ascii: "}") else { return nil }
      advance()
      return count <= 6 ? Unicode.Scalar(value) : nil
    }
    guard let high = fourDigits() else { return nil }
    guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) }
    guard peek(0) == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") else { return nil }
    advance()
    advance()
    guard let low = fourDigits(), (0xDC00..<0xE000).contains(low) else { return nil }
    return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func fourDigits() -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = peek(0)?.hexadecimalValue else { return nil }
      value = value * 16 + digit
      advance()
    }
    return value
  }

  private mutating func blockString() -> (String, error: String?) {
    for _ in 0..<3 { advance() }
    let quote = UInt8(ascii: "\"")
    var content: [UInt8] = []
    while let byte = peek(0) {
      if byte == quote, peek(1) == quote, peek(2) == quote {
        for _ in 0..<3 { advance() }
        return (Self.withoutCommonIndent(String(decoding: content, as: UTF8.self)), nil)
      }
      if byte == UInt8(ascii: "\\"), peek(1) == quote, peek(2) == quote, peek(3) == quote {
        for _ in 0..<4 { advance() }
        content += [quote, quote, quote]
        continue
      }
      content.append(byte)
      advance()
    }
    return ("", "The string has no end: close it with three double quotes.")
  }

  /// The value of a block string as GraphQL defines it: the indent that all lines but the first
  /// share is removed, and so are blank lines at the start and the end.
  static func withoutCommonIndent(_ text: String) -> String {
    // "\r\n" is one character.
    var lines = text.split(omittingEmptySubsequences: false) {
      $0 == "\n" || $0 == "\r\n" || $0 == "\r"
    }
    func indent(_ line: Substring) -> Int? {
      let count = line.prefix { $0 == " " || $0 == "\t" }.count
      return count == line.count ? nil : count
    }
    let common = lines.dropFirst().compactMap(indent).min() ?? 0
    for index in lines.indices.dropFirst() { lines[index] = lines[index].dropFirst(common) }
    while let first = lines.first, indent(first) == nil { lines.removeFirst() }
    while let last = lines.last, indent(last) == nil { lines.removeLast() }
    return lines.joined(separator: "\n")
  }
}
