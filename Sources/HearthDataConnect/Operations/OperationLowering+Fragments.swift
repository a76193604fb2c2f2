import DataConnectModel

/// Replaces fragments by their fields.
extension OperationLowering {
  /// A field with the modifiers of the fragments around it.
  struct FlatField {
    var syntax: FieldSyntax
    var modifiers: Modifiers
  }

  /// The type whose fields are selected.
  enum Parent {
    case root(DataConnectModel.Operation.Kind)
    case table(TableFields)
    case metadata

    var name: String {
      switch self {
      case .root(.query): "Query"
      case .root(.mutation): "Mutation"
      case .table(let fields): fields.table.typeName
      case .metadata: "_Metadata"
      }
    }
  }

  /// The fields of a selection set in order, with fragments replaced by their fields.
  ///
  /// `checks` get the checks of fragments. `path` has the names of the fragments around, and empty
  /// names for those that have none.
  mutating func flatten(
    _ selections: [SelectionSyntax], of parent: Parent, modifiers: Modifiers = Modifiers(),
    path: [String] = [], checks: inout [(Check, Position)]
  ) -> [FlatField] {
    var result: [FlatField] = []
    for selection in selections {
      guard fieldCount < Self.maximumFields, path.count <= Parser.maximumNesting else {
        if fieldCount == Self.maximumFields || path.count > Parser.maximumNesting {
          session.error(
            "The operation has more than \(Self.maximumFields) fields, or fragments that are "
              + "nested too deep: use fewer fragments.", at: selection.position)
          fieldCount = Self.maximumFields + 1
        }
        return result
      }
      switch selection {
      case .field(let field):
        fieldCount += 1
        result.append(FlatField(syntax: field, modifiers: modifiers))
      case .spread(let name, let directives):
        // An empty fragment would not count otherwise.
        fieldCount += 1
        guard let fragment = fragments[name.text] else {
          guard session.isConnectorComplete else { continue }
          session.error(
            "There is no fragment \(name.text)."
              + session.suggestion(for: name.text, among: fragments.keys, otherwise: "Define it."),
            at: name.position)
          continue
        }
        usedFragments.insert(name.text)
        guard !path.contains(name.text) else {
          session.error(
            "The fragment \(name.text) contains itself: remove the spread.", at: name.position)
          continue
        }
        guard matches(fragment.typeCondition, parent, at: name.position, fragment: name.text)
        else { continue }
        var inner = combined(modifiers, with: directives, at: .fragmentSpread, checks: &checks)
        inner = combined(
          inner, with: fragment.directives, at: .fragmentDefinition, checks: &checks)
        result += flatten(
          fragment.selections, of: parent, modifiers: inner, path: path + [name.text],
          checks: &checks)
      case .inline(let condition, let directives, let selections, _):
        fieldCount += 1
        if let condition, !matches(condition, parent, at: condition.position, fragment: nil) {
          continue
        }
        let inner = combined(modifiers, with: directives, at: .inlineFragment, checks: &checks)
        result += flatten(
          selections, of: parent, modifiers: inner, path: path + [""], checks: &checks)
      }
    }
    return result
  }

  private func matches(
    _ condition: Name, _ parent: Parent, at position: Position, fragment: String?
  ) -> Bool {
    if condition.text == parent.name { return true }
    let known = Array(session.tables.keys) + ["Query", "Mutation"]
    if session.brokenTypes.contains(condition.text) { return false }
    if !known.contains(condition.text) {
      session.error(
        "There is no type \(condition.text)."
          + session.suggestion(for: condition.text, among: known, otherwise: "Name a table."),
        at: condition.position)
    } else {
      let subject = fragment.map { "The fragment \($0)" } ?? "This fragment"
      session.error(
        "\(subject) is on \(condition.text), and the fields here are of \(parent.name): use a "
          + "fragment on \(parent.name).", at: position)
    }
    return false
  }

  /// The modifiers of a field inside of a fragment or with directives.
  mutating func combined(
    _ outer: Modifiers, with directives: [DirectiveSyntax], at place: DirectiveDefinition.Place,
    checks: inout [(Check, Position)]
  ) -> Modifiers {
    session.checkRepetition(of: directives)
    var result = outer
    for directive in directives {
      if directive.name.text == "check" {
        if let check = check(directive, at: place) {
          checks.append((check, directive.name.position))
        }
        continue
      }
      guard let arguments = session.arguments(of: directive, at: place, scope: scope) else {
        continue
      }
      switch directive.name.text {
      case "redact": result.isRedacted = true
      case "retired": result.isRetired = true
      case "include":
        result.include = both(
          result.include, arguments["if"], neutral: true, at: directive.name.position)
      case "skip":
        result.skip = both(
          result.skip, arguments["if"], neutral: false, at: directive.name.position)
      default: break
      }
    }
    return result
  }

  /// Two conditions of one directive: of a fragment and of a field in it.
  private func both(
    _ first: Literal?, _ second: Literal?, neutral: Bool, at position: Position
  ) -> Literal? {
    guard let first, first != .bool(neutral) else { return second }
    guard let second, second != .bool(neutral), second != first else { return first }
    if first == .bool(!neutral) || second == .bool(!neutral) { return .bool(!neutral) }
    session.error(
      "A field has one condition of this kind, also with those of the fragments around it: use "
        + "one variable.", at: position)
    return first
  }
}

extension SelectionSyntax {
  var position: Position {
    switch self {
    case .field(let field): field.responseKey.position
    case .spread(let name, _): name.position
    case .inline(_, _, _, let position): position
    }
  }
}
