/// The results of a query, in groups of equal values, with aggregations of each group.
///
///     query ─▶ documents ─▶ groups by `keys` ─▶ aggregations ─▶ having ─▶ orders ─▶ offset ─▶ limit
///
/// Conditions and orders of groups name a group's values as fields: `k0`, `k1`, … for its keys, and
/// `a0`, `a1`, … for its aggregations.
package struct GroupedQuery: Hashable, Sendable {
  package var query: StructuredQuery
  /// A document that lacks a field has null.
  package var keys: [FieldSegments]
  /// A document that lacks an aggregated field counts, but not for that aggregation.
  package var aggregations: [Aggregation]
  package var having: [StructuredQuery.Filter] = []
  /// Then by the keys, ascending.
  package var orders: [StructuredQuery.Order] = []
  package var offset = 0
  package var limit: Int?

  package init(_ query: StructuredQuery, by keys: [FieldSegments], _ aggregations: [Aggregation]) {
    self.query = query
    self.keys = keys
    self.aggregations = aggregations
  }

  package static func field(ofKey index: Int) -> FieldSegments { FieldSegments(["k\(index)"]) }
  package static func field(ofAggregation index: Int) -> FieldSegments {
    FieldSegments(["a\(index)"])
  }

  /// The group's values by the names in conditions and orders.
  func fields(of group: QueryGroup) -> MapValue {
    let keys = group.keys.enumerated().map { MapValue.Field(name: "k\($0)", value: $1) }
    let values = group.values.enumerated().map { MapValue.Field(name: "a\($0)", value: $1) }
    return MapValue(distinct: keys + values)
  }

  /// Throws `invalidArgument` for groups that no database answers. The query must have been checked.
  package func checkOnlyGroups() throws(Status) {
    guard query.question.traits.contains(.aggregated) else {
      throw .invalidArgument("The results of a vector search are not grouped.")
    }
    guard Set(keys).count == keys.count else {
      throw .invalidArgument("A query groups by every field once.")
    }
    for field in keys + aggregations.compactMap(\.field) {
      try StructuredQuery.check(field: field)
      guard !field.isDocumentID else {
        throw .invalidArgument("Results are neither grouped nor aggregated by their names.")
      }
    }
    if let limit, limit < 0 { throw .invalidArgument("limit is negative") }
    guard offset >= 0 else { throw .invalidArgument("offset is negative") }
    if having.isEmpty { return }
    var groups = StructuredQuery(.collection(ResourcePath(["groups"])))
    groups.filters = having
    try groups.check()
  }
}

/// A group of documents: what they have in common, and their aggregations.
package struct QueryGroup: Hashable, Sendable {
  package var keys: [Value]
  package var values: [Value]

  package init(keys: [Value], values: [Value]) {
    self.keys = keys
    self.values = values
  }
}
