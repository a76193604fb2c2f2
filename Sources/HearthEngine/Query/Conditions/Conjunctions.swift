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
    var result = [Conjunction()]
    for filter in filters {
      guard let next = members(of: filter), result.count * next.count <= Limits.disjunctions else {
        return nil
      }
      if next.count == 1 {
        // In place: a long conjunction is not copied for each of its members.
        for index in result.indices { result[index].append(next[0]) }
        continue
      }
      result = result.flatMap { left in
        next.map { right in
          var both = left
          both.append(right)
          return both
        }
      }
    }
    return result.map(\.comparisons)
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
        for conjunction in next where !result.contains(conjunction) {
          // More are not planned, however many follow.
          if result.count == Limits.disjunctions { return nil }
          result.append(conjunction)
        }
      }
      return result
    }
  }

  /// Distinct comparisons, in the order in which they were added.
  private struct Conjunction {
    private(set) var comparisons: [StructuredQuery.Comparison] = []
    /// All comparisons, if they are many: comparing with a few takes less time than hashing.
    private var known: Set<StructuredQuery.Comparison> = []

    mutating func append(_ more: [StructuredQuery.Comparison]) {
      for comparison in more {
        if known.isEmpty {
          if comparisons.contains(comparison) { continue }
        } else if !known.insert(comparison).inserted {
          continue
        }
        comparisons.append(comparison)
        if comparisons.count == 16 { known = Set(comparisons) }
      }
    }
  }
}
