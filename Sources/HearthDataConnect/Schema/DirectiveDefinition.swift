import DataConnectModel

/// A directive of the dialect: its arguments and places.
struct DirectiveDefinition {
  enum Place: String {
    case query = "QUERY"
    case mutation = "MUTATION"
    case field = "FIELD"
    case fragmentDefinition = "FRAGMENT_DEFINITION"
    case fragmentSpread = "FRAGMENT_SPREAD"
    case inlineFragment = "INLINE_FRAGMENT"
    case variable = "VARIABLE_DEFINITION"
    case object = "OBJECT"
    case fieldDefinition = "FIELD_DEFINITION"
    case enumeration = "ENUM"
    case enumValue = "ENUM_VALUE"

    /// As sentences name it.
    var phrase: String {
      switch self {
      case .query: "a query"
      case .mutation: "a mutation"
      case .field: "a field of an operation"
      case .fragmentDefinition: "the definition of a fragment"
      case .fragmentSpread, .inlineFragment: "a fragment"
      case .variable: "a variable"
      case .object: "a type"
      case .fieldDefinition: "a field of the schema"
      case .enumeration: "an enum"
      case .enumValue: "a value of an enum"
      }
    }
  }

  var name: String
  var summary: String
  var arguments: InputObject
  var places: [Place]
  var isRepeatable: Bool

  private init(
    _ name: String, _ summary: String, _ fields: [InputObject.Field] = [],
    groups: [InputObject.Group] = [], on places: [Place], isRepeatable: Bool = false
  ) {
    self.name = name
    self.summary = summary
    self.arguments = InputObject("@\(name)", role: .arguments, fields: fields, groups: groups)
    self.places = places
    self.isRepeatable = isRepeatable
  }

  static let all: [DirectiveDefinition] = [
    // Schema
    .init(
      "table", "Makes the type a table. `key` names columns and references.",
      [
        .init("name", string), .init("singular", string), .init("plural", string),
        .init("key", strings),
      ], on: [.object]),
    .init(
      "view", "Not supported: there is no SQL. Select and filter the tables in a query.",
      [
        .init("name", string), .init("sql", string), .init("singular", string),
        .init("plural", string),
      ], on: [.object]),
    .init(
      "col", "Limits a String (varchar(30)), numbers rows (serial), sizes a Vector.",
      [.init("name", string), .init("dataType", string), .init("size", int)],
      on: [.fieldDefinition]),
    .init(
      "default", "The value of the column in new rows that have none.",
      [.init("value", .value(.any)), .init("expr", .expression(.any)), .init("sql", string)],
      groups: [.init(["value", "expr", "sql"], isRequired: true)], on: [.fieldDefinition]),
    .init(
      "unique", "Values occur once. On a reference, the relation is one-to-one.",
      [.init("indexName", string), .init("fields", strings)], on: [.object, .fieldDefinition],
      isRepeatable: true),
    .init(
      "index", "Keeps an index of one or more columns.",
      [
        .init("name", string), .init("fields", strings),
        .init("order", .list(.choice(indexOrder))), .init("type", .choice(indexType)),
        .init("vector_method", .choice(.similarityMethod)),
      ], on: [.object, .fieldDefinition], isRepeatable: true),
    .init(
      "ref", "Names the columns of a reference, and the columns of the other table.",
      [.init("fields", strings), .init("references", strings), .init("constraintName", string)],
      on: [.fieldDefinition]),
    .init(
      "searchable", "The text is part of the table's search field.",
      [.init("language", string, default: .string("english"))], on: [.fieldDefinition]),
    .init(
      "deprecated", "Documents that the part should not be used.", [.init("reason", string)],
      on: [.fieldDefinition, .enumValue]),
    // Operations
    .init(
      "auth", "The users who may execute the operation: a level, or an expression in CEL.",
      [
        .init("level", .choice(authLevel)), .init("expr", condition),
        .init("insecureReason", string),
      ], groups: [.init(["level", "expr"], isRequired: true)], on: [.query, .mutation]),
    .init(
      "check", "Fails if the expression is false. `this` is the value of the field.",
      [
        .init("expr", condition.required, default: .string(defaultCheck)),
        .init("message", string.required, default: .string("permission denied")),
        .init("optional", .value(.boolean).required, default: .bool(false)),
      ],
      on: [
        .query, .mutation, .field, .fragmentDefinition, .fragmentSpread, .inlineFragment,
      ], isRepeatable: true),
    .init(
      "redact", "The field is evaluated for checks and expressions, and not in the result.",
      on: [.field, .fragmentSpread, .inlineFragment]),
    .init("transaction", "All fields of the mutation succeed, or none.", on: [.mutation]),
    .init(
      "refresh", "Executes a subscribed query again: after a time, or after a mutation.",
      [
        .init("every", .object("Timestamp_Duration")),
        .init("onMutationExecuted", .list(.object("Refresh_OnMutationExecuted"))),
      ], on: [.query], isRepeatable: true),
    .init(
      "retired", "Is still executed, and is not part of generated code.",
      [.init("reason", string)], on: [.query, .mutation, .field, .variable]),
    .init(
      "allow", "The fields that a client may set with a variable, and the number of rows.",
      [.init("fields", strings), .init("maxCount", int)], on: [.variable]),
    .init(
      "skip", "Leaves the field out if true.",
      [.init("if", .value(.boolean).required)], on: [.field, .fragmentSpread, .inlineFragment]),
    .init(
      "include", "Leaves the field out if false.",
      [.init("if", .value(.boolean).required)], on: [.field, .fragmentSpread, .inlineFragment]),
  ]

  static let byName = Dictionary(first: all.map { ($0.name, $0) })

  /// Objects in arguments of directives.
  static let objects: [InputObject] = [
    InputObject(
      "Refresh_OnMutationExecuted",
      fields: [.init("operation", string.required), .init("condition", condition)])
  ]

  static let authLevel = InputShape.Choice(
    name: "AuthLevel",
    values: ["PUBLIC", "USER_ANON", "USER", "USER_EMAIL_VERIFIED", "NO_ACCESS"])
  static let indexOrder = InputShape.Choice(name: "IndexFieldOrder", values: ["ASC", "DESC"])
  static let indexType = InputShape.Choice(
    name: "IndexType", values: ["BTREE", "GIN", "HNSW", "IVFFLAT"])
  static let choices: [InputShape.Choice] = [
    .orderDirection, .searchQueryFormat, .similarityMethod, .dateInterval, .timestampInterval,
    authLevel, indexOrder, indexType,
  ]

  private static let defaultCheck = "!(this in [null, []])"
  private static let string = InputShape.value(.string)
  private static let strings = InputShape.list(.value(.string))
  private static let int = InputShape.value(.int)
  private static let condition = InputShape.expression(.boolean)
}
