internal import CXXHash

/// A condition by which a changed document finds a materialized query; one for each alternative of
/// the query's filters.
///
/// A condition may also find documents that the query does not match, because the query checks them
/// itself; it never misses one that matches.
enum ListenerCondition {
  /// Every document of the scope.
  case all
  /// A value, by the hash of its bytes.
  case value(FieldSegments, UInt64)
  /// An element of an array, by the hash of its bytes.
  case element(FieldSegments, UInt64)
  case range(FieldSegments, lower: [UInt8], upper: [UInt8])
}

/// The bytes by which values are found: those of an index's key, which compare as the values do.
enum ListenerConditionKey {
  /// Ends of ranges, and values looked up in them, are truncated to this many bytes. With
  /// truncated bytes a value may find a range too many, but misses none.
  static let rangeLimit = 64

  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    XXH3_64bits(bytes.baseAddress, bytes.count)
  }

  static func truncated(_ bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(rangeLimit)) }
}

extension ListenerCondition {
  /// The conditions that find a query's documents. `count` returns how many materialized queries a
  /// condition has already: of two equalities, the one with fewer is used.
  ///
  /// - Parameter upperBound: The last row that a limited query holds; see `LimitWindow`.
  static func routes(
    to query: EffectiveQuery, upperBound: ResultRow?, count: (ListenerCondition) -> Int
  ) -> [ListenerCondition] {
    // A query that was checked never has too many.
    guard let disjunctions = try? Disjunctions(query.filters) else { return [.all] }
    let fallback = ListenerCondition(orderOf: query, upperBound)
    var routes: [ListenerCondition] = []
    for conjunction in disjunctions.conjunctions {
      for route in ListenerCondition.routes(to: conjunction, count) ?? [fallback] {
        if case .all = route { return [.all] }
        routes.append(route)
      }
    }
    return routes
  }

  /// The largest set that has a condition for each value.
  static let mostValues = 4096

  /// By a value or an element that a document must have, by one of several values, or by the narrowest range; nil if
  /// none of these is known.
  private static func routes(
    to conjunction: Set<StructuredQuery.Comparison>, _ count: (ListenerCondition) -> Int
  ) -> [ListenerCondition]? {
    var best: (route: ListenerCondition, cost: Int)?
    var sets: [StructuredQuery.Comparison] = []
    var ranges: [FieldSegments: KeyRanges] = [:]
    for comparison in conjunction where !comparison.isNegated {
      let field = comparison.field
      switch comparison.operator.traits.keys {
      // Their keys may take long to compute, and do not find a document better than the order.
      case .untold, .exceptPoints, .exceptNull, .oneClass, .patternPrefix, .region: continue
      case .points where comparison.operator.takesList:
        sets.append(comparison)
        continue
      default: break
      }
      comparison.forEachImplied { kind, keys in
        if keys.isPoint {
          let key = keys.ranges[0].lower
          let hash = key.withUnsafeBytes(ListenerConditionKey.hash)
          let route =
            kind == .element ? ListenerCondition.element(field, hash) : .value(field, hash)
          // Half of all documents may share a boolean value.
          let cost = count(route) + (key.first == Value.TypeClass.boolean.rawValue ? 16 : 0)
          if best.map({ cost < $0.cost }) ?? true { best = (route, cost) }
        } else if kind == .value, !keys.isEverything {
          ranges[field] = ranges[field]?.intersection(keys) ?? keys
        }
      }
    }
    if let best { return [best.route] }
    for set in sets where set.foundKeys == nil && set.operands.count <= mostValues {
      return KeyRanges(set).ranges.map {
        .value(set.field, $0.lower.withUnsafeBytes(ListenerConditionKey.hash))
      }
    }
    return narrowest(of: ranges).map { [$0] }
  }

  /// The range that is bounded on both sides, if there is one; nil if none is.
  private static func narrowest(of ranges: [FieldSegments: KeyRanges]) -> ListenerCondition? {
    /// A bound of one byte is the end of a type.
    func isValue(_ bound: [UInt8]?) -> Bool { bound?.count ?? 0 > 1 }
    let bounded = ranges.map { field, keys in
      (field: field, lower: keys.ranges.first?.lower, upper: keys.ranges.last?.upper)
    }.filter { isValue($0.lower) || isValue($0.upper) }
    return bounded.min { one, other in
      let isNarrow = isValue(one.lower) && isValue(one.upper)
      let isOtherNarrow = isValue(other.lower) && isValue(other.upper)
      return isNarrow == isOtherNarrow ? one.field < other.field : isNarrow
    }.map {
      .range(
        $0.field, lower: ListenerConditionKey.truncated($0.lower ?? []),
        upper: $0.upper.map(ListenerConditionKey.truncated) ?? [0xFF])
    }
  }

  /// By a document's position in the query's first order: between the cursors, and not after the
  /// upper bound. `all` if there are neither.
  private init(orderOf query: EffectiveQuery, _ upperBound: ResultRow?) {
    // A document without the field has no value to be found by.
    guard let order = query.orders.first, !order.keepsMissing else {
      self = .all
      return
    }
    let near = query.start?.values.first.map { ListenerConditionKey.truncated($0.componentKey) }
    var far = query.end?.values.first.map { ListenerConditionKey.truncated($0.componentKey) }
    if let upperBound, let value = try? upperBound.document.routeValue(of: order.field) {
      // Not farther than the end cursor.
      far = value
    }
    if near == nil, far == nil {
      self = .all
      return
    }
    let (lower, upper) = order.isDescending ? (far, near) : (near, far)
    self = .range(order.field, lower: lower ?? [], upper: upper ?? [0xFF])
  }
}

extension StoredDocument {
  /// The bytes by which ranges over a field find the document.
  fileprivate func routeValue(of field: FieldSegments) throws -> [UInt8]? {
    var buffer = KeyBuffer(minimumCapacity: 64)
    if field.isDocumentID {
      buffer.append(.reference(path))
    } else {
      let isThere = try body.withView { body throws(Status) in
        guard let value = try body.value(at: field) else { return false }
        try buffer.append(value, descending: false)
        return true
      }
      guard isThere else { return nil }
    }
    return ListenerConditionKey.truncated(buffer.bytes)
  }
}
