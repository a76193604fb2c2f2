/// A query's condition as an OR of conjunctions, for the planner. `in` lists stay lists.
///
///     a == 1, (b == 2 or c in [3, 4])   ─▶   a == 1, b == 2   or   a == 1, c in [3, 4]
struct Conjunctions {
  /// Nil if there are too many to plan each.
  let members: [[StructuredQuery.Comparison]]?
  /// The comparisons that hold in all of them.
  let common: [StructuredQuery.Comparison]

  init(_ filters: [StructuredQuery.Filter]) {
    var common: [StructuredQuery.Comparison] = []
    for case .comparison(let comparison) in filters { common.append(comparison) }
    self.common = common
    members = Conjunctions.members(ofAll: filters)
  }

  private static func members(ofAll filters: [StructuredQuery.Filter]) -> [[StructuredQuery
    .Comparison]]?
  {
    var result: [[StructuredQuery.Comparison]] = [[]]
    for filter in filters {
      guard let next = members(of: filter), result.count * next.count <= Limits.disjunctions else {
        return nil
      }
      result = result.flatMap { left in next.map { left + $0.filter { !left.contains($0) } } }
    }
    return result
  }

  private static func members(of filter: StructuredQuery.Filter) -> [[StructuredQuery.Comparison]]?
  {
    switch filter {
    case .comparison(let comparison): return [[comparison]]
    case .all(let filters): return members(ofAll: filters)
    case .any(let filters):
      var result: [[StructuredQuery.Comparison]] = []
      for filter in filters {
        guard let next = members(of: filter) else { return nil }
        for conjunction in next where !result.contains(conjunction) { result.append(conjunction) }
      }
      return result.count <= Limits.disjunctions ? result : nil
    }
  }
}
