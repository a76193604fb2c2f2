/// A named query or mutation of a connector.
public struct Operation: Codable, Hashable, Sendable {
  /// The type of an operation in GraphQL.
  public enum Kind: String, Codable, Sendable {
    /// Reads one snapshot of the database.
    case query
    /// Changes rows.
    case mutation
  }

  /// Whether the operation reads or changes rows.
  public var kind: Kind
  /// The name in the connector's sources, unique among its queries and mutations.
  public var name: String
  /// The variables in the order of their declaration.
  public var variables: [Variable]
  /// `@auth`: the users who may execute the operation. Nil if the directive is absent, which a
  /// strict runtime refuses to execute.
  public var auth: Auth?
  /// `@check` of the operation itself, in the order of the source. `this` in their expressions is
  /// the result, before a mutation is committed. Checks of fields are in `Modifiers.checks`.
  public var checks: [Check]
  /// `@transaction`: all root fields of a mutation succeed, or none is applied.
  public var isTransaction: Bool
  /// `@refresh`: the events that run a subscribed query again. Empty for mutations.
  public var refreshes: [Refresh]
  /// `@retired`: still executable, but not in generated packages.
  public var isRetired: Bool
  /// The root fields in the order of the source, fragments replaced by their fields.
  public var fields: [RootField]

  /// Creates an operation. The defaults are those of an operation without variables and directives.
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
  /// The name without `$`.
  public var name: String
  /// The type of the variable's values.
  public var type: InputType
  /// The value if the variable is absent, without variables. Nil: no default. Null that is given
  /// stays null.
  public var defaultValue: Literal?
  /// `@allow(fields:)`: the columns and references that a variable with a row's data may set. Nil:
  /// all.
  public var allowedFields: [String]?
  /// `@allow(maxCount:)`: the maximum number of elements of a list. Nil: no limit.
  public var maximumCount: Int?
  /// `@retired`: accepted at run time. Not in generated code, unless an operation cannot be
  /// executed without the variable.
  public var isRetired: Bool

  /// Creates a variable. By default all fields and any number of elements are allowed.
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
  /// A scalar or an enum of the schema.
  case value(ValueType, isNullable: Bool)
  /// A list. A single value counts as a list of one.
  case list(InputType, isNullable: Bool)
  /// `Movie_Key`, by the GraphQL type of the table.
  case key(String, isNullable: Bool)
  /// `Movie_Data`, by the GraphQL type of the table.
  case data(String, isNullable: Bool)
  /// `Movie_Filter`, by the GraphQL type of the table.
  case filter(String, isNullable: Bool)
  /// `Movie_Order`, by the GraphQL type of the table.
  case order(String, isNullable: Bool)
  /// `OrderDirection`, the built-in enum.
  case orderDirection(isNullable: Bool)
  /// `SearchQueryFormat`, the built-in enum.
  case searchQueryFormat(isNullable: Bool)

  /// Whether null is allowed, and the variable may be absent.
  public var isNullable: Bool {
    switch self {
    case .value(_, let isNullable), .list(_, let isNullable), .key(_, let isNullable),
      .data(_, let isNullable), .filter(_, let isNullable), .order(_, let isNullable),
      .orderDirection(let isNullable), .searchQueryFormat(let isNullable):
      isNullable
    }
  }
}

/// `@auth`: the users who may execute an operation, as an expression in CEL. A level is written out
/// as the expression that it means.
public struct Auth: Codable, Hashable, Sendable {
  /// `PUBLIC`, `USER_ANON`, `USER`, `USER_EMAIL_VERIFIED` or `NO_ACCESS`. Nil if the source has an
  /// expression instead.
  public var level: String?
  /// The condition in CEL. An execution is refused if it is false, null, or fails.
  public var expression: String
  /// `insecureReason:`, why a level that is open to everybody is intended. Nil if not given. Not
  /// evaluated.
  public var insecureReason: String?

  /// Creates an access rule. A level's expression is given, too.
  public init(level: String? = nil, expression: String, insecureReason: String? = nil) {
    self.level = level
    self.expression = expression
    self.insecureReason = insecureReason
  }
}

/// `@check`: a condition that ends an operation with an error if it is false.
public struct Check: Codable, Hashable, Sendable {
  /// The condition in CEL, with `this` for the checked value. By default `!(this in [null, []])`.
  /// An expression that fails counts as false.
  public var expression: String
  /// The message of the error if the condition is false. By default `permission denied`.
  public var message: String
  /// Whether the check passes if its field is in no row that was read. Otherwise it fails.
  public var isOptional: Bool

  /// Creates a check.
  public init(expression: String, message: String, isOptional: Bool) {
    self.expression = expression
    self.message = message
    self.isOptional = isOptional
  }
}

/// `@refresh`: an event that runs a subscribed query again.
public enum Refresh: Codable, Hashable, Sendable {
  /// `every:`, in milliseconds, at least 1. A month counts 30 days, a year 365.
  case every(milliseconds: Int64)
  /// `onMutationExecuted:`. `operation` is `name`, a mutation of this connector, or
  /// `connector/name`. `condition` is in CEL; nil: every execution.
  case onMutationExecuted(operation: String, condition: String?)
}

/// A field of `Query` or `Mutation`.
public struct RootField: Codable, Hashable, Sendable {
  /// The kind of a root field: what it reads or changes.
  public enum Action: String, Codable, Sendable {
    /// `movie(key:)`: one row or null.
    case lookup
    /// `movies(where:)`: rows that match, 100 without a limit.
    case list
    /// `movies_search(query:)`: rows whose searchable text matches.
    case search
    /// `movies_<vector>_similarity(compare:)`: the nearest rows. `column` is the vector.
    case similarity
    /// `movie_insert(data:)`: one new row.
    case insert
    /// `movie_insertMany(data:)`: a list of new rows.
    case insertMany
    /// `movie_upsert(data:)`: one row, inserted, or changed if its key exists.
    case upsert
    /// `movie_upsertMany(data:)`: a list of rows, each inserted or changed.
    case upsertMany
    /// `movie_update(key:, data:)`: changes one row. Null if it does not exist.
    case update
    /// `movie_updateMany(where:, data:)`: changes all rows that match.
    case updateMany
    /// `movie_delete(key:)`: deletes one row. Null if it does not exist.
    case delete
    /// `movie_deleteMany(where:)`: deletes all rows that match.
    case deleteMany
    /// `query { … }` in a mutation: root fields of `Query`, in `fields`.
    case query
    /// `__typename`: `Query` or `Mutation`.
    case typename
  }

  /// The name in the result: the alias, or `name` without one.
  public var responseKey: String
  /// The name in the schema: `movie_insert`.
  public var name: String
  /// The read or change that the field does.
  public var action: Action
  /// The GraphQL type of the table. Empty for `query` and `typename`.
  public var table: String
  /// The vector that `similarity` compares. Nil for other actions.
  public var column: String?
  /// The arguments as written, without defaults for those that are absent: `where`, `orderBy`,
  /// `limit`, `data`, `key`, `id`, `id_expr`, `first`, `all` …
  public var arguments: [Literal.Member]
  /// The selected fields of the row or rows. Empty for a mutation without a selection set, whose
  /// result is a key or a count.
  public var selections: [Selection]
  /// The root fields of `query { … }`. Empty for other actions.
  public var fields: [RootField]
  /// The directives of the field.
  public var modifiers: Modifiers
  /// The name of the fragment whose fields `selections` are, if they are exactly one fragment's.
  public var fragment: String?

  /// Creates a root field. The defaults are those of a field without arguments, selection set and
  /// directives.
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

  /// The literal of an argument. Nil if it is absent: a default is in `RootFieldShape.arguments`.
  public func argument(_ name: String) -> Literal? {
    arguments.first { $0.name == name }?.value
  }
}

/// The directives of a field in an operation.
public struct Modifiers: Codable, Hashable, Sendable {
  /// `@check`, in the order of the source. `this` in their expressions is the value of the field.
  ///
  ///     mutation Rename($id: UUID!, $title: String!) @auth(level: USER) @transaction {
  ///       query {
  ///         movie(id: $id) @check(expr: "this != null", message: "no such movie") {
  ///           ownerUid @check(expr: "this == auth.uid", message: "not yours")
  ///         }
  ///       }
  ///       movie_update(id: $id, data: { title: $title })
  ///     }
  public var checks: [Check]
  /// `@redact`: the field is evaluated for checks and expressions, and is not in the result.
  public var isRedacted: Bool
  /// `@include(if:)`, a boolean or a variable. Nil if absent.
  public var include: Literal?
  /// `@skip(if:)`, a boolean or a variable. Nil if absent.
  public var skip: Literal?
  /// `@retired`: the field is in the result, and not in generated types.
  public var isRetired: Bool

  /// Creates modifiers. The defaults are those of a field without directives.
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
  /// The part of a table or of a result that a selected field shows.
  public enum Kind: Codable, Hashable, Sendable {
    /// A column, by its name in the schema.
    case column(String)
    /// The row that a reference of this table refers to.
    case reference(String)
    /// `reviews_on_movie`: rows of `table` whose `reference` is this row; one or null if
    /// `isSingle`.
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
    /// `_id`: an identifier of the row that is unique in the database.
    case entityID
    /// `__typename`: the GraphQL type of the row.
    case typename
  }

  /// An aggregate function. A raw value is the suffix of the field's name.
  public enum Aggregate: String, Codable, Sendable {
    /// `_count`: the number of rows; `title_count`: of values that are not null.
    case count
    /// `price_sum`: the sum of the values that are not null.
    case sum
    /// `price_avg`: the mean of the values that are not null, a `Float` for all types.
    case avg
    /// `price_min`: the least value.
    case min
    /// `price_max`: the greatest value.
    case max
  }

  /// The name in the result: the alias, or `name` without one.
  public var responseKey: String
  /// The name in the schema: `reviews_on_movie`.
  public var name: String
  /// The part of the table that the field shows.
  public var kind: Kind
  /// The arguments of `referring` and `via` as written: `where`, `orderBy`, `limit`, `offset`,
  /// `distinct`, `having`. Empty for other fields.
  public var arguments: [Literal.Member]
  /// The fields of the row or rows. Empty for a column.
  public var selections: [Selection]
  /// The directives of the field.
  public var modifiers: Modifiers
  /// The name of the fragment whose fields `selections` are, if they are exactly one fragment's.
  public var fragment: String?

  /// Creates a selected field. The defaults are those of a field without arguments, selection set
  /// and directives.
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

  /// The literal of an argument. Nil if it is absent.
  public func argument(_ name: String) -> Literal? {
    arguments.first { $0.name == name }?.value
  }
}
