import DataConnectModel

extension DataValue {
  /// The value of a field without those of its selections that are redacted, at any depth. Checks
  /// and `response` read the whole value.
  func withoutRedacted(_ selections: [Selection]) -> DataValue {
    guard selections.haveRedacted else { return self }
    switch self {
    case .list(let values): return .list(values.map { $0.withoutRedacted(selections) })
    case .object(let object):
      var shown = DataObject()
      for (name, value) in object.members {
        let selection = selections.first { $0.responseKey == name }
        if selection?.modifiers.isRedacted == true { continue }
        shown[name] = value.withoutRedacted(selection?.selections ?? [])
      }
      return .object(shown)
    default: return self
    }
  }
}

extension [Selection] {
  fileprivate var haveRedacted: Bool {
    contains { $0.modifiers.isRedacted || $0.selections.haveRedacted }
  }
}

extension [RootField] {
  /// Whether an operation with these fields reads values that its result must not show.
  var haveRedacted: Bool {
    contains { $0.modifiers.isRedacted || $0.selections.haveRedacted || $0.fields.haveRedacted }
  }
}
