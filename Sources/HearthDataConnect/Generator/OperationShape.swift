import DataConnectModel

/// A query or a mutation: its class, its variables, and its result.
struct OperationShape {
  let kind: DataConnectModel.Operation.Kind
  /// In GraphQL.
  let name: String
  /// `ListMoviesQuery`
  let className: String
  /// The connector's property: `listMoviesQuery`.
  let property: String
  /// The connector's shorter property: `listMovies`. Nil if another member has the name.
  var alias: String?
  /// In the order of their declaration.
  let variables: [PropertyShape]
  let data: RowShape

  var required: [PropertyShape] { variables.filter { !$0.isOptional } }
  var optional: [PropertyShape] { variables.filter(\.isOptional) }

  init(
    _ operation: DataConnectModel.Operation, className: String, schema: Schema, types: TypeNames,
    members: inout NameScope, uses: inout TypeUses
  ) {
    kind = operation.kind
    name = operation.name
    self.className = className
    let suffix = Naming.upperFirst(kind.rawValue)
    property = members.add(Naming.lowerFirst(operation.name) + suffix)

    // The label of the fetch policy comes before those of the variables.
    var names = types.members(and: ["Data", "Variables", "fetchPolicy"])
    var variables: [PropertyShape] = []
    for variable in operation.variables {
      let isOptional = variable.type.isNullable || variable.defaultValue != nil
      // An operation cannot be executed without its required variables, retired or not.
      if variable.isRetired && isOptional { continue }
      uses.add(variable.type)
      variables.append(
        PropertyShape(
          name: isOptional ? names.addWrapped(variable.name) : names.add(variable.name),
          wireName: variable.name, type: types.variable(variable.type), isOptional: isOptional,
          graphQLType: variable.type.untypedName))
    }
    self.variables = variables

    var builder = RowBuilder(schema: schema, types: types, uses: uses)
    let fields = operation.fields.map { builder.field($0) }
    data = RowShape(name: "Data", body: builder.body(table: nil, fields: fields))
    uses = builder.uses
  }

  /// Without the underscores of a name that is taken.
  static func className(of operation: DataConnectModel.Operation) -> String {
    Naming.upperFirst(operation.name) + Naming.upperFirst(operation.kind.rawValue)
  }
}
