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

  static func bytes(of value: Value) -> [UInt8] {
    var buffer = KeyBuffer(minimumCapacity: 64)
    buffer.append(value)
    return buffer.bytes
  }

  static func hash(of value: Value) -> UInt64 { bytes(of: value).withUnsafeBytes(hash) }

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
      let conjunction = conjunction.filter { !$0.isNegated }
      let best = best(of: conjunction, count).map { [$0] } ?? values(of: conjunction)
      for route in best ?? ranges(of: conjunction).first.map({ [$0] }) ?? [fallback] {
        if case .all = route { return [.all] }
        routes.append(route)
      }
    }
    return routes
  }

  private static func best(
    of conjunction: Set<StructuredQuery.Comparison>, _ count: (ListenerCondition) -> Int
  ) -> ListenerCondition? {
    var best: (route: ListenerCondition, cost: Int)?
    for comparison in conjunction {
      guard let route = ListenerCondition(exactly: comparison) else { continue }
      // Half of all documents may share a boolean value.
      let isCoarse = comparison.operand.typeClass == .boolean
      let cost = count(route) + (isCoarse ? 16 : 0)
      if best.map({ cost < $0.cost }) ?? true { best = (route, cost) }
    }
    return best?.route
  }

  /// The largest set that has a condition for each value.
  static let mostValues = 4096

  /// One for each value of a set, if it is not very large.
  private static func values(
    of conjunction: Set<StructuredQuery.Comparison>
  ) -> [ListenerCondition]? {
    for comparison in conjunction where comparison.operator == .inSet {
      guard case .array(let values) = comparison.operand, values.count <= mostValues else {
        continue
      }
      return Set(values.map { ListenerConditionKey.hash(of: $0) }).map {
        .value(comparison.field, $0)
      }
    }
    return nil
  }

  /// By a value that a document must have.
  private init?(exactly comparison: StructuredQuery.Comparison) {
    switch comparison.operator {
    case .equal: self = .value(comparison.field, ListenerConditionKey.hash(of: comparison.operand))
    case .isNull: self = .value(comparison.field, ListenerConditionKey.hash(of: .null))
    case .isNaN: self = .value(comparison.field, ListenerConditionKey.hash(of: .double(.nan)))
    case .arrayContains:
      self = .element(comparison.field, ListenerConditionKey.hash(of: comparison.operand))
    case .arrayContainsAll:
      guard case .array(let elements) = comparison.operand, let first = elements.first else {
        return nil
      }
      self = .element(comparison.field, ListenerConditionKey.hash(of: first))
    default: return nil
    }
  }

  /// One for each field with an inequality; the narrowest first, as far as that is known: those
  /// bounded on both sides.
  private static func ranges(of conjunction: Set<StructuredQuery.Comparison>) -> [ListenerCondition]
  {
    var bounds: [FieldSegments: (lower: [UInt8]?, upper: [UInt8]?)] = [:]
    for comparison in conjunction {
      // The ends of the operand's type: no range extends beyond it.
      let tag = KeyTag(comparison.operand.typeClass).rawValue
      let value = ListenerConditionKey.truncated(ListenerConditionKey.bytes(of: comparison.operand))
      let range: (lower: [UInt8], upper: [UInt8])
      switch comparison.operator {
      case .lessThan, .lessThanOrEqual: range = ([tag], value)
      case .greaterThan, .greaterThanOrEqual: range = (value, [tag + 1])
      case .hasPrefix:
        let prefix = Array(ListenerConditionKey.bytes(of: comparison.operand).dropLast())
        let lower = ListenerConditionKey.truncated(prefix)
        bounds[comparison.field] = narrowed(
          bounds[comparison.field], lower, KeyLayout.end(ofPrefix: lower) ?? [tag + 1])
        continue
      default: continue
      }
      var bound = bounds[comparison.field] ?? (nil, nil)
      if comparison.operator.isUpperBound {
        bound.upper = bound.upper.map { lesser($0, range.upper) } ?? range.upper
        bound.lower = bound.lower ?? range.lower
      } else {
        bound.lower = bound.lower.map { greater($0, range.lower) } ?? range.lower
        bound.upper = bound.upper ?? range.upper
      }
      bounds[comparison.field] = bound
    }
    func narrowed(
      _ bound: (lower: [UInt8]?, upper: [UInt8]?)?, _ lower: [UInt8], _ upper: [UInt8]
    ) -> (lower: [UInt8]?, upper: [UInt8]?) {
      (
        bound?.lower.map { greater($0, lower) } ?? lower,
        bound?.upper.map { lesser($0, upper) } ?? upper
      )
    }
    let fields = bounds.sorted { one, other in
      (width(one.value), one.key) < (width(other.value), other.key)
    }
    return fields.map { field, bound in
      .range(field, lower: bound.lower ?? [], upper: bound.upper ?? [0xFF])
    }
  }

  /// 0 if both ends are values, 1 if one is the end of a type.
  private static func width(_ bound: (lower: [UInt8]?, upper: [UInt8]?)) -> Int {
    (bound.lower?.count ?? 0) > 1 && (bound.upper?.count ?? 0) > 1 ? 0 : 1
  }

  private static func lesser(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    UTF8Order.compare(one, other) <= 0 ? one : other
  }

  private static func greater(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
    UTF8Order.compare(one, other) >= 0 ? one : other
  }

  /// By a document's position in the query's first order: between the cursors, and not after the
  /// upper bound. `all` if there are neither.
  private init(orderOf query: EffectiveQuery, _ upperBound: ResultRow?) {
    // A document without the field has no value to be found by.
    guard let order = query.orders.first, !order.keepsMissing else {
      self = .all
      return
    }
    var near: [UInt8]?
    var far: [UInt8]?
    if let value = query.start?.values.first {
      near = ListenerConditionKey.truncated(ListenerConditionKey.bytes(of: value))
    }
    if let value = query.end?.values.first {
      far = ListenerConditionKey.truncated(ListenerConditionKey.bytes(of: value))
    }
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

extension StructuredQuery.Comparison.Operator {
  fileprivate var isUpperBound: Bool { self == .lessThan || self == .lessThanOrEqual }
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
