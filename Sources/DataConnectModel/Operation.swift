/// A named query or mutation of a connector.
public struct Operation: Codable, Hashable, Sendable {
  public enum Kind: String, Codable, Sendable {
    case query, mutation
  }

  public var kind: Kind
  public var name: String
  public var variables: [Variable]
  /// Nil without `@auth`.
  public var auth: Auth?
  public var checks: [Check]
  /// `@transaction`: all root fields or none.
  public var isTransaction: Bool
  public var refreshes: [Refresh]
  /// `@retired`: executable, and not in generated packages.
  public var isRetired: Bool
  public var fields: [RootField]

  public init(
    kind: Kind, name: String, variables: [Variable] = [], auth: Auth? = nil,
    checks: [Check] = [], isTransaction: Bool = false, refreshes: [Refresh] = [],
    isRetired: Bool = false, fields: [RootField]
  ) {
    self.kind = kind
    self.name = name
    self.variables = variables
    self.auth = auth
    self.checks = checks
    self.isTransaction = isTransaction
    self.refreshes = refreshes
    self.isRetired = isRetired
    self.fields = fields
  }
}

/// A variable of an operation.
public struct Variable: Codable, Hashable, Sendable {
  public var name: String
  public var type: InputType
  public var defaultValue: Literal?
  /// `@allow(fields:)` of a variable with a row's data: names of columns and references.
  public var allowedFields: [String]?
  /// `@allow(maxCount:)` of a list.
  public var maximumCount: Int?
  public var isRetired: Bool

  public init(
    name: String, type: InputType, defaultValue: Literal? = nil, allowedFields: [String]? = nil,
    maximumCount: Int? = nil, isRetired: Bool = false
  ) {
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.allowedFields = allowedFields
    self.maximumCount = maximumCount
    self.isRetired = isRetired
  }
}

/// The type of a variable: `[Movie_Key!]!`.
public indirect enum InputType: Codable, Hashable, Sendable {
  /// A scalar or an enum.
  case value(ValueType, isNullable: Bool)
  case list(InputType, isNullable: Bool)
  /// `Movie_Key`, by the GraphQL type of the table.
  case key(String, isNullable: Bool)
  /// `Movie_Data`
  case data(String, isNullable: Bool)
  /// `Movie_Filter`
  case filter(String, isNullable: Bool)
  /// `Movie_Order`
  case order(String, isNullable: Bool)
  /// `OrderDirection`
  case orderDirection(isNullable: Bool)
  /// `SearchQueryFormat`
  case searchQueryFormat(isNullable: Bool)

  public var isNullable: Bool {
    switch self {
    case .value(_, let isNullable), .list(_, let isNullable), .key(_, let isNullable),
      .data(_, let isNullable), .filter(_, let isNullable), .order(_, let isNullable),
      .orderDirection(let isNullable), .searchQueryFormat(let isNullable):
      isNullable
    }
  }
}

/// `@auth`: a level, written out as its expression in CEL, or an expression.
public struct Auth: Codable, Hashable, Sendable {
  /// `PUBLIC`, `USER_ANON`, `USER`, `USER_EMAIL_VERIFIED`, `NO_ACCESS`. Nil for an expression.
  public var level: String?
  public var expression: String
  public var insecureReason: String?

  public init(level: String? = nil, expression: String, insecureReason: String? = nil) {
    self.level = level
    self.expression = expression
    self.insecureReason = insecureReason
  }
}

/// `@check`
public struct Check: Codable, Hashable, Sendable {
  public var expression: String
  public var message: String
  /// Passes if the field is not reached.
  public var isOptional: Bool

  public init(expression: String, message: String, isOptional: Bool) {
    self.expression = expression
    self.message = message
    self.isOptional = isOptional
  }
}

/// `@refresh`
public enum Refresh: Codable, Hashable, Sendable {
  case every(milliseconds: Int64)
  /// `operation` is `name` or `connector/name`; `condition` is in CEL.
  case onMutationExecuted(operation: String, condition: String?)
}

/// A field of `Query` or `Mutation`.
public struct RootField: Codable, Hashable, Sendable {
  public enum Action: String, Codable, Sendable {
    /// `movie(key:)`: one row or null.
    case lookup
    /// `movies(where:)`
    case list
    /// `movies_search(query:)`
    case search
    /// `movies_<vector>_similarity(compare:)`; `column` is the vector.
    case similarity
    case insert, insertMany, upsert, upsertMany, update, updateMany, delete, deleteMany
    /// `query { … }` in a mutation.
    case query
    /// `__typename`
    case typename
  }

  /// The alias, or the name.
  public var responseKey: String
  /// The name in the schema: `movie_insert`.
  public var name: String
  public var action: Action
  /// The GraphQL type. Empty for `query` and `typename`.
  public var table: String
  /// Of `similarity`.
  public var column: String?
  /// Arguments as written, without those that are absent: `where`, `orderBy`, `limit`, `data`, `key`,
  /// `id`, `id_expr`, `first`, `all` …
  public var arguments: [Literal.Member]
  /// Of a mutation without a selection set: empty, the result is the key.
  public var selections: [Selection]
  /// Of `query`.
  public var fields: [RootField]
  public var modifiers: Modifiers
  /// The name of the fragment whose fields `selections` are, if they are exactly one fragment's.
  public var fragment: String?

  public init(
    responseKey: String, name: String, action: Action, table: String, column: String? = nil,
    arguments: [Literal.Member] = [], selections: [Selection] = [], fields: [RootField] = [],
    modifiers: Modifiers = Modifiers(), fragment: String? = nil
  ) {
    self.responseKey = responseKey
    self.name = name
    self.action = action
    self.table = table
    self.column = column
    self.arguments = arguments
    self.selections = selections
    self.fields = fields
    self.modifiers = modifiers
    self.fragment = fragment
  }

  public func argument(_ name: String) -> Literal? {
    arguments.first { $0.name == name }?.value
  }
}

/// Directives on a field.
public struct Modifiers: Codable, Hashable, Sendable {
  public var checks: [Check]
  /// `@redact`: evaluated for checks and expressions, and not in results.
  public var isRedacted: Bool
  /// `@include(if:)`, a boolean or a variable.
  public var include: Literal?
  /// `@skip(if:)`
  public var skip: Literal?
  /// `@retired`: in results, and not in generated types.
  public var isRetired: Bool

  public init(
    checks: [Check] = [], isRedacted: Bool = false, include: Literal? = nil, skip: Literal? = nil,
    isRetired: Bool = false
  ) {
    self.checks = checks
    self.isRedacted = isRedacted
    self.include = include
    self.skip = skip
    self.isRetired = isRetired
  }
}

/// A selected field of a row. Fragments are replaced by their fields.
public struct Selection: Codable, Hashable, Sendable {
  public enum Kind: Codable, Hashable, Sendable {
    case column(String)
    /// The row that a reference of this table refers to.
    case reference(String)
    /// `reviews_on_movie`: rows of `table` whose `reference` is this row; one or null if `isSingle`.
    case referring(table: String, reference: String, isSingle: Bool)
    /// `actors_via_MovieActor`: the rows that rows of the join table refer to by `far`, and whose
    /// `near` is this row. Arguments are about rows of the join table.
    case via(join: String, near: String, far: String)
    /// `_count`, `price_sum(distinct:)`
    case aggregate(Aggregate, column: String?, isDistinct: Bool)
    /// `_metadata { distance }`
    case distance
    /// `_metadata { relevance }`
    case relevance
    /// `_metadata`: an object of `distance` and `relevance`.
    case metadata
    /// `_id`
    case entityID
    case typename
  }

  public enum Aggregate: String, Codable, Sendable {
    case count, sum, avg, min, max
  }

  /// The alias, or the name.
  public var responseKey: String
  /// The name in the schema: `reviews_on_movie`.
  public var name: String
  public var kind: Kind
  /// Of `referring` and `via`: `where`, `orderBy`, `limit`, `offset`, `distinct`, `having`.
  public var arguments: [Literal.Member]
  public var selections: [Selection]
  public var modifiers: Modifiers
  /// The name of the fragment whose fields `selections` are, if they are exactly one fragment's.
  public var fragment: String?

  public init(
    responseKey: String, name: String, kind: Kind, arguments: [Literal.Member] = [],
    selections: [Selection] = [], modifiers: Modifiers = Modifiers(), fragment: String? = nil
  ) {
    self.responseKey = responseKey
    self.name = name
    self.kind = kind
    self.arguments = arguments
    self.selections = selections
    self.modifiers = modifiers
    self.fragment = fragment
  }

  public func argument(_ name: String) -> Literal? {
    arguments.first { $0.name == name }?.value
  }
}
