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
    for index in result.indices { result[index].children = merged(result[index].children) }
    return result
  }

  private func merge(_ field: LoweredField, into other: inout LoweredField) {
    func refuse(_ message: String) {
      session.error(message, at: field.position)
    }
    let key = field.responseKey
    guard field.isSame(as: other) else {
      refuse("\"\(key)\" is the name of two different fields: give one of them an alias.")
      return
    }
    let modifiers = field.modifiers
    var merged = other.modifiers
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
    if scope.operationKind == .mutation, case .root(let action, _, _) = field.kind, action.isWriting
    {
      session.warning(
        "\"\(key)\" is given twice and executed once: remove one, or give it an alias.",
        at: field.position)
    }
    other.modifiers = merged
    if field.fragment != other.fragment { other.fragment = nil }
    other.children += field.children
  }
}

extension LoweredField {
  /// Whether both read or change the same, whatever their modifiers and selections are.
  fileprivate func isSame(as other: LoweredField) -> Bool {
    func sorted(_ arguments: [Literal.Member]) -> [Literal.Member] {
      arguments.sorted { $0.name < $1.name }
    }
    return kind == other.kind && name == other.name && sorted(arguments) == sorted(other.arguments)
  }
}

extension Modifiers {
  /// Whether a result may be without the field.
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
