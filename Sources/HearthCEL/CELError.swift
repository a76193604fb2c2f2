/// A place in the text of an expression.
public struct CELPosition: Sendable, Hashable, CustomStringConvertible {
  /// The number of UTF-8 bytes before the place.
  public let offset: Int
  /// The line, from 1. Only "\n" begins a line.
  public let line: Int
  /// The column, from 1, in Unicode scalars.
  public let column: Int

  /// The beginning of a text.
  public static let start = CELPosition(offset: 0, line: 1, column: 1)

  /// The line and the column: `2:15`.
  public var description: String { "\(line):\(column)" }
}

/// The reason why an expression was not parsed, not accepted by the type checker or not evaluated.
///
///     do {
///       let expression = try CELExpression(parsing: "vars.genre = 'drama'")
///     } catch {
///       print(error)  // 1:12: The character "=" has no meaning here. Write "==" to compare.
///     }
public struct CELError: Error, Sendable, CustomStringConvertible {
  /// The kind of mistake or limit. Each case names its remedy.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// The text is not an expression. Correct it at `position`.
    case syntax
    /// The text is longer than `CELLimits.lengthBytes`. Shorten it.
    case tooLong
    /// The expression is nested deeper than `CELLimits.nesting`: split it, or use lists with `in`,
    /// `all` or `exists`. Or a value is nested deeper than 250 levels.
    case tooDeep
    /// A variable or a function is not declared, or has no value. Correct the name, or bind it.
    case undeclared
    /// A type has no such member. Thrown by `check(against:)`; correct the name.
    case unknownMember
    /// An operator or a function does not accept values of these types. Convert an operand.
    case typeMismatch
    /// An operand is null. Compare with null first: `x != null && x > 0`.
    case nullOperand
    /// A map has no such key. Use `has(map.key)` or `key in map` first.
    case missingKey
    /// A map literal contains a key twice. Keys that are equal numbers are one key.
    case duplicateKey
    /// A list has no such index. Compare the index with `size(list)` first.
    case indexOutOfRange
    /// A result is outside of its type's range. Use `double`, or smaller operands.
    case overflow
    /// An integer is divided by zero. Compare the divisor with 0 first.
    case divisionByZero
    /// A text cannot be converted, or is not a regular expression, or bytes are not UTF-8.
    case invalidValue
    /// The evaluation took more than `CELEnvironment.stepLimit` steps. Raise the limit, or read
    /// shorter lists.
    case stepLimit
    /// The environment does not offer a function. Set `CELEnvironment.matches`.
    case unsupported
  }

  /// One word, because each function that throws has room for several errors on the stack.
  private final class Storage: Sendable {
    let kind: Kind
    let message: String
    /// Nil until it is known which node the error is about.
    let position: CELPosition?
    let cause: (any Error)?

    init(_ kind: Kind, _ message: String, _ position: CELPosition?, _ cause: (any Error)?) {
      self.kind = kind
      self.message = message
      self.position = position
      self.cause = cause
    }
  }

  private let storage: Storage

  /// The kind of mistake or limit.
  public var kind: Kind { storage.kind }
  /// A sentence for a developer, without the position.
  public var message: String { storage.message }
  /// The place of the mistake in the text.
  public var position: CELPosition { storage.position ?? .start }
  /// The error that a function of the environment threw, if one did.
  public var cause: (any Error)? { storage.cause }

  /// Creates an error. A matcher of an environment can throw one, whose kind and message are kept.
  public init(
    _ kind: Kind, _ message: String, at position: CELPosition = .start,
    cause: (any Error)? = nil
  ) {
    storage = Storage(kind, message, position, cause)
  }

  private init(_ storage: Storage) { self.storage = storage }

  /// An error about the node that is being evaluated or checked; see `located(at:)`.
  static func here(_ kind: Kind, _ message: String, cause: (any Error)? = nil) -> CELError {
    CELError(Storage(kind, message, nil, cause))
  }

  /// The error at a place, unless it has one already.
  func located(at position: CELPosition) -> CELError {
    storage.position == nil ? CELError(kind, message, at: position, cause: cause) : self
  }

  /// The position and the message: `1:8: The divisor is zero.`
  public var description: String { "\(position): \(message)" }
}

/// The maximum size of an expression, so that a hostile text exhausts neither memory nor the stack.
public struct CELLimits: Sendable, Hashable {
  /// The maximum length of a text, in UTF-8 bytes.
  public var lengthBytes: Int
  /// The maximum depth of the syntax tree and of parentheses.
  ///
  /// A chain of n operators `+` or n members is n deep. A chain of `&&` or `||` is one level.
  /// Parsing, checking, printing and evaluating use the stack in proportion to the depth; the
  /// default needs less than 512 KiB, also without optimization.
  public var nesting: Int

  /// 16 KiB and 100 levels.
  public static let standard = CELLimits(lengthBytes: 16_384, nesting: 100)
}
