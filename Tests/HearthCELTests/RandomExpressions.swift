import TestSupport

@testable import HearthCEL

/// Random values, few of each type, so that equal ones are frequent.
struct RandomValue {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static let integers: [Int64] = [0, 1, -1, 2, 3, 7, .max, .min, 1 << 53, (1 << 53) + 1]
  static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.5, 2, 1e19, .leastNonzeroMagnitude, 9_007_199_254_740_992, 0.1,
    .greatestFiniteMagnitude,
  ]
  static let texts = [
    "", "a", "b", "ab", "é", "e\u{301}", "🐱", "'\"\\\n\t\r\u{0}\u{7F}", "1", "1.5",
  ]
  static let names = ["a", "b", "c", "x", "y", "vars", "auth", "request", "mutation", "this"]

  mutating func value(depth: Int) -> CELValue {
    switch random.below(depth > 0 ? 13 : 10) {
    case 0: return .null
    case 1: return .bool(random.one(in: 2))
    case 2: return .int(random.pick(Self.integers))
    case 3: return .uint(random.pick([0, 1, 2, .max, 1 << 63]))
    case 4: return .double(random.pick(Self.doubles + [.nan, .infinity, -.infinity]))
    case 5: return .string(random.pick(Self.texts))
    case 6: return .bytes(random.pick([[], [0], [97], [255, 0]]))
    case 7: return .timestamp(seconds: Int64(random.below(4)) - 2, nanoseconds: 5)
    case 8: return .duration(seconds: Int64(random.below(4)) - 2, nanoseconds: 0)
    case 9: return random.one(in: 2) ? .type("int") : .unset
    case 10: return .list((0..<random.below(4)).map { _ in value(depth: depth - 1) })
    default:
      var map: [CELValue: CELValue] = [:]
      for _ in 0..<random.below(4) { map[key()] = value(depth: depth - 1) }
      return .map(map)
    }
  }

  private mutating func key() -> CELValue {
    switch random.below(6) {
    case 0: .bool(random.one(in: 2))
    case 1: .int(random.pick(Self.integers))
    case 2: .uint(random.pick([0, 1, 2]))
    default: .string(random.pick(Self.names))
    }
  }

  /// Values for all names.
  mutating func environment() -> CELEnvironment {
    var environment = CELEnvironment(
      nullMembers: ["auth", "request.auth", "a.b"], stepLimit: 20_000)
    for name in Self.names where !random.one(in: 8) {
      environment.variables[name] = value(depth: 3)
    }
    environment.makeUUID = { "00000000-0000-4000-8000-000000000000" }
    environment.matches = { pattern, text in text.utf8.elementsEqual(pattern.utf8) }
    return environment
  }
}

/// Random syntax trees of all kinds, without regard to types: those that the parser can make.
struct RandomNode {
  var values: RandomValue

  init(seed: UInt64) { values = RandomValue(seed: seed) }

  private mutating func below(_ count: Int) -> Int { values.random.below(count) }
  private mutating func name() -> String { values.random.pick(RandomValue.names) }
  private mutating func nodes(_ least: Int, _ depth: Int) -> [Node] {
    (0..<least + below(3)).map { _ in node(depth: depth) }
  }

  mutating func node(depth: Int) -> Node {
    guard depth > 0 else { return Node(below(2) == 0 ? .name(name()) : .literal(literal())) }
    let next = depth - 1
    switch below(16) {
    case 0: return Node(.literal(literal()))
    case 1: return Node(.name(name()))
    case 2: return Node(.member(node(depth: next), name()))
    case 3: return Node(.index(node(depth: next), node(depth: next)))
    case 4: return Node(.presence(node(depth: next), name()))
    case 5:
      let function = values.random.pick([
        "size", "int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration",
        "type", "dyn", "uuidV4", "matches", "f",
      ])
      return Node(.call(function, nodes(0, next)))
    case 6:
      let method = values.random.pick([
        "size", "startsWith", "endsWith", "contains", "matches", "getHours", "getFullYear", "f",
      ])
      return Node(.method(node(depth: next), method, nodes(0, next)))
    case 7: return comprehension(next)
    case 8: return Node(.list(nodes(0, next)))
    case 9:
      let entries = (0..<below(3)).map { _ in
        Node.Entry(key: node(depth: next), value: node(depth: next))
      }
      return Node(.map(entries))
    case 10: return Node(.not(node(depth: next)))
    case 11: return Node(.negation(node(depth: next)))
    case 12, 13:
      let sign = values.random.pick(BinaryOperator.allCases)
      return Node(.binary(sign, node(depth: next), node(depth: next)))
    case 14:
      return Node(.logical(values.random.pick(LogicalOperator.allCases), nodes(2, next)))
    default:
      return Node(.conditional(node(depth: next), node(depth: next), node(depth: next)))
    }
  }

  private mutating func comprehension(_ depth: Int) -> Node {
    let macro = values.random.pick(Macro.allCases)
    return Node(
      .comprehension(
        Node.Comprehension(
          macro: macro, range: node(depth: depth), variable: name(),
          filter: macro == .map && below(2) == 0 ? node(depth: depth) : nil,
          body: node(depth: depth))))
  }

  private mutating func literal() -> CELValue {
    switch below(8) {
    case 0: .null
    case 1: .bool(below(2) == 0)
    case 2: .uint(values.random.pick([0, 1, .max]))
    case 3: .double(values.random.pick(RandomValue.doubles))
    case 4: .bytes(values.random.pick([[], [0, 39, 92], [255]]))
    case 5: .type("google.protobuf.Timestamp")
    case 6: .string(values.random.pick(RandomValue.texts))
    default: .int(values.random.pick(RandomValue.integers))
    }
  }
}

/// Random expressions of a type, over variables of the types that a scope declares.
struct RandomTypedExpression {
  var random: SeededGenerator
  /// The variables of macros around the current expression.
  private var locals: [(name: String, type: CELType)] = []

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static let scalars: [CELType] = [
    .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration,
  ]

  static let scope: CELScope = {
    var fields: [String: CELType] = ["nothing": .null]
    for type in scalars {
      fields["\(type)Field"] = type
      fields["\(type)Maybe"] = .nullable(type)
      fields["\(type)List"] = .list(of: type)
      fields["\(type)Maybes"] = .list(of: .nullable(type))
      fields["\(type)Map"] = .map(key: .string, value: type)
      fields["\(type)ByInt"] = .map(key: .int, value: .nullable(type))
    }
    let vars = CELType.object(fields: fields)
    return CELScope(
      variables: ["vars": vars, "auth": .nullable(vars), "maybe": .nullable(vars)],
      nullMembers: ["auth"])
  }()

  // MARK: Values

  /// An environment in which each variable has a value of its type.
  mutating func environment() -> CELEnvironment {
    var environment = CELEnvironment(nullMembers: Self.scope.nullMembers, stepLimit: 50_000)
    for (name, type) in Self.scope.variables { environment.variables[name] = value(of: type) }
    environment.matches = { pattern, text in text.utf8.elementsEqual(pattern.utf8) }
    return environment
  }

  private mutating func value(of type: CELType) -> CELValue {
    switch type {
    case .dyn, .null, .type: return random.one(in: 2) ? .null : .unset
    case .bool: return .bool(random.one(in: 2))
    case .int: return .int(random.pick(RandomValue.integers))
    case .uint: return .uint(random.pick([0, 1, 2, .max]))
    case .double: return .double(random.pick(RandomValue.doubles + [.nan, .infinity]))
    case .string: return .string(random.pick(RandomValue.texts))
    case .bytes: return .bytes(random.pick([[], [97], [255]]))
    case .timestamp:
      return .timestamp(seconds: random.pick([0, -1, 253_402_300_799]), nanoseconds: 9)
    case .duration: return .duration(seconds: random.pick([0, -5, 9_000_000_000]), nanoseconds: 0)
    case .list(let element): return .list((0..<random.below(4)).map { _ in value(of: element) })
    case .map(let key, let type):
      var map: [CELValue: CELValue] = [:]
      for _ in 0..<random.below(4) { map[value(of: key)] = value(of: type) }
      return .map(map)
    case .object(let fields):
      var map: [CELValue: CELValue] = [:]
      for (name, type) in fields.sorted(by: { $0.key < $1.key }) {
        map[.string(name)] = value(of: type)
      }
      return .map(map)
    case .nullable(let type):
      return random.one(in: 3) ? random.pick([.null, .unset]) : value(of: type)
    }
  }

  // MARK: Expressions

  private mutating func scalar() -> CELType { random.pick(Self.scalars) }

  private func name(_ name: String) -> Node { Node(.name(name)) }

  private mutating func field(_ name: String) -> Node {
    let root = self.name(random.pick(["vars", "vars", "vars", "auth", "maybe"]))
    return random.one(in: 4)
      ? Node(.index(root, Node(.literal(.string(name))))) : Node(.member(root, name))
  }

  private mutating func leaf(_ type: CELType) -> Node {
    let fitting = locals.filter { $0.type == type }
    if !fitting.isEmpty, random.one(in: 2) { return name(random.pick(fitting).name) }
    let literal: CELValue? =
      switch type {
      case .bool, .int, .uint, .string, .bytes: value(of: type)
      case .double: .double(random.pick(RandomValue.doubles))
      default: nil
      }
    if let literal, random.one(in: 2) { return Node(.literal(literal)) }
    return field("\(type)\(random.pick(["Field", "Field", "Maybe"]))")
  }

  mutating func expression(_ type: CELType, depth: Int) -> Node {
    guard depth > 0 else { return leaf(type) }
    let next = depth - 1
    switch random.below(8) {
    case 0: return leaf(type)
    case 1:
      return Node(
        .conditional(
          expression(.bool, depth: next), expression(type, depth: next),
          expression(type, depth: next)))
    case 2:
      let key: Node =
        random.one(in: 2) ? expression(.int, depth: next) : expression(.uint, depth: next)
      return Node(.index(list(type, depth: next), key))
    case 3:
      return random.one(in: 2)
        ? Node(.index(field("\(type)Map"), expression(.string, depth: next)))
        : Node(.index(field("\(type)ByInt"), expression(.double, depth: next)))
    default: return computed(type, next)
    }
  }

  private mutating func computed(_ type: CELType, _ depth: Int) -> Node {
    switch type {
    case .bool: return condition(depth)
    case .int, .uint, .double: return number(type, depth)
    case .string:
      return random.one(in: 2)
        ? binary(.add, .string, .string, depth)
        : Node(.call("string", [expression(scalar(), depth: depth)]))
    case .bytes:
      return random.one(in: 2)
        ? binary(.add, .bytes, .bytes, depth)
        : Node(.call("bytes", [expression(.string, depth: depth)]))
    case .timestamp:
      return random.one(in: 2)
        ? binary(random.pick([.add, .subtract]), .timestamp, .duration, depth)
        : Node(.call("timestamp", [expression(random.pick([.int, .string]), depth: depth)]))
    case .duration:
      return random.one(in: 2)
        ? binary(random.pick([.add, .subtract]), .duration, .duration, depth)
        : binary(.subtract, .timestamp, .timestamp, depth)
    default: return leaf(type)
    }
  }

  private mutating func binary(
    _ sign: BinaryOperator, _ left: CELType, _ right: CELType, _ depth: Int
  ) -> Node {
    Node(.binary(sign, expression(left, depth: depth), expression(right, depth: depth)))
  }

  private mutating func number(_ type: CELType, _ depth: Int) -> Node {
    var signs: [BinaryOperator] = [.add, .subtract, .multiply, .divide]
    if type != .double { signs.append(.remainder) }
    switch random.below(6) {
    case 0 where type != .uint: return Node(.negation(expression(type, depth: depth)))
    case 1:
      let source = random.pick([.int, .uint, .double, .string] as [CELType])
      return Node(.call("\(type)", [expression(source, depth: depth)]))
    case 2 where type == .int:
      return Node(.call("size", [list(scalar(), depth: depth)]))
    case 3 where type == .int:
      let accessor = random.pick(CELTime.timestampParts.keys.sorted())
      return Node(.method(expression(.timestamp, depth: depth), accessor, []))
    default: return binary(random.pick(signs), type, type, depth)
    }
  }

  private mutating func condition(_ depth: Int) -> Node {
    switch random.below(9) {
    case 0: return Node(.not(expression(.bool, depth: depth)))
    case 1:
      let operands = (0..<2 + random.below(2)).map { _ in expression(.bool, depth: depth) }
      return Node(.logical(random.pick(LogicalOperator.allCases), operands))
    case 2:
      let type = scalar()
      return binary(random.pick([.equal, .notEqual]), type, type, depth)
    case 3:
      let type = scalar()
      return binary(
        random.pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), type, type, depth)
    case 4:
      let numbers: [CELType] = [.int, .uint, .double]
      return binary(
        random.pick([.less, .equal, .greaterOrEqual]), random.pick(numbers), random.pick(numbers),
        depth)
    case 5:
      let type = scalar()
      return Node(
        .binary(.contained, expression(type, depth: depth), list(type, depth: depth)))
    case 6:
      let method = random.pick(["startsWith", "endsWith", "contains", "matches"])
      return Node(
        .method(
          expression(.string, depth: depth), method, [expression(.string, depth: depth)]))
    case 7:
      return Node(.presence(name(random.pick(["vars", "auth", "maybe"])), "\(scalar())Maybe"))
    default: return comprehension(random.pick([.all, .exists, .existsOne]), scalar(), .bool, depth)
    }
  }

  private mutating func comprehension(
    _ macro: Macro, _ element: CELType, _ body: CELType, _ depth: Int
  ) -> Node {
    let range = list(element, depth: depth)
    let variable = "e\(locals.count)"
    locals.append((variable, element))
    defer { locals.removeLast() }
    return Node(
      .comprehension(
        Node.Comprehension(
          macro: macro, range: range, variable: variable,
          filter: macro == .map && random.one(in: 2) ? expression(.bool, depth: depth) : nil,
          body: expression(body, depth: depth))))
  }

  /// An expression that is a list of elements of a type, some of which may be null.
  private mutating func list(_ type: CELType, depth: Int) -> Node {
    guard depth > 0 else { return field("\(type)List") }
    let next = depth - 1
    switch random.below(6) {
    case 0: return Node(.list((0..<1 + random.below(3)).map { _ in expression(type, depth: next) }))
    case 1: return Node(.binary(.add, list(type, depth: next), list(type, depth: next)))
    case 2: return comprehension(.map, scalar(), type, next)
    case 3: return comprehension(.filter, type, .bool, next)
    case 4: return field("\(type)Maybes")
    default: return field("\(type)List")
    }
  }
}
