import DataConnectModel

/// The condition of groups, on their aggregates: `{_or: [{_count: {gt: 1}}, {year_max: {ge: 1990}}]}`.
struct HavingFilter {
  private indirect enum Node {
    case all([Node])
    case any([Node])
    case not(Node)
    case aggregate(String, ValueFilter)
  }

  private let root: Node

  /// Throws `OperationFailure` for conditions that are not about aggregates.
  init(_ value: DataValue, _ layout: TableLayout, _ execution: Execution) throws {
    func node(_ value: DataValue) throws -> Node {
      .all(
        try (value.fields ?? DataObject()).members.map { name, value in
          let members = value.elements ?? [value]
          switch name {
          case "_and": return .all(try members.map(node))
          case "_or":
            // No alternative is no condition.
            let nodes = try members.map(node)
            return nodes.isEmpty ? .all([]) : .any(nodes)
          case "_not": return .not(try node(value))
          default: break
          }
          guard let aggregate = layout.table.aggregates.first(where: { $0.name == name }),
            case .object(let comparisons) = value
          else { throw OperationFailure("'\(name)' is not implemented in 'having'.") }
          return .aggregate(name, try ValueFilter(comparisons, aggregate.type, execution))
        })
    }
    root = try node(value)
  }

  /// - Parameter value: Of an aggregate of the group.
  func matches(_ value: (_ aggregate: String) throws -> DataValue) rethrows -> Bool {
    func holds(_ node: Node) throws -> Bool {
      switch node {
      case .all(let nodes): try nodes.allSatisfy(holds)
      case .any(let nodes): try nodes.contains(where: holds)
      case .not(let node): try !holds(node)
      case .aggregate(let name, let filter): filter.matches(try value(name))
      }
    }
    return try holds(root)
  }
}
