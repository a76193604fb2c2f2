import DataConnectModel

/// The state of one run: options, findings, and the schema once it is built.
final class CompilerSession {
  let options: CompilerOptions
  private let paths: [String]
  /// The same finding is kept once: a fragment is checked at each of its uses.
  private var findings: Set<Diagnostic> = []
  private(set) var hasErrors = false
  /// Set while the schema is built: the enums first, then the tables.
  var enums: [String: EnumType] = [:]
  var tables: [String: TableFields] = [:]
  var types = InputTypes(schema: Schema(tables: [], enums: []))
  /// Names of types with an error. Their uses are not reported.
  var brokenTypes: Set<String> = []
  /// Names of fields with an error, by type. Their uses are not reported.
  var brokenFields: [String: Set<String>] = [:]
  /// Names of the current operation's variables with an error. Their uses are not reported.
  var brokenVariables: Set<String> = []
  /// The words in all expressions, for warnings about variables without a use.
  var wordsInExpressions: Set<String> = []
  /// Variables that the current operation uses.
  var usedVariables: Set<String> = []

  /// Of the connector's files: without syntax errors, no definition is missing.
  var isConnectorComplete = true
  /// The number of names for which a similar one was looked up; see `closestName`.
  var suggestionCount = 0

  init(options: CompilerOptions, paths: [String]) {
    self.options = options
    self.paths = paths
  }

  // MARK: Findings

  var diagnostics: [Diagnostic] { findings.sorted() }

  func report(_ severity: Diagnostic.Severity, _ message: String, at position: Position) {
    let path = paths.indices.contains(position.file) ? paths[position.file] : ""
    findings.insert(
      Diagnostic(
        severity: severity, path: path, line: position.line, column: position.column,
        message: message))
    if severity == .error { hasErrors = true }
  }

  func error(_ message: String, at position: Position) { report(.error, message, at: position) }

  func warning(_ message: String, at position: Position) { report(.warning, message, at: position) }

  func note(_ message: String, at position: Position) { report(.note, message, at: position) }

  /// Reports an error. Nil, for the caller to return.
  func refused<Value>(_ message: String, at position: Position) -> Value? {
    error(message, at: position)
    return nil
  }

  // MARK: Parts of definitions

  func object(_ name: String) -> InputObject? {
    types.object(name) ?? DirectiveDefinition.objects.first { $0.name == name }
  }

  /// Checks an expression in CEL.
  func checkExpression(_ source: String, _ context: ExpressionContext, at position: Position) {
    let words = source.unicodeScalars.split { scalar in
      !scalar.properties.isAlphabetic && scalar != "_" && !("0"..."9").contains(scalar)
    }
    wordsInExpressions.formUnion(words.map { String($0) })
    if source.allSatisfy(\.isWhitespace) {
      error("The expression is empty: write an expression in CEL.", at: position)
    } else if let message = options.checkExpression(source, context) {
      error("In the expression: \(message)", at: position)
    } else {
      for message in ExpressionChecker.warnings(in: source, context) {
        warning("In the expression: \(message).", at: position)
      }
    }
  }

  /// The arguments of a directive, checked; nil with an error. A directive of another place, and a
  /// repeated one, is an error.
  ///
  /// `rawArgument` is not checked and not returned.
  func arguments(
    of directive: DirectiveSyntax, at place: DirectiveDefinition.Place,
    scope: ValueScope = ValueScope(), rawArgument: String? = nil
  ) -> [Literal.Member]? {
    let name = directive.name.text
    guard let definition = DirectiveDefinition.byName[name] else {
      // Internal directives of the service that this dialect comes from.
      if name.hasPrefix("fdc_") { return nil }
      return refused(
        "There is no directive @\(name)."
          + suggestion(
            for: "@\(name)",
            among: DirectiveDefinition.all.filter { $0.places.contains(place) }.map {
              "@\($0.name)"
            }, otherwise: "Remove it."),
        at: directive.name.position)
    }
    guard definition.places.contains(place) else {
      let places = definition.places.map(\.phrase)
      var unique: [String] = []
      for place in places where !unique.contains(place) { unique.append(place) }
      return refused(
        "@\(name) is not possible on \(place.phrase): put it on \(unique.joined(separator: " or "))"
          + ".", at: directive.name.position)
    }
    return coerceMembers(
      directive.arguments.filter { $0.name.text != rawArgument }, of: definition.arguments,
      at: directive.name.position, scope: scope,
      given: directive.arguments.map(\.name.text))
  }

  /// Reports directives that are given twice at one place.
  func checkRepetition(of directives: [DirectiveSyntax]) {
    var seen: Set<String> = []
    for directive in directives where !seen.insert(directive.name.text).inserted {
      guard DirectiveDefinition.byName[directive.name.text]?.isRepeatable == false else { continue }
      error("@\(directive.name.text) is given twice: keep one.", at: directive.name.position)
    }
  }
}

extension Array where Element == Literal.Member {
  subscript(_ name: String) -> Literal? { first { $0.name == name }?.value }

  func string(_ name: String) -> String? {
    if case .string(let text)? = self[name] { text } else { nil }
  }
}

extension DirectiveSyntax {
  /// The place of an argument, or of the directive without it.
  func position(of argument: String) -> Position {
    arguments[argument]?.position ?? name.position
  }

  /// The strings of an argument with their places. A single string counts as a list.
  func names(_ argument: String) -> [Name]? {
    arguments[argument]?.elements.compactMap(\.string)
  }
}
