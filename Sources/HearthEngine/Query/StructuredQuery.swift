package import HearthGeometry

/// A query as a value: what Firestore calls a structured query.
///
///     scope ─▶ filters ─▶ projection ─▶ orders, start and end ─▶ offset ─▶ limit ─▶ question
///
/// Not checked here; see `StructuredQuery+Checking.swift`. `EffectiveQuery` makes implied orders
/// and the direction of a limit to the last explicit.
package struct StructuredQuery: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    case collection(ResourcePath)
    /// All collections with one id, at any depth below a document or the root.
    case group(String, below: ResourcePath)
    /// Every document below a document or the root, in any collection.
    case subtree(below: ResourcePath)
  }

  package var scope: Scope
  /// All must hold.
  var filters: [Filter] = []
  package var orders: [Order] = []
  package var start: Bound?
  package var end: Bound?
  package var limit: Int?
  /// The limit keeps the last results, not the first.
  package var isLimitToLast = false
  package var offset = 0
  /// The fields of the results; empty means all.
  package var projection: [FieldSegments] = []
  package var question = Question.results

  package init(_ scope: Scope) { self.scope = scope }

  /// The query has no conditions: it returns all of the scope, ordered by name.
  var isPlain: Bool { self == StructuredQuery(scope) }
}

extension StructuredQuery.Scope {
  /// The collection; nil for another scope.
  var collection: ResourcePath? { if case .collection(let path) = self { path } else { nil } }

  /// The values that distinguish scopes. `String` would treat canonically equivalent ids as equal.
  private var identity: (kind: Int, path: ResourcePath, below: ResourcePath) {
    switch self {
    case .collection(let path): (0, path, .root)
    case .group(let id, let below): (1, ResourcePath([id]), below)
    case .subtree(let below): (2, .root, below)
    }
  }

  package static func == (lhs: Self, rhs: Self) -> Bool { lhs.identity == rhs.identity }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(identity.kind)
    hasher.combine(identity.path)
    hasher.combine(identity.below)
  }
}

extension StructuredQuery {
  package struct Order: Hashable, Sendable {
    package var field: FieldSegments
    package var isDescending = false
    /// Documents without the field are results, as if it was null.
    package var keepsMissing = false

    package init(field: FieldSegments, isDescending: Bool = false, keepsMissing: Bool = false) {
      self.field = field
      self.isDescending = isDescending
      self.keepsMissing = keepsMissing
    }

    package var isNameAscending: Bool { field.isDocumentID && !isDescending }
  }

  /// A position in the order of the results: between results, or at some of them.
  package struct Bound: Hashable, Sendable {
    /// Values for the first of the query's orders.
    var values: [Value]
    /// The position is before the results that have exactly these values; otherwise after them.
    var isBefore: Bool

    package init(values: [Value], isBefore: Bool) {
      self.values = values
      self.isBefore = isBefore
    }
  }

  /// A condition on documents.
  package indirect enum Filter: Hashable, Sendable {
    case comparison(Comparison)
    case all([Filter])
    case any([Filter])
  }

  package struct Comparison: Hashable, Sendable {
    package var field: FieldSegments
    package var `operator`: Operator
    var operand: Operand
    /// The documents that do not pass the comparison pass, also those without the field.
    package var isNegated = false
    /// Only a condition: results are not ordered by the field of an inequality, and need not have it
    /// elsewhere. Firestore's limits of alternatives, lists and array memberships do not apply.
    package var isUnordered = false

    package init(field: FieldSegments, operator: Comparison.Operator, operand: Value = .null) {
      self.field = field
      self.operator = `operator`
      self.operand = .constant(operand)
    }

    init(field: FieldSegments, operator: Comparison.Operator, _ operand: Operand) {
      self.field = field
      self.operator = `operator`
      self.operand = operand
    }

    /// The value is among those of other results; of an array, if `isArray`, an element.
    package init(field: FieldSegments, isArray: Bool, in semiJoin: SemiJoin) {
      self.init(
        field: field, operator: isArray ? .arrayContainsAnyInResults : .inResults,
        .results(semiJoin))
    }

    /// Finds documents by one value, or by one of several.
    package var isEquality: Bool {
      switch `operator` {
      case .equal, .in, .isNull, .isNaN, .arrayContains, .arrayContainsAny: !isNegated
      default: false
      }
    }

    /// The values that pass are those of the operand.
    package var isPoint: Bool { `operator`.isPoint && !isNegated }

    /// Results of such a comparison are ordered by its field.
    var isInequality: Bool { `operator`.isInequality && !isNegated && !isUnordered }

    /// A query may have at most one of these.
    var isNegative: Bool {
      `operator`.traits.order == .byFieldOnce && !isNegated && !isUnordered
    }
  }
}

extension StructuredQuery.Comparison {
  /// The operand that a value is compared with.
  enum Operand: Hashable, Sendable {
    /// A value, or an array of values; null for an operator that takes none.
    case constant(Value)
    indirect case pattern(String, options: String)
    indirect case region(GeoRegion)
    indirect case time(RelativeTime)
    /// The values of the results of a query. After they were read, an operand of `inSet` or `arrayContainsAny`.
    case results(SemiJoin)
    /// A comparison of what is inside the value. Its field is relative.
    indirect case comparison(StructuredQuery.Comparison)
  }

  /// The constant operand, if it is one.
  package var constant: Value { if case .constant(let value) = operand { value } else { .null } }

  package var semiJoin: SemiJoin? {
    if case .results(let semiJoin) = operand { semiJoin } else { nil }
  }

  package var region: GeoRegion? { if case .region(let region) = operand { region } else { nil } }

  var relativeTime: RelativeTime? { if case .time(let time) = operand { time } else { nil } }
}

extension StructuredQuery.Filter {
  /// Documents that do not pass this filter pass: negations are moved to the comparisons.
  package var negated: StructuredQuery.Filter {
    switch self {
    case .comparison(var comparison):
      comparison.isNegated.toggle()
      return .comparison(comparison)
    case .all(let members): return .any(members.map(\.negated))
    case .any(let members): return .all(members.map(\.negated))
    }
  }

  /// All comparisons are only conditions.
  package var unordered: StructuredQuery.Filter {
    mapped { comparison in
      var unordered = comparison
      unordered.isUnordered = true
      return unordered
    }
  }

  /// Names after an array lead into each of its elements.
  package var throughArrays: StructuredQuery.Filter { mapped(\.throughArrays) }

  /// The same filter of other comparisons.
  func mapped(
    _ change: (StructuredQuery.Comparison) throws -> StructuredQuery.Comparison
  ) rethrows -> StructuredQuery.Filter {
    switch self {
    case .comparison(let comparison): try .comparison(change(comparison))
    case .all(let members): try .all(members.map { try $0.mapped(change) })
    case .any(let members): try .any(members.map { try $0.mapped(change) })
    }
  }

  /// Whether all comparisons are only conditions.
  var isUnordered: Bool { !hasComparison { !$0.isUnordered } }

  func hasComparison(where test: (StructuredQuery.Comparison) -> Bool) -> Bool {
    switch self {
    case .comparison(let comparison): test(comparison)
    case .all(let members), .any(let members): members.contains { $0.hasComparison(where: test) }
    }
  }

  /// Every comparison, from left to right.
  package func forEachComparison<Failure: Error>(
    _ body: (StructuredQuery.Comparison) throws(Failure) -> Void
  ) throws(Failure) {
    switch self {
    case .comparison(let comparison): try body(comparison)
    case .all(let members), .any(let members):
      for member in members { try member.forEachComparison(body) }
    }
  }
}

extension StructuredQuery {
  /// Every comparison, from left to right.
  package var comparisons: [Comparison] {
    var all: [Comparison] = []
    for filter in filters { filter.forEachComparison { all.append($0) } }
    return all
  }

  /// Adds a condition. A conjunction adds its members, so that equal queries are equal values.
  package mutating func add(_ filter: Filter) {
    if case .all(let members) = filter {
      for member in members { add(member) }
    } else {
      filters.append(filter)
    }
  }
}
