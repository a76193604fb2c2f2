import TestSupport
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

/// Ten times as many seeds in a soak.
func seeds(_ count: Int) -> [UInt64] { Soak.seeds(Soak.isOn ? count * 10 : count) }
