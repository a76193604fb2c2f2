import DataConnectModel
internal import HearthText

/// Writes a schema as GraphQL for editors, which complete and check names with it.
///
///     prelude.gql        scalars, enums, directives, operators: the same for every schema
///     main/implicit.gql  columns without a declaration
///     main/relation.gql  fields of the other side of references, aggregates
///     main/query.gql     fields of Query
///     main/mutation.gql  fields of Mutation
///     main/input.gql     input objects of tables and enums
///
/// Mutations have results of scalar types like `Movie_KeyOutput`, although the compiler accepts a
/// selection set there: a type cannot be a scalar and an object.
struct SchemaFiles {
  let schema: Schema
  let types: InputTypes

  init(schema: Schema) {
    self.schema = schema
    self.types = InputTypes(schema: schema)
  }

  var files: [SourceFile] {
    [
      SourceFile(path: "prelude.gql", text: Self.prelude),
      SourceFile(path: "main/implicit.gql", text: implicit),
      SourceFile(path: "main/relation.gql", text: relation),
      SourceFile(path: "main/query.gql", text: root(.query)),
      SourceFile(path: "main/mutation.gql", text: root(.mutation)),
      SourceFile(path: "main/input.gql", text: input),
    ]
  }

  private static let header = "# Generated from the schema. Changes are lost.\n\n"

  // MARK: - Prelude

  private static let scalars: [(String, String)] = [
    ("Int64", "A whole number of 64 bits. A string in JSON."),
    ("UUID", "32 hexadecimal digits. Also accepted with dashes."),
    ("Date", "A day without a time: YYYY-MM-DD."),
    ("Timestamp", "A time as RFC 3339 writes it, in nanoseconds."),
    ("Any", "A JSON value of any form."),
    ("Vector", "A list of numbers, of the size that @col gives."),
    ("True", "The value true."),
    ("String_Expr", "An expression in CEL with a String as its value."),
    ("Int_Expr", "An expression in CEL with an Int as its value."),
    ("Int64_Expr", "An expression in CEL with an Int64 as its value."),
    ("Float_Expr", "An expression in CEL with a Float as its value."),
    ("Boolean_Expr", "An expression in CEL with a Boolean as its value."),
    ("UUID_Expr", "An expression in CEL with a UUID as its value."),
    ("Date_Expr", "An expression in CEL with a Date as its value."),
    ("Timestamp_Expr", "An expression in CEL with a Timestamp as its value."),
    ("Any_Expr", "An expression in CEL with a value of any type."),
  ]

  private static let prelude: String = {
    var text = "# The types of every schema. Changes are lost.\n\n"
    for (name, summary) in scalars { text += "\"\(summary)\"\nscalar \(name)\n\n" }
    for choice in DirectiveDefinition.choices {
      text += "enum \(choice.name) {\n"
      for value in choice.values { text += "  \(value)\n" }
      text += "}\n\n"
    }
    text += "\"Facts about a row in a result of a search or a similarity.\"\n"
    text += "type _Metadata {\n  distance: Float\n  relevance: Float\n}\n\n"
    for object in InputTypes.builtIn + DirectiveDefinition.objects { text += write(object: object) }
    for directive in DirectiveDefinition.all where !["skip", "include"].contains(directive.name) {
      text += "\"\(directive.summary)\"\ndirective @\(directive.name)"
      text += write(arguments: directive.arguments)
      if directive.isRepeatable { text += " repeatable" }
      text += " on \(directive.places.map(\.rawValue).joined(separator: " | "))\n\n"
    }
    return text
  }()

  // MARK: - Parts of GraphQL

  private static func write(object: InputObject) -> String {
    var text = ""
    for group in object.groups where group.names.count > 1 {
      text += "# \(group.isRequired ? "Exactly" : "At most") one of "
      text += "\(group.names.joined(separator: ", ")).\n"
    }
    text += "input \(object.name) {\n"
    for field in object.fields { text += "  \(write(field: field))\n" }
    return text + "}\n\n"
  }

  private static func write(field: InputObject.Field) -> String {
    let value = field.defaultValue.map { " = \(write(literal: $0))" } ?? ""
    return "\(field.name): \(field.shape)\(value)"
  }

  private static func write(arguments: InputObject) -> String {
    if arguments.fields.isEmpty { return "" }
    return "(\(arguments.fields.map { write(field: $0) }.joined(separator: ", ")))"
  }

  static func write(literal: Literal) -> String {
    switch literal {
    case .null: return "null"
    case .bool(let flag): return flag ? "true" : "false"
    case .int(let number): return String(number)
    case .float(let number): return "\(number)"
    case .name(let name): return name
    case .variable(let name): return "$\(name)"
    case .list(let values): return "[\(values.map { write(literal: $0) }.joined(separator: ", "))]"
    case .object(let members):
      let written = members.map { "\($0.name): \(write(literal: $0.value))" }
      return "{ \(written.joined(separator: ", ")) }"
    case .string(let text): return text.quoted { $0.value < 0x20 ? $0.jsonEscape : nil }
    }
  }

  // MARK: - Files of the schema

  private var implicit: String {
    var text = Self.header
    for table in schema.tables {
      let columns = table.columns.filter(\.isImplicit)
      guard !columns.isEmpty else { continue }
      text += "extend type \(table.typeName) {\n"
      for column in columns {
        text += "  \(column.name): \(column.shape)"
        if case .expression(let source)? = column.defaultValue {
          text += " @default(expr: \(Self.write(literal: .string(source))))"
        }
        text += "\n"
      }
      text += "}\n\n"
    }
    return text
  }

  private var relation: String {
    var text = Self.header
    for table in schema.tables {
      let fields = TableFields(
        table: table, relations: types.relations[table.typeName] ?? [])
      text += "extend type \(table.typeName) {\n"
      for field in fields.fields {
        switch field.kind {
        case .column, .reference: continue
        default: text += "  \(field.name)\(Self.write(arguments: field.arguments)): "
        }
        switch field.result {
        case .value(let type): text += type
        case .row(let type, let isNullable): text += type + (isNullable ? "" : "!")
        case .rows(let type): text += "[\(type)!]!"
        case .metadata: text += "_Metadata"
        }
        text += "\n"
      }
      text += "}\n\n"
    }
    return text
  }

  private func root(_ kind: DataConnectModel.Operation.Kind) -> String {
    var text = Self.header
    if kind == .mutation {
      for table in schema.tables { text += "scalar \(table.typeName)_KeyOutput\n" }
      text += "\n"
    }
    text += "type \(kind == .query ? "Query" : "Mutation") {\n"
    for field in types.rootFields where field.kind == kind {
      text += "  \(field.name)\(Self.write(arguments: field.arguments)): "
      text += Self.write(result: field.result, table: field.table) + "\n"
    }
    if kind == .mutation { text += "  query: Query!\n" }
    return text + "}\n"
  }

  private static func write(result: RootFieldShape.Result, table: String) -> String {
    switch result {
    case .row: table
    case .rows: "[\(table)!]!"
    case .key(let isNullable): "\(table)_KeyOutput\(isNullable ? "" : "!")"
    case .keys: "[\(table)_KeyOutput!]!"
    case .count: "Int!"
    }
  }

  private var input: String {
    Self.header + (types.enumObjects + types.tableObjects).map { Self.write(object: $0) }.joined()
  }
}
