internal import HearthText

/// Computes the value of each node from those of its children.
///
/// Each node, element and 16 bytes of a text take a step. Once no step is left, everything ends in
/// `stepLimit`, which nothing absorbs.
struct Evaluator {
  let environment: CELEnvironment
  private var remainingSteps: Int
  /// The variables of the macros that contain the current node.
  private var locals: [(name: String, value: CELValue)] = []

  init(_ environment: CELEnvironment) {
    self.environment = environment
    remainingSteps = max(0, environment.stepLimit)
  }

  /// The value of an expression, without unset members.
  mutating func result(of root: Node) throws(CELError) -> CELValue {
    let value = try value(of: root)
    do throws(CELError) {
      // Also bounds the result, which may contain one list many times, for those who visit it.
      return try containsUnset(value) ? withoutUnset(value) : value
    } catch {
      throw error.located(at: root.position)
    }
  }

  mutating func condition(_ node: Node) throws(CELError) -> Bool {
    try truth(of: value(of: node), "The condition", at: node.position)
  }

  // MARK: Steps

  mutating func take(_ steps: Int = 1) throws(CELError) {
    guard steps <= remainingSteps else { throw outOfSteps() }
    remainingSteps -= steps
  }

  private mutating func outOfSteps() -> CELError {
    remainingSteps = 0
    return .here(.stepLimit, "The evaluation takes more than \(environment.stepLimit) steps.")
  }

  mutating func take(bytes: Int) throws(CELError) { try take(bytes / 16) }

  // MARK: Nodes

  /// Only dispatches: its frame is on the stack once per level of the tree. Errors that do not have a
  /// position get that of the node.
  mutating func value(of node: Node) throws(CELError) -> CELValue {
    do throws(CELError) {
      try take()
      switch node.kind {
      case .literal(let value): return value
      case .name(let name): return try value(named: name)
      case .member(let operand, let member): return try self.member(member, of: operand)
      case .index(let operand, let index): return try element(of: operand, index)
      case .presence(let operand, let member): return try has(member, operand)
      case .call(let name, let arguments): return try call(name, arguments)
      case .method(let receiver, let name, let arguments):
        return try call(name, on: receiver, arguments)
      case .comprehension(let comprehension): return try value(of: comprehension)
      case .list(let elements): return try list(of: elements)
      case .map(let entries): return try map(of: entries)
      case .not(let operand): return try not(operand)
      case .negation(let operand): return try negated(operand)
      case .binary(let sign, let left, let right): return try binary(sign, left, right)
      case .logical(let sign, let operands): return try logical(sign, operands)
      case .conditional(let condition, let first, let second):
        return try value(of: isMet(condition) ? first : second)
      }
    } catch {
      throw error.located(at: node.position)
    }
  }

  private mutating func call(_ name: String, _ arguments: [Node]) throws(CELError) -> CELValue {
    try call(name, values(of: arguments))
  }

  private mutating func call(
    _ name: String, on receiver: Node, _ arguments: [Node]
  ) throws(CELError) -> CELValue {
    let values = try values(of: [receiver] + arguments)
    return try call(name, on: values[0], Array(values.dropFirst()))
  }

  private mutating func list(of elements: [Node]) throws(CELError) -> CELValue {
    .list(try values(of: elements))
  }

  private mutating func not(_ operand: Node) throws(CELError) -> CELValue {
    .bool(!(try truth(of: value(of: operand), "The operand of !", at: operand.position)))
  }

  private mutating func negated(_ operand: Node) throws(CELError) -> CELValue {
    try negated(value(of: operand))
  }

  private mutating func binary(
    _ sign: BinaryOperator, _ left: Node, _ right: Node
  ) throws(CELError) -> CELValue {
    let left = try value(of: left)
    return try apply(sign, left, value(of: right))
  }

  private mutating func isMet(_ condition: Node) throws(CELError) -> Bool {
    try truth(of: value(of: condition), "The condition of ?:", at: condition.position)
  }

  private mutating func values(of nodes: [Node]) throws(CELError) -> [CELValue] {
    var values: [CELValue] = []
    values.reserveCapacity(nodes.count)
    for node in nodes { values.append(try value(of: node)) }
    return values
  }

  private func local(_ name: String) -> CELValue? { locals.last { $0.name == name }?.value }

  private func value(named name: String) throws(CELError) -> CELValue {
    if let value = local(name) ?? environment.variables[name] { return value.read }
    if CELValue.typeNames.contains(name) { return .type(name) }
    throw .here(
      .undeclared,
      "The variable \"\(name)\" has no value."
        + Suggestion.text(for: name, among: environment.variables.keys))
  }

  private mutating func map(of entries: [Node.Entry]) throws(CELError) -> CELValue {
    var map: [CELValue: CELValue] = [:]
    for entry in entries {
      let key = try value(of: entry.key)
      guard key.isKey else {
        throw mismatch("A key is a bool, an int, a uint or a string, not \(key.typeName).", [key])
          .located(at: entry.key.position)
      }
      guard CELValue.find(key, in: map) == nil else {
        throw CELError(.duplicateKey, "The key \(key) is repeated.", at: entry.key.position)
      }
      map[key] = try value(of: entry.value)
    }
    return .map(map)
  }

  // MARK: Errors

  /// An error about the types of operands; `nullOperand` if one is null.
  func mismatch(_ message: String, _ operands: [CELValue]) -> CELError {
    CELError.here(operands.contains(where: \.isNull) ? .nullOperand : .typeMismatch, message)
  }

  private func truth(
    of value: CELValue, _ subject: @autoclosure () -> String, at position: CELPosition
  ) throws(CELError) -> Bool {
    guard case .bool(let truth) = value else {
      throw mismatch("\(subject()) is of type \(value.typeName), not bool.", [value])
        .located(at: position)
    }
    return truth
  }

  // MARK: Members

  /// Whether a member of null is null. See `CELEnvironment.nullMembers`.
  private func readsNull(_ node: Node) -> Bool {
    guard let path = node.path, local(path.root) == nil else { return false }
    return environment.nullMembers.contains(path: path.components)
  }

  private mutating func member(_ member: String, of operand: Node) throws(CELError) -> CELValue {
    let value = try value(of: operand)
    switch value {
    case .map(let map):
      if let member = map[.string(member)] { return member.read }
      throw .here(.missingKey, "The map has no member \"\(member)\".")
    case .null where readsNull(operand): return .null
    default: throw noMember(member, value)
    }
  }

  private mutating func has(_ member: String, _ operand: Node) throws(CELError) -> CELValue {
    let value = try value(of: operand)
    switch value {
    case .map(let map): return .bool(!(map[.string(member)]?.isUnset ?? true))
    case .null where readsNull(operand): return false
    default: throw noMember(member, value)
    }
  }

  private func noMember(_ member: String, _ value: CELValue) -> CELError {
    mismatch("A value of type \(value.typeName) has no member \"\(member)\".", [value])
  }

  private mutating func element(of operand: Node, _ index: Node) throws(CELError) -> CELValue {
    let value = try value(of: operand)
    let key = try self.value(of: index)
    switch value {
    case .list(let elements) where key.isNumber:
      guard let index = key.exactIndex, elements.indices.contains(index) else {
        throw .here(.indexOutOfRange, "The list of \(elements.count) elements has no index \(key).")
      }
      return elements[index].read
    case .map(let map) where key.isKey || key.isNumber:
      if let member = CELValue.stored(key, in: map) { return member.read }
      throw .here(.missingKey, "The map has no key \(key).")
    case .null where readsNull(operand): return .null
    default:
      throw mismatch(
        "A value of type \(value.typeName) has no index of type \(key.typeName).", [value, key])
    }
  }

  // MARK: Logic

  /// An error is the result only if no other operand decides: `&&` and `||` are commutative.
  private mutating func logical(
    _ sign: LogicalOperator, _ operands: [Node]
  ) throws(CELError) -> CELValue {
    var failure: CELError?
    for operand in operands {
      if try isDecided(sign, by: operand, "An operand of \(sign.rawValue)", &failure) {
        return .bool(sign.dominant)
      }
    }
    if let failure { throw failure }
    return .bool(!sign.dominant)
  }

  /// Keeps the first error.
  private mutating func isDecided(
    _ sign: LogicalOperator, by operand: Node, _ subject: @autoclosure () -> String,
    _ failure: inout CELError?
  ) throws(CELError) -> Bool {
    do throws(CELError) {
      let value = try value(of: operand)
      return try truth(of: value, subject(), at: operand.position) == sign.dominant
    } catch {
      if error.kind == .stepLimit { throw error }
      failure = failure ?? error
      return false
    }
  }

  // MARK: Macros

  private mutating func value(of comprehension: Node.Comprehension) throws(CELError) -> CELValue {
    let elements = try elements(of: comprehension)
    locals.append((comprehension.variable, .null))
    defer { locals.removeLast() }
    switch comprehension.macro {
    case .all: return try fold(.and, elements, comprehension)
    case .exists: return try fold(.or, elements, comprehension)
    case .existsOne:
      return .bool(try select(elements, comprehension.body, .existsOne).count == 1)
    case .filter: return .list(try select(elements, comprehension.body, .filter))
    case .map: return try mapped(elements, comprehension)
    }
  }

  /// The elements of a list, or the keys of a map.
  private mutating func elements(
    of comprehension: Node.Comprehension
  ) throws(CELError) -> [CELValue] {
    let range = try value(of: comprehension.range)
    switch range {
    case .list(let elements): return elements
    case .map(let map):
      try take(map.count)
      return CELValue.keys(of: map)
    default:
      throw mismatch(
        "The macro \(comprehension.macro.rawValue) needs a list or a map, not "
          + "\(range.typeName).", [range]
      ).located(at: comprehension.range.position)
    }
  }

  /// - Parameter node: The one that a failure is about, if it is not the comprehension.
  private mutating func bind(_ element: CELValue, at node: Node? = nil) throws(CELError) {
    do throws(CELError) { try take() } catch {
      throw node.map { error.located(at: $0.position) } ?? error
    }
    locals[locals.count - 1].value = element.read
  }

  /// Joins the conditions of all elements by `&&` or `||`.
  private mutating func fold(
    _ sign: LogicalOperator, _ elements: [CELValue], _ comprehension: Node.Comprehension
  ) throws(CELError) -> CELValue {
    var failure: CELError?
    for element in elements {
      try bind(element, at: comprehension.body)
      if try isDecided(
        sign, by: comprehension.body, "The condition of \(comprehension.macro.rawValue)", &failure)
      {
        return .bool(sign.dominant)
      }
    }
    if let failure { throw failure }
    return .bool(!sign.dominant)
  }

  private mutating func select(
    _ elements: [CELValue], _ condition: Node, _ macro: Macro
  ) throws(CELError) -> [CELValue] {
    var selected: [CELValue] = []
    for element in elements {
      try bind(element, at: condition)
      let value = try value(of: condition)
      if try truth(of: value, "The condition of \(macro.rawValue)", at: condition.position) {
        selected.append(element)
      }
    }
    return selected
  }

  private mutating func mapped(
    _ elements: [CELValue], _ comprehension: Node.Comprehension
  ) throws(CELError) -> CELValue {
    var selected = elements
    if let filter = comprehension.filter { selected = try select(elements, filter, .map) }
    var results: [CELValue] = []
    for element in selected {
      try bind(element)
      results.append(try value(of: comprehension.body))
    }
    return .list(results)
  }

  // MARK: Comparison

  mutating func areEqual(_ lhs: CELValue, _ rhs: CELValue) throws(CELError) -> Bool {
    var budget = CELValue.Budget(steps: remainingSteps)
    let areEqual = CELValue.equal(lhs, rhs, &budget)
    if budget.steps < 0 { throw outOfSteps() }
    remainingSteps = budget.steps
    guard let areEqual else { throw tooDeep() }
    return areEqual
  }

  private func tooDeep() -> CELError {
    CELError.here(.tooDeep, "A value is nested deeper than \(CELValue.nestingLimit) levels.")
  }

  // MARK: Unset members

  private mutating func containsUnset(
    _ value: CELValue, levels: Int = CELValue.nestingLimit
  ) throws(CELError) -> Bool {
    try take()
    guard levels >= 0 else { throw tooDeep() }
    var result = false
    switch value {
    case .unset: return true
    case .list(let elements):
      for element in elements
      where try containsUnset(element, levels: levels - 1) { result = true }
    case .map(let map):
      for element in map.values
      where try containsUnset(element, levels: levels - 1) { result = true }
    default: break
    }
    return result
  }

  private func withoutUnset(_ value: CELValue) -> CELValue {
    switch value {
    case .list(let elements): .list(elements.map(withoutUnset))
    case .map(let map): .map(map.filter { !$0.value.isUnset }.mapValues(withoutUnset))
    default: value.read
    }
  }
}

extension CELValue {
  /// The integer that a number is equal to, if it is one.
  fileprivate var exactIndex: Int? {
    switch self {
    case .int(let value): Int(exactly: value)
    case .uint(let value): Int(exactly: value)
    case .double(let value): Int(exactly: value)
    default: nil
    }
  }
}
