internal import HearthText

extension CELExpression: CustomStringConvertible {
  /// The canonical text: single quotes, one space around binary operators, no needless parentheses.
  ///
  /// Parsing it with the same limits results in an equal expression.
  public var description: String {
    var printer = Printer()
    printer.write(root, .conditional)
    return printer.text
  }
}

extension CELValue: CustomStringConvertible {
  /// The value as an expression: `[1, 2u, 'text', timestamp('2009-02-13T23:31:30Z')]`.
  ///
  /// An unset value is written as `unset`, which is no expression. Keys of maps are sorted.
  public var description: String {
    var printer = Printer()
    printer.write(self)
    return printer.text
  }
}

/// Writes canonical text.
private struct Printer {
  var text = ""

  /// Writes a node, in parentheses if it binds weaker than `minimum`.
  mutating func write(_ node: Node, _ minimum: Precedence) {
    guard node.precedence < minimum else { return write(node.kind) }
    text += "("
    write(node.kind)
    text += ")"
  }

  private mutating func write(_ kind: Node.Kind) {
    switch kind {
    case .literal(let value): write(value)
    case .name(let name): text += name
    case .member(let node, let member):
      write(node, .postfix)
      text += "." + member
    case .index(let node, let index):
      write(node, .postfix)
      text += "["
      write(index, .conditional)
      text += "]"
    case .presence(let node, let member):
      text += "has("
      write(node, .postfix)
      text += "." + member + ")"
    case .call(let name, let arguments):
      text += name
      write(arguments, "(", ")")
    case .method(let receiver, let name, let arguments):
      write(receiver, .postfix)
      text += "." + name
      write(arguments, "(", ")")
    case .comprehension(let comprehension): write(comprehension)
    case .list(let elements): write(elements, "[", "]")
    case .map(let entries): write(entries)
    case .not(let operand):
      text += "!"
      write(operand, .unary)
    case .negation(let operand): write(negated: operand)
    case .binary(let sign, let left, let right):
      write(left, sign.precedence)
      text += " \(sign.rawValue) "
      write(right, sign.precedence.next)
    case .logical(let sign, let operands):
      for (index, operand) in operands.enumerated() {
        if index > 0 { text += " \(sign.rawValue) " }
        write(operand, sign.precedence.next)
      }
    case .conditional(let condition, let first, let second):
      write(condition, .or)
      text += " ? "
      write(first, .or)
      text += " : "
      write(second, .conditional)
    }
  }

  private mutating func write(_ nodes: [Node], _ start: String, _ end: String) {
    list(nodes, start, end) { $0.write($1, .conditional) }
  }

  private mutating func list<Element>(
    _ elements: [Element], _ start: String, _ end: String, _ write: (inout Self, Element) -> Void
  ) {
    text += start
    for (index, element) in elements.enumerated() {
      if index > 0 { text += ", " }
      write(&self, element)
    }
    text += end
  }

  private mutating func write(_ comprehension: Node.Comprehension) {
    write(comprehension.range, .postfix)
    text += ".\(comprehension.macro.rawValue)(\(comprehension.variable), "
    if let filter = comprehension.filter {
      write(filter, .conditional)
      text += ", "
    }
    write(comprehension.body, .conditional)
    text += ")"
  }

  private mutating func write(_ entries: [Node.Entry]) {
    list(entries, "{", "}") { printer, entry in
      printer.write(entry.key, .conditional)
      printer.text += ": "
      printer.write(entry.value, .conditional)
    }
  }

  /// A minus before a digit would become part of the literal.
  private mutating func write(negated operand: Node) {
    var inner = Printer()
    inner.write(operand, .unary)
    let beginsWithDigit = inner.text.utf8.first.map { (48...57).contains($0) } ?? false
    text += beginsWithDigit ? "-(\(inner.text))" : "-" + inner.text
  }

  // MARK: Values

  mutating func write(_ value: CELValue) {
    switch value {
    case .null: text += "null"
    case .unset: text += "unset"
    case .bool(let value): text += value ? "true" : "false"
    case .int(let value): text += String(value)
    case .uint(let value): text += "\(value)u"
    case .double(let value) where value.isFinite: text += "\(value)"
    case .double(let value): text += value.isNaN ? "double('NaN')" : "double('\(value)')"
    case .string(let value):
      text.append(quoting: value, in: "'") { scalar in
        let isControl = scalar.value < 0x20 || scalar.value == 0x7F
        return isControl ? "\\x" + String(scalar.value, radix: 16, width: 2) : nil
      }
    case .bytes(let bytes):
      text += "b'"
      for byte in bytes { write(byte) }
      text += "'"
    case .list(let elements): list(elements, "[", "]") { $0.write($1) }
    case .map(let map): write(map)
    case .timestamp(let seconds, let nanoseconds):
      let timestamp = CELTime.Timestamp(seconds: seconds, nanoseconds: Int64(nanoseconds))
      text += "timestamp('\(timestamp.map(CELTime.text) ?? "out of range")')"
    case .duration(let seconds, let nanoseconds):
      let duration = CELTime.duration(seconds: seconds, nanoseconds: Int64(nanoseconds))
      text += "duration('\(duration.map(CELTime.text(ofDuration:)) ?? "out of range")')"
    case .type(let name): text += name
    }
  }

  private mutating func write(_ map: [CELValue: CELValue]) {
    list(CELValue.sorted(Array(map.keys)), "{", "}") { printer, key in
      printer.write(key)
      printer.text += ": "
      printer.write(map[key] ?? .unset)
    }
  }

  private mutating func write(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "'"): text += "\\'"
    case UInt8(ascii: "\\"): text += "\\\\"
    case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
    default: text += "\\x" + String(byte, radix: 16, width: 2)
    }
  }
}

extension Node {
  fileprivate var precedence: Precedence {
    switch kind {
    case .conditional: .conditional
    case .logical(let sign, _): sign.precedence
    case .binary(let sign, _, _): sign.precedence
    case .not, .negation: .unary
    default: .postfix
    }
  }
}
