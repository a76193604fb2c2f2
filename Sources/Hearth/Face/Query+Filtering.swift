import Foundation

/// Conditions. Each gives a new query in which it holds beside those there are.
extension Query {
  /// Documents that pass a filter, which may combine others by OR.
  ///
  ///     books.whereFilter(.orFilter([
  ///       .whereField("author", isEqualTo: "Herbert"),
  ///       .whereField("pages", isGreaterThan: 1000),
  ///     ]))
  public func whereFilter(_ filter: Filter) -> Query {
    changed { query throws(Status) in
      let reader = FilterReader(firestore.databaseIdentity, query.scope)
      guard let filter = try reader.read(filter) else { return }
      try query.refuseConflicts(with: filter)
      query.add(filter)
    }
  }

  /// Equal to; null and NaN equal themselves.
  public func whereField(_ field: String, isEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isEqualTo: value))
  }
  public func whereField(_ path: FieldPath, isEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isEqualTo: value))
  }

  /// There, not null, and not equal to.
  public func whereField(_ field: String, isNotEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isNotEqualTo: value))
  }
  public func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isNotEqualTo: value))
  }

  /// Matches documents whose `field` is less than `value`. Only values of one type compare; all numbers are one type.
  public func whereField(_ field: String, isLessThan value: Any) -> Query {
    whereFilter(.whereField(field, isLessThan: value))
  }
  public func whereField(_ path: FieldPath, isLessThan value: Any) -> Query {
    whereFilter(.whereField(path, isLessThan: value))
  }

  public func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isLessThanOrEqualTo: value))
  }
  public func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isLessThanOrEqualTo: value))
  }

  /// Matches documents whose `field` is greater than `value`. Only values of one type compare; all numbers are one
  /// type.
  public func whereField(_ field: String, isGreaterThan value: Any) -> Query {
    whereFilter(.whereField(field, isGreaterThan: value))
  }
  public func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Query {
    whereFilter(.whereField(path, isGreaterThan: value))
  }

  public func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(field, isGreaterOrEqualTo: value))
  }
  public func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Query {
    whereFilter(.whereField(path, isGreaterOrEqualTo: value))
  }

  /// An array with an element equal to the value. Null and NaN are never found.
  public func whereField(_ field: String, arrayContains value: Any) -> Query {
    whereFilter(.whereField(field, arrayContains: value))
  }
  public func whereField(_ path: FieldPath, arrayContains value: Any) -> Query {
    whereFilter(.whereField(path, arrayContains: value))
  }

  /// An array with an element equal to one of at most 30 values.
  public func whereField(_ field: String, arrayContainsAny values: [Any]) -> Query {
    whereFilter(.whereField(field, arrayContainsAny: values))
  }
  public func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Query {
    whereFilter(.whereField(path, arrayContainsAny: values))
  }

  /// Equal to one of at most 30 values, which may be arrays and maps.
  public func whereField(_ field: String, in values: [Any]) -> Query {
    whereFilter(.whereField(field, in: values))
  }
  public func whereField(_ path: FieldPath, in values: [Any]) -> Query {
    whereFilter(.whereField(path, in: values))
  }

  /// There, not null, and equal to none of at most 10 values. With null among them nothing is found.
  public func whereField(_ field: String, notIn values: [Any]) -> Query {
    whereFilter(.whereField(field, notIn: values))
  }
  public func whereField(_ path: FieldPath, notIn values: [Any]) -> Query {
    whereFilter(.whereField(path, notIn: values))
  }
}

/// Turns filters as users write them into comparisons, and refuses what a client refuses.
private struct FilterReader {
  let database: DatabaseIdentity
  let scope: StructuredQuery.Scope

  init(_ database: DatabaseIdentity, _ scope: StructuredQuery.Scope) {
    self.database = database
    self.scope = scope
  }

  /// Nil for a composite of nothing.
  func read(_ filter: Filter) throws(Status) -> StructuredQuery.Filter? {
    switch filter.content {
    case .field(let field, let `operator`, let value):
      return .comparison(try read(field.get(), `operator`, value))
    case .tooDeep:
      throw .invalidArgument(
        "Invalid Query. Composite filters may be nested \(Filter.deepest) levels deep.")
    case .composite(let isDisjunction, let filters):
      var members: [StructuredQuery.Filter] = []
      for filter in filters {
        guard let member = try read(filter) else { continue }
        // A conjunction of conjunctions is one, so that equal questions are equal values.
        switch (member, isDisjunction) {
        case (.any(let inner), true), (.all(let inner), false): members += inner
        default: members.append(member)
        }
      }
      if members.count < 2 { return members.first }
      return isDisjunction ? .any(members) : .all(members)
    }
  }

  private func read(
    _ field: FieldSegments, _ operator: StructuredQuery.Comparison.Operator, _ input: Any
  ) throws(Status) -> StructuredQuery.Comparison {
    let value = try AnyBridge.value(
      input, database: database,
      allowsNestedArrays: `operator` == .in || `operator` == .notIn)
    let isArrayOperator = `operator` == .arrayContains || `operator` == .arrayContainsAny
    if field.isDocumentID, isArrayOperator {
      throw .invalidArgument(
        "Invalid query. You can't perform \(`operator`.clientName) queries on document ID since "
          + "document IDs are not arrays.")
    }
    if `operator`.takesList, case .array(let elements) = value, elements.isEmpty {
      throw .invalidArgument(
        "Invalid Query. A non-empty array is required for '\(`operator`.clientName)' filters.")
    }
    if field.isDocumentID { return try readNames(`operator`, value, input) }
    return StructuredQuery.Comparison(
      field: field, operator: `operator`.asked(for: value), operand: value
    )
    .withoutSpecialOperand
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

extension StructuredQuery.Comparison {
  /// Null and NaN have operators of their own, which leave no operand.
  fileprivate var withoutSpecialOperand: StructuredQuery.Comparison {
    switch `operator` {
    case .isNull, .isNaN, .isNotNull, .isNotNaN:
      StructuredQuery.Comparison(field: field, operator: `operator`)
    default: self
    }
  }
}

extension StructuredQuery.Comparison.Operator {
  /// How a client asks the server for null and NaN.
  fileprivate func asked(for value: Value) -> StructuredQuery.Comparison.Operator {
    switch (self, value.typeClass) {
    case (.equal, .null): .isNull
    case (.equal, .nan): .isNaN
    case (.notEqual, .null): .isNotNull
    case (.notEqual, .nan): .isNotNaN
    default: self
    }
  }

  /// As a client calls it in sentences.
  fileprivate var clientName: String {
    switch self {
    case .lessThan: "lessThan"
    case .lessThanOrEqual: "lessThanOrEqual"
    case .greaterThan: "greaterThan"
    case .greaterThanOrEqual: "greaterThanOrEqual"
    case .equal, .isNull, .isNaN: "equal"
    case .notEqual, .isNotNull, .isNotNaN: "notEqual"
    case .arrayContains: "arrayContains"
    case .in: "in"
    case .arrayContainsAny: "arrayContainsAny"
    case .notIn: "notIn"
    }
  }

  /// Unary operators are comparisons to a client.
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
  /// What a client refuses to combine.
  fileprivate func refuseConflicts(with filter: StructuredQuery.Filter) throws(Status) {
    var there = comparisons.map(\.operator.clientOperator)
    try filter.forEachComparison { comparison throws(Status) in
      let new = comparison.operator.clientOperator
      let conflicts = new.conflicts
      if let other = there.first(where: conflicts.contains) {
        throw .invalidArgument(
          other == new
            ? "Invalid Query. You cannot use more than one '\(new.clientName)' filter."
            : "Invalid Query. You cannot use '\(new.clientName)' filters with "
              + "'\(other.clientName)' filters.")
      }
      there.append(new)
    }
  }
}

extension StructuredQuery.Scope {
  /// What a document id stands below.
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
