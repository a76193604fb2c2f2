/// A query with everything implied spelled out: what is executed, and what two equal queries share.
///
/// The orders end with `__name__`. A limit to the last runs the other way round: orders turned,
/// start and end swapped, and the results turned back at the end.
package struct EffectiveQuery: Hashable, Sendable {
  package var scope: StructuredQuery.Scope
  var filters: [StructuredQuery.Filter]
  var orders: [StructuredQuery.Order]
  var start: StructuredQuery.Bound?
  var end: StructuredQuery.Bound?
  var limit: Int?
  var offset: Int
  /// Results are found in the opposite of the order they are told in.
  var isReversed: Bool
  var projection: [FieldSegments]
  package var nearest: StructuredQuery.Nearest?

  /// For a query that has been checked.
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
    nearest = query.nearest
    if isReversed {
      for index in orders.indices { orders[index].isDescending.toggle() }
      (start, end) = (end?.turned, start?.turned)
    }
  }

  /// Results come in the order of their names.
  var isOrderedByName: Bool { orders.count == 1 }
}

extension StructuredQuery {
  /// They find the same, and say so in the same way: orders that are implied may be spelled out, and a composite filter
  /// with one member is that member.
  package func isEquivalent(to other: StructuredQuery) -> Bool {
    EffectiveQuery(self) == EffectiveQuery(other)
  }

  /// Equal for queries that are equivalent.
  package var equivalenceHash: Int { EffectiveQuery(self).hashValue }
}

extension StructuredQuery.Bound {
  /// The same place, seen from the other end.
  var turned: StructuredQuery.Bound { StructuredQuery.Bound(values: values, isBefore: !isBefore) }
}

extension StructuredQuery {
  /// Explicit orders, then every field with an inequality by path, then the name; what is implied
  /// goes in the direction of the last explicit order.
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

  /// Fields with an inequality, the name aside, that the explicit orders do not mention.
  var impliedOrderFields: [FieldSegments] {
    let fields = inequalityFields
    if fields.isEmpty { return [] }
    let mentioned = Set(orders.map { $0.field })
    return fields.filter { !$0.isDocumentID && !mentioned.contains($0) }.sorted()
  }

  /// Each once, the name too.
  var inequalityFields: Set<FieldSegments> {
    var fields: Set<FieldSegments> = []
    for filter in filters {
      filter.forEachComparison { if $0.operator.isInequality { fields.insert($0.field) } }
    }
    return fields
  }
}
