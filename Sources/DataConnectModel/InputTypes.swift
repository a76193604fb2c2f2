/// The input objects and root fields of a schema: one description for the compiler, which checks
/// literals, and the runtime, which checks the values of variables.
///
///     let types = InputTypes(schema: connector.schema)
///     types.object("Movie_Filter")?.field("title")?.shape      // String_Filter
///     types.rootField("movies", in: .query)?.arguments         // where, orderBy, limit …
public struct InputTypes: Sendable {
  /// The input objects of tables, in the order of the tables: `Movie_Key`, `Movie_Data`,
  /// `Movie_Filter` …
  public let tableObjects: [InputObject]
  /// The operators of the schema's enums: `AspectRatio_Filter` …
  public let enumObjects: [InputObject]
  /// The fields of `Query` and `Mutation`, in the order of the tables.
  public let rootFields: [RootFieldShape]
  /// The relations of each table, by its GraphQL type.
  public let relations: [String: [Relation]]
  private let objects: [String: InputObject]
  private let queries: [String: RootFieldShape]
  private let mutations: [String: RootFieldShape]

  /// Derives the input objects, root fields and relations of all tables. Its cost grows with the
  /// number of columns: make one value for each schema, and keep it.
  public init(schema: Schema) {
    let relations = schema.relations()
    var tableObjects: [InputObject] = []
    var rootFields: [RootFieldShape] = []
    let keys = Dictionary(first: schema.tables.map { ($0.typeName, Set($0.key)) })
    for table in schema.tables {
      let tableRelations = relations[table.typeName] ?? []
      let byKey = table.references.filter { Set($0.targetColumns) == keys[$0.target] }
      tableObjects += Self.objects(of: table, relations: tableRelations, byKey: byKey)
      rootFields += RootFieldShape.all(of: table)
    }
    let enumObjects = schema.enums.flatMap { Self.operators(of: .enumeration($0.name)) }
    self.relations = relations
    self.tableObjects = tableObjects
    self.enumObjects = enumObjects
    self.rootFields = rootFields
    objects = Dictionary(
      first: (Self.builtIn + enumObjects + tableObjects).map { ($0.name, $0) })
    func fields(_ kind: Operation.Kind) -> [String: RootFieldShape] {
      Dictionary(first: rootFields.filter { $0.kind == kind }.map { ($0.name, $0) })
    }
    queries = fields(.query)
    mutations = fields(.mutation)
  }

  /// The input object with a GraphQL name, in constant time: built-in, of an enum, or of a table.
  /// Nil if the schema has none.
  public func object(_ name: String) -> InputObject? { objects[name] }

  /// The field of `Query` or `Mutation` with a name, in constant time. Nil if the schema has none.
  public func rootField(_ name: String, in kind: Operation.Kind) -> RootFieldShape? {
    kind == .query ? queries[name] : mutations[name]
  }

  /// The names of the fields of `Query` or `Mutation`, in no order. For suggestions.
  public func rootFieldNames(in kind: Operation.Kind) -> some Collection<String> {
    (kind == .query ? queries : mutations).keys
  }
}

// MARK: - Operators of types

extension InputTypes {
  /// The input objects that every schema has: operators of scalars, relative dates, durations.
  public static let builtIn: [InputObject] =
    ValueType.scalars.flatMap(operators(of:)) + [
      InputObject(
        "String_Pattern",
        fields: [
          .init("like", .value(.string)), .init("regex", .value(.string)),
          .init("ignoreCase", .value(.boolean), default: .bool(false)),
        ], groups: [.init(["like", "regex"], isRequired: true)]),
      InputObject(
        "Date_Relative",
        fields: [
          .init("today", InputShape(.onlyTrue)), .init("on", .value(.date)),
          .init("add", .object("Date_Duration")),
          .init("sub", .object("Date_Duration")),
          .init("truncateTo", .choice(.dateInterval)),
        ], groups: [.init(["today", "on"], isRequired: true)]),
      InputObject(
        "Timestamp_Relative",
        fields: [
          .init("now", InputShape(.onlyTrue)), .init("at", .value(.timestamp)),
          .init("add", .object("Timestamp_Duration")),
          .init("sub", .object("Timestamp_Duration")),
          .init("truncateTo", .choice(.timestampInterval)),
        ], groups: [.init(["now", "at"], isRequired: true)]),
      duration("Date_Duration", ["days", "weeks", "months", "years"]),
      duration(
        "Timestamp_Duration",
        ["milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "years"]),
    ]

  private static func duration(_ name: String, _ units: [String]) -> InputObject {
    InputObject(name, fields: units.map { .init($0, .value(.int)) })
  }

  /// `T_Filter`, and where they exist `T_ListFilter`, `T_Update` and `T_ListUpdate`.
  static func operators(of type: ValueType) -> [InputObject] {
    let value = InputShape.value(type)
    let values = InputShape.list(.value(type))
    var fields: [InputObject.Field] = []

    func add(_ names: [String], expressions: Bool = false) {
      for name in names {
        fields.append(.init(name, value))
        if expressions { fields.append(expression(name, type)) }
        if let relative = relative(name, type) { fields.append(relative) }
      }
    }
    func groups(_ names: [String]) -> [InputObject.Group] {
      let given = Set(fields.map(\.name))
      return names.compactMap { name in
        let group = ["", "_expr", "_date", "_time"].map { name + $0 }.filter(given.contains)
        return group.count > 1 ? .init(group) : nil
      }
    }

    let order = ["gt", "ge", "lt", "le"]
    switch type {
    case .string:
      add(["eq", "ne"], expressions: true)
      add(order + ["contains", "startsWith", "endsWith"])
      fields.append(.init("pattern", .object("String_Pattern")))
    case .uuid: add(["eq", "ne"], expressions: true)
    case .int, .int64, .float, .date, .timestamp: add(["eq", "ne"] + order, expressions: true)
    case .boolean, .any, .vector: add(["eq", "ne"])
    case .enumeration: add(["eq", "ne"] + order)
    }
    fields += [
      .init("in", values), .init("nin", values), .init("isNull", .value(.boolean)),
    ]
    var result = [
      InputObject(
        "\(type.name)_Filter", role: .operators, fields: fields,
        groups: groups(["eq", "ne"] + order))
    ]
    if type != .vector {
      fields = []
      add(["includes", "excludes"], expressions: [.date, .timestamp].contains(type))
      fields += [.init("includesAll", values), .init("excludesAll", values)]
      result.append(
        InputObject(
          "\(type.name)_ListFilter", role: .operators, fields: fields,
          groups: groups(["includes", "excludes"])))
      result.append(
        InputObject(
          "\(type.name)_ListUpdate",
          fields: ["append", "prepend", "add", "remove"].map { .init($0, values) },
          groups: [.init(["append", "prepend", "add", "remove"], isRequired: true)]))
    }
    let step: InputShape? =
      switch type {
      case .int, .int64, .float: value
      case .date: InputShape.object("Date_Duration")
      case .timestamp: InputShape.object("Timestamp_Duration")
      default: nil
      }
    if let step {
      result.append(
        InputObject(
          "\(type.name)_Update", fields: [.init("inc", step), .init("dec", step)],
          groups: [.init(["inc", "dec"], isRequired: true)]))
    }
    return result
  }

  /// `f_expr` of a field `f`.
  private static func expression(
    _ name: String, _ type: ValueType, _ subject: InputObject.Subject? = nil
  ) -> InputObject.Field {
    .init(
      "\(name)_expr", .expression(type), isLiteralOnly: true, subject: subject, form: .expression)
  }

  /// `f_date` or `f_time` of a field `f`. Nil for other types.
  private static func relative(
    _ name: String, _ type: ValueType, _ subject: InputObject.Subject? = nil
  ) -> InputObject.Field? {
    guard type == .date || type == .timestamp else { return nil }
    return .init(
      name + (type == .date ? "_date" : "_time"), .object("\(type.name)_Relative"),
      isLiteralOnly: true, subject: subject, form: type == .date ? .relativeDate : .relativeTime)
  }
}

// MARK: - Input objects of tables

extension ValueType {
  /// Whether a column `f` of the type has a field `f_expr` in keys and data.
  public var hasExpressions: Bool {
    switch self {
    case .string, .uuid, .int, .int64, .float, .date, .timestamp, .any: true
    case .boolean, .vector, .enumeration: false
    }
  }

  /// Whether a column `f` with one value of the type has a field `f_update` in data. True for `Int`,
  /// `Int64`, `Float`, `Date` and `Timestamp`, which can be increased. A column with a list has one
  /// whatever the type of its elements is.
  public var hasUpdates: Bool {
    switch self {
    case .int, .int64, .float, .date, .timestamp: true
    default: false
    }
  }
}

extension InputTypes {
  /// `byKey` are the references to the key of the other table: they take a row's key.
  private static func objects(
    of table: Table, relations: [Relation], byKey: [Reference]
  ) -> [InputObject] {
    let type = table.typeName
    let filter = InputShape.object("\(type)_Filter")
    let orders = InputShape.list(.object("\(type)_Order"))
    let aggregates = table.aggregates
    return [
      key(of: table, byKey: byKey),
      data(of: table, relations: relations, byKey: byKey),
      InputObject(
        "\(type)_Filter", role: .filter, table: type,
        fields: [
          .init("_and", .list(.object("\(type)_Filter"))),
          .init("_or", .list(.object("\(type)_Filter"))), .init("_not", filter),
        ]
          + table.columns.map { column in
            .init(
              column.name,
              .object("\(column.type.name)_\(column.isList ? "ListFilter" : "Filter")"),
              subject: .column(column.name))
          }
          + table.references.map {
            .init($0.name, .object("\($0.target)_Filter"), subject: .reference($0.name))
          }
          + relations.map {
            .init(
              $0.name, .object("\($0.target)_\($0.isSingle ? "Filter" : "ListFilter")"),
              subject: .relation($0.name))
          }),
      InputObject(
        "\(type)_ListFilter", role: .listFilter, table: type,
        fields: [
          .init("exist", filter),
          .init("count", .object("Int_Filter"), default: .object([.init("gt", .int(0))])),
        ]),
      InputObject(
        "\(type)_Order", role: .order, table: type,
        fields: table.columns.filter { !$0.isList && $0.type != .vector }.map {
          .init($0.name, .choice(.orderDirection), subject: .column($0.name))
        }
          + table.references.map {
            .init($0.name, .object("\($0.target)_Order"), subject: .reference($0.name))
          }
          + aggregates.map {
            .init($0.name, .choice(.orderDirection), subject: .aggregate($0.name))
          }),
      InputObject(
        "\(type)_Having", role: .having, table: type,
        fields: [
          .init("_and", .list(.object("\(type)_Having"))),
          .init("_or", .list(.object("\(type)_Having"))),
          .init("_not", .object("\(type)_Having")),
          .init("_distinct", .value(.boolean)),
        ]
          + aggregates.map {
            .init($0.name, .object("\($0.type.name)_Filter"), subject: .aggregate($0.name))
          }),
      InputObject(
        "\(type)_FirstRow", role: .firstRow, table: type,
        fields: [.init("where", filter), .init("orderBy", orders)]),
    ]
  }

  /// Every column of the key is given once: as it is, as an expression, or by the key of the row
  /// that a reference refers to.
  private static func key(of table: Table, byKey: [Reference]) -> InputObject {
    var fields: [InputObject.Field] = []
    for name in table.key {
      guard let column = table.column(name) else { continue }
      fields.append(.init(name, .value(column.type), subject: .column(name)))
      if column.type.hasExpressions {
        fields.append(expression(name, column.type, .column(name)))
      }
    }
    let references = byKey.filter { reference in
      reference.columns.allSatisfy(table.key.contains)
    }
    fields += references.map(referredKey)
    let given = Set(fields.map(\.name))
    let groups = table.key.map { name in
      InputObject.Group(
        [name, "\(name)_expr"].filter(given.contains)
          + references.filter { $0.columns.contains(name) }.map(\.name), isRequired: true)
    }
    return InputObject(
      "\(table.typeName)_Key", role: .key, table: table.typeName, fields: fields, groups: groups)
  }

  /// A reference that takes the key of its row.
  private static func referredKey(_ reference: Reference) -> InputObject.Field {
    .init(
      reference.name, .object("\(reference.target)_Key"), isLiteralOnly: true,
      subject: .reference(reference.name))
  }

  private static func data(
    of table: Table, relations: [Relation], byKey: [Reference]
  ) -> InputObject {
    var fields: [InputObject.Field] = []
    var groups: [InputObject.Group] = []
    for column in table.columns {
      let name = column.name
      var names = [name]
      func add(_ suffix: String, _ shape: InputShape, _ form: InputObject.Form) {
        names.append(name + suffix)
        fields.append(
          .init(name + suffix, shape, isLiteralOnly: true, subject: .column(name), form: form))
      }
      fields.append(.init(name, InputShape(column.shape.base), subject: .column(name)))
      if column.isList {
        add("_update", .list(.object("\(column.type.name)_ListUpdate")), .updates)
      } else {
        if column.type.hasExpressions {
          add("_expr", .expression(column.type), .expression)
        }
        if let relative = relative(name, column.type, .column(name)) {
          names.append(relative.name)
          fields.append(relative)
        }
        if column.type.hasUpdates {
          add("_update", .list(.object("\(column.type.name)_Update")), .updates)
        }
      }
      names += byKey.filter { $0.columns.contains(name) }.map(\.name)
      if names.count > 1 { groups.append(.init(names)) }
    }
    fields += byKey.map(referredKey)
    for relation in relations {
      guard case .referring(let source, _, false) = relation.kind else { continue }
      fields.append(
        .init(
          relation.name, .list(.object("\(source)_Data")), isLiteralOnly: true,
          subject: .relation(relation.name)))
    }
    return InputObject(
      "\(table.typeName)_Data", role: .data, table: table.typeName, fields: fields, groups: groups)
  }
}
