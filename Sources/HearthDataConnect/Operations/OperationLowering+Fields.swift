import DataConnectModel

/// A field in its compiled form before fields with one response key are merged.
struct LoweredField {
  var selection: Selection
  /// Of a field of a mutation's `query`, and of the operation.
  var root: RootField?
  var children: [LoweredField]
  var position: Position

  var responseKey: String { root?.responseKey ?? selection.responseKey }
}

extension OperationLowering {
  /// The fields of a selection set, not yet merged.
  ///
  /// `checks` are those of fragments, which are about the row.
  mutating func lowerFields(
    _ selections: [SelectionSyntax], of parent: Parent, nesting: Int,
    checks: inout [(Check, Position)]
  ) -> [LoweredField] {
    guard nesting <= Parser.maximumNesting else {
      if let first = selections.first {
        session.diagnostics.error(
          "Nested more than \(Parser.maximumNesting) levels deep: use fewer levels.",
          at: first.position)
      }
      return []
    }
    let flat = flatten(selections, of: parent, checks: &checks)
    return flat.compactMap { lowerField($0, of: parent, nesting: nesting) }
  }

  private mutating func lowerField(
    _ flat: FlatField, of parent: Parent, nesting: Int
  ) -> LoweredField? {
    let syntax = flat.syntax
    let name = syntax.name.text
    var selection = Selection(
      responseKey: syntax.responseKey.text, name: name, kind: .typename)
    var checks: [(Check, Position)] = []
    selection.modifiers = combined(
      flat.modifiers, with: syntax.directives, at: .field, checks: &checks)
    selection.modifiers.checks = checks.map(\.0)

    guard let field = field(name, of: parent) else {
      reportUnknown(syntax.name, of: parent)
      return nil
    }
    selection.kind = field.kind
    // With an error in the arguments, the selections are checked nevertheless.
    var isValid = true
    if let arguments = session.coerceMembers(
      syntax.arguments, of: field.arguments, at: syntax.name.position, scope: scope)
    {
      isValid = checkPages(arguments, of: syntax)
      selection.arguments = arguments
    } else {
      isValid = false
    }
    if case .aggregate(let function, let column, _) = field.kind,
      let flag = selection.arguments["distinct"]
    {
      guard case .bool(let isDistinct) = flag else {
        return session.refused(
          "distinct of an aggregate takes no variable: write true or false.",
          at: syntax.position(of: "distinct"))
      }
      selection.kind = .aggregate(function, column: column, isDistinct: isDistinct)
      selection.arguments = []
    }

    var children: [LoweredField] = []
    let inner: Parent?
    var isList = false
    switch field.result {
    case .value(let type):
      if syntax.selections != nil {
        return session.refused(
          "\(name) is of type \(type) and has no fields: remove { … }.", at: syntax.name.position)
      }
      inner = nil
    case .row(let type, _): inner = session.tables[type].map { .table($0) }
    case .rows(let type):
      inner = session.tables[type].map { .table($0) }
      isList = true
    case .metadata: inner = .metadata
    }
    if let inner {
      guard let selections = syntax.selections else {
        return session.refused(
          "\(name) is of type \(inner.name): add { … } with the fields to select.",
          at: syntax.name.position)
      }
      var rowChecks: [(Check, Position)] = []
      children = lowerFields(selections, of: inner, nesting: nesting + 1, checks: &rowChecks)
      selection.modifiers.checks += checksOfRow(rowChecks, isList: isList)
      selection.fragment = onlyFragment(selections)
    }
    guard isValid else { return nil }
    return LoweredField(
      selection: selection, root: nil, children: children, position: syntax.responseKey.position)
  }

  private func field(_ name: String, of parent: Parent) -> TableFields.Field? {
    if name == "__typename" { return .init(name, .typename, .value("String!")) }
    switch parent {
    case .table(let fields): return fields.field(name)
    case .metadata:
      return switch name {
      case "distance": .init(name, .distance, .value("Float"))
      case "relevance": .init(name, .relevance, .value("Float"))
      default: nil
      }
    case .root: return nil
    }
  }

  private func reportUnknown(_ name: Name, of parent: Parent) {
    var names = ["distance", "relevance"]
    if case .table(let fields) = parent {
      names = fields.fields.map(\.name)
      if session.isBroken(name.text, in: parent.name) { return }
    }
    session.diagnostics.error(
      "\(parent.name) has no field \"\(name.text)\"."
        + (session.missingJoin(name.text)
          ?? session.suggestion(
            for: name.text, among: names, otherwise: "Remove it, or add it to the type.")),
      at: name.position)
  }

  /// Checks of a fragment are about its row, which has to be the value of a field.
  func checksOfRow(_ checks: [(Check, Position)], isList: Bool) -> [Check] {
    if isList {
      for (_, position) in checks {
        session.diagnostics.error(
          "@check on a fragment is not possible in a list: put it on the list or on a field.",
          at: position)
      }
    }
    return checks.map(\.0)
  }

  func onlyFragment(_ selections: [SelectionSyntax]) -> String? {
    if selections.count == 1, case .spread(let name, let directives) = selections[0],
      directives.isEmpty
    {
      name.text
    } else {
      nil
    }
  }

  /// `limit` and `offset` are not negative.
  func checkPages(_ arguments: [Literal.Member], of syntax: FieldSyntax) -> Bool {
    for name in ["limit", "offset"] {
      if case .int(let number)? = arguments[name], number < 0 {
        session.diagnostics.error(
          "\(name) cannot be negative: write 0 or more.", at: syntax.position(of: name))
        return false
      }
    }
    return true
  }
}

extension FieldSyntax {
  /// The place of an argument, or of the field without it.
  func position(of argument: String) -> Position {
    arguments[argument]?.position ?? name.position
  }
}
