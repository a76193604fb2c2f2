import DataConnectModel

/// The condition of groups, on their aggregates: `{_or: [{_count: {gt: 1}}, {year_max: {ge: 1990}}]}`.
///
/// `_distinct: true` makes the aggregates of its object, and of the objects inside of it, those of
/// different values: `{_distinct: true, genre_count: {gt: 1}}`.
struct HavingFilter {
  private indirect enum Node {
    case all([Node])
    case any([Node])
    case not(Node)
    case aggregate(Aggregate, ValueFilter)
  }

  /// An aggregate that a condition is about.
  struct Aggregate: Hashable {
    var name: String
    var isDistinct: Bool
  }

  private let root: Node
  /// All that the conditions are about.
  private(set) var aggregates: Set<Aggregate> = []

  /// Throws `OperationFailure` for conditions that are not about aggregates.
  init(_ value: DataValue, _ layout: TableLayout, _ execution: Execution) throws {
    var aggregates: Set<Aggregate> = []
    func node(_ value: DataValue, isDistinct: Bool) throws -> Node {
      let object = value.fields ?? DataObject()
      var isDistinct = isDistinct
      if case .bool(let own)? = object["_distinct"] { isDistinct = own }
      return .all(
        try object.members.map { name, value in
          func nodes() throws -> [Node] {
            try (value.elements ?? [value]).map { try node($0, isDistinct: isDistinct) }
          }
          switch name {
          case "_distinct": return .all([])
          case "_and": return .all(try nodes())
          case "_or":
            // No alternative is no condition.
            let nodes = try nodes()
            return nodes.isEmpty ? .all([]) : .any(nodes)
          case "_not": return .not(try node(value, isDistinct: isDistinct))
          default: break
          }
          guard let aggregate = layout.table.aggregates.first(where: { $0.name == name }),
            case .object(let comparisons) = value
          else {
            throw OperationFailure(
              "'\(name)' is no aggregate of \(layout.table.typeName): 'having' has no other conditions."
            )
          }
          // A count of rows has no values that could be equal.
          let used = Aggregate(name: name, isDistinct: isDistinct && aggregate.column != nil)
          aggregates.insert(used)
          return .aggregate(used, try ValueFilter(comparisons, aggregate.type, execution))
        })
    }
    root = try node(value, isDistinct: false)
    self.aggregates = aggregates
  }

  /// - Parameter value: Of an aggregate of the group.
  func matches(_ value: (Aggregate) throws -> DataValue) rethrows -> Bool {
    func holds(_ node: Node) throws -> Bool {
      switch node {
      case .all(let nodes): try nodes.allSatisfy(holds)
      case .any(let nodes): try nodes.contains(where: holds)
      case .not(let node): try !holds(node)
      case .aggregate(let aggregate, let filter): filter.matches(try value(aggregate))
      }
    }
    return try holds(root)
  }
}
