/// An expression of the Common Expression Language (CEL), parsed.
///
///     text ──parse──▶ CELExpression ──check(against: scope)───────▶ CELType
///                          │        ──evaluate(in: environment)───▶ CELValue
///                          ├──────── paths: the names that it reads
///                          └──────── description: canonical text
///
/// A condition is parsed once, and evaluated as often as needed:
///
///     let condition = try CELExpression(
///       parsing: "request.variables.genre == mutation.variables.genre")
///     let isMet = try condition.evaluateCondition(in: environment)
///
/// The language is CEL without messages, optional values, enumerations and namespaces:
///
///     c ? a : b   a || b   a && b   == != < <= > >= in   + - * / %   !a  -a
///     a.b  a[b]  f(x)  a.f(x)  [a, b]  {k: v}  (a)
///     null (or nil)  true  1  0x1F  1u  1.5  'text'  """text"""  r'\d'  b'\xff'   // comment
///     has(a.b)  all  exists  exists_one  map  filter  size  startsWith  endsWith  contains  matches
///     int  uint  double  string  bool  bytes  timestamp  duration  type  dyn  uuidV4
///     getFullYear  getMonth  getDate  getDayOfMonth  getDayOfWeek  getDayOfYear
///     getHours  getMinutes  getSeconds  getMilliseconds
///
/// The operators `&&` and `||` are commutative: an error of one operand is absorbed if the other
/// operand decides the result. Integer arithmetic ends in `overflow` instead of wrapping around.
/// Two expressions are equal if their syntax trees are equal, wherever their tokens are.
public struct CELExpression: Sendable, Hashable {
  let root: Node

  init(_ root: Node) { self.root = root }

  /// Parses a text.
  ///
  /// - Throws: `syntax`, with the position of the first token that does not fit; `tooLong` or
  ///   `tooDeep` if the text exceeds a limit.
  public init(
    parsing text: String, limits: CELLimits = .standard
  ) throws(CELError) {
    root = try Parser.parse(text, limits: limits)
  }

  /// The type of the expression's value, given the types of its variables.
  ///
  /// A value of type `dyn` is accepted everywhere. `==` and `in` are errors if the types can never
  /// be equal; null can be compared with everything. A list of elements of several types is a
  /// `list(dyn)`. An expression without `dyn` never ends in `typeMismatch` or `undeclared` in an
  /// environment whose variables have their declared types.
  ///
  /// - Throws: `undeclared`, `unknownMember` or `typeMismatch`; `unsupported` for `matches` in a scope
  ///   without a matcher.
  @discardableResult
  public func check(against scope: CELScope) throws(CELError) -> CELType {
    var checker = Checker(scope)
    return try checker.type(of: root)
  }

  /// The value of the expression.
  ///
  /// Requires no check before. Never traps, whatever the values are. Takes at most
  /// `environment.stepLimit` steps.
  ///
  /// - Throws: The first error that no `&&` or `||` absorbed: each kind of ``CELError/Kind`` but
  ///   those of the parser and `unknownMember`.
  public func evaluate(in environment: CELEnvironment) throws(CELError) -> CELValue {
    var evaluator = Evaluator(environment)
    return try evaluator.result(of: root)
  }

  /// The value of an expression that is a condition.
  ///
  /// - Throws: As `evaluate(in:)`; `nullOperand` or `typeMismatch` if the value is not a `bool`.
  public func evaluateCondition(in environment: CELEnvironment) throws(CELError) -> Bool {
    var evaluator = Evaluator(environment)
    return try evaluator.condition(root)
  }
}
