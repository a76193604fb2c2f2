import Foundation

/// Filters. Each method returns a query with one more condition; all conditions must hold.
extension Query {
  /// Matches documents that pass `filter`, which can combine other filters with OR.
  ///
  ///     books.whereFilter(.orFilter([
  ///       .whereField("author", isEqualTo: "Herbert"),
  ///       .whereField("pages", isGreaterThan: 1000),
  ///     ]))
  ///
  /// A query with an invalid condition fails with `invalidArgument` when it is used.
  public func whereFilter(_ filter: Filter) -> Query {
    changed { query throws(Status) in
      let reader = FilterReader(database: firestore.databaseIdentity, scope: query.scope)
      guard let filter = try reader.read(filter) else { return }
      try query.refuseConflicts(with: filter)
      query.add(filter)
    }
  }

  /// Matches documents whose `field` is equal to `value`. Null equals null, and NaN equals NaN.
  public func whereField(_ field: String, isEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isEqualTo: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isEqualTo: value))
  }

  /// Matches documents whose `field` exists, is not null, and is not equal to `value`.
  public func whereField(_ field: String, isNotEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isNotEqualTo: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isNotEqualTo: value))
  }

  /// Matches documents whose `field` is less than `value`. Only values of one type compare; all
  /// numbers are one type.
  public func whereField(_ field: String, isLessThan value: Any) -> Query {
    whereFilter(.whereField(field, isLessThan: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isLessThan value: Any) -> Query {
    whereFilter(.whereField(path, isLessThan: value))
  }

  /// Matches documents whose `field` is at most `value`; see `whereField(_:isLessThan:)`.
  public func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isLessThanOrEqualTo: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isLessThanOrEqualTo: value))
  }

  /// Matches documents whose `field` is greater than `value`; see `whereField(_:isLessThan:)`.
  public func whereField(_ field: String, isGreaterThan value: Any) -> Query {
    whereFilter(.whereField(field, isGreaterThan: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Query {
    whereFilter(.whereField(path, isGreaterThan: value))
  }

  /// Matches documents whose `field` is at least `value`; see `whereField(_:isLessThan:)`.
  public func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isGreaterOrEqualTo: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isGreaterOrEqualTo: value))
  }

  /// Matches documents whose `field` is an array with an element equal to `value`. Never matches if
  /// `value` is null or NaN.
  public func whereField(_ field: String, arrayContains value: Any) -> Query {
    whereFilter(.whereField(field, arrayContains: value))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, arrayContains value: Any) -> Query {
    whereFilter(.whereField(path, arrayContains: value))
  }

  /// Matches documents whose `field` is an array with an element equal to one of `values`: at least
  /// 1, at most 30.
  public func whereField(_ field: String, arrayContainsAny values: [Any]) -> Query {
    whereFilter(.whereField(field, arrayContainsAny: values))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Query {
    whereFilter(.whereField(path, arrayContainsAny: values))
  }

  /// Matches documents whose `field` is equal to one of `values`, which may be arrays and maps: at
  /// least 1, at most 30.
  public func whereField(_ field: String, in values: [Any]) -> Query {
    whereFilter(.whereField(field, in: values))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, in values: [Any]) -> Query {
    whereFilter(.whereField(path, in: values))
  }

  /// Matches documents whose `field` exists, is not null, and is equal to none of `values`: at
  /// least 1, at most 10. Matches nothing if one of them is null.
  public func whereField(_ field: String, notIn values: [Any]) -> Query {
    whereFilter(.whereField(field, notIn: values))
  }

  /// Same as with the name of a field.
  public func whereField(_ path: FieldPath, notIn values: [Any]) -> Query {
    whereFilter(.whereField(path, notIn: values))
  }
}

/// Converts users' filters to comparisons, and refuses what Firebase's SDK refuses.
private struct FilterReader {
  let database: DatabaseIdentity
  let scope: StructuredQuery.Scope

  /// Nil for a composite filter without members.
  func read(_ filter: Filter) throws(Status) -> StructuredQuery.Filter? {
    switch filter.content {
    case .field(let field, let `operator`, let value):
      return .comparison(try read(field.get(), `operator`, value))
    case .invalid(let error):
      throw error as? Status ?? .invalidArgument("Invalid Query. \(error)")
    case .tooDeep:
      throw .invalidArgument(
        "Invalid Query. Composite filters may be nested \(Filter.deepest) levels deep.")
    case .negation(let filter): return try read(filter)?.negated
    case .unordered(let filter): return try read(filter)?.unordered
    case .throughArrays(let filter): return try read(filter)?.throughArrays
    case .comparison(let comparison): return .comparison(try comparison.get())
    case .results(let field, let isArray, let query, let other):
      return .comparison(
        StructuredQuery.Comparison(
          field: try field.get(), isArray: isArray, in: try semiJoin(query, other.get())))
    case .composite(let isDisjunction, let filters):
      var members: [StructuredQuery.Filter] = []
      for filter in filters {
        guard let member = try read(filter) else { continue }
        // Nested conjunctions are flattened, and so are disjunctions: equal queries are equal
        // values.
        switch (member, isDisjunction) {
        case (.any(let inner), true), (.all(let inner), false): members += inner
        default: members.append(member)
        }
      }
      if members.count < 2 { return members.first }
      return isDisjunction ? .any(members) : .all(members)
    }
  }

  private func semiJoin(
    _ query: Query, _ field: FieldSegments
  ) throws(Status) -> SemiJoin {
    guard query.firestore.databaseIdentity == database else {
      throw .invalidArgument("A condition is on the results of a query of another database.")
    }
    return SemiJoin(try query.checked(), field)
  }

  private func read(
    _ field: FieldSegments, _ operator: StructuredQuery.Comparison.Operator, _ input: Any
  ) throws(Status) -> StructuredQuery.Comparison {
    let value = try UserDataReader.argument(
      input, database: database,
      allowsNestedArrays: `operator`.takesList && !`operator`.isOfArrays)
    if field.isDocumentID, `operator`.isOfArrays {
      throw .invalidArgument(
        "Invalid query. You can't perform \(`operator`.clientName) queries on document ID since "
          + "document IDs are not arrays.")
    }
    if `operator`.takesList, case .array(let elements) = value, elements.isEmpty {
      throw .invalidArgument(
        "Invalid Query. A non-empty array is required for '\(`operator`.clientName)' filters.")
    }
    if field.isDocumentID, !`operator`.takesText {
      return try readNames(`operator`, value, input)
    }
    let asked = `operator`.asked(for: value)
    return StructuredQuery.Comparison(
      field: field, operator: asked, operand: asked.takesOperand ? value : .null)
  }

  private func readNames(
    _ operator: StructuredQuery.Comparison.Operator, _ value: Value, _ input: Any
  ) throws(Status) -> StructuredQuery.Comparison {
    var operand = value
    if `operator`.takesList, case .array(let elements) = value {
      let inputs = input as? [Any] ?? []
      var names: [Value] = []
      for (index, element) in elements.enumerated() {
        names.append(try name(element, index < inputs.count ? inputs[index] : input))
      }
      operand = .array(names)
    } else {
      operand = try name(value, input)
    }
    return StructuredQuery.Comparison(field: .documentID, operator: `operator`, operand: operand)
  }

  private func name(_ value: Value, _ input: Any) throws(Status) -> Value {
    switch value {
    case .reference: return value
    case .string(let text): return .reference(try scope.path(ofFilterText: text))
    default:
      throw .invalidArgument(
        "Invalid query. When querying by document ID you must provide a valid string or "
          + "DocumentReference, but it was of type: \(String(describing: type(of: input)))")
    }
  }
}

extension StructuredQuery.Comparison.Operator {
  /// The operator that a client sends for a comparison with null or NaN.
  fileprivate func asked(for value: Value) -> StructuredQuery.Comparison.Operator {
    switch (self, value.typeClass) {
    case (.equal, .null): .isNull
    case (.equal, .nan): .isNaN
    case (.notEqual, .null): .isNotNull
    case (.notEqual, .nan): .isNotNaN
    default: self
    }
  }

  /// A client counts the operators for null and NaN as `equal` and `notEqual`.
  fileprivate var clientOperator: StructuredQuery.Comparison.Operator {
    switch self {
    case .isNull, .isNaN: .equal
    case .isNotNull, .isNotNaN: .notEqual
    default: self
    }
  }

  fileprivate var conflicts: [StructuredQuery.Comparison.Operator] {
    switch self {
    case .notEqual: [.notEqual, .notIn]
    case .arrayContainsAny, .in: [.notIn]
    case .notIn: [.arrayContainsAny, .in, .notIn, .notEqual]
    default: []
    }
  }
}

extension StructuredQuery {
  /// Throws for combinations of operators that a client refuses.
  fileprivate func refuseConflicts(with filter: StructuredQuery.Filter) throws(Status) {
    // Each operator once, in the order of the filters: there may be many filters.
    var there: [StructuredQuery.Comparison.Operator] = []
    for comparison in comparisons where !comparison.isNegated && !comparison.isUnordered {
      let one = comparison.operator.clientOperator
      if !there.contains(one) { there.append(one) }
    }
    try filter.forEachComparison { comparison throws(Status) in
      if comparison.isNegated || comparison.isUnordered { return }
      let new = comparison.operator.clientOperator
      let conflicts = new.conflicts
      if let other = there.first(where: conflicts.contains) {
        throw .invalidArgument(
          other == new
            ? "Invalid Query. You cannot use more than one '\(new.clientName)' filter."
            : "Invalid Query. You cannot use '\(new.clientName)' filters with "
              + "'\(other.clientName)' filters.")
      }
      if !there.contains(new) { there.append(new) }
    }
  }
}

extension StructuredQuery.Scope {
  /// The path to which a document id is relative.
  private var base: ResourcePath {
    switch self {
    case .collection(let path): path
    case .group, .subtree: .root
    }
  }

  private var isOneCollection: Bool { if case .collection = self { true } else { false } }

  fileprivate func path(ofFilterText text: String) throws(Status) -> ResourcePath {
    guard !text.isEmpty else {
      throw .invalidArgument(
        "Invalid query. When querying by document ID you must provide a valid document ID, but it "
          + "was an empty string.")
    }
    if isOneCollection, text.utf8.contains(UInt8(ascii: "/")) {
      throw .invalidArgument(
        "Invalid query. When querying a collection by document ID you must provide a plain document "
          + "ID, but '\(text)' contains a '/' character.")
    }
    let path = base.appending(ResourcePath(relative: text))
    guard path.isDocument else {
      throw .invalidArgument(
        "Invalid query. When querying a collection group by document ID, the value provided must "
          + "result in a valid document path, but '\(path.text)' is not because it has an odd number "
          + "of segments.")
    }
    return path
  }

  func path(ofCursorValue value: Value) throws(Status) -> ResourcePath {
    guard case .string(let text) = value else {
      throw .invalidArgument("Invalid query. Expected a string for the document ID.")
    }
    if isOneCollection, text.utf8.contains(UInt8(ascii: "/")) {
      throw .invalidArgument(
        "Invalid query. When querying a collection and ordering by document ID, you must pass a "
          + "plain document ID, but '\(text)' contains a slash.")
    }
    let path = base.appending(ResourcePath(relative: text))
    guard path.isDocument else {
      throw .invalidArgument(
        "Invalid query. When querying a collection group and ordering by document ID, you must pass "
          + "a value that results in a valid document path, but '\(path.text)' is not because it "
          + "contains an odd number of segments.")
    }
    return path
  }
}
