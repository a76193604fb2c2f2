internal import HearthText

/// A recursive descent parser of schemas and operations.
///
/// A syntax error ends its definition; parsing goes on at the next word at the start of a line, or
/// outside of braces, that begins a definition. Nesting is bounded, so that no input exhausts the
/// stack.
struct Parser {
  /// Of selections, values and types.
  static let maximumNesting = 100

  private struct SyntaxError: Error {
    var message: String
    var position: Position
  }

  private var lexer: Lexer
  private var token: Lexer.Token
  private var nesting = 0
  /// Open braces, parentheses and brackets since the start of the definition.
  private var openBraces = 0
  private var document = DocumentSyntax()

  private init(_ text: String, file: Int) {
    lexer = Lexer(text, file: file)
    token = lexer.next()
  }

  /// Parses a file. Definitions with an error are missing in the document.
  static func parse(_ text: String, file: Int, in session: CompilerSession) -> DocumentSyntax {
    var parser = Parser(text, file: file)
    while parser.token.kind != .end {
      parser.nesting = 0
      parser.openBraces = 0
      do throws(SyntaxError) {
        try parser.definition()
      } catch {
        session.error(error.message, at: error.position)
        parser.recover()
      }
    }
    return parser.document
  }

  // MARK: Tokens

  private static let definitionKeywords: Set<String> = [
    "type", "enum", "input", "scalar", "interface", "union", "directive", "schema", "extend",
    "query", "mutation", "subscription", "fragment",
  ]

  /// Skips to the next definition. The token that could not be parsed is skipped in any case,
  /// unless it begins a definition at the start of a line.
  private mutating func recover() {
    var isFirst = true
    while token.kind != .end {
      if token.kind == .name, Self.definitionKeywords.contains(token.text) {
        if token.position.column == 1 || (!isFirst && openBraces <= 0) { return }
      }
      isFirst = false
      advance()
    }
  }

  private mutating func advance() {
    if token.kind == .punctuator {
      switch token.text {
      case "{", "(", "[": openBraces += 1
      case "}", ")", "]": openBraces -= 1
      default: break
      }
    }
    token = lexer.next()
  }

  /// An error at the current token.
  private func failure(_ message: String) -> SyntaxError {
    SyntaxError(message: message, position: token.position)
  }

  private func unexpected(_ wanted: String, suggestion: String = "") -> SyntaxError {
    switch token.kind {
    case .invalid: failure(token.text)
    case .end: failure("Expected \(wanted), not the end of the file.")
    case .string: failure("Expected \(wanted), not a string.")
    default: failure("Expected \(wanted), not `\(token.text)`.\(suggestion)")
    }
  }

  /// Whether the token is a punctuator, or a name, with the text.
  private func isAt(_ text: String) -> Bool {
    (token.kind == .punctuator || token.kind == .name) && token.text == text
  }

  private mutating func skip(_ text: String) -> Bool {
    guard isAt(text) else { return false }
    advance()
    return true
  }

  private mutating func expect(
    _ punctuator: String, _ place: String
  ) throws(SyntaxError) {
    guard skip(punctuator) else { throw unexpected("`\(punctuator)` \(place)") }
  }

  private mutating func name(_ wanted: String) throws(SyntaxError) -> Name {
    guard token.kind == .name else { throw unexpected(wanted) }
    let name = Name(text: token.text, position: token.position)
    advance()
    return name
  }

  private mutating func nested<Result>(
    _ body: (inout Parser) throws(SyntaxError) -> Result
  ) throws(SyntaxError) -> Result {
    nesting += 1
    guard nesting <= Self.maximumNesting else {
      throw failure("Nested more than \(Self.maximumNesting) levels deep: use fewer levels.")
    }
    let result = try body(&self)
    nesting -= 1
    return result
  }

  // MARK: Definitions

  private mutating func definition() throws(SyntaxError) {
    if isAt("{") {
      let position = token.position
      let selections = try selectionSet()
      document.operations.append(
        OperationSyntax(
          kind: .query, name: nil, variables: [], directives: [], selections: selections,
          position: position))
      return
    }
    skipDescription()
    guard token.kind == .name, Self.definitionKeywords.contains(token.text) else {
      throw unexpected(
        "a definition, like `type`, `enum`, `query`, `mutation` or `fragment`",
        suggestion: token.kind == .name
          ? Suggestion.sentence(for: token.text, among: Self.definitionKeywords) : "")
    }
    switch token.text {
    case "query", "mutation", "subscription": try operation()
    case "fragment": try fragment()
    default: try typeDefinition()
    }
  }

  private mutating func operation() throws(SyntaxError) {
    let position = token.position
    let kind = OperationSyntax.Kind(rawValue: token.text) ?? .query
    advance()
    var operationName: Name?
    if token.kind == .name { operationName = try name("a name") }
    var variables: [VariableSyntax] = []
    if skip("(") {
      repeat { variables.append(try variable()) } while !skip(")")
    }
    let directives = try directives()
    document.operations.append(
      OperationSyntax(
        kind: kind, name: operationName, variables: variables, directives: directives,
        selections: try selectionSet("with the fields of the \(kind.rawValue)"),
        position: position))
  }

  private mutating func variable() throws(SyntaxError) -> VariableSyntax {
    let position = token.position
    guard skip("$") else { throw unexpected("a variable like `$id: UUID!`, or `)`") }
    let text = try name("the name of a variable").text
    try expect(":", "and the type of the variable")
    let type = try type()
    var defaultValue: ValueSyntax?
    if skip("=") { defaultValue = try value() }
    return VariableSyntax(
      name: Name(text: text, position: position), type: type, defaultValue: defaultValue,
      directives: try directives())
  }

  private mutating func fragment() throws(SyntaxError) {
    advance()
    let fragmentName = try name("the name of the fragment")
    guard fragmentName.text != "on" else {
      throw SyntaxError(
        message: "A fragment needs a name before `on`.", position: fragmentName.position)
    }
    guard skip("on") else { throw unexpected("`on` and the type of the fragment") }
    let condition = try name("the type of the fragment")
    let directives = try directives()
    document.fragments.append(
      FragmentSyntax(
        name: fragmentName, typeCondition: condition, directives: directives,
        selections: try selectionSet("with the fields of the fragment")))
  }

  // MARK: Selections

  private mutating func selectionSet(
    _ place: String = "with fields"
  ) throws(SyntaxError) -> [SelectionSyntax] {
    try nested { (parser) throws(SyntaxError) in
      try parser.expect("{", place)
      guard !parser.isAt("}") else {
        throw parser.failure("Empty braces: write the fields to select between them.")
      }
      var selections: [SelectionSyntax] = []
      repeat { selections.append(try parser.selection()) } while !parser.skip("}")
      return selections
    }
  }

  private mutating func selection() throws(SyntaxError) -> SelectionSyntax {
    let position = token.position
    if skip("...") {
      if token.kind == .name, token.text != "on" {
        let fragment = try name("the name of a fragment")
        return .spread(fragment, try directives())
      }
      var condition: Name?
      if skip("on") { condition = try name("the type of the fragment") }
      let directives = try directives()
      guard isAt("{") else {
        throw unexpected("the name of a fragment, or `{` with fields,")
      }
      return .inline(typeCondition: condition, directives, try selectionSet(), position)
    }
    let first = try name("a field, or `}`")
    var field = FieldSyntax(alias: nil, name: first, arguments: [], directives: [])
    if skip(":") {
      field.alias = first
      field.name = try name("a field after the alias")
    }
    if isAt("(") { field.arguments = try arguments() }
    field.directives = try directives()
    if isAt("{") { field.selections = try selectionSet() }
    return .field(field)
  }

  private mutating func arguments() throws(SyntaxError) -> [ArgumentSyntax] {
    try expect("(", "with arguments")
    guard !isAt(")") else {
      throw failure("Empty parentheses: write arguments, or remove them.")
    }
    var arguments: [ArgumentSyntax] = []
    repeat { arguments.append(try argument("an argument, or `)`")) } while !skip(")")
    return arguments
  }

  private mutating func argument(_ wanted: String) throws(SyntaxError) -> ArgumentSyntax {
    let argumentName = try name(wanted)
    try expect(":", "and a value after `\(argumentName.text)`")
    return ArgumentSyntax(name: argumentName, value: try value())
  }

  private mutating func directives() throws(SyntaxError) -> [DirectiveSyntax] {
    var directives: [DirectiveSyntax] = []
    while true {
      let position = token.position
      guard skip("@") else { return directives }
      let text = try name("the name of a directive").text
      directives.append(
        DirectiveSyntax(
          name: Name(text: text, position: position),
          arguments: isAt("(") ? try arguments() : []))
    }
  }

  // MARK: Values and types

  private mutating func value() throws(SyntaxError) -> ValueSyntax {
    let position = token.position
    if let scalar {
      advance()
      return ValueSyntax(kind: scalar, position: position)
    }
    if skip("$") {
      let name = try name("the name of a variable").text
      return ValueSyntax(kind: .variable(name), position: position)
    }
    if skip("[") {
      return try nested { (parser) throws(SyntaxError) in
        var elements: [ValueSyntax] = []
        while !parser.skip("]") { elements.append(try parser.value()) }
        return ValueSyntax(kind: .list(elements), position: position)
      }
    }
    guard skip("{") else { throw unexpected("a value") }
    return try nested { (parser) throws(SyntaxError) in
      var members: [ArgumentSyntax] = []
      while !parser.skip("}") { members.append(try parser.argument("a name, or `}`")) }
      return ValueSyntax(kind: .object(members), position: position)
    }
  }

  /// The value of the token, if it is one by itself.
  private var scalar: ValueSyntax.Kind? {
    switch token.kind {
    case .int: .int(token.text)
    case .float: .float(token.text)
    case .string: .string(token.text)
    case .name:
      switch token.text {
      case "null": .null
      case "true": .bool(true)
      case "false": .bool(false)
      default: .name(token.text)
      }
    case .punctuator, .invalid, .end: nil
    }
  }

  private mutating func type() throws(SyntaxError) -> TypeSyntax {
    let position = token.position
    let kind: TypeSyntax.Kind
    if skip("[") {
      let element = try nested { (parser) throws(SyntaxError) in try parser.type() }
      try expect("]", "after the type of the elements")
      kind = .list(element)
    } else {
      kind = .named(try name("a type").text)
    }
    return TypeSyntax(kind: kind, isNullable: !skip("!"), position: position)
  }

  // MARK: Type system

  private mutating func typeDefinition() throws(SyntaxError) {
    let isExtension = skip("extend")
    guard token.kind == .name, let kind = TypeDefinitionSyntax.Kind(rawValue: token.text) else {
      throw unexpected("`type` or `enum` after `extend`")
    }
    let keyword = Name(text: token.text, position: token.position)
    advance()
    var result = TypeDefinitionSyntax(kind: kind, isExtension: isExtension, name: keyword)
    switch kind {
    case .schema:
      result.directives = try directives()
      if skip("{") {
        while !skip("}") {
          let root = try name("a root type, or `}`")
          try expect(":", "and a type after `\(root.text)`")
          _ = try name("a type")
        }
      }
    case .directive:
      let position = token.position
      try expect("@", "and the name of the directive")
      result.name = Name(text: try name("the name of the directive").text, position: position)
      if isAt("(") { result.fields = try fieldDefinitions("(", ")") }
      _ = skip("repeatable")
      guard skip("on") else { throw unexpected("`on` and the places of the directive") }
      _ = skip("|")
      repeat { _ = try name("a place like FIELD") } while skip("|")
    case .scalar:
      result.name = try name("the name of the scalar")
      result.directives = try directives()
    case .union:
      result.name = try name("the name of the union")
      result.directives = try directives()
      if skip("=") {
        _ = skip("|")
        repeat { _ = try name("a type") } while skip("|")
      }
    case .enumeration:
      result.name = try name("the name of the enum")
      result.directives = try directives()
      if skip("{") {
        while !skip("}") { result.values.append(try enumValue()) }
      }
    case .object, .interface, .input:
      result.name = try name("the name of the type")
      if skip("implements") {
        _ = skip("&")
        repeat { result.interfaces.append(try name("an interface")) } while skip("&")
      }
      result.directives = try directives()
      if isAt("{") { result.fields = try fieldDefinitions("{", "}") }
    }
    document.types.append(result)
  }

  private mutating func skipDescription() {
    if token.kind == .string { advance() }
  }

  private mutating func enumValue() throws(SyntaxError) -> EnumValueSyntax {
    skipDescription()
    let value = try name("a value of the enum, or `}`")
    return EnumValueSyntax(name: value, directives: try directives())
  }

  private mutating func fieldDefinitions(
    _ open: String, _ close: String
  ) throws(SyntaxError) -> [FieldDefinitionSyntax] {
    try expect(open, "with fields")
    var fields: [FieldDefinitionSyntax] = []
    while !skip(close) {
      skipDescription()
      let fieldName = try name("a field, or `\(close)`")
      var arguments: [FieldDefinitionSyntax] = []
      if open == "{", isAt("(") { arguments = try fieldDefinitions("(", ")") }
      try expect(":", "and the type of `\(fieldName.text)`")
      let type = try type()
      if skip("=") { _ = try value() }
      fields.append(
        FieldDefinitionSyntax(
          name: fieldName, arguments: arguments, type: type, directives: try directives()))
    }
    return fields
  }
}
