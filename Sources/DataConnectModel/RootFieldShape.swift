/// A field of `Query` or `Mutation` that a table has.
public struct RootFieldShape: Hashable, Sendable {
  /// The type of a field's result.
  public enum Result: Hashable, Sendable {
    /// A row or null.
    case row
    /// A list of rows, never null.
    case rows
    /// The key of a row. Null is possible for `update` and `delete`.
    case key(isNullable: Bool)
    /// The keys of rows, in the order of `data`.
    case keys
    /// The number of rows that were changed.
    case count
  }

  /// The name in `Query` or `Mutation`: `movies`, `movie_insert`.
  public var name: String
  /// Whether the field belongs to `Query` or `Mutation`.
  public var kind: Operation.Kind
  /// The read or change that the field does.
  public var action: RootField.Action
  /// The GraphQL type of the table.
  public var table: String
  /// The vector that `similarity` compares. Nil for other actions.
  public var column: String?
  /// The arguments, with their defaults, and the groups of which one may be given.
  public var arguments: InputObject
  /// The type of the result without a selection set.
  public var result: Result

  /// Whether a field of a mutation may have a selection set, which makes its result the row.
  public var canSelectRows: Bool { result != .count }
}

extension RootFieldShape {
  /// The fields of a table, queries first.
  ///
  /// A table whose singular and plural are the same has no field for lists.
  public static func all(of table: Table) -> [RootFieldShape] {
    let type = table.typeName
    var fields: [RootFieldShape] = []
    func add(
      _ name: String, _ kind: Operation.Kind, _ action: RootField.Action, _ result: Result,
      column: String? = nil, _ arguments: [InputObject.Field], groups: [InputObject.Group] = []
    ) {
      fields.append(
        RootFieldShape(
          name: name, kind: kind, action: action, table: type, column: column,
          arguments: InputObject(
            name, role: .arguments, table: type, fields: arguments, groups: groups),
          result: result))
    }

    let selectors = selectors(of: table)
    let one = [InputObject.Group(selectors.map(\.name), isRequired: true)]
    let filter = InputObject.Field("where", .object("\(type)_Filter"))
    let data = InputObject.Field("data", .object("\(type)_Data").required)
    let list = InputObject.Field("data", InputShape.list(.object("\(type)_Data")).required)

    add(table.singular, .query, .lookup, .row, selectors, groups: one)
    if table.plural != table.singular {
      add(table.plural, .query, .list, .rows, listArguments(of: type))
    }
    if table.columns.contains(where: { $0.searchLanguage != nil }) {
      add(
        "\(table.plural)_search", .query, .search, .rows,
        [
          .init("query", .value(.string).required),
          .init("queryFormat", .choice(.searchQueryFormat), default: .name("QUERY")),
          .init("relevanceThreshold", .value(.float)),
        ] + listArguments(of: type).filter { ["where", "orderBy"].contains($0.name) } + pages)
    }
    for column in table.columns where column.type == .vector {
      add(
        "\(table.plural)_\(column.name)_similarity", .query, .similarity, .rows,
        column: column.name,
        [
          .init("compare", .value(.vector).required, subject: .column(column.name)),
          .init("method", .choice(.similarityMethod), default: .name("L2")),
          .init("within", .value(.float)), filter,
        ] + pages)
    }

    let x = table.singular
    add("\(x)_insert", .mutation, .insert, .key(isNullable: false), [data])
    add("\(x)_insertMany", .mutation, .insertMany, .keys, [list])
    add("\(x)_upsert", .mutation, .upsert, .key(isNullable: false), [data])
    add("\(x)_upsertMany", .mutation, .upsertMany, .keys, [list])
    add("\(x)_update", .mutation, .update, .key(isNullable: true), selectors + [data], groups: one)
    let all = InputObject.Field("all", .value(.boolean), default: .bool(false))
    let some = [InputObject.Group(["where", "all"], isRequired: true)]
    add("\(x)_updateMany", .mutation, .updateMany, .count, [filter, all, data], groups: some)
    add("\(x)_delete", .mutation, .delete, .key(isNullable: true), selectors, groups: one)
    add("\(x)_deleteMany", .mutation, .deleteMany, .count, [filter, all], groups: some)
    return fields
  }

  /// The arguments of lists of rows and of relations with many rows: `where`, `orderBy`, `offset`,
  /// `limit` (by default 100), `distinct`, `having`.
  public static func listArguments(of typeName: String) -> [InputObject.Field] {
    [
      .init("where", .object("\(typeName)_Filter")),
      .init("orderBy", .list(.object("\(typeName)_Order"))),
    ] + pages + [
      .init("distinct", .value(.boolean), default: .bool(false)),
      .init("having", .object("\(typeName)_Having")),
    ]
  }

  private static let pages: [InputObject.Field] = [
    .init("offset", .value(.int)), .init("limit", .value(.int), default: .int(100)),
  ]

  /// The arguments that select one row. A key of one column has arguments of its own, unless they
  /// have the name of another argument.
  private static func selectors(of table: Table) -> [InputObject.Field] {
    var fields: [InputObject.Field] = []
    if table.key.count == 1, let column = table.column(table.key[0]),
      !["key", "first", "data"].contains(column.name)
    {
      fields.append(.init(column.name, .value(column.type), subject: .column(column.name)))
      if column.type.hasExpressions {
        fields.append(
          .init(
            "\(column.name)_expr", .expression(column.type), subject: .column(column.name),
            form: .expression))
      }
    }
    fields.append(.init("key", .object("\(table.typeName)_Key")))
    fields.append(.init("first", .object("\(table.typeName)_FirstRow")))
    return fields
  }
}
