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
  /// A value over as many lines as it needs, the fields of maps below each other.
  ///
  ///     author:
  ///       name: "Frank Herbert"
  ///     pages: 412
  ///     tags: ["sand", "spice"]
  func lines(width: Int) -> [String] {
    switch self {
    case .object(let members) where !members.isEmpty && soleTag == nil:
      members.flatMap { member -> [String] in
        let brief = member.value.brief
        let isMap = member.value.isOpenMap
        if !isMap, member.name.count + 2 + brief.count <= width {
          return ["\(member.name): \(brief)"]
        }
        return ["\(member.name):"] + member.value.lines(width: width - 2).map { "  " + $0 }
      }
    case .array(let elements) where brief.count > width:
      elements.flatMap { element -> [String] in
        let lines = element.lines(width: width - 2)
        return ["- " + (lines.first ?? "")] + lines.dropFirst().map { "  " + $0 }
      }
    default: [brief]
    }
  }

  /// On one line, with spaces for the eye.
  var brief: String {
    switch self {
    case .array(let elements): "[" + elements.map(\.brief).joined(separator: ", ") + "]"
    case .object(let members):
      if let tag = soleTag, case .string(let text) = tag.value {
        "\(tag.name.dropFirst()) \(text)"
      } else {
        "{"
          + members.map { "\($0.name): \($0.value.brief)" }.joined(separator: ", ") + "}"
      }
    default: text
    }
  }

  private var isOpenMap: Bool {
    if case .object(let members) = self { !members.isEmpty && soleTag == nil } else { false }
  }

  private var soleTag: Member? {
    guard case .object(let members) = self, members.count == 1, members[0].name.hasPrefix("$")
    else { return nil }
    return members[0]
  }
}
