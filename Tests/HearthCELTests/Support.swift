import Testing

@testable import HearthCEL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

func parse(_ text: String) throws(CELError) -> CELExpression {
  try CELExpression(parsing: text)
}

func evaluate(
  _ text: String, _ environment: CELEnvironment = CELEnvironment()
) throws(CELError) -> CELValue {
  try parse(text).evaluate(in: environment)
}

/// The error of an expression that is parsed, but not evaluated.
func failure(
  _ text: String, _ environment: CELEnvironment = CELEnvironment()
) throws -> CELError? {
  let expression = try parse(text)
  do throws(CELError) {
    _ = try expression.evaluate(in: environment)
    return nil
  } catch {
    return error
  }
}

/// The error of a text that is no expression.
func parseFailure(_ text: String, limits: CELLimits = .standard) -> CELError? {
  do throws(CELError) {
    _ = try CELExpression(parsing: text, limits: limits)
    return nil
  } catch {
    return error
  }
}

/// The error of the type checker.
func checkFailure(_ text: String, _ scope: CELScope) throws -> CELError? {
  let expression = try parse(text)
  do throws(CELError) {
    try expression.check(against: scope)
    return nil
  } catch {
    return error
  }
}

/// An expression and its value.
struct Case: CustomTestStringConvertible {
  let text: String
  let value: CELValue

  init(_ text: String, _ value: CELValue) {
    self.text = text
    self.value = value
  }

  var testDescription: String { text }
}

/// An expression and the kind of its error.
struct Mistake: CustomTestStringConvertible {
  let text: String
  let kind: CELError.Kind

  init(_ text: String, _ kind: CELError.Kind) {
    self.text = text
    self.kind = kind
  }

  var testDescription: String { text }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &self) }

  mutating func isOne(in count: Int) -> Bool { below(count) == 0 }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// Seeds 0 to count - 1, ten times as many with `HEARTH_SOAK=1`; only the one of `HEARTH_SEED`, to
/// repeat it.
func seeds(_ count: UInt64) -> Range<UInt64> {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["HEARTH_SEED"].flatMap(UInt64.init), seed < .max {
    return seed..<seed + 1
  }
  return 0..<(environment["HEARTH_SOAK"] == "1" ? count * 10 : count)
}
