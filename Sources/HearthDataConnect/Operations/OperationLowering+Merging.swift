import DataConnectModel

/// Merges fields with one response key.
extension OperationLowering {
  /// Merges fields with one response key, in all levels, as GraphQL defines it.
  func merged(_ fields: [LoweredField]) -> [LoweredField] {
    var result: [LoweredField] = []
    var indexes: [String: Int] = [:]
    for field in fields {
      if let index = indexes[field.responseKey] {
        merge(field, into: &result[index])
      } else {
        indexes[field.responseKey] = result.count
        result.append(field)
      }
    }
    for index in result.indices {
      let children = merged(result[index].children)
      result[index].children = children
      if result[index].root != nil {
        result[index].root?.selections = children.filter { $0.root == nil }.map(\.selection)
        result[index].root?.fields = children.compactMap(\.root)
      } else {
        result[index].selection.selections = children.map(\.selection)
      }
    }
    return result
  }

  private func merge(_ field: LoweredField, into other: inout LoweredField) {
    func refuse(_ message: String) {
      session.diagnostics.error(message, at: field.position)
    }
    let key = field.responseKey
    guard isSame(field, other) else {
      refuse("\"\(key)\" is the name of two different fields: give one of them an alias.")
      return
    }
    let modifiers = field.root?.modifiers ?? field.selection.modifiers
    var merged = other.root?.modifiers ?? other.selection.modifiers
    guard modifiers.isRedacted == merged.isRedacted else {
      refuse("\"\(key)\" is selected twice, once with @redact: select it once.")
      return
    }
    let hasConditions = modifiers.isConditional || merged.isConditional
    if hasConditions, (modifiers.include, modifiers.skip) != (merged.include, merged.skip) {
      guard field.children.isEmpty, !(modifiers.isConditional && merged.isConditional) else {
        refuse("\"\(key)\" is selected twice with other conditions: give one of them an alias.")
        return
      }
      merged.include = nil
      merged.skip = nil
    }
    for check in modifiers.checks where !merged.checks.contains(check) {
      merged.checks.append(check)
    }
    merged.isRetired = merged.isRetired && modifiers.isRetired
    if other.root != nil {
      if scope.operationKind == .mutation, field.root?.action.isWriting == true {
        session.diagnostics.warning(
          "\"\(key)\" is given twice and executed once: remove one, or give it an alias.",
          at: field.position)
      }
      if field.root?.fragment != other.root?.fragment { other.root?.fragment = nil }
      other.root?.modifiers = merged
    } else {
      if field.selection.fragment != other.selection.fragment { other.selection.fragment = nil }
      other.selection.modifiers = merged
    }
    other.children += field.children
  }

  private func isSame(_ left: LoweredField, _ right: LoweredField) -> Bool {
    func sorted(_ arguments: [Literal.Member]) -> [Literal.Member] {
      arguments.sorted { $0.name < $1.name }
    }
    switch (left.root, right.root) {
    case (let left?, let right?):
      return left.name == right.name && sorted(left.arguments) == sorted(right.arguments)
        && left.action == right.action
    case (nil, nil):
      return left.selection.kind == right.selection.kind
        && left.selection.name == right.selection.name
        && sorted(left.selection.arguments) == sorted(right.selection.arguments)
    default: return false
    }
  }
}

extension Modifiers {
  var isConditional: Bool {
    (include ?? .bool(true)) != .bool(true) || (skip ?? .bool(false)) != .bool(false)
  }
}

extension RootField.Action {
  var isWriting: Bool {
    switch self {
    case .insert, .insertMany, .upsert, .upsertMany, .update, .updateMany, .delete, .deleteMany:
      true
    case .lookup, .list, .search, .similarity, .query, .typename: false
    }
  }
}
