import DataConnectModel

extension OperationLowering {
  mutating func lowerRoots(
    _ selections: [SelectionSyntax], kind: DataConnectModel.Operation.Kind, isNested: Bool
  ) -> [LoweredField] {
    var checks: [(Check, Position)] = []
    let flat = flatten(selections, of: .root(kind), checks: &checks)
    for (_, position) in checks {
      session.error(
        "@check on a fragment of root fields has no value: put it on the operation or on a field.",
        at: position)
    }
    var result: [LoweredField] = []
    for field in flat {
      if let lowered = lowerRoot(field, kind: kind) { result.append(lowered) }
      if !isNested { scope.responseKeys.append(field.syntax.responseKey.text) }
    }
    return result
  }

  private mutating func lowerRoot(
    _ flat: FlatField, kind: DataConnectModel.Operation.Kind
  ) -> LoweredField? {
    let syntax = flat.syntax
    let name = syntax.name.text
    var field = lowerDirectives(of: flat, .root(.typename, table: "", column: nil))
    let isQueryInMutation = name == "query" && kind == .mutation
    if name == "__typename" || isQueryInMutation {
      if let argument = syntax.arguments.first {
        return session.refused(
          "\(name) has no arguments: remove \(argument.name.text).", at: argument.name.position)
      }
    }
    if name == "__typename" {
      if syntax.selections != nil {
        return session.refused(
          "__typename is of type String! and has no fields: remove { … }.",
          at: syntax.name.position)
      }
      return field
    }
    if isQueryInMutation {
      guard let selections = syntax.selections else {
        return session.refused(
          "query is of type Query: add { … } with the fields to select.", at: syntax.name.position)
      }
      field.kind = .root(.query, table: "", column: nil)
      field.children = lowerRoots(selections, kind: .query, isNested: true)
      return field
    }

    guard let shape = session.types.rootField(name, in: kind) else {
      reportUnknownRoot(syntax.name, kind: kind)
      return nil
    }
    guard !session.brokenTypes.contains(shape.table), let table = session.tables[shape.table] else {
      return nil
    }
    var inner = scope
    switch shape.action {
    case .insert, .insertMany: inner.purpose = .insert
    case .upsert, .upsertMany: inner.purpose = .upsert
    case .update, .updateMany: inner.purpose = .update
    default: break
    }
    let arguments = session.coerceMembers(
      syntax.arguments, of: shape.arguments, at: syntax.name.position, scope: inner)
    // With an error in the arguments, the selections are checked nevertheless.
    let isValid =
      arguments.map { checkPages($0, of: syntax) && checkFilter($0, shape, syntax) } ?? false

    field.kind = .root(shape.action, table: shape.table, column: shape.column)
    field.arguments = arguments ?? []
    if let selections = syntax.selections {
      guard shape.canSelectRows else {
        return session.refused(
          "\(name) is of type Int! and has no fields: remove { … }.", at: syntax.name.position)
      }
      select(
        selections, of: .table(table), isList: shape.result == .rows || shape.result == .keys,
        nesting: 1, into: &field)
    } else if kind == .query {
      return session.refused(
        "\(name) is of type \(shape.table): add { … } with the fields to select.",
        at: syntax.name.position)
    }
    return isValid ? field : nil
  }

  /// Mutations of many rows have a filter, or say that they mean all rows.
  private func checkFilter(
    _ arguments: [Literal.Member], _ shape: RootFieldShape, _ syntax: FieldSyntax
  ) -> Bool {
    guard shape.action == .updateMany || shape.action == .deleteMany else { return true }
    if arguments["where"] == .object([]) {
      session.error(
        "An empty filter matches all rows: write all: true instead.",
        at: syntax.position(of: "where"))
      return false
    }
    if arguments["all"] == .bool(false) {
      session.error(
        "\(shape.name) without a filter changes all rows: give where, or all: true.",
        at: syntax.position(of: "all"))
      return false
    }
    return true
  }

  private func reportUnknownRoot(_ name: Name, kind: DataConnectModel.Operation.Kind) {
    let text = name.text
    // Fields of types that were reported in the schema.
    let isBroken = session.brokenTypes.contains { type in
      let singular = Naming.lowerFirst(type)
      return text == Naming.plural(singular) || text == singular || text.hasPrefix("\(singular)_")
        || text.hasPrefix("\(Naming.plural(singular))_")
    }
    if isBroken { return }
    let message: String
    switch text {
    case "_select", "_selectFirst", "_execute", "_executeReturning", "_executeReturningFirst":
      message =
        kind == .query
        ? "SQL is not supported: use the fields of the tables with where, orderBy and aggregates."
        : "SQL is not supported: use the fields of the tables, like movie_updateMany."
    case "__schema", "__type":
      message = "\(text) is not possible in a connector: read the generated files of the schema."
    default:
      if kind == .mutation, session.types.rootField(text, in: .query) != nil {
        message = "\(text) is a field of queries: write query { \(text) … } in a mutation."
      } else if kind == .query, session.types.rootField(text, in: .mutation) != nil {
        message = "\(text) is a field of mutations: write it in a mutation."
      } else {
        message =
          "There is no \(kind.rawValue) field \"\(text)\"."
          + session.suggestion(
            for: text, among: session.types.rootFieldNames(in: kind),
            otherwise: "Remove it, or add a table for it.")
      }
    }
    session.error(message, at: name.position)
  }
}
