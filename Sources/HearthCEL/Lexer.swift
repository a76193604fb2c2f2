internal import HearthText

/// Divides a text into tokens, in one pass over its UTF-8.
struct Lexer {
  struct Token {
    enum Kind: Equatable {
      case name(String)
      /// Without a sign. A minus before it belongs to the literal.
      case int(UInt64)
      case uint(UInt64)
      case double(Double)
      case string(String)
      case bytes([UInt8])
      case symbol(String)
      case end
    }

    let kind: Kind
    let position: CELPosition
    /// The token as it is written, for messages.
    let text: String
  }

  private let bytes: [UInt8]
  private var offset = 0
  private var line = 1
  private var column = 1

  init(_ text: String) { bytes = Array(text.utf8) }

  /// - Throws: `syntax` if the text contains something that is no token.
  static func tokens(of text: String) throws(CELError) -> [Token] {
    var lexer = Lexer(text)
    var tokens: [Token] = []
    while true {
      let token = try lexer.next()
      tokens.append(token)
      if token.kind == .end { return tokens }
    }
  }

  // MARK: Bytes

  private var position: CELPosition { CELPosition(offset: offset, line: line, column: column) }

  /// Zero, which no token begins with, after the end.
  private func peek(_ distance: Int = 0) -> UInt8 {
    offset + distance < bytes.count ? bytes[offset + distance] : 0
  }

  private var isAtEnd: Bool { offset >= bytes.count }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if offset == bytes.count || bytes[offset] & 0xC0 != 0x80 {
        column += 1
      }
    }
  }

  private func text(from start: CELPosition) -> String {
    String(decoding: bytes[start.offset..<offset], as: UTF8.self)
  }

  private func failure(_ message: String, at position: CELPosition? = nil) -> CELError {
    CELError(.syntax, message, at: position ?? self.position)
  }

  // MARK: Tokens

  private mutating func next() throws(CELError) -> Token {
    skipSpace()
    let start = position
    let kind = try nextKind(at: start)
    return Token(kind: kind, position: start, text: text(from: start))
  }

  /// White space, and comments from `//` to the end of the line.
  private mutating func skipSpace() {
    while !isAtEnd {
      switch peek() {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0C:
        advance()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
        while !isAtEnd, peek() != UInt8(ascii: "\n") { advance() }
      default: return
      }
    }
  }

  private static let pairs: Set<String> = ["||", "&&", "==", "!=", "<=", ">="]
  private static let singles = Set("<>+-*/%!?:.,()[]{}".utf8)

  private mutating func nextKind(at start: CELPosition) throws(CELError) -> Token.Kind {
    if isAtEnd { return .end }
    let byte = peek()
    if byte.isASCIIDigit || (byte == UInt8(ascii: ".") && peek(1).isASCIIDigit) {
      return try number(at: start)
    }
    if byte.isASCIIWord {
      if let quoted = quotedAfterPrefix {
        advance(quoted.length)
        return try quotedText(at: start, isRaw: quoted.isRaw, isBytes: quoted.isBytes)
      }
      while peek().isASCIIWord { advance() }
      return .name(text(from: start))
    }
    if byte.isQuote { return try quotedText(at: start, isRaw: false, isBytes: false) }
    if peek(1) == UInt8(ascii: "=") || peek(1) == byte {
      let pair = String(decoding: [byte, peek(1)], as: UTF8.self)
      if Lexer.pairs.contains(pair) {
        advance(2)
        return .symbol(pair)
      }
    }
    if Lexer.singles.contains(byte) {
      advance()
      return .symbol(String(Unicode.Scalar(byte)))
    }
    var length = 1
    while peek(length) & 0xC0 == 0x80 { length += 1 }
    let scalar = String(decoding: bytes[offset..<offset + length], as: UTF8.self)
    let remedy =
      switch scalar {
      case "=": " Write \"==\" to compare."
      case "&": " Write \"&&\" for \"and\"."
      case "|": " Write \"||\" for \"or\"."
      default: ""
      }
    throw failure("The character \"\(scalar)\" has no meaning here.\(remedy)", at: start)
  }

  /// The letters `r`, `b` or `br` before a quotation mark, in either case.
  private var quotedAfterPrefix: (length: Int, isRaw: Bool, isBytes: Bool)? {
    let first = peek() | 0x20
    let second = peek(1) | 0x20
    let b = UInt8(ascii: "b")
    let r = UInt8(ascii: "r")
    if first == r, peek(1).isQuote { return (1, true, false) }
    if first == b, peek(1).isQuote { return (1, false, true) }
    if first == b, second == r, peek(2).isQuote { return (2, true, true) }
    return nil
  }

  // MARK: Numbers

  private mutating func number(at start: CELPosition) throws(CELError) -> Token.Kind {
    let isHexadecimal = peek() == UInt8(ascii: "0") && peek(1) | 0x20 == UInt8(ascii: "x")
    var isDouble = false
    if isHexadecimal {
      advance(2)
      while peek().hexadecimalValue != nil { advance() }
    } else {
      while peek().isASCIIDigit { advance() }
      // The dot of `1.size()` is no decimal point.
      if peek() == UInt8(ascii: "."), peek(1).isASCIIDigit {
        isDouble = true
        advance()
        while peek().isASCIIDigit { advance() }
      }
      let sign = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-") ? 1 : 0
      if peek() | 0x20 == UInt8(ascii: "e"), peek(1 + sign).isASCIIDigit {
        isDouble = true
        advance(1 + sign)
        while peek().isASCIIDigit { advance() }
      }
    }
    let digits = text(from: start)
    let isUnsigned = !isDouble && peek() | 0x20 == UInt8(ascii: "u")
    if isUnsigned { advance() }
    if peek().isASCIIWord {
      throw failure("A letter follows a number. Separate them by an operator or a space.")
    }
    if isDouble {
      guard let value = Double(digits), value.isFinite else {
        throw failure("The number is larger than the largest double.", at: start)
      }
      return .double(value)
    }
    let value = isHexadecimal ? UInt64(digits.dropFirst(2), radix: 16) : UInt64(digits)
    guard let value else {
      throw failure(
        digits.utf8.count <= 2
          ? "Digits are missing after \"0x\"." : "The number does not fit into 64 bits.", at: start)
    }
    return isUnsigned ? .uint(value) : .int(value)
  }

  // MARK: Texts

  private mutating func quotedText(
    at start: CELPosition, isRaw: Bool, isBytes: Bool
  ) throws(CELError) -> Token.Kind {
    let quote = peek()
    let isTriple = peek(1) == quote && peek(2) == quote
    advance(isTriple ? 3 : 1)
    var content: [UInt8] = []
    while true {
      let byte = peek()
      if isAtEnd || (!isTriple && (byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"))) {
        throw failure("The text is not closed. Add a quotation mark.", at: start)
      }
      if byte == quote, !isTriple || (peek(1) == quote && peek(2) == quote) {
        advance(isTriple ? 3 : 1)
        break
      }
      if byte == UInt8(ascii: "\\"), !isRaw {
        try appendEscape(to: &content, isBytes: isBytes)
      } else {
        content.append(byte)
        advance()
      }
    }
    return isBytes ? .bytes(content) : .string(String(decoding: content, as: UTF8.self))
  }

  private mutating func appendEscape(
    to content: inout [UInt8], isBytes: Bool
  ) throws(CELError) {
    let start = position
    let letter = peek(1)
    advance(2)
    switch letter {
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "a"): content.append(0x07)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "v"): content.append(0x0B)
    case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"),
      UInt8(ascii: "?"):
      content.append(letter)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      try append(code(digits: 2, at: start), to: &content, isBytes: isBytes, at: start)
    case UInt8(ascii: "u") where !isBytes:
      try append(code(digits: 4, at: start), to: &content, isBytes: false, at: start)
    case UInt8(ascii: "U") where !isBytes:
      try append(code(digits: 8, at: start), to: &content, isBytes: false, at: start)
    case UInt8(ascii: "0")...UInt8(ascii: "3"):
      let digits = [letter, peek(), peek(1)].map { UInt32($0) &- 48 }
      guard digits.allSatisfy({ $0 < 8 }) else {
        throw failure("An octal escape has three digits, \\000 to \\377.", at: start)
      }
      advance(2)
      try append(
        digits[0] * 64 + digits[1] * 8 + digits[2], to: &content, isBytes: isBytes, at: start)
    default:
      throw failure(
        isBytes
          ? "The escape is not known in bytes. Write \"\\\\\" for a backslash, \\x41 for a byte."
          : "The escape is not known. Write \"\\\\\" for a backslash, or a raw text r'…'.",
        at: start)
    }
  }

  private mutating func code(digits: Int, at start: CELPosition) throws(CELError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = peek().hexadecimalValue else {
        throw failure("The escape needs \(digits) hexadecimal digits.", at: start)
      }
      code = code << 4 | digit
      advance()
    }
    return code
  }

  private func append(
    _ code: UInt32, to content: inout [UInt8], isBytes: Bool, at start: CELPosition
  ) throws(CELError) {
    if isBytes { return content.append(UInt8(truncatingIfNeeded: code)) }
    guard let scalar = Unicode.Scalar(code) else {
      throw failure("The escape is not a Unicode scalar.", at: start)
    }
    content.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
  }
}

extension UInt8 {
  fileprivate var isQuote: Bool { self == UInt8(ascii: "'") || self == UInt8(ascii: "\"") }
}
