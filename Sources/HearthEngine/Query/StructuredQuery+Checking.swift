internal import HearthGeometry

/// Checks for what the Firestore server refuses, with its messages and in its order: operands, then
/// disjunctions, then array membership, then inequality fields, then the total.
extension StructuredQuery {
  /// Throws `invalidArgument` for a query that the server refuses.
  ///
  /// - Parameter cursorsReachImpliedOrders: Whether cursors may have values for implied orders. A
  ///   client that makes a cursor from a document makes those orders explicit.
  package func check(cursorsReachImpliedOrders: Bool = false) throws(Status) {
    try check(cursorsReachImpliedOrders: cursorsReachImpliedOrders, depth: 0)
  }

  /// - Parameter depth: How many queries this one is inside of.
  func check(cursorsReachImpliedOrders: Bool, depth: Int) throws(Status) {
    try checkScope()
    if let limit, limit < 0 { throw .invalidArgument("limit is negative") }
    guard offset >= 0 else { throw .invalidArgument("offset is negative") }
    for field in projection { try StructuredQuery.check(field: field) }
    let comparisons = comparisons
    // First: each comparison takes time to check.
    let limitedCount = comparisons.count { !$0.isUnordered }
    guard limitedCount <= StructuredQuery.mostComparisons else {
      throw tooManyComponents(filters: limitedCount)
    }
    for filter in filters { try StructuredQuery.checkMembers(of: filter) }
    for comparison in comparisons {
      try comparison.check()
      try comparison.semiJoin?.check(depth: depth)
    }
    try checkNegatives(comparisons)
    try checkDisjunctions(comparisons)
    try checkInequalities(comparisons)
    try checkOrders()
    try checkReach(comparisons)
    try checkCursors(cursorsReachImpliedOrders ? effectiveOrders : orders)
    guard componentCount <= Limits.filtersAndOrders else {
      throw tooManyComponents(filters: filterCount)
    }
    try question.ranking?.check(in: self)
  }

  private func checkScope() throws(Status) {
    switch scope {
    case .collection(let path): try path.checkNames(forWriting: false)
    case .group(let id, let below):
      try below.checkNames(forWriting: false)
      try ResourcePath([id]).checkNames(forWriting: false)
    case .subtree(let below): try below.checkNames(forWriting: false)
    }
  }

  static func check(field: FieldSegments) throws(Status) {
    if field.isDocumentID { return }
    guard !field.names.isEmpty else {
      throw .invalidArgument("Invalid empty property path string.")
    }
    var length = field.names.count - 1
    for name in field.names {
      guard !name.isEmpty else { throw .invalidArgument("Invalid empty property path string.") }
      length += name.utf8.count
      if name == "__key__" { throw .invalidArgument("the name __key__ is reserved") }
      if ResourcePath.isReserved(name) {
        throw .invalidArgument("Invalid reserved name in field path \(field.canonicalText)")
      }
    }
    guard length <= Limits.fieldName else {
      throw .invalidArgument("The property path is longer than \(Limits.fieldName) bytes.")
    }
  }

  private static func checkMembers(of filter: StructuredQuery.Filter) throws(Status) {
    switch filter {
    case .comparison: break
    case .all(let members), .any(let members):
      guard !members.isEmpty else {
        throw .invalidArgument("Composite filter must have at least one sub-filter.")
      }
      for member in members { try checkMembers(of: member) }
    }
  }

  private func checkDisjunctions(_ comparisons: [StructuredQuery.Comparison]) throws(Status) {
    let comparisons = comparisons.filter { !$0.isUnordered }
    // A single conjunction needs no normal form.
    let isMany =
      comparisons.contains { $0.operator.takesList }
      || comparisons.count { $0.operator == .arrayContains && !$0.isNegated } > 1
      || filters.contains { $0.hasDisjunction && !$0.isUnordered }
    guard isMany else { return }
    // First: the normal form of a long conjunction takes long.
    guard filterCount <= Limits.filtersAndOrders else {
      throw tooManyComponents(filters: filterCount)
    }
    let disjunctions = try Disjunctions(filters)
    for conjunction in disjunctions.conjunctions
    where conjunction.count(where: {
      $0.operator == .arrayContains && !$0.isNegated && !$0.isUnordered
    }) > 1 {
      throw .invalidArgument(
        "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
    }
  }

  private func checkNegatives(_ comparisons: [StructuredQuery.Comparison]) throws(Status) {
    let negatives = comparisons.filter(\.isNegative)
    guard negatives.count <= 1 else {
      throw .invalidArgument(
        "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per "
          + "query.")
    }
    guard negatives.first?.operator == .notIn else { return }
    let hasList = comparisons.contains { $0.operator == .in || $0.operator == .arrayContainsAny }
    guard !hasList, !filters.contains(where: \.hasDisjunction) else {
      throw .invalidArgument(
        "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")
    }
  }

  private func checkInequalities(_ comparisons: [StructuredQuery.Comparison]) throws(Status) {
    let fields = inequalityFields
    guard fields.count <= Limits.inequalityFields else {
      let names = fields.sorted().map(\.canonicalText).joined(separator: ", ")
      throw .invalidArgument(
        "The query contains \(fields.count) distinct inequality fields: [\(names)]. "
          + "A query may not have more than \(Limits.inequalityFields) distinct inequality fields.")
    }
    let hasKeyEquality = comparisons.contains {
      $0.field.isDocumentID && ($0.operator == .equal || $0.operator == .in) && !$0.isNegated
    }
    guard !hasKeyEquality || fields.isEmpty || fields.contains(.documentID) else {
      throw .invalidArgument(
        "Equality on key is not allowed if there are other inequality fields and key does not "
          + "appear in inequalities.")
    }
  }

  private func checkOrders() throws(Status) {
    var seen: Set<FieldSegments> = []
    for order in orders {
      try StructuredQuery.check(field: order.field)
      guard !seen.contains(.documentID) else { throw .fieldsAfterKey }
      guard seen.insert(order.field).inserted else {
        throw .invalidArgument(
          "order by clause cannot contain duplicate fields \(order.field.canonicalText)")
      }
    }
    guard !seen.contains(.documentID) || impliedOrderFields.isEmpty else { throw .fieldsAfterKey }
  }

  /// Refuses what a query across collections cannot ask.
  private func checkReach(_ comparisons: [StructuredQuery.Comparison]) throws(Status) {
    let below: ResourcePath
    let hasKind: Bool
    switch scope {
    case .collection: return
    case .group(_, let ancestor): (below, hasKind) = (ancestor, true)
    case .subtree(let ancestor): (below, hasKind) = (ancestor, false)
    }
    let filter = comparisons.first { !$0.field.isDocumentID }
    let hasFieldOrder = orders.contains { !$0.field.isDocumentID }
    if !below.isRoot, filter != nil || hasFieldOrder {
      throw .invalidArgument("collection group queries are only allowed at the root parent")
    }
    guard !hasKind else { return }
    if let filter {
      let isElement = filter.operator.traits.keys == .anyElement
      throw .invalidArgument(
        "kind is required for filter: \(filter.field.canonicalText)\(isElement ? "[*]" : "")")
    }
    if hasFieldOrder || orders.contains(where: \.isDescending) {
      throw .invalidArgument("kind is required for all orders except __key__ ascending")
    }
  }

  private func checkCursors(_ orders: [StructuredQuery.Order]) throws(Status) {
    for cursor in [start, end].compactMap({ $0 }) {
      guard cursor.values.count <= orders.count else {
        throw .invalidArgument("Cursor has too many values.")
      }
      for (value, order) in zip(cursor.values, orders) {
        try StructuredQuery.check(operand: value)
        guard order.field.isDocumentID else { continue }
        guard case .reference = value else {
          throw .invalidArgument("Cursor __key__ value is not a document reference.")
        }
      }
    }
  }

  /// Checks a value that is only compared, not stored.
  static func check(operand: Value) throws(Status) {
    switch operand {
    case .null, .boolean, .integer, .double, .timestamp, .string, .bytes: break
    case .reference(let path):
      guard path.isDocument else {
        throw .invalidArgument(
          "Resource name \"\(path.text)\" lacks \"/\" at index \(path.text.utf8.count).")
      }
    case .geoPoint(let point): try point.check()
    case .array(let elements): for element in elements { try check(operand: element) }
    case .vector(let components): try check(vector: components)
    case .map(let map):
      for field in map.fields {
        guard !ResourcePath.isReserved(field.name) else {
          throw .invalidArgument("field name '\(field.name)' is reserved.")
        }
        try check(operand: field.value)
      }
    }
  }

  static func check(vector: [Double]) throws(Status) {
    guard !vector.isEmpty else { throw .invalidArgument("Cannot have a zero length vector.") }
    guard vector.count <= Limits.vectorDimensions else {
      throw .invalidArgument("Vectors must be at most \(Limits.vectorDimensions) dimensions.")
    }
  }

  // MARK: The total count

  /// No normal form within the limits has more comparisons than this. Only those that the limits
  /// apply to count here and below: unordered ones do not.
  private static let mostComparisons = Limits.disjunctions * Limits.filtersAndOrders

  private var filterCount: Int { filters.reduce(0) { $0 + $1.longestConjunction } }

  private var hasAncestor: Bool {
    switch scope {
    case .collection(let path): path.segments.count > 1
    case .group(_, let below), .subtree(let below): !below.isRoot
    }
  }

  private var componentCount: Int { filterCount + orders.count + (hasAncestor ? 1 : 0) }

  private func tooManyComponents(filters filterCount: Int) -> Status {
    .invalidArgument(
      "The query may not have more than \(Limits.filtersAndOrders) filters + sort orders + ancestor "
        + "total. Currently there are \(filterCount) filters, \(orders.count) sort orders, and "
        + "\(hasAncestor ? "one" : "no") ancestor filter.")
  }
}

extension StructuredQuery.Filter {
  fileprivate var hasDisjunction: Bool {
    switch self {
    case .comparison: false
    case .all(let members): members.contains(where: \.hasDisjunction)
    case .any: true
    }
  }

  /// The number of comparisons in the longest conjunction of the normal form, without those that
  /// are unordered: Firestore's limits do not apply to them.
  fileprivate var longestConjunction: Int {
    switch self {
    case .comparison(let comparison): comparison.isUnordered ? 0 : 1
    case .all(let members): members.reduce(0) { $0 + $1.longestConjunction }
    case .any(let members): members.reduce(0) { max($0, $1.longestConjunction) }
    }
  }
}

extension StructuredQuery.Comparison {
  fileprivate func check() throws(Status) {
    try StructuredQuery.check(field: field)
    try checkList()
    try checkText()
    try checkPredicate()
    if field.isDocumentID { try checkKeyOperand() }
    try StructuredQuery.check(operand: constant)
  }

  private func checkList() throws(Status) {
    guard case .list(let most) = `operator`.traits.operand else { return }
    let name = `operator`.serverName
    guard case .array(let elements) = constant else {
      throw .invalidArgument("'\(name)' requires an ArrayValue.")
    }
    guard !elements.isEmpty else {
      throw .invalidArgument("'\(name)' requires an non-empty ArrayValue.")
    }
    guard isUnordered || elements.count <= most else {
      throw .invalidArgument("'\(name)' supports up to \(most) comparison values.")
    }
  }

  private func checkText() throws(Status) {
    guard `operator`.takesText else { return }
    guard case .string = constant else {
      throw .invalidArgument("A comparison of text requires a string.")
    }
    guard !field.isDocumentID else {
      throw .invalidArgument("The name of a document is not compared as text.")
    }
  }

  private func checkPredicate() throws(Status) {
    switch `operator`.traits.operand {
    case .pattern:
      guard try pattern() != nil else {
        throw .invalidArgument("A regular expression requires a pattern and options.")
      }
    case .region:
      guard let region else { throw .invalidArgument("A region requires points.") }
      do throws(GeoRegion.Invalid) { try region.check() } catch { throw Status(error) }
    case .comparison:
      guard let reached, ![.time, .results].contains(reached.operator.traits.operand) else {
        throw .invalidArgument(
          "A condition through arrays compares with constants: not with the results of a query, nor "
            + "with the time.")
      }
      try reached.check()
    case .time:
      guard relativeTime?.isKnown == true else {
        throw .invalidArgument(
          "A relative time requires a whole number of microseconds; or a day, at most "
            + "\(RelativeTime.days.upperBound) from today, and a known time zone.")
      }
    default: return
    }
    guard !field.isDocumentID else {
      throw .invalidArgument("The name of a document is no text, no point and no time.")
    }
  }

  private func checkKeyOperand() throws(Status) {
    guard !`operator`.isOfArrays else {
      throw .invalidArgument("the name __key__ is reserved")
    }
    if semiJoin != nil { return }
    for name in operands {
      guard case .reference = name else {
        throw .invalidArgument("__key__ filter value must be a Key")
      }
    }
  }
}

extension StructuredQuery.Nearest {
  func check(in query: StructuredQuery) throws(Status) {
    try StructuredQuery.check(field: field)
    try StructuredQuery.check(vector: vector)
    guard !vector.contains(where: \.isNaN) else {
      throw .invalidArgument("Vector cannot contain NaN values.")
    }
    guard (1...Limits.nearestDocuments).contains(limit) else {
      throw .invalidArgument(
        "FindNearest.limit must be a positive integer of no more than \(Limits.nearestDocuments)")
    }
    guard let distanceField else { return }
    for name in distanceField.names where ResourcePath.isReserved(name) {
      throw .invalidArgument("The distanceResultField.property.name \"\(name)\" is reserved.")
    }
    try StructuredQuery.check(field: distanceField)
    let projection = query.projection
    guard projection.isEmpty || projection.contains(where: { distanceField.hasPrefix($0) }) else {
      throw .invalidArgument(
        "The distanceResultField \(distanceField.canonicalText) is not named in the projection.")
    }
  }
}

extension Status {
  fileprivate static var fieldsAfterKey: Status {
    .invalidArgument("order by clause cannot contain more fields after the key")
  }
}
