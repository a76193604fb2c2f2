import DataConnectModel

/// A source file in GraphQL.
public struct SourceFile: Hashable, Sendable {
  /// The path as it appears in diagnostics. Files are compiled in the order of their paths.
  public var path: String
  /// The contents of the file, in GraphQL.
  public var text: String

  /// Creates a source file. Nothing is read.
  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

/// A connector to compile: the ids of its YAML files, and its GraphQL files.
public struct CompilerInput: Sendable {
  /// `serviceId` of `dataconnect.yaml`.
  public var serviceID: String
  /// `location` of `dataconnect.yaml`. The compiler only copies it.
  public var location: String
  /// `connectorId` of `connector.yaml`. Names of generated types begin with it.
  public var connectorID: String
  /// The files with tables and enums, in any order.
  public var schema: [SourceFile]
  /// The files with operations and fragments, in any order.
  public var connector: [SourceFile]

  /// Creates the input of a compiler. Nothing is read.
  public init(
    serviceID: String, location: String, connectorID: String, schema: [SourceFile],
    connector: [SourceFile]
  ) {
    self.serviceID = serviceID
    self.location = location
    self.connectorID = connectorID
    self.schema = schema
    self.connector = connector
  }
}

/// The result of a compilation: a connector, if the sources have no errors, and all findings.
public struct CompilerResult: Sendable {
  /// The compiled connector. Nil if a diagnostic is an error.
  public var connector: CompiledConnector?
  /// All findings, sorted by path and position.
  public var diagnostics: [Diagnostic]

  /// Creates a result. The compiler makes it.
  public init(connector: CompiledConnector?, diagnostics: [Diagnostic]) {
    self.connector = connector
    self.diagnostics = diagnostics
  }
}

/// The use of an expression in CEL: its result, and the names it can read.
public struct ExpressionContext: Hashable, Sendable {
  /// The place of an expression, which decides its type and the names that it can read.
  public enum Kind: Hashable, Sendable {
    /// `@auth(expr:)`: a boolean.
    case auth
    /// `@check(expr:)`: a boolean; `this` and `response` are also in scope.
    case check
    /// `title_expr`, `eq_expr`, `@default(expr:)`: a value of the type.
    case value(ValueType)
    /// `@refresh(onMutationExecuted: {condition:})`: a boolean of `request` and `mutation`.
    case refreshCondition
  }

  /// The place of the expression.
  public var kind: Kind
  /// The kind of the operation that has the expression. Nil for `@default`, whose operation is not
  /// known.
  public var operationKind: DataConnectModel.Operation.Kind?
  /// The variables of the operation: `vars.id`, `request.variables.id`.
  public var variables: [String: InputType]
  /// The variables of the mutation of a condition: `mutation.variables.id`. Nil if it is not known.
  public var mutationVariables: [String: InputType]?
  /// The root fields of the mutation before the expression: `response.movie_insert`.
  public var responseKeys: [String]

  /// Creates a context, by default of an expression without an operation and without variables.
  public init(
    kind: Kind, operationKind: DataConnectModel.Operation.Kind? = nil,
    variables: [String: InputType] = [:], mutationVariables: [String: InputType]? = nil,
    responseKeys: [String] = []
  ) {
    self.kind = kind
    self.operationKind = operationKind
    self.variables = variables
    self.mutationVariables = mutationVariables
    self.responseKeys = responseKeys
  }
}

/// Settings of a compiler.
public struct CompilerOptions: Sendable {
  /// Whether an operation without `@auth`, and a variable with a row's data without
  /// `@allow(fields:)`, are errors instead of warnings. False by default.
  public var isStrict: Bool
  /// Checks an expression in CEL, and returns the message of an error, or nil. Must be fast,
  /// because it is called for each use of a fragment. By default it checks syntax, names and types.
  public var checkExpression: @Sendable (_ source: String, ExpressionContext) -> String?

  /// Creates settings. By default, findings about access are warnings, and expressions are checked
  /// for syntax, names and types.
  public init(
    isStrict: Bool = false,
    checkExpression: (@Sendable (_ source: String, ExpressionContext) -> String?)? = nil
  ) {
    self.isStrict = isStrict
    self.checkExpression = checkExpression ?? { ExpressionChecker.error(in: $0, $1) }
  }
}
