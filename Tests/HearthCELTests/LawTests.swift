import Foundation
import TestSupport
import Testing

@testable import HearthCEL

@Suite struct LawTests {
  /// A value, or the kind of an error.
  enum Outcome: Equatable {
    case value(CELValue)
    case error(CELError.Kind)

    init(_ expression: CELExpression, _ environment: CELEnvironment) {
      do throws(CELError) {
        self = .value(try expression.evaluate(in: environment))
      } catch {
        self = .error(error.kind)
      }
    }

    /// Equal values, or two errors of any kind.
    func agrees(with other: Outcome) -> Bool {
      if case .error = self, case .error = other { return true }
      return self == other
    }
  }

  static let limits = CELLimits(lengthBytes: .max, nesting: 100)

  // MARK: Texts

  @Test func `parsing a printed expression results in the expression`() throws {
    for seed in seeds(2000) {
      var random = RandomNode(seed: seed)
      let expression = CELExpression(random.node(depth: 4))
      let text = expression.description
      let parsed = try CELExpression(parsing: text, limits: Self.limits)
      #expect(parsed == expression, "\(text), seed \(seed)")
      #expect(parsed.description == text, "seed \(seed)")
      #expect(parsed.paths == expression.paths, "seed \(seed)")
    }
  }

  @Test func `random expressions are evaluated and checked without a trap`() {
    for seed in seeds(2000) {
      var random = RandomNode(seed: seed)
      let expression = CELExpression(random.node(depth: 4))
      let environment = random.values.environment()
      let outcome = Outcome(expression, environment)
      // The same again: an evaluation depends on nothing else.
      #expect(Outcome(expression, environment) == outcome, "seed \(seed)")
      let scope = CELScope(
        variables: environment.variables.mapValues { _ in .dyn },
        nullMembers: environment.nullMembers)
      _ = try? expression.check(against: scope)
    }
  }

  @Test func `random bytes are parsed or refused`() {
    for seed in seeds(200) {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<50 {
        let bytes = (0..<random.below(40)).map { _ in UInt8.random(in: 0...255, using: &random) }
        exercise(String(decoding: bytes, as: UTF8.self), seed)
      }
    }
  }

  static let tokens = [
    "a", "vars", "auth", "x", "null", "nil", "true", "false", "in", "0", "1", "-1", "2u", "0x",
    "1.5",
    "1e5", "9223372036854775808", "'a'", "\"b\"", "'", "'''", "r'\\'", "b'\\xff'", "\\", "(", ")",
    "[", "]", "{", "}", ",", ":", "?", ".", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "!=",
    "<",
    "<=", ">", ">=", "&", "=", "has(", "size(", "int(", "string(", ".all(x,", ".map(x,",
    ".exists(a,", ".size()", ".a", "//", "\n", "é", "🐱", "\u{0}", " ", "timestamp('",
    "duration('1s')",
    "package", "google.protobuf.", "Timestamp", "uuidV4()", ".matches(",
  ]

  @Test func `random tokens are parsed or refused`() {
    for seed in seeds(300) {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<50 {
        var text = ""
        for _ in 0..<random.below(14) {
          text += random.pick(Self.tokens)
          if random.one(in: 2) { text += " " }
        }
        exercise(text, seed)
      }
    }
  }

  @Test func `expressions with a random change are parsed or refused`() {
    for seed in seeds(300) {
      var random = RandomNode(seed: seed)
      let text = CELExpression(random.node(depth: 4)).description
      var bytes = Array(text.utf8)
      for _ in 0..<10 {
        let place = random.values.random.below(bytes.count)
        switch random.values.random.below(3) {
        case 0 where !bytes.isEmpty: bytes.remove(at: place)
        case 1: bytes.insert(contentsOf: random.values.random.pick(Self.tokens).utf8, at: place)
        default: bytes = bytes.dropFirst(place / 8).dropLast(place / 16)
        }
        exercise(String(decoding: bytes, as: UTF8.self), seed)
      }
    }
  }

  /// Whatever is parsed obeys the law of printing, and does not trap.
  private func exercise(_ text: String, _ seed: UInt64) {
    do throws(CELError) {
      let expression = try CELExpression(parsing: text, limits: Self.limits)
      let printed = try CELExpression(parsing: expression.description, limits: Self.limits)
      #expect(printed == expression, "\(text), seed \(seed)")
      var values = RandomValue(seed: seed)
      _ = Outcome(expression, values.environment())
      _ = try? expression.check(against: CheckerTests.scope)
    } catch {
      let isRefused = error.kind == .syntax || error.kind == .tooDeep
      #expect(isRefused, "\(text), seed \(seed)")
      #expect(error.position.offset <= text.utf8.count, "\(text), seed \(seed)")
    }
  }

  // MARK: Logic

  @Test func `and and or are commutative and dual`() throws {
    for seed in seeds(1000) {
      var random = RandomTypedExpression(seed: seed)
      let a = random.expression(.bool, depth: 3)
      let b = random.expression(.bool, depth: 3)
      let environment = random.environment()
      for sign in LogicalOperator.allCases {
        let forward = Outcome(CELExpression(Node(.logical(sign, [a, b]))), environment)
        let backward = Outcome(CELExpression(Node(.logical(sign, [b, a]))), environment)
        #expect(forward.agrees(with: backward), "seed \(seed)")
        // !(a && b) is !a || !b.
        let negated = CELExpression(Node(.not(Node(.logical(sign, [a, b])))))
        let dual = CELExpression(
          Node(.logical(sign == .and ? .or : .and, [Node(.not(a)), Node(.not(b))])))
        #expect(
          Outcome(negated, environment).agrees(with: Outcome(dual, environment)), "seed \(seed)")
      }
    }
  }

  @Test func `and and or have the table of truth and error`() throws {
    // Small worlds exhausted: true, false and error, in chains of three.
    let operands: [(String, Bool?)] = [("true", true), ("false", false), ("1 / 0 == 1", nil)]
    for (a, first) in operands {
      for (b, second) in operands {
        for (c, third) in operands {
          let all = [first, second, third]
          let and = try? evaluate("\(a) && \(b) && \(c)")
          let or = try? evaluate("\(a) || \(b) || \(c)")
          let expectedAnd: CELValue? =
            all.contains(false) ? false : all.contains(nil) ? nil : true
          let expectedOr: CELValue? = all.contains(true) ? true : all.contains(nil) ? nil : false
          #expect(and == expectedAnd, "\(a) && \(b) && \(c)")
          #expect(or == expectedOr, "\(a) || \(b) || \(c)")
          // A macro joins its elements in the same way.
          let list = "[\(all.map { $0.map { $0 ? "1" : "2" } ?? "0" }.joined(separator: ", "))]"
          #expect((try? evaluate("\(list).all(x, 1 / x == 1)")) == expectedAnd)
          #expect((try? evaluate("\(list).exists(x, 1 / x == 1)")) == expectedOr)
        }
      }
    }
  }

  @Test func `exists is the dual of all, and exists_one counts`() throws {
    for seed in seeds(500) {
      var random = RandomTypedExpression(seed: seed)
      let list = random.expression(.int, depth: 0)
      let predicate = random.expression(.bool, depth: 2)
      var environment = random.environment()
      environment.variables["l"] = [1, 2, 3]
      func outcome(_ text: String) throws -> Outcome {
        let text = text.replacingOccurrences(of: "P", with: "(\(CELExpression(predicate)))")
          .replacingOccurrences(of: "E", with: "(\(CELExpression(list)))")
        return Outcome(try CELExpression(parsing: text, limits: Self.limits), environment)
      }
      let exists = try outcome("l.exists(x, x != E && P)")
      #expect(try exists.agrees(with: outcome("!l.all(x, !(x != E && P))")), "seed \(seed)")
      let one = try outcome("l.exists_one(x, x != E && P)")
      #expect(
        try one.agrees(with: outcome("size(l.filter(x, x != E && P)) == 1")), "seed \(seed)")
      let mapped = try outcome("l.map(x, x != E, P)")
      #expect(
        try mapped.agrees(with: outcome("l.filter(x, x != E).map(x, P)")), "seed \(seed)")
    }
  }

  // MARK: Types

  @Test func `a checked expression has its type in an environment that conforms`() throws {
    var values = 0
    for seed in seeds(3000) {
      var random = RandomTypedExpression(seed: seed)
      let type = seed.isMultiple(of: 2) ? .bool : random.random.pick(RandomTypedExpression.scalars)
      let expression = CELExpression(random.expression(type, depth: 4))
      let checked = try expression.check(against: RandomTypedExpression.scope)
      #expect(checked.withoutNull == type, "\(expression), seed \(seed)")
      for _ in 0..<3 {
        let environment = random.environment()
        do throws(CELError) {
          let value = try expression.evaluate(in: environment)
          #expect(checked.contains(value), "\(expression): \(value), seed \(seed)")
          values += 1
        } catch {
          let isTypeError = error.kind == .typeMismatch || error.kind == .undeclared
          #expect(!isTypeError, "\(expression): \(error), seed \(seed)")
        }
      }
    }
    #expect(values > 300 || Soak.seed != nil)
  }

  @Test func `an expression that the check accepts without dyn has no error of types`() throws {
    var accepted = 0
    for seed in seeds(4000) {
      var random = RandomNode(seed: seed)
      let expression = CELExpression(random.node(depth: 3))
      let scope = CELScope(
        variables: [
          "a": .int, "b": .string, "c": .list(of: .int), "x": .nullable(.bool), "y": .double,
          "vars": .object(fields: ["a": .int, "b": .nullable(.string), "x": .bool]),
          "auth": .nullable(.object(fields: ["a": .string])),
          "this": .map(key: .string, value: .int),
          "request": .duration, "mutation": .timestamp,
        ], nullMembers: ["auth"])
      var checker = Checker(scope)
      guard let type = try? checker.type(of: expression.root), !checker.usesDyn else { continue }
      accepted += 1
      var environment = CELEnvironment(
        variables: [
          "a": 3, "b": "ab", "c": [1, 2], "x": .unset, "y": 0.5,
          "vars": ["a": 1, "b": .unset, "x": true], "auth": .null, "this": ["a": 1],
          "request": .duration(seconds: 1, nanoseconds: 0),
          "mutation": .timestamp(seconds: 1, nanoseconds: 0),
        ], nullMembers: ["auth"], stepLimit: 10_000)
      environment.matches = { _, _ in true }
      do throws(CELError) {
        let value = try expression.evaluate(in: environment)
        #expect(type.contains(value), "\(expression): \(value), seed \(seed)")
      } catch {
        let isTypeError = error.kind == .typeMismatch || error.kind == .undeclared
        #expect(!isTypeError, "\(expression): \(error), seed \(seed)")
      }
    }
    #expect(accepted > 300 || Soak.seed != nil)
  }

  // MARK: Paths

  /// An environment with the values at some paths, and nothing else.
  private func pruned(_ environment: CELEnvironment, _ paths: [CELPath]) -> CELEnvironment {
    var result = environment
    result.variables = [:]
    for path in paths {
      guard let value = environment.variables[path.root] else { continue }
      result.variables[path.root] = copied(
        path.components.dropFirst(), from: value, into: result.variables[path.root])
    }
    return result
  }

  private func copied(
    _ members: ArraySlice<String>, from source: CELValue, into target: CELValue?
  ) -> CELValue {
    guard let first = members.first, case .map(let map) = source else { return source }
    var result: [CELValue: CELValue] = [:]
    if case .map(let copied) = target { result = copied }
    if let member = map[.string(first)] {
      result[.string(first)] = copied(
        members.dropFirst(), from: member, into: result[.string(first)])
    }
    return .map(result)
  }

  @Test func `an evaluation reads nothing but its paths`() {
    for seed in seeds(2000) {
      var random = RandomNode(seed: seed)
      let expression = CELExpression(random.node(depth: 4))
      let environment = random.values.environment()
      // Longer paths first: a path that ends keeps all members.
      let paths = expression.paths.sorted { $0.components.count > $1.components.count }
      #expect(
        Outcome(expression, pruned(environment, paths)).agrees(
          with: Outcome(expression, environment)), "\(expression), seed \(seed)")
    }
  }

  // MARK: Arithmetic

  @Test func `integers agree with arithmetic of 128 bits`() throws {
    let signs: [BinaryOperator] = [.add, .subtract, .multiply, .divide, .remainder]
    for seed in seeds(500) {
      var random = SeededGenerator(seed: seed)
      for sign in signs {
        let a =
          random.one(in: 2)
          ? random.pick(RandomValue.integers) : .random(in: .min ... .max, using: &random)
        let b =
          random.one(in: 2)
          ? random.pick(RandomValue.integers) : .random(in: .min ... .max, using: &random)
        func expected<Value: FixedWidthInteger>(_ a: Value, _ b: Value) -> Value? {
          if b == 0, sign == .divide || sign == .remainder { return nil }
          // The spec leaves the remainder of an overflowing quotient to the implementation: an error.
          if sign == .remainder, Value(exactly: Int128(a) / Int128(b)) == nil { return nil }
          let result: Int128 =
            switch sign {
            case .add: Int128(a) + Int128(b)
            case .subtract: Int128(a) - Int128(b)
            case .multiply: Int128(a).multipliedReportingOverflow(by: Int128(b)).partialValue
            case .divide: Int128(a) / Int128(b)
            default: Int128(a) % Int128(b)
            }
          if sign == .multiply, Int128(a).multipliedReportingOverflow(by: Int128(b)).overflow {
            return nil
          }
          return Value(exactly: result)
        }
        let signed = Node(.binary(sign, Node(.literal(.int(a))), Node(.literal(.int(b)))))
        let value = try? CELExpression(signed).evaluate(in: CELEnvironment())
        #expect(value == expected(a, b).map { .int($0) }, "\(a) \(sign) \(b), seed \(seed)")

        let c = UInt64(bitPattern: a)
        let d = UInt64(bitPattern: b)
        let unsigned = Node(.binary(sign, Node(.literal(.uint(c))), Node(.literal(.uint(d)))))
        let result = try? CELExpression(unsigned).evaluate(in: CELEnvironment())
        #expect(result == expected(c, d).map { .uint($0) }, "\(c) \(sign) \(d), seed \(seed)")
      }
    }
  }

  // MARK: Stack

  @Test(arguments: ParserTests.nestings)
  func `the deepest expressions need less than 512 KiB of stack`(
    start: String, middle: String, end: String
  ) async throws {
    let text = String(repeating: start, count: 99) + middle + String(repeating: end, count: 99)
    let isParsed = await withCheckedContinuation { continuation in
      let thread = Thread {
        guard let expression = try? CELExpression(parsing: text) else {
          return continuation.resume(returning: false)
        }
        _ = try? expression.check(
          against: CELScope(variables: ["a": .dyn, "b": .dyn, "x": .dyn, "y": .dyn]))
        var nested: CELValue = [1]
        for _ in 0..<120 { nested = [nested, 1] }
        _ = try? expression.evaluate(
          in: CELEnvironment(
            variables: ["a": nested, "b": 1, "x": [0], "y": true], stepLimit: 10_000))
        _ = expression.description
        _ = expression.paths
        _ = expression.hashValue
        _ = expression == expression
        continuation.resume(returning: true)
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(isParsed)
  }

  @Test func `values of the greatest depth need less than 512 KiB of stack`() async {
    let isEqual = await withCheckedContinuation { continuation in
      let thread = Thread {
        var list: CELValue = 1
        var map: CELValue = .unset
        for _ in 0..<250 {
          list = [list]
          map = ["a": map]
        }
        let environment = CELEnvironment(variables: ["l": list, "m": map])
        let isEqual = try? evaluate("l == l && m == m", environment)
        _ = try? evaluate("l", environment)
        _ = try? evaluate("m", environment)
        continuation.resume(returning: isEqual == true)
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(isEqual)
  }
}
