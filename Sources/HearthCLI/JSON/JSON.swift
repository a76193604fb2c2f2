/// A JSON text, read exactly: integers stay integers, doubles doubles, names in their order.
enum JSON: Equatable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  struct Member: Equatable, Sendable {
    var name: String
    var value: JSON

    init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }
}

// MARK: - Writing

extension JSON {
  /// On one line, without spaces.
  var text: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .boolean(let flag): text += flag ? "true" : "false"
    case .integer(let number): text += String(number)
    case .double(let number): text += String(number)
    case .string(let string): JSON.write(string, to: &text)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        JSON.write(member.name, to: &text)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

// MARK: - For people

extension JSON {
  /// A document's fields below each other, over as many lines as they need.
  ///
  ///     author:
  ///       name: "Frank Herbert"
  ///     pages: 412
  ///     tags: ["sand", "spice"]
  func lines(width: Int) -> [String] {
    guard case .object(let members) = self else { return [brief] }
    return members.flatMap { member -> [String] in
      let value = member.value
      let line = "\(member.name): \(value.brief)"
      if !value.isOpenMap, line.count <= width { return [line] }
      let lines = value.nestedLines(width: width - 2)
      return lines.count == 1 && !value.isOpenMap
        ? [line] : ["\(member.name):"] + lines.map { "  " + $0 }
    }
  }

  private func nestedLines(width: Int) -> [String] {
    if isOpenMap { return lines(width: width) }
    guard case .array(let elements) = self else { return [brief] }
    return elements.flatMap { element -> [String] in
      let brief = element.brief
      let lines = brief.count <= width - 2 ? [brief] : element.nestedLines(width: width - 2)
      return ["- " + (lines.first ?? "")] + lines.dropFirst().map { "  " + $0 }
    }
  }

  /// On one line, with spaces for the eye, and types as people know them.
  var brief: String {
    switch self {
    case .array(let elements): "[" + elements.map(\.brief).joined(separator: ", ") + "]"
    case .object(let members):
      switch tagged {
      case (.timestamp, .string(let text))?, (.double, .string(let text))?: text
      case (.reference, .string(let path))?: "→ \(path)"
      case (.bytes, .string(let text))?: "bytes \(text)"
      case (.geoPoint, let numbers)?: "geo \(numbers.brief)"
      case (.vector, let numbers)?: "vector \(numbers.brief)"
      case (.map, let map)?: map.fieldsBrief
      default: JSON.object(members).fieldsBrief
      }
    default: text
    }
  }

  /// A map, whatever its fields are called.
  var fieldsBrief: String {
    guard case .object(let members) = self else { return text }
    return "{" + members.map { "\($0.name): \($0.value.brief)" }.joined(separator: ", ") + "}"
  }

  /// A map with fields, that is no tagged form.
  private var isOpenMap: Bool {
    guard case .object(let members) = self else { return false }
    return !members.isEmpty && tagged == nil
  }

  private var tagged: (tag: Tag, value: JSON)? {
    guard case .object(let members) = self, members.count == 1,
      let tag = Tag(rawValue: members[0].name)
    else { return nil }
    return (tag, members[0].value)
  }
}
