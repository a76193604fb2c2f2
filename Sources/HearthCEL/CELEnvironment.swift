internal import Foundation

/// The values that an expression reads, and the functions that it cannot compute by itself.
///
///     let environment = CELEnvironment(
///       variables: ["auth": .null, "vars": ["genre": "drama"]], nullMembers: ["auth"])
///     try CELExpression(parsing: "auth.uid == null").evaluate(in: environment)  // true
public struct CELEnvironment: Sendable {
  /// The values of the root names.
  public var variables: [String: CELValue]
  /// The paths whose members are null if the value at the path is null: `auth`, `request.auth`.
  ///
  /// Only the members themselves are null: with `auth` null, `auth.uid` and `auth.token` are null,
  /// `has(auth.uid)` is false, and `auth.token.email` ends in `nullOperand`.
  public var nullMembers: Set<String>
  /// The maximum number of steps of an evaluation, 1,000,000 by default.
  ///
  /// A step is an operator, an element that is visited, copied or compared, or 16 bytes of a text.
  public var stepLimit: Int
  /// The result of `uuidV4()`. By default a random UUID of version 4, in lower case with dashes.
  public var makeUUID: @Sendable () -> String
  /// Whether a regular expression is found in a text, for `text.matches(pattern)`.
  ///
  /// By default it throws `unsupported`. The matcher must need a time linear in the text: texts and
  /// patterns may be hostile. The expression ends in `invalidValue` if the matcher throws another
  /// error than a `CELError`.
  public var matches: @Sendable (_ pattern: String, _ text: String) throws -> Bool

  /// Creates an environment without a matcher of regular expressions.
  public init(
    variables: [String: CELValue] = [:], nullMembers: Set<String> = [],
    stepLimit: Int = 1_000_000
  ) {
    self.variables = variables
    self.nullMembers = nullMembers
    self.stepLimit = stepLimit
    makeUUID = { UUID().uuidString.lowercased() }
    matches = { _, _ in
      throw CELError(.unsupported, "Regular expressions are not supported here.")
    }
  }
}
