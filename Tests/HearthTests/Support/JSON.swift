import Foundation

/// JSON as written: numbers keep the sign of zero, names that only look alike stay apart.
enum JSON: Sendable {
  case null
  case boolean(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  struct Member: Sendable {
    var name: String
    var value: JSON
  }

  struct ParseError: Error {
    var message: String
    var offset: Int
  }

  /// A file below `Resources`.
  init(resource path: String) throws {
    let url = Bundle.module.bundleURL.appendingPathComponent("Resources/" + path)
    try self.init(parsing: [UInt8](Data(contentsOf: url)))
  }

  init(parsing text: [UInt8]) throws {
    var parser = Parser(text: text)
    self = try parser.parseValue()
    parser.skipSpace()
    guard parser.offset == text.count else { throw parser.error("more after the end") }
  }

  /// Nil for a missing member, and for what is no object.
  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  var string: String? { if case .string(let value) = self { value } else { nil } }
  var number: Double? { if case .number(let value) = self { value } else { nil } }
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
  var object: [Member]? { if case .object(let value) = self { value } else { nil } }
}

extension JSON {
  private struct Parser {
    let text: [UInt8]
    var offset = 0

    func error(_ message: String) -> ParseError { ParseError(message: message, offset: offset) }

    mutating func skipSpace() {
      while offset < text.count, [0x20, 0x0A, 0x0D, 0x09].contains(text[offset]) { offset += 1 }
    }

    mutating func take(_ character: Character) -> Bool {
      skipSpace()
      guard offset < text.count, text[offset] == character.asciiValue else { return false }
      offset += 1
      return true
    }

    mutating func expect(_ character: Character) throws {
      guard take(character) else { throw error("expected \(character)") }
    }

    mutating func parseValue() throws -> JSON {
      skipSpace()
      guard offset < text.count else { throw error("ends too early") }
      switch Character(UnicodeScalar(text[offset])) {
      case "{": return .object(try parseMembers())
      case "[": return .array(try parseElements())
      case "\"": return .string(try parseString())
      default: return try parseWord()
      }
    }

    mutating func parseMembers() throws -> [Member] {
      try expect("{")
      var members: [Member] = []
      if take("}") { return members }
      repeat {
        skipSpace()
        let name = try parseString()
        try expect(":")
        members.append(Member(name: name, value: try parseValue()))
      } while take(",")
      try expect("}")
      return members
    }

    mutating func parseElements() throws -> [JSON] {
      try expect("[")
      var elements: [JSON] = []
      if take("]") { return elements }
      repeat { elements.append(try parseValue()) } while take(",")
      try expect("]")
      return elements
    }

    mutating func parseWord() throws -> JSON {
      let end = text[offset...].firstIndex { [0x2C, 0x5D, 0x7D, 0x0A, 0x20].contains($0) }
      let word = String(decoding: text[offset..<(end ?? text.count)], as: UTF8.self)
      defer { offset += word.utf8.count }
      switch word {
      case "null": return .null
      case "true": return .boolean(true)
      case "false": return .boolean(false)
      default:
        guard let number = Double(word) else { throw error("not a value: \(word)") }
        return .number(number)
      }
    }

    mutating func parseString() throws -> String {
      try expect("\"")
      var result: [UInt8] = []
      while offset < text.count {
        let byte = text[offset]
        offset += 1
        switch byte {
        case 0x22: return String(decoding: result, as: UTF8.self)
        case 0x5C: result.append(contentsOf: try parseEscape())
        default: result.append(byte)
        }
      }
      throw error("string without an end")
    }

    mutating func parseEscape() throws -> [UInt8] {
      guard offset < text.count else { throw error("ends too early") }
      let kind = Character(UnicodeScalar(text[offset]))
      offset += 1
      switch kind {
      case "n": return [0x0A]
      case "r": return [0x0D]
      case "t": return [0x09]
      case "b": return [0x08]
      case "f": return [0x0C]
      case "u":
        var units = [try parseUnit()]
        if UTF16.isLeadSurrogate(units[0]), offset + 1 < text.count, text[offset] == 0x5C,
          text[offset + 1] == 0x75
        {
          offset += 2
          units.append(try parseUnit())
        }
        return [UInt8](String(decoding: units, as: UTF16.self).utf8)
      default: return [kind.asciiValue ?? 0]
      }
    }

    mutating func parseUnit() throws -> UInt16 {
      let digits = String(decoding: text[offset..<min(offset + 4, text.count)], as: UTF8.self)
      guard digits.utf8.count == 4, let unit = UInt16(digits, radix: 16) else {
        throw error("not four hex digits")
      }
      offset += 4
      return unit
    }
  }
}
