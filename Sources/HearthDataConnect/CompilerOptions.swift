import DataConnectModel

/// A source file in GraphQL.
public struct SourceFile: Hashable, Sendable {
  /// As it appears in diagnostics.
  public var path: String
  public var text: String

  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

/// A connector to compile: the ids of its YAML files, and its GraphQL files.
public struct CompilerInput: Sendable {
  public var serviceID: String
  public var location: String
  public var connectorID: String
  /// In any order; they are compiled in the order of their paths.
  public var schema: [SourceFile]
  /// In any order; they are compiled in the order of their paths.
  public var connector: [SourceFile]

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

/// A connector, if the sources have no errors, and all findings by path and position.
public struct CompilerResult: Sendable {
  /// Nil if a diagnostic is an error.
  public var connector: CompiledConnector?
  public var diagnostics: [Diagnostic]

  public init(connector: CompiledConnector?, diagnostics: [Diagnostic]) {
    self.connector = connector
    self.diagnostics = diagnostics
  }
}

/// The use of an expression in CEL: its result, and the names it can read.
public struct ExpressionContext: Hashable, Sendable {
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

  public var kind: Kind
  /// Nil for `@default`, whose operation is not known.
  public var operationKind: DataConnectModel.Operation.Kind?
  /// The variables of the operation: `vars.id`, `request.variables.id`.
  public var variables: [String: InputType]
  /// The variables of the mutation of a condition: `mutation.variables.id`. Nil if it is not known.
  public var mutationVariables: [String: InputType]?
  /// The root fields of the mutation before the expression: `response.movie_insert`.
  public var responseKeys: [String]

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
  /// An operation without `@auth`, and a variable with a row's data without `@allow(fields:)`, are
  /// errors instead of warnings.
  public var isStrict: Bool
  /// Called for each expression in CEL; returns the message of an error, or nil. It has to be fast: it
  /// is called for each use of a fragment. By default it checks syntax, names and types.
  public var checkExpression: @Sendable (_ source: String, ExpressionContext) -> String?

  public init(
    isStrict: Bool = false,
    checkExpression: (@Sendable (_ source: String, ExpressionContext) -> String?)? = nil
  ) {
    self.isStrict = isStrict
    self.checkExpression = checkExpression ?? { ExpressionChecker.error(in: $0, $1) }
  }
}
