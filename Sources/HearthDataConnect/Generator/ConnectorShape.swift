import DataConnectModel

/// The declarations of a generated package, with their names in Swift.
///
///     CompiledConnector ─▶ ConnectorShape ─▶ the texts of the files
///                           enums, keys, inputs, operations ─▶ rows ─▶ fields
///
/// A name that is taken gets an underscore after it. Enums keep their names before keys, keys before
/// inputs, inputs before operations.
struct ConnectorShape {
  /// `Movies`
  let name: String
  /// The types of the schema that the operations use.
  private(set) var enums: [EnumShape] = []
  private(set) var keys: [KeyShape] = []
  private(set) var inputs: [RowInputShape] = []
  /// Mutations first, each kind in the order of the sources. Without those that are retired.
  private(set) var operations: [OperationShape] = []

  /// `MoviesConnector`
  let connectorClass: String
  /// `MoviesSchema`
  let schemaEnum: String
  /// The connector on the default database: `moviesConnector`.
  let property: String
  let types: TypeNames

  init(_ connector: CompiledConnector) {
    name = SwiftNames.upperCamel(connector.connectorID)
    var scope = NameScope(reserving: SwiftNames.usedTypes)
    connectorClass = scope.add("\(name)Connector")
    schemaEnum = scope.add("\(name)Schema")
    let types = TypeNames(connector.schema, in: &scope)
    self.types = types
    var uses = TypeUses(schema: connector.schema)

    let generated = connector.operations.filter { !$0.isRetired }
    let sorted =
      generated.filter { $0.kind == .mutation } + generated.filter { $0.kind == .query }
    let classNames = sorted.map { scope.add(OperationShape.className(of: $0)) }
    // A property with the name of its type would hide it.
    var properties = NameScope(reserving: scope.taken)
    property = properties.add("\(Naming.lowerFirst(name))Connector")
    var members = NameScope(reserving: Self.connectorMembers.union(scope.taken))
    let shapes = zip(sorted, classNames).map { operation, className in
      OperationShape(
        operation, className: className, schema: connector.schema, types: types,
        members: &members, uses: &uses)
    }
    operations = shapes.map { shape in
      // The shorter names come last: they are given only if no other member has them.
      var shape = shape
      let alias = Naming.lowerFirst(shape.name)
      if !members.taken.contains(alias) { shape.alias = members.add(alias) }
      return shape
    }

    let tables = connector.schema.tables
    keys = tables.filter { uses.keys.contains($0.typeName) }
      .map { KeyShape($0, types: types, uses: &uses) }
    inputs = tables.filter { uses.inputs.contains($0.typeName) }
      .map { RowInputShape($0, types: types, uses: &uses) }
    enums = connector.schema.enums.filter { uses.enums.contains($0.name) }
      .map { EnumShape($0, types: types) }
  }

  private static let connectorMembers: Set<String> = [
    "Type", "connectorConfig", "dataConnect", "init", "self", "settings", "useEmulator",
  ]
}

/// The names in Swift of the types of a schema.
struct TypeNames {
  private var enums: [String: String] = [:]
  private var keys: [String: String] = [:]
  private var inputs: [String: String] = [:]
  /// Of all of them, and of the module's other types.
  let taken: Set<String>

  init(_ schema: Schema, in scope: inout NameScope) {
    for type in schema.enums { enums[type.name] = scope.add(type.name) }
    for table in schema.tables { keys[table.typeName] = scope.add("\(table.typeName)Key") }
    for table in schema.tables { inputs[table.typeName] = scope.add("\(table.typeName)Data") }
    taken = scope.taken
  }

  /// A scope for the properties of a structure. A property with the name of a type would hide it.
  func members(and names: Set<String> = []) -> NameScope {
    NameScope(
      reserving: taken.union(names).union([
        "Type", "dataConnectValue", "dataConnectValues", "hashValue", "init", "self",
      ]))
  }

  func enumeration(_ name: String) -> String { enums[name] ?? name }

  /// `MovieKey` of `Movie`
  func key(_ table: String) -> String { keys[table] ?? "\(table)Key" }

  /// `MovieData` of `Movie`
  func input(_ table: String) -> String { inputs[table] ?? "\(table)Data" }

  func value(_ type: ValueType) -> String {
    switch type {
    case .string: "String"
    case .int: "Int"
    case .int64: "Int64"
    case .float: "Double"
    case .boolean: "Bool"
    case .uuid: "UUID"
    case .date: "LocalDate"
    case .timestamp: "Timestamp"
    case .any: "AnyValue"
    case .vector: "[Double]"
    case .enumeration(let name): enumeration(name)
    }
  }

  /// Elements of lists are never optional: a list with nulls cannot be decoded.
  func value(of column: Column) -> String {
    column.isList ? "[\(value(column.type))]" : value(column.type)
  }

  /// Without the question mark of a type that can be null.
  ///
  /// A filter is a recursive structure, and an order may be one: both are `AnyValue`.
  func variable(_ type: InputType) -> String {
    switch type {
    case .value(let value, _): self.value(value)
    case .list(let element, _): "[\(variable(element))]"
    case .key(let table, _): key(table)
    case .data(let table, _): input(table)
    case .filter, .order: "AnyValue"
    case .orderDirection: "OrderDirection"
    case .searchQueryFormat: "SearchQueryFormat"
    }
  }
}

extension InputType {
  /// `Movie_Filter`. Nil for types that have a type of their own in Swift.
  var untypedName: String? {
    switch self {
    case .filter(let table, _): "\(table)_Filter"
    case .order(let table, _): "\(table)_Order"
    case .list(let element, _): element.untypedName.map { "[\($0)]" }
    case .value, .key, .data, .orderDirection, .searchQueryFormat: nil
    }
  }
}

/// The types of a schema that a connector uses.
struct TypeUses {
  let schema: Schema
  private(set) var enums: Set<String> = []
  /// GraphQL types of tables.
  var keys: Set<String> = []
  private(set) var inputs: Set<String> = []

  mutating func add(_ type: ValueType) {
    if case .enumeration(let name) = type { enums.insert(name) }
  }

  mutating func add(_ type: InputType) {
    switch type {
    case .value(let value, _): add(value)
    case .list(let element, _): add(element)
    case .key(let table, _): keys.insert(table)
    case .data(let table, _): inputs.insert(table)
    case .filter, .order, .orderDirection, .searchQueryFormat: break
    }
  }
}

/// A property of a key, of a row of a result or of a structure of variables.
struct PropertyShape: Hashable {
  /// In Swift, without backticks.
  var name: String
  /// In requests and results.
  var wireName: String
  /// In Swift, without the question mark of an optional variable.
  var type: String
  /// May be unset.
  var isOptional = false
  /// `Movie_Filter` of a variable whose type in Swift does not say it.
  var graphQLType: String?
  /// The position in the values of a key, or of a row, which has none for redacted fields.
  var index = 0

  /// As it is written in Swift.
  var quoted: String { SwiftNames.quoted(name) }
  /// Before the colon of a parameter.
  var label: String { SwiftNames.label(name) }
  /// Before the colon of an argument.
  var argumentLabel: String { SwiftNames.argumentLabel(name) }
}

struct EnumShape {
  struct Case {
    var name: String
    var rawValue: String

    var quoted: String { SwiftNames.quoted(name) }
  }

  let name: String
  let graphQLName: String
  let cases: [Case]

  init(_ type: EnumType, types: TypeNames) {
    name = types.enumeration(type.name)
    graphQLName = type.name
    var scope = NameScope(reserving: ["_UNKNOWN", "allCases", "init", "self", "Type"])
    cases = type.values.map { Case(name: scope.add($0), rawValue: $0) }
  }
}

/// The key of a table's rows: `MovieKey`.
struct KeyShape {
  let name: String
  let table: String
  /// In the order in which the type declares them.
  let properties: [PropertyShape]

  init(_ table: Table, types: TypeNames, uses: inout TypeUses) {
    name = types.key(table.typeName)
    self.table = table.typeName
    for column in table.columns where table.key.contains(column.name) { uses.add(column.type) }
    properties = Self.properties(of: table, types: types)
  }

  static func properties(of table: Table, types: TypeNames) -> [PropertyShape] {
    var scope = types.members()
    return table.columns.compactMap { column in
      table.key.firstIndex(of: column.name).map { index in
        PropertyShape(
          name: scope.add(column.name), wireName: column.name, type: types.value(of: column),
          index: index)
      }
    }
  }
}

/// The data of a row, in a variable: `MovieData` for `Movie_Data`. All columns may be unset.
struct RowInputShape {
  let name: String
  let table: String
  let properties: [PropertyShape]

  init(_ table: Table, types: TypeNames, uses: inout TypeUses) {
    name = types.input(table.typeName)
    self.table = table.typeName
    for column in table.columns { uses.add(column.type) }
    var scope = types.members()
    properties = table.columns.map {
      PropertyShape(
        name: scope.addWrapped($0.name), wireName: $0.name, type: types.value(of: $0),
        isOptional: true)
    }
  }
}
