/// Translates a text into a syntax tree, by recursive descent.
///
///     expression = or ["?" or ":" expression]
///     or         = and {"||" and}
///     and        = relation {"&&" relation}
///     relation   = sum {("==" | "!=" | "<" | "<=" | ">" | ">=" | "in") sum}
///     sum        = product {("+" | "-") product}
///     product    = unary {("*" | "/" | "%") unary}
///     unary      = {"!" | "-"} postfix
///     postfix    = primary {"." name ["(" arguments ")"] | "[" expression "]"}
///     primary    = literal | name ["(" arguments ")"] | "(" expression ")"
///                | "[" elements "]" | "{" entries "}"
struct Parser {
  private let tokens: [Lexer.Token]
  private let limits: CELLimits
  private var index = 0
  /// How many expressions contain the one that is parsed.
  private var nesting = 0

  /// - Throws: `tooLong`, `tooDeep` or `syntax`.
  static func parse(_ text: String, limits: CELLimits) throws(CELError) -> Node {
    guard text.utf8.count <= limits.lengthBytes else {
      throw CELError(.tooLong, "The expression is longer than \(limits.lengthBytes) bytes.")
    }
    var parser = Parser(tokens: try Lexer.tokens(of: text), limits: limits)
    let node = try parser.expression()
    guard parser.token.kind == .end else { throw parser.unexpected("the end of the expression") }
    return node
  }

  // MARK: Tokens

  /// The last token is the end, which is never taken.
  private var token: Lexer.Token { tokens[index] }

  private mutating func advance() {
    if index < tokens.count - 1 { index += 1 }
  }

  private func isAt(_ symbol: String) -> Bool { token.kind == .symbol(symbol) }

  private mutating func take(_ symbol: String) -> Bool {
    guard isAt(symbol) else { return false }
    advance()
    return true
  }

  private mutating func expect(_ symbol: String) throws(CELError) {
    guard take(symbol) else { throw unexpected("\"\(symbol)\"") }
  }

  private func unexpected(_ expected: String) -> CELError {
    let found = token.kind == .end ? "the end" : "\"\(token.text)\""
    return CELError(.syntax, "Expected \(expected), but found \(found).", at: token.position)
  }

  private func tooDeep(at position: CELPosition) -> CELError {
    CELError(
      .tooDeep, "The expression is nested deeper than \(limits.nesting) levels.", at: position)
  }

  private func node(_ kind: Node.Kind, at position: CELPosition) throws(CELError) -> Node {
    let node = Node(kind, at: position)
    guard node.depth <= limits.nesting else { throw tooDeep(at: position) }
    return node
  }

  // MARK: Operators

  private mutating func expression() throws(CELError) -> Node {
    guard nesting < limits.nesting else { throw tooDeep(at: token.position) }
    nesting += 1
    defer { nesting -= 1 }
    let condition = try operation(.or)
    return isAt("?") ? try conditional(condition) : condition
  }

  private mutating func conditional(_ condition: Node) throws(CELError) -> Node {
    let position = token.position
    advance()
    let first = try operation(.or)
    try expect(":")
    return try node(.conditional(condition, first, expression()), at: position)
  }

  /// The operators of at least a precedence, by precedence climbing.
  private mutating func operation(_ minimum: Precedence) throws(CELError) -> Node {
    var left = try unary()
    while true {
      if let sign = logicalOperator, sign.precedence >= minimum {
        left = try chain(sign, left)
      } else if let sign = binaryOperator, sign.precedence >= minimum {
        left = try binary(sign, left)
      } else {
        return left
      }
    }
  }

  private mutating func chain(
    _ sign: LogicalOperator, _ first: Node
  ) throws(CELError) -> Node {
    let position = token.position
    var operands = [first]
    while take(sign.rawValue) { operands.append(try operation(sign.precedence.next)) }
    return try node(.logical(sign, operands), at: position)
  }

  private mutating func binary(
    _ sign: BinaryOperator, _ left: Node
  ) throws(CELError) -> Node {
    let position = token.position
    advance()
    return try node(.binary(sign, left, operation(sign.precedence.next)), at: position)
  }

  private var logicalOperator: LogicalOperator? {
    guard case .symbol(let symbol) = token.kind else { return nil }
    return LogicalOperator(rawValue: symbol)
  }

  private var binaryOperator: BinaryOperator? {
    switch token.kind {
    case .symbol(let symbol): BinaryOperator(rawValue: symbol)
    case .name("in"): .contained
    default: nil
    }
  }

  private mutating func unary() throws(CELError) -> Node {
    isAt("!") || isAt("-") ? try signed() : try postfix(primary())
  }

  private mutating func signed() throws(CELError) -> Node {
    var signs: [Lexer.Token] = []
    while isAt("!") || isAt("-") {
      signs.append(token)
      advance()
    }
    var operand: Node
    // The minus belongs to the literal, so that the least integer can be written.
    if let last = signs.last, last.text == "-", let literal = try negativeLiteral() {
      signs.removeLast()
      operand = try postfix(Node(.literal(literal), at: last.position))
    } else {
      operand = try postfix(primary())
    }
    for sign in signs.reversed() {
      operand = try node(
        sign.text == "!" ? .not(operand) : .negation(operand), at: sign.position)
    }
    return operand
  }

  private mutating func negativeLiteral() throws(CELError) -> CELValue? {
    let start = token.position
    switch token.kind {
    case .int(let magnitude):
      guard magnitude <= Int64.min.magnitude else { throw tooLarge(at: start) }
      advance()
      return .int(Int64(truncatingIfNeeded: 0 &- magnitude))
    case .double(let value):
      advance()
      return .double(-value)
    default: return nil
    }
  }

  private func tooLarge(at position: CELPosition) -> CELError {
    CELError(
      .syntax, "The number is not an int. Append \"u\" for an unsigned integer.", at: position)
  }

  // MARK: Members, indexes and calls

  private mutating func postfix(_ primary: Node) throws(CELError) -> Node {
    var operand = primary
    while true {
      if isAt("[") {
        operand = try index(of: operand)
      } else if take(".") {
        operand = try member(of: operand)
      } else {
        return operand
      }
    }
  }

  private mutating func index(of operand: Node) throws(CELError) -> Node {
    let position = token.position
    advance()
    let index = try expression()
    try expect("]")
    return try node(.index(operand, index), at: position)
  }

  private mutating func member(of operand: Node) throws(CELError) -> Node {
    let position = token.position
    guard case .name(let name) = token.kind else { throw unexpected("the name of a member") }
    advance()
    if take("(") {
      let arguments = try expressions(until: ")")
      return try method(name, of: operand, arguments, at: position)
    }
    if name == "Timestamp" || name == "Duration",
      operand.path?.components == ["google", "protobuf"]
    {
      return Node(.literal(.type("google.protobuf.\(name)")), at: position)
    }
    return try node(.member(operand, name), at: position)
  }

  private func method(
    _ name: String, of operand: Node, _ arguments: [Node], at position: CELPosition
  ) throws(CELError) -> Node {
    if let macro = Macro(rawValue: name),
      arguments.count == 2 || (macro == .map && arguments.count == 3)
    {
      return try comprehension(macro, operand, arguments, at: position)
    }
    return try node(.method(operand, name, arguments), at: position)
  }

  private func comprehension(
    _ macro: Macro, _ range: Node, _ arguments: [Node], at position: CELPosition
  ) throws(CELError) -> Node {
    guard case .name(let variable) = arguments[0].kind else {
      throw CELError(
        .syntax, "The first argument of \(macro.rawValue) is the name of a variable.",
        at: arguments[0].position)
    }
    return try node(
      .comprehension(
        Node.Comprehension(
          macro: macro, range: range, variable: variable,
          filter: arguments.count == 3 ? arguments[1] : nil,
          body: arguments[arguments.count - 1])), at: position)
  }

  /// Names that CEL reserves for other languages. They are allowed as members.
  private static let reservedWords: Set<String> = [
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "package", "return", "var", "void", "while",
  ]

  private mutating func primary() throws(CELError) -> Node {
    let start = token.position
    if case .name(let name) = token.kind { return try named(name, at: start) }
    if let value = try literal() {
      advance()
      return Node(.literal(value), at: start)
    }
    if take("(") {
      let inner = try expression()
      try expect(")")
      return inner
    }
    if take("[") { return try node(.list(expressions(until: "]")), at: start) }
    if take("{") { return try node(.map(entries()), at: start) }
    throw unexpected("an expression")
  }

  /// The value of the token, if it is a number, a text or bytes.
  private func literal() throws(CELError) -> CELValue? {
    switch token.kind {
    case .int(let magnitude):
      guard let value = Int64(exactly: magnitude) else { throw tooLarge(at: token.position) }
      return .int(value)
    case .uint(let value): return .uint(value)
    case .double(let value): return .double(value)
    case .string(let value): return .string(value)
    case .bytes(let value): return .bytes(value)
    default: return nil
    }
  }

  private static let constants: [String: CELValue] = [
    "null": .null, "nil": .null, "true": true, "false": false,
  ]

  private mutating func named(_ name: String, at start: CELPosition) throws(CELError) -> Node {
    guard !Parser.reservedWords.contains(name) else {
      throw CELError(
        .syntax, "The word \"\(name)\" is reserved. Only members can have it as a name.", at: start)
    }
    advance()
    if let constant = Parser.constants[name] { return Node(.literal(constant), at: start) }
    guard take("(") else { return Node(.name(name), at: start) }
    let arguments = try expressions(until: ")")
    return try call(name, arguments, at: start)
  }

  private func call(
    _ name: String, _ arguments: [Node], at start: CELPosition
  ) throws(CELError) -> Node {
    guard name == "has", arguments.count == 1 else {
      return try node(.call(name, arguments), at: start)
    }
    guard case .member(let operand, let member) = arguments[0].kind else {
      throw CELError(
        .syntax, "The argument of has is a member, such as vars.name.",
        at: arguments[0].position)
    }
    return try node(.presence(operand, member), at: arguments[0].position)
  }

  // MARK: Lists

  /// Expressions with commas between them, and the closing symbol.
  ///
  /// A list may end with a comma, arguments may not.
  private mutating func expressions(until end: String) throws(CELError) -> [Node] {
    var elements: [Node] = []
    while !take(end) {
      elements.append(try expression())
      guard try takeComma(or: end) else { break }
      if end == ")", isAt(end) { throw unexpected("an expression") }
    }
    return elements
  }

  /// False if the list ends.
  private mutating func takeComma(or end: String) throws(CELError) -> Bool {
    if take(end) { return false }
    guard take(",") else { throw unexpected("\",\" or \"\(end)\"") }
    return true
  }

  private mutating func entries() throws(CELError) -> [Node.Entry] {
    var entries: [Node.Entry] = []
    while !take("}") {
      let key = try expression()
      try expect(":")
      entries.append(Node.Entry(key: key, value: try expression()))
      guard try takeComma(or: "}") else { break }
    }
    return entries
  }
}
