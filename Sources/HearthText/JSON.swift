/// A JSON value, read exactly: integers stay integers, doubles stay doubles, names keep their
/// order.
package enum JSON: Equatable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  package struct Member: Equatable, Sendable {
    package var name: String
    package var value: JSON

    package init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }

    package init(_ name: String, _ number: Int) { self.init(name, .integer(Int64(number))) }
  }
}

// MARK: - Writing

extension JSON {
  /// The JSON text, on one line, without spaces. Hidden characters have escapes: see `String.legible`.
  package var text: String {
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
    text.append(quoting: string) { $0.isHidden ? $0.jsonEscape : nil }
  }
}

// MARK: - Reading

extension JSON {
  /// Nil for a missing member, or if this is not an object.
  package subscript(_ name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }
}
