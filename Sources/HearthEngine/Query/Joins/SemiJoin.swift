/// The operand of a condition on the results of another query: a document passes if its value is
/// among the values that the results have in one field.
///
///     author in results of (authors where country == "PL"), __name__
///     __name__ in results of (reviews where rating > 4), book
///
/// A result whose field is an array has each of its elements. Null and NaN are equal to nothing.
package final class SemiJoin: Hashable, Sendable {
  // A class, so that a comparison without one is not larger.

  /// The operand of a comparison that was a semi-join. An index has keys, anything else values.
  enum Values {
    case list([Value])
    case keys(SortedKeys)
  }

  package let query: StructuredQuery
  /// May be the name.
  package let field: FieldSegments
  /// The values, after they were read.
  let found: SortedKeys?

  package convenience init(_ query: StructuredQuery, _ field: FieldSegments) {
    self.init(query, field, found: nil)
  }

  private init(_ query: StructuredQuery, _ field: FieldSegments, found: SortedKeys?) {
    self.query = query
    self.field = field
    self.found = found
  }

  fileprivate func with(_ found: SortedKeys) -> SemiJoin { SemiJoin(query, field, found: found) }

  package static func == (lhs: SemiJoin, rhs: SemiJoin) -> Bool {
    lhs === rhs || lhs.query == rhs.query && lhs.field == rhs.field && lhs.found == rhs.found
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(query)
    hasher.combine(field)
  }

  /// Throws `invalidArgument` for a query that no database answers.
  ///
  /// - Parameter depth: How many queries this one is inside of.
  func check(depth: Int) throws(Status) {
    guard depth < Limits.nestedQueries else {
      throw .invalidArgument(
        "Conditions on the results of other queries are nested more than \(Limits.nestedQueries) "
          + "deep.")
    }
    guard query.question.traits.contains(.joined) else {
      throw .invalidArgument(
        "A condition is not on the results of a vector search, or of a search for words.")
    }
    try StructuredQuery.check(field: field)
    try query.check(cursorsReachImpliedOrders: true, depth: depth + 1)
  }

  /// For a query that finds every document with a value.
  var effectiveQuery: EffectiveQuery { EffectiveQuery(whole: query) }

  /// Fields without which a result has no value. Empty if the query's limit counts results without
  /// it.
  var required: [FieldSegments] {
    query.isBounded || field.isDocumentID ? [] : [field]
  }

  /// Calls `body` with the key of each value of a document.
  func forEachKey(
    of fields: MapView, at path: () throws -> ResourcePath, _ body: ([UInt8]) -> Void
  ) throws {
    if field.isDocumentID { return body(Value.reference(try path()).componentKey) }
    guard let value = try fields.value(at: field) else { return }
    var key = KeyBuffer(minimumCapacity: 64)
    guard var elements = try value.array() else {
      try key.append(value, descending: false)
      return body(key.bytes)
    }
    for _ in 0..<elements.count {
      key.removeAll()
      try key.append(elements.next(), descending: false)
      body(key.bytes)
    }
  }
}

/// Values as keys, with the number of times that each was added: 1 and 1.0 are equal.
final class ValueSet: @unchecked Sendable {
  // Unchecked: one thread at a time uses a set, that of its owner.

  private var counts: [[UInt8]: Int] = [:]

  var count: Int { counts.count }
  var keys: some Collection<[UInt8]> { counts.keys }

  /// True if the value is new.
  @discardableResult
  func add(_ key: [UInt8]) -> Bool {
    let count = counts[key, default: 0] + 1
    counts[key] = count
    return count == 1
  }

  /// True if the value is no longer there.
  func remove(_ key: [UInt8]) -> Bool {
    guard let count = counts[key] else { return false }
    counts[key] = count > 1 ? count - 1 : nil
    return count == 1
  }

  func removeAll() { counts = [:] }

  func contains(_ key: [UInt8]) -> Bool { counts[key] != nil }

  static func value(of key: [UInt8]) throws -> Value {
    try key.withUnsafeBytes { bytes in
      var reader = KeyReader(bytes)
      return try reader.readValue()
    }
  }
}

/// The values that a comparison with a semi-join compares with.
enum JoinedValues {
  /// Those of one state.
  case found(SortedKeys)
  /// Those of a live query, which change.
  case live(ValueSet)

  func contains(_ value: ValueView) throws(Status) -> Bool {
    contains(try value.componentKey())
  }

  func contains(_ key: [UInt8]) -> Bool {
    // Null and NaN equal nothing.
    let type = key.first.flatMap(Value.TypeClass.init(rawValue:))
    if type == .null || type == .nan { return false }
    switch self {
    case .found(let keys): return key.withUnsafeBytes(keys.contains)
    case .live(let values): return values.contains(key)
    }
  }
}

extension StructuredQuery.Comparison {
  /// A semi-join whose values were not read.
  var openJoin: SemiJoin? { semiJoin?.found == nil ? semiJoin : nil }

  /// The values of a semi-join, after they were read: the operand of `inSet` or `arrayContainsAny`.
  var foundKeys: SortedKeys? { semiJoin?.found }

  func resolved(with values: SemiJoin.Values) -> StructuredQuery.Comparison {
    var resolved = self
    resolved.operator = `operator` == .inResults ? .inSet : .arrayContainsAny
    switch values {
    case .list(let values):
      resolved.operand = .constant(.array(values))
    case .keys(let keys): resolved.operand = semiJoin.map { .results($0.with(keys)) } ?? operand
    }
    return resolved
  }
}

extension EffectiveQuery {
  var semiJoins: [SemiJoin] { filters.semiJoins }

  /// Has neither semi-joins nor relative times.
  var isResolved: Bool { !filters.hasSemiJoins && !filters.hasRelativeTimes() }

  /// The query with the values of each semi-join in place of its query.
  ///
  /// - Parameter values: The values of a semi-join. Called once for each.
  func resolved(_ values: (SemiJoin) throws -> SemiJoin.Values) rethrows -> EffectiveQuery {
    guard filters.hasSemiJoins else { return self }
    var resolved = self
    resolved.filters = try filters.resolved(values)
    return resolved
  }
}

extension StructuredQuery {
  /// Has neither semi-joins nor relative times.
  package var isResolved: Bool { !filters.hasSemiJoins && !filters.hasRelativeTimes() }
}

extension [StructuredQuery.Filter] {
  /// See `EffectiveQuery.resolved`.
  func resolved(_ values: (SemiJoin) throws -> SemiJoin.Values) rethrows -> Self {
    var known: [SemiJoin: SemiJoin.Values] = [:]
    return try map { filter in
      try filter.mapped { comparison in
        guard let join = comparison.openJoin else { return comparison }
        let found = try known[join] ?? values(join)
        known[join] = found
        return comparison.resolved(with: found)
      }
    }
  }

  /// Distinct, from left to right.
  var semiJoins: [SemiJoin] {
    var joins: [SemiJoin] = []
    var known: Set<SemiJoin> = []
    for filter in self {
      filter.forEachComparison { comparison in
        if let join = comparison.openJoin, known.insert(join).inserted { joins.append(join) }
      }
    }
    return joins
  }

  var hasSemiJoins: Bool { contains { $0.hasComparison { $0.openJoin != nil } } }
}

extension SemiJoin {
  /// The distinct values of documents.
  func values(of documents: some Sequence<StoredDocument>) throws -> Values {
    let set = ValueSet()
    for document in documents {
      try document.body.withBytes { bytes in
        try forEachKey(of: MapView(body: bytes), at: { document.path }) { set.add($0) }
      }
    }
    return .list(try set.keys.map(ValueSet.value))
  }
}
