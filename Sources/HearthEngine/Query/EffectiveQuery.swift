/// A query with everything implied made explicit. This is what is executed; equivalent queries have
/// equal effective queries.
///
/// The orders end with `__name__`. A limit to the last is executed in reverse: with reversed
/// orders, with start and end swapped, and with the results reversed at the end.
package struct EffectiveQuery: Hashable, Sendable {
  package var scope: StructuredQuery.Scope
  var filters: [StructuredQuery.Filter]
  var orders: [StructuredQuery.Order]
  var start: StructuredQuery.Bound?
  var end: StructuredQuery.Bound?
  var limit: Int?
  var offset: Int
  /// Results are found in reverse order and reversed before they are returned.
  var isReversed: Bool
  var projection: [FieldSegments]
  var question: StructuredQuery.Question

  /// The query must have been checked.
  package init(_ query: StructuredQuery) {
    scope = query.scope
    filters = query.filters
    orders = query.effectiveOrders
    start = query.start
    end = query.end
    limit = query.limit
    offset = query.offset
    isReversed = query.isLimitToLast
    projection = query.projection
    question = query.question
    if isReversed {
      for index in orders.indices { orders[index].isDescending.toggle() }
      (start, end) = (end?.turned, start?.turned)
    }
  }

  /// The query for whole documents.
  init(whole query: StructuredQuery) {
    self.init(query)
    projection = []
  }

  /// The query whose results are aggregated.
  ///
  /// Without an explicit order, a limit or an offset takes the documents in the order of the
  /// aggregated fields, after the fields with inequalities: Firestore reads them from an index on
  /// these fields.
  package init(_ query: StructuredQuery, aggregating aggregations: [Aggregation]) {
    var query = query
    if query.orders.isEmpty, query.isBounded, !query.isLimitToLast, query.start == nil,
      query.end == nil
    {
      var fields = query.impliedOrderFields
      for case let field? in aggregations.lazy.map(\.field) where !fields.contains(field) {
        fields.append(field)
      }
      query.orders = fields.map { StructuredQuery.Order(field: $0) }
    }
    self.init(query)
  }

  /// Not all documents that match are results.
  var isBounded: Bool { limit != nil || offset > 0 }

  /// Results are ordered by name, ascending or descending.
  var isOrderedByName: Bool { orders.count == 1 }
}

extension StructuredQuery {
  /// Whether both find the same results in the same order. Implied orders may be explicit, and a
  /// composite filter with one member equals that member.
  package func isEquivalent(to other: StructuredQuery) -> Bool {
    EffectiveQuery(self) == EffectiveQuery(other)
  }

  /// Equal for queries that are equivalent.
  package var equivalenceHash: Int { EffectiveQuery(self).hashValue }
}

extension StructuredQuery.Bound {
  /// The same position in the reversed order.
  var turned: StructuredQuery.Bound { StructuredQuery.Bound(values: values, isBefore: !isBefore) }
}

extension StructuredQuery {
  /// Explicit orders, then every other field with an inequality, sorted by path, then the name.
  /// Implied orders have the direction of the last explicit order.
  package var effectiveOrders: [StructuredQuery.Order] {
    var orders = orders
    let isDescending = orders.last?.isDescending ?? false
    for field in impliedOrderFields {
      orders.append(StructuredQuery.Order(field: field, isDescending: isDescending))
    }
    if !orders.contains(where: { $0.field.isDocumentID }) {
      orders.append(StructuredQuery.Order(field: .documentID, isDescending: isDescending))
    }
    return orders
  }

  /// Not all documents that match are results.
  var isBounded: Bool { limit != nil || offset > 0 }

  /// Fields with an inequality, except the name, that the explicit orders do not contain.
  var impliedOrderFields: [FieldSegments] {
    let fields = inequalityFields
    if fields.isEmpty { return [] }
    let mentioned = Set(orders.map { $0.field })
    return fields.filter { !$0.isDocumentID && !mentioned.contains($0) }.sorted()
  }

  /// Every field with an inequality, including the name.
  var inequalityFields: Set<FieldSegments> {
    var fields: Set<FieldSegments> = []
    for filter in filters {
      filter.forEachComparison { if $0.isInequality { fields.insert($0.field) } }
    }
    return fields
  }
}
