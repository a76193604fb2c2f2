import TestSupport
import Testing

@testable import HearthCEL

@Suite struct CELValueTests {
  @Test func `structural equality and the equality of CEL differ`() {
    #expect(CELValue.int(1) != .uint(1))
    #expect(CELValue.int(1) != .double(1))
    #expect(CELValue.null != .unset)
    #expect(CELValue.int(1).equals(.uint(1)))
    #expect(CELValue.int(1).equals(.double(1)))
    #expect(CELValue.null.equals(.unset))
    #expect(CELValue.double(.nan) == .double(.nan))
    #expect(!CELValue.double(.nan).equals(.double(.nan)))
    #expect(CELValue.map([1: "a", "u": .unset]).equals([.uint(1): "a"]))
    #expect(CELValue.string("\u{e9}") != .string("e\u{301}"))
    #expect(!CELValue.string("\u{e9}").equals(.string("e\u{301}")))
    #expect(Set<CELValue>([.double(.nan), .double(.nan), .double(0), .double(-0.0)]).count == 2)
  }

  @Test func `keys are found by their bytes`() throws {
    let map: CELValue = ["\u{e9}": 1, "e\u{301}": 2]
    let environment = CELEnvironment(variables: ["m": map])
    #expect(try evaluate("m['\\u00e9']", environment) == 1)
    #expect(try evaluate("m['e\\u0301']", environment) == 2)
  }

  static let values: [(CELValue, String)] = [
    (.null, "null"), (.unset, "unset"), (true, "true"), (-1, "-1"), (.uint(1), "1u"),
    (1.5, "1.5"), (.double(.nan), "double('NaN')"), (.double(-.infinity), "double('-inf')"),
    ("it's\n", #"'it\'s\n'"#), (.bytes([0, 65]), #"b'\x00A'"#), ([1, "a"], "[1, 'a']"),
    (["b": 1, "a": [:], 2: 3], "{2: 3, 'a': {}, 'b': 1}"), (.type("int"), "int"),
    (
      .timestamp(seconds: 1_234_567_890, nanoseconds: 5),
      "timestamp('2009-02-13T23:31:30.000000005Z')"
    ),
    (.duration(seconds: -1, nanoseconds: -500_000_000), "duration('-1.5s')"),
    (.timestamp(seconds: .max, nanoseconds: 0), "timestamp('out of range')"),
  ]

  @Test(arguments: values)
  func `a value is written as an expression`(value: CELValue, text: String) throws {
    #expect(value.description == text)
    if !text.contains("unset"), !text.contains("range") {
      #expect(try evaluate(text) == value)
    }
  }

  // MARK: Laws

  /// A number and four times its value, which is exact.
  static let numbers: [(CELValue, Int128)] = {
    let integers: [Int128] = [
      0, 1, -1, 2, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, (1 << 62) + 1, (1 << 63) - 1, 1 << 63,
      -(1 << 63), (1 << 64) - 1, 1 << 64,
    ]
    var numbers: [(CELValue, Int128)] = []
    for integer in integers {
      if let value = Int64(exactly: integer) { numbers.append((.int(value), integer * 4)) }
      if let value = UInt64(exactly: integer) { numbers.append((.uint(value), integer * 4)) }
      let double = Double(integer)
      for value in [double.nextDown, double, double.nextUp, double + 0.25, double - 0.5] {
        if let quadruple = Int128(exactly: value * 4) {
          numbers.append((.double(value), quadruple))
        }
      }
    }
    return numbers
  }()

  @Test func `numbers are compared by their exact values`() throws {
    for (a, exactA) in Self.numbers {
      for (b, exactB) in Self.numbers {
        let order = CELValue.order(a, b)
        let expected: CELValue.Order =
          exactA < exactB ? .less : exactA == exactB ? .equal : .greater
        #expect(order == expected, "\(a) and \(b)")
        #expect(a.equals(b) == (exactA == exactB), "\(a) and \(b)")
      }
    }
  }

  @Test func `infinities are outside of all numbers, NaN is beside them`() {
    for (number, _) in Self.numbers {
      #expect(CELValue.order(number, .double(.infinity)) == .less)
      #expect(CELValue.order(number, .double(-.infinity)) == .greater)
      #expect(CELValue.order(number, .double(.nan)) == .unordered)
      #expect(CELValue.order(.double(.nan), number) == .unordered)
    }
  }

  @Test func `equality is symmetric, and structural equality implies it`() {
    for seed in seeds(20) {
      var random = RandomValue(seed: seed)
      let values = (0..<30).map { _ in random.value(depth: 2) }
      for a in values {
        for b in values {
          #expect(a.equals(b) == b.equals(a), "seed \(seed)")
          if a == b {
            #expect(a.hashValue == b.hashValue, "seed \(seed)")
          }
        }
        #expect(a == a, "seed \(seed)")
      }
    }
  }

  @Test func `a part of a text is found as by a search at each place`() {
    for seed in seeds(50) {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<40 {
        func text(_ count: Int) -> String {
          String((0..<random.below(count)).map { _ in random.pick(["a", "b"] as [Character]) })
        }
        let whole = text(20)
        let part = text(6)
        let isFound =
          part.isEmpty
          || whole.indices.contains { whole[$0...].hasPrefix(part) }
        #expect(whole.containsBytes(of: part) == isFound, "\(whole), \(part), seed \(seed)")
      }
    }
  }
}
