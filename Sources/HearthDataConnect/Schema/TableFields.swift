import DataConnectModel

/// A table with everything that can be selected from its rows.
struct TableFields {
  struct Field {
    enum Result {
      /// A scalar or enum, as GraphQL writes it: `[String!]!`.
      case value(String)
      /// A row of the table, by its GraphQL type.
      case row(String, isNullable: Bool)
      case rows(String)
      case metadata
    }

    var name: String
    var kind: Selection.Kind
    var result: Result
    var arguments: InputObject

    init(
      _ name: String, _ kind: Selection.Kind, _ result: Result,
      arguments: [InputObject.Field] = []
    ) {
      self.name = name
      self.kind = kind
      self.result = result
      self.arguments = InputObject(name, role: .arguments, fields: arguments)
    }
  }

  let table: Table
  /// Columns, references, relations, aggregates, and fields of every table.
  let fields: [Field]
  private let positions: [String: Int]

  init(table: Table, relations: [Relation]) {
    self.table = table
    var fields: [Field] = []
    for column in table.columns {
      fields.append(Field(column.name, .column(column.name), .value("\(column.shape)")))
    }
    for reference in table.references {
      fields.append(
        Field(
          reference.name, .reference(reference.name),
          .row(reference.target, isNullable: reference.isNullable)))
    }
    for relation in relations {
      let arguments =
        relation.isSingle ? [] : RootFieldShape.listArguments(of: relation.argumentTable)
      let result: Field.Result =
        relation.isSingle ? .row(relation.target, isNullable: true) : .rows(relation.target)
      fields.append(Field(relation.name, relation.kind, result, arguments: arguments))
    }
    for aggregate in table.aggregates {
      let isCount = aggregate.function == .count
      let canBeDistinct =
        aggregate.column != nil && ![.min, .max].contains(aggregate.function)
      fields.append(
        Field(
          aggregate.name,
          .aggregate(aggregate.function, column: aggregate.column, isDistinct: false),
          .value(aggregate.type.name + (isCount ? "!" : "")),
          arguments: canBeDistinct
            ? [.init("distinct", .value(.boolean), default: .bool(false))] : []))
    }
    fields.append(Field("_metadata", .metadata, .metadata))
    fields.append(Field("_id", .entityID, .value("ID!")))
    self.fields = fields
    positions = Dictionary(first: fields.enumerated().map { ($0.element.name, $0.offset) })
  }

  func field(_ name: String) -> Field? { positions[name].map { fields[$0] } }
}
