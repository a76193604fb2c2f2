/// A filter in disjunctive normal form: at least one of the conjunctions must hold.
///
/// `in` and `array-contains-any` are an OR of their values. Duplicates count once.
struct Disjunctions {
  /// Never empty: a query without filters has one conjunction without comparisons.
  private(set) var conjunctions: Set<Set<StructuredQuery.Comparison>>

  /// A query with more cannot return below the limit; continuing would only be slow.
  private static let hopeless = 1000

  init(_ filters: [StructuredQuery.Filter]) throws(Status) {
    conjunctions = try Disjunctions.conjunctions(ofAll: filters)
    guard conjunctions.count <= Limits.disjunctions else {
      throw .invalidArgument(
        "Too many disjunctions after normalization. Result had \(conjunctions.count) disjunctions "
          + "which is more than the maximum of \(Limits.disjunctions)")
    }
  }

  private static func conjunctions(
    of filter: StructuredQuery.Filter
  ) throws(Status) -> Set<Set<StructuredQuery.Comparison>> {
    // One alternative, whose comparisons do not count.
    if filter.isUnordered { return [[]] }
    switch filter {
    case .comparison(let comparison): return Set(alternatives(of: comparison).map { [$0] })
    case .all(let members): return try conjunctions(ofAll: members)
    case .any(let members):
      var result: Set<Set<StructuredQuery.Comparison>> = []
      for member in members {
        result.formUnion(try conjunctions(of: member))
        try check(result.count)
      }
      return result
    }
  }

  private static func conjunctions(
    ofAll filters: [StructuredQuery.Filter]
  ) throws(Status) -> Set<Set<StructuredQuery.Comparison>> {
    var common: Set<StructuredQuery.Comparison> = []
    var choices: [Set<Set<StructuredQuery.Comparison>>] = []
    for filter in filters {
      let next = try conjunctions(of: filter)
      if next.count == 1, let only = next.first {
        common.formUnion(only)
      } else {
        choices.append(next)
      }
    }
    var result: Set = [common]
    for next in choices {
      var product: Set<Set<StructuredQuery.Comparison>> = []
      for left in result {
        for right in next { product.insert(left.union(right)) }
        try check(product.count)
      }
      result = product
    }
    return result
  }

  private static func check(_ count: Int) throws(Status) {
    guard count <= hopeless else {
      throw .invalidArgument(
        "Too many disjunctions after normalization, the maximum is \(Limits.disjunctions)")
    }
  }

  private static func alternatives(of comparison: StructuredQuery.Comparison) -> [StructuredQuery
    .Comparison]
  {
    if comparison.isNegated { return [comparison] }
    let single: StructuredQuery.Comparison.Operator
    switch comparison.operator {
    case .in: single = .equal
    case .arrayContainsAny: single = .arrayContains
    default: return [comparison]
    }
    guard case .array(let elements) = comparison.constant else { return [comparison] }
    return elements.map {
      StructuredQuery.Comparison(field: comparison.field, operator: single, operand: $0)
    }
  }
}
