internal import HearthText

/// Derives the type of each node from those of its children.
struct Checker {
  private let scope: CELScope
  /// The variables of the macros that contain the current node.
  private var locals: [(name: String, type: CELType)] = []
  /// Whether a type was unknown where an operator or a function needs it.
  private(set) var usesDyn = false

  init(_ scope: CELScope) { self.scope = scope }

  /// Only dispatches: its frame is on the stack once per level of the tree. Errors that do not have a
  /// position get that of the node.
  mutating func type(of node: Node) throws(CELError) -> CELType {
    do throws(CELError) {
      switch node.kind {
      case .literal(let value): return CELType(ofLiteral: value)
      case .name(let name): return try type(ofName: name)
      case .member(let operand, let member): return try type(ofMember: member, operand)
      case .presence(let operand, let member): return try type(ofPresence: member, operand)
      case .index(let operand, let index): return try type(of: operand, index)
      case .call(let name, let arguments): return try call(name, arguments, isMethod: false)
      case .method(let receiver, let name, let arguments):
        return try call(name, [receiver] + arguments, isMethod: true)
      case .comprehension(let comprehension): return try type(of: comprehension)
      case .list(let elements): return .list(of: try joinedType(of: elements))
      case .map(let entries): return try type(of: entries)
      case .not(let operand): return try condition(operand, "The operand of !")
      case .negation(let operand): return try type(ofNegated: operand)
      case .binary(let sign, let left, let right): return try type(of: sign, left, right)
      case .logical(let sign, let operands): return try logical(sign, operands)
      case .conditional(let condition, let first, let second):
        return try conditional(condition, first, second)
      }
    } catch {
      throw error.located(at: node.position)
    }
  }

  private mutating func logical(
    _ sign: LogicalOperator, _ operands: [Node]
  ) throws(CELError) -> CELType {
    for operand in operands { _ = try condition(operand, "An operand of \(sign.rawValue)") }
    return .bool
  }

  private mutating func conditional(
    _ condition: Node, _ first: Node, _ second: Node
  ) throws(CELError) -> CELType {
    _ = try self.condition(condition, "The condition of ?:")
    let type = try type(of: first)
    return try type.joined(with: self.type(of: second))
  }

  private mutating func joinedType(of nodes: [Node]) throws(CELError) -> CELType {
    var joined: CELType?
    for node in nodes {
      let type = try type(of: node)
      joined = joined?.joined(with: type) ?? type
    }
    return joined ?? .dyn
  }

  // MARK: Names

  private func local(_ name: String) -> CELType? { locals.last { $0.name == name }?.type }

  private func type(ofName name: String) throws(CELError) -> CELType {
    if let type = local(name) ?? scope.variables[name] { return type }
    if CELValue.typeNames.contains(name) { return .type }
    let suggestion = Suggestion.text(
      for: name, among: Array(scope.variables.keys) + locals.map(\.name))
    throw .here(.undeclared, "The variable \"\(name)\" is not declared.\(suggestion)")
  }

  private mutating func type(ofMember member: String, _ operand: Node) throws(CELError) -> CELType {
    let type = try type(of: operand)
    return try self.type(ofMember: member, of: operand, type)
  }

  private mutating func type(
    ofPresence member: String, _ operand: Node
  ) throws(CELError) -> CELType {
    _ = try type(ofMember: member, operand)
    return .bool
  }

  private mutating func type(
    ofMember member: String, of operand: Node, _ type: CELType
  ) throws(CELError) -> CELType {
    let result: CELType
    switch type.withoutNull {
    case .null where readsNull(operand): return .null
    case .dyn:
      usesDyn = true
      result = .dyn
    case .object(let fields):
      guard let field = fields[member] else {
        throw .here(
          .unknownMember,
          "\(described(operand)) has no member \"\(member)\"."
            + Suggestion.text(for: member, among: fields.keys))
      }
      result = field
    case .map(let key, let value) where key.canEqual(.string):
      if key == .dyn { usesDyn = true }
      result = value
    default:
      throw .here(
        .typeMismatch,
        "\(described(operand)) is of type \(type), which has no member \"\(member)\".")
    }
    return readsNull(operand) ? result.orNull : result
  }

  private func described(_ node: Node) -> String {
    node.path.map { "\"\($0)\"" } ?? "The value"
  }

  private func readsNull(_ node: Node) -> Bool {
    guard let path = node.path, local(path.root) == nil else { return false }
    return scope.nullMembers.contains(path: path.components)
  }

  private mutating func type(of operand: Node, _ index: Node) throws(CELError) -> CELType {
    let type = try self.type(of: operand)
    if case .literal(.string(let member)) = index.kind, case .object = type.withoutNull {
      do throws(CELError) { return try self.type(ofMember: member, of: operand, type) } catch {
        throw error.located(at: index.position)
      }
    }
    let indexType = try self.type(of: index)
    let result: CELType?
    switch type.withoutNull {
    case .null where readsNull(operand): return .null
    case .dyn:
      usesDyn = true
      result = .dyn
    case .list(let element): result = accepts(indexType) { $0.isNumber } ? element : nil
    case .map(let key, let value):
      result =
        accepts(indexType) {
          $0 != .null && ($0.isNumber || $0 == .bool || $0 == .string) && key.canEqual($0)
        } ? value : nil
    case .object:
      // The type of the member is known only at run time.
      usesDyn = true
      result = accepts(indexType) { $0 == .string } ? .dyn : nil
    default: result = nil
    }
    guard let result else {
      throw .here(.typeMismatch, "A value of type \(type) has no index of type \(indexType).")
    }
    return readsNull(operand) ? result.orNull : result
  }

  // MARK: Operators

  /// Whether an operand's type, apart from null, is as required. `dyn` always is.
  private mutating func accepts(_ type: CELType, _ isAccepted: (CELType) -> Bool) -> Bool {
    let type = type.withoutNull
    if type == .dyn {
      usesDyn = true
      return true
    }
    return isAccepted(type)
  }

  /// The type `bool`.
  private mutating func condition(
    _ node: Node, _ subject: @autoclosure () -> String
  ) throws(CELError) -> CELType {
    let type = try type(of: node)
    guard accepts(type, { $0 == .bool }) else {
      throw CELError(
        .typeMismatch, "\(subject()) must be of type bool, but is of type \(type).",
        at: node.position)
    }
    return .bool
  }

  private mutating func type(ofNegated operand: Node) throws(CELError) -> CELType {
    let type = try type(of: operand)
    guard accepts(type, { $0 == .int || $0 == .double }) else {
      throw .here(.typeMismatch, "The operator - does not accept a value of type \(type).")
    }
    return type.withoutNull
  }

  private mutating func type(
    of sign: BinaryOperator, _ left: Node, _ right: Node
  ) throws(CELError) -> CELType {
    let left = try type(of: left)
    let right = try type(of: right)
    return try type(of: sign, left, right)
  }

  private mutating func type(
    of sign: BinaryOperator, _ left: CELType, _ right: CELType
  ) throws(CELError) -> CELType {
    switch sign {
    case .equal, .notEqual:
      guard left.canEqual(right) else {
        throw .here(.typeMismatch, "Values of types \(left) and \(right) are never equal.")
      }
      return .bool
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let a = left.withoutNull
      let b = right.withoutNull
      guard accepts(left, { $0.isOrdered }), accepts(right, { $0.isOrdered }),
        a == b || a == .dyn || b == .dyn || (a.isNumber && b.isNumber)
      else { throw mismatch(sign, left, right) }
      return .bool
    case .contained:
      guard try isContained(left, in: right) else {
        throw .here(.typeMismatch, "A value of type \(left) is never in a value of type \(right).")
      }
      return .bool
    case .add, .subtract, .multiply, .divide, .remainder:
      guard let type = arithmetic(sign, left.withoutNull, right.withoutNull) else {
        throw mismatch(sign, left, right)
      }
      return type
    }
  }

  private func mismatch(_ sign: BinaryOperator, _ left: CELType, _ right: CELType) -> CELError {
    CELError.here(
      .typeMismatch, "The operator \(sign.rawValue) does not accept \(left) and \(right).")
  }

  private mutating func isContained(_ left: CELType, in right: CELType) throws(CELError) -> Bool {
    switch right.withoutNull {
    case .dyn:
      usesDyn = true
      return true
    case .list(let element): return left.canEqual(element)
    case .map(let key, _): return left.canEqual(key)
    case .object: return left.canEqual(.string)
    default: throw mismatch(.contained, left, right)
    }
  }

  private static let timeSums: [(CELType, CELType, CELType)] = [
    (.timestamp, .duration, .timestamp), (.duration, .timestamp, .timestamp),
    (.duration, .duration, .duration),
  ]
  private static let timeDifferences: [(CELType, CELType, CELType)] = [
    (.timestamp, .timestamp, .duration), (.timestamp, .duration, .timestamp),
    (.duration, .duration, .duration),
  ]
  private static let overloads: [BinaryOperator: [(CELType, CELType, CELType)]] = [
    .add: same([.int, .uint, .double, .string, .bytes]) + timeSums,
    .subtract: same([.int, .uint, .double]) + timeDifferences,
    .multiply: same([.int, .uint, .double]),
    .divide: same([.int, .uint, .double]),
    .remainder: same([.int, .uint]),
  ]

  private static func same(_ types: [CELType]) -> [(CELType, CELType, CELType)] {
    types.map { ($0, $0, $0) }
  }

  /// Nil if no overload fits. `dyn` if several fit, with different results.
  private mutating func arithmetic(
    _ sign: BinaryOperator, _ left: CELType, _ right: CELType
  ) -> CELType? {
    if left == .dyn || right == .dyn { usesDyn = true }
    if sign == .add {
      switch (left, right) {
      case (.list(let a), .list(let b)): return .list(of: a.joined(with: b))
      case (.list, .dyn), (.dyn, .list): return .list(of: .dyn)
      default: break
      }
    }
    let results = Checker.overloads[sign, default: []].filter {
      (left == .dyn || left == $0.0) && (right == .dyn || right == $0.1)
    }.map(\.2)
    guard let first = results.first else { return nil }
    return left == .dyn && right == .dyn || results.contains { $0 != first } ? .dyn : first
  }

  // MARK: Macros and maps

  private mutating func type(of comprehension: Node.Comprehension) throws(CELError) -> CELType {
    let range = try type(of: comprehension.range)
    let element: CELType
    switch range.withoutNull {
    case .dyn:
      usesDyn = true
      element = .dyn
    case .list(let type): element = type
    case .map(let key, _): element = key
    case .object: element = .string
    default:
      throw CELError(
        .typeMismatch,
        "The macro \(comprehension.macro.rawValue) needs a list or a map, not \(range).",
        at: comprehension.range.position)
    }
    locals.append((comprehension.variable, element))
    defer { locals.removeLast() }
    if let filter = comprehension.filter { _ = try condition(filter, "The filter of map") }
    if comprehension.macro == .map { return .list(of: try type(of: comprehension.body)) }
    _ = try condition(comprehension.body, "The condition of \(comprehension.macro.rawValue)")
    return comprehension.macro == .filter ? .list(of: element) : .bool
  }

  private mutating func type(of entries: [Node.Entry]) throws(CELError) -> CELType {
    for entry in entries {
      let key = try type(of: entry.key)
      guard accepts(key, { [.bool, .int, .uint, .string].contains($0) }) else {
        throw CELError(
          .typeMismatch, "A key is a bool, an int, a uint or a string, not \(key).",
          at: entry.key.position)
      }
    }
    return .map(
      key: try joinedType(of: entries.map(\.key)).withoutNull,
      value: try joinedType(of: entries.map(\.value)))
  }

  // MARK: Functions

  private mutating func call(
    _ name: String, _ arguments: [Node], isMethod: Bool
  ) throws(CELError) -> CELType {
    var types: [CELType] = []
    for argument in arguments { types.append(try type(of: argument)) }
    let named = Signature.named(name, isMethod: isMethod)
    guard !named.isEmpty else { throw Signature.undeclared(name, isMethod: isMethod) }
    if name == "matches", !scope.hasMatcher {
      throw .here(
        .unsupported,
        "Regular expressions are not supported here: use startsWith, endsWith or contains.")
    }
    for signature in named where signature.parameters.count == arguments.count {
      guard zip(signature.parameters, types).allSatisfy({ $0.accepts($1.withoutNull) }) else {
        continue
      }
      for (parameter, type) in zip(signature.parameters, types)
      where type == .dyn && parameter != .dyn { usesDyn = true }
      return signature.result
    }
    let list = types.map(\.description).joined(separator: ", ")
    throw .here(.typeMismatch, "The function \"\(name)\" does not accept (\(list)).")
  }
}

extension Signature {
  static func undeclared(_ name: String, isMethod: Bool) -> CELError {
    if (isMethod ? functionNames : methodNames).contains(name) {
      let form = isMethod ? "\(name)(x)" : "x.\(name)()"
      return .here(.undeclared, "The function \"\(name)\" is called as \(form).")
    }
    let suggestion = Suggestion.text(for: name, among: isMethod ? methodNames : functionNames)
    return .here(.undeclared, "The function \"\(name)\" is not known.\(suggestion)")
  }
}

extension CELType {
  fileprivate init(ofLiteral value: CELValue) {
    switch value {
    case .null, .unset: self = .null
    case .bool: self = .bool
    case .int: self = .int
    case .uint: self = .uint
    case .double: self = .double
    case .string: self = .string
    case .bytes: self = .bytes
    case .timestamp: self = .timestamp
    case .duration: self = .duration
    case .type: self = .type
    // The parser writes lists and maps as nodes.
    case .list, .map: self = .dyn
    }
  }

  fileprivate var isOrdered: Bool {
    switch self {
    case .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration: true
    default: false
    }
  }
}

extension Set<String> {
  /// Whether a path is among texts with dots. A member with a dot is in none.
  func contains(path: some Collection<String>) -> Bool {
    !isEmpty && path.allSatisfy { !$0.contains(".") } && contains(path.joined(separator: "."))
  }
}
