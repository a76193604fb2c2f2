import DataConnectModel

/// A field before fields with one response key are merged.
struct LoweredField {
  enum Kind: Equatable {
    /// A field of the operation, or of a mutation's `query`.
    case root(RootField.Action, table: String, column: String?)
    /// A field of a row.
    case selection(Selection.Kind)
  }

  var responseKey: String
  var name: String
  var kind: Kind
  var arguments: [Literal.Member] = []
  var modifiers: Modifiers
  var fragment: String?
  var children: [LoweredField] = []
  var position: Position

  /// The compiled form of a root field. Nil for others.
  var root: RootField? {
    guard case .root(let action, let table, let column) = kind else { return nil }
    return RootField(
      responseKey: responseKey, name: name, action: action, table: table, column: column,
      arguments: arguments, selections: children.compactMap(\.selection),
      fields: children.compactMap(\.root), modifiers: modifiers, fragment: fragment)
  }

  /// The compiled form of a field of a row. Nil for others.
  private var selection: Selection? {
    guard case .selection(let kind) = kind else { return nil }
    return Selection(
      responseKey: responseKey, name: name, kind: kind, arguments: arguments,
      selections: children.compactMap(\.selection), modifiers: modifiers, fragment: fragment)
  }
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
        session.error(
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
    var lowered = lowerDirectives(of: flat, .selection(.typename))
    guard let field = field(name, of: parent) else {
      reportUnknown(syntax.name, of: parent)
      return nil
    }
    lowered.kind = .selection(field.kind)
    // With an error in the arguments, the selections are checked nevertheless.
    let arguments = session.coerceMembers(
      syntax.arguments, of: field.arguments, at: syntax.name.position, scope: scope)
    let isValid = arguments.map { checkPages($0, of: syntax) } ?? false
    lowered.arguments = arguments ?? []
    if case .aggregate(let function, let column, _) = field.kind,
      let flag = lowered.arguments["distinct"]
    {
      guard case .bool(let isDistinct) = flag else {
        return session.refused(
          "distinct of an aggregate takes no variable: write true or false.",
          at: syntax.position(of: "distinct"))
      }
      lowered.kind = .selection(.aggregate(function, column: column, isDistinct: isDistinct))
      lowered.arguments = []
    }

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
      select(selections, of: inner, isList: isList, nesting: nesting + 1, into: &lowered)
    }
    return isValid ? lowered : nil
  }

  /// A field with its directives, as yet without arguments and selections.
  mutating func lowerDirectives(of flat: FlatField, _ kind: LoweredField.Kind) -> LoweredField {
    let syntax = flat.syntax
    var checks: [(Check, Position)] = []
    var modifiers = combined(
      flat.modifiers, with: syntax.directives, at: .field, checks: &checks)
    modifiers.checks = checks.map(\.0)
    return LoweredField(
      responseKey: syntax.responseKey.text, name: syntax.name.text, kind: kind,
      modifiers: modifiers, position: syntax.responseKey.position)
  }

  /// Adds the selection set of a field. Checks of a fragment are about its row, which has to be the
  /// value of the field.
  mutating func select(
    _ selections: [SelectionSyntax], of parent: Parent, isList: Bool, nesting: Int,
    into field: inout LoweredField
  ) {
    var checks: [(Check, Position)] = []
    field.children = lowerFields(selections, of: parent, nesting: nesting, checks: &checks)
    for (check, position) in checks {
      field.modifiers.checks.append(check)
      guard isList else { continue }
      session.error(
        "@check on a fragment is not possible in a list: put it on the list or on a field.",
        at: position)
    }
    if selections.count == 1, case .spread(let name, let directives) = selections[0],
      directives.isEmpty
    {
      field.fragment = name.text
    }
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
    session.error(
      "\(parent.name) has no field \"\(name.text)\"."
        + (session.missingJoin(name.text)
          ?? session.suggestion(
            for: name.text, among: names, otherwise: "Remove it, or add it to the type.")),
      at: name.position)
  }

  /// `limit` and `offset` are not negative.
  func checkPages(_ arguments: [Literal.Member], of syntax: FieldSyntax) -> Bool {
    for name in ["limit", "offset"] {
      if case .int(let number)? = arguments[name], number < 0 {
        session.error("\(name) cannot be negative: write 0 or more.", at: syntax.position(of: name))
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
