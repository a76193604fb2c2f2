import HearthText

@testable import Hearth
@testable import HearthEngine

/// Reads recorded queries, and says them to the public builders where those can.
enum RecordedQuery {
  /// The recording holds what no query value can: it is about the wire.
  struct NotSayable: Error {}

  static func documents(_ json: JSON) throws -> [(path: ResourcePath, fields: MapValue)] {
    try (json["documents"]?.array ?? []).map {
      (
        ResourcePath(relative: try require($0["name"]?.string)),
        try ProtoJSON.fields($0["fields"] ?? .object([]))
      )
    }
  }

  static func read(_ element: JSON) throws -> StructuredQuery {
    var query = try read(try require(element["query"]), parent: element["parent"]?.string)
    if let last = element["limitToLast"]?.number {
      query.limit = Int(last)
      query.isLimitToLast = true
    }
    return query
  }

  static func read(_ json: JSON, parent: String?) throws -> StructuredQuery {
    let text = parent ?? ""
    let below = ResourcePath(relative: text)
    guard below.text == text, !below.isCollection else { throw NotSayable() }
    let from = json["from"]?.array ?? []
    guard from.count == 1 else { throw NotSayable() }
    let id = from[0]["collectionId"]?.string ?? ""
    let scope: StructuredQuery.Scope
    switch (id.isEmpty, from[0]["allDescendants"]?.boolean ?? false) {
    case (true, true): scope = .subtree(below: below)
    case (false, true): scope = .group(id, below: below)
    case (false, false): scope = .collection(below.appending(id))
    case (true, false): throw NotSayable()
    }
    var query = StructuredQuery(scope)
    if let filter = json["where"] { query.add(try readFilter(filter)) }
    for order in json["orderBy"]?.array ?? [] {
      query.orders.append(
        StructuredQuery.Order(
          field: try field(order), isDescending: order["direction"]?.string == "DESCENDING"))
    }
    query.start = try json["startAt"].map(bound)
    query.end = try json["endAt"].map(bound)
    query.limit = json["limit"]?.number.map { Int($0) }
    query.offset = json["offset"]?.number.map { Int($0) } ?? 0
    query.projection = try (json["select"]?["fields"]?.array ?? []).map {
      try FieldSegments(wireText: $0["fieldPath"]?.string ?? "")
    }
    if let json = json["findNearest"] { query.question = .nearest(try nearest(json)) }
    return query
  }

  private static func bound(_ json: JSON) throws -> StructuredQuery.Bound {
    StructuredQuery.Bound(
      values: try (json["values"]?.array ?? []).map(value),
      isBefore: json["before"]?.boolean ?? false)
  }

  private static func value(_ json: JSON) throws -> Value {
    guard json.object?.isEmpty == false else { throw NotSayable() }
    return try ProtoJSON.value(json)
  }

  static func field(_ json: JSON) throws -> FieldSegments {
    try FieldSegments(wireText: json["field"]?["fieldPath"]?.string ?? "")
  }

  private static func nearest(_ json: JSON) throws -> StructuredQuery.Nearest {
    guard case .vector(let vector) = try vectorValue(try require(json["queryVector"])) else {
      throw NotSayable()
    }
    let measure: DistanceMeasure
    switch json["distanceMeasure"]?.string {
    case "EUCLIDEAN": measure = .euclidean
    case "COSINE": measure = .cosine
    case "DOT_PRODUCT": measure = .dotProduct
    default: throw NotSayable()
    }
    return StructuredQuery.Nearest(
      field: try FieldSegments(wireText: json["vectorField"]?["fieldPath"]?.string ?? ""),
      vector: vector, limit: json["limit"]?.number.map { Int($0) } ?? 0, measure: measure,
      distanceField: try json["distanceResultField"]?.string.map {
        try FieldSegments(wireText: $0)
      },
      threshold: json["distanceThreshold"]?.number)
  }

  private static func vectorValue(_ json: JSON) throws -> Value { try ProtoJSON.value(json) }

  private static func readFilter(_ json: JSON) throws -> StructuredQuery.Filter {
    if let filter = json["fieldFilter"] {
      let names: [String: StructuredQuery.Comparison.Operator] = [
        "LESS_THAN": .lessThan, "LESS_THAN_OR_EQUAL": .lessThanOrEqual,
        "GREATER_THAN": .greaterThan, "GREATER_THAN_OR_EQUAL": .greaterThanOrEqual,
        "EQUAL": .equal, "NOT_EQUAL": .notEqual, "ARRAY_CONTAINS": .arrayContains, "IN": .in,
        "ARRAY_CONTAINS_ANY": .arrayContainsAny, "NOT_IN": .notIn,
      ]
      guard let name = filter["op"]?.string, let kind = names[name], let operand = filter["value"]
      else { throw NotSayable() }
      return .comparison(
        StructuredQuery.Comparison(
          field: try field(filter), operator: kind, operand: try value(operand)))
    }
    if let filter = json["unaryFilter"] {
      let names: [String: StructuredQuery.Comparison.Operator] = [
        "IS_NULL": .isNull, "IS_NAN": .isNaN, "IS_NOT_NULL": .isNotNull, "IS_NOT_NAN": .isNotNaN,
      ]
      guard let name = filter["op"]?.string, let kind = names[name], filter["field"] != nil else {
        throw NotSayable()
      }
      return .comparison(StructuredQuery.Comparison(field: try field(filter), operator: kind))
    }
    guard let filter = json["compositeFilter"] else { throw NotSayable() }
    let members = try (filter["filters"]?.array ?? []).map(readFilter)
    switch filter["op"]?.string {
    // An empty conjunction would vanish; the server refuses it.
    case "AND": return members.isEmpty ? .any([]) : .all(members)
    case "OR": return .any(members)
    default: throw NotSayable()
    }
  }

  static func require<T>(_ value: T?) throws -> T {
    guard let value else { throw ProtoJSON.ReadError(message: "not a \(T.self)") }
    return value
  }
}

// MARK: - Said in public

extension RecordedQuery {
  /// The query as a user would build it; nil where the public builders cannot say it.
  static func said(_ query: StructuredQuery, to firestore: Firestore) -> Query? {
    var said: Query
    switch query.scope {
    case .collection(let path):
      // A slash in an id would be a path's.
      guard ResourcePath(relative: path.text) == path else { return nil }
      said = firestore.collection(path.text)
    case .group(let id, let below):
      guard below.isRoot else { return nil }
      said = firestore.collectionGroup(id)
    case .subtree(let below):
      said = below.isRoot ? firestore.allDocuments() : firestore.document(below.text).descendants()
    }
    for filter in query.filters {
      guard let filter = self.filter(filter, firestore) else { return nil }
      said = said.whereFilter(filter)
    }
    for order in query.orders {
      said = said.order(by: FieldPath(order.field.names), descending: order.isDescending)
    }
    if let start = query.start {
      guard let values = cursor(start, query, firestore) else { return nil }
      said = start.isBefore ? said.start(at: values) : said.start(after: values)
    }
    if let end = query.end {
      guard let values = cursor(end, query, firestore) else { return nil }
      said = end.isBefore ? said.end(before: values) : said.end(at: values)
    }
    if query.offset != 0 { said = said.offset(query.offset) }
    if let limit = query.limit {
      guard limit > 0, !query.isLimitToLast || !query.orders.isEmpty else { return nil }
      said = query.isLimitToLast ? said.limit(toLast: limit) : said.limit(to: limit)
    }
    if !query.projection.isEmpty {
      said = said.select(query.projection.map { FieldPath($0.names) })
    }
    guard let nearest = query.nearest else { return said }
    let distanceField = nearest.distanceField?.canonicalText
    // A text cannot quote names.
    if distanceField?.contains("`") == true { return nil }
    return said.findNearest(
      vectorField: FieldPath(nearest.field.names), queryVector: VectorValue(nearest.vector),
      limit: nearest.limit,
      distanceMeasure: nearest.measure, distanceResultField: distanceField,
      distanceThreshold: nearest.threshold)
  }

  /// The aggregations as a user would ask for them; nil where that cannot be said.
  static func said(_ aggregations: [Aggregation]) -> [AggregateField]? {
    var fields: [AggregateField] = []
    for aggregation in aggregations {
      switch aggregation.kind {
      case .count(nil): fields.append(.count())
      case .count: return nil
      case .sum(let field): fields.append(.sum(FieldPath(field.names)))
      case .average(let field): fields.append(.average(FieldPath(field.names)))
      // Google's emulator has no others.
      default: return nil
      }
    }
    return fields
  }

  private static func any(_ value: Value, _ firestore: Firestore) -> Any {
    AnyBridge.any(value) { DocumentReference(firestore, $0) }
  }

  private static func cursor(
    _ bound: StructuredQuery.Bound, _ query: StructuredQuery, _ firestore: Firestore
  ) -> [Any]? {
    guard bound.values.count <= query.orders.count else { return nil }
    var values: [Any] = []
    for (value, order) in zip(bound.values, query.orders) {
      guard order.field.isDocumentID else {
        values.append(any(value, firestore))
        continue
      }
      // A text would be an id.
      guard case .reference(let path) = value else { return nil }
      if case .collection(let collection) = query.scope {
        guard path.parent == collection else { return nil }
        values.append(path.id)
      } else {
        values.append(path.text)
      }
    }
    return values
  }

  private static func filter(_ filter: StructuredQuery.Filter, _ firestore: Firestore) -> Filter? {
    switch filter {
    case .all(let members), .any(let members):
      var filters: [Filter] = []
      for member in members {
        guard let member = self.filter(member, firestore) else { return nil }
        filters.append(member)
      }
      if case .any = filter { return filters.isEmpty ? nil : .orFilter(filters) }
      return .andFilter(filters)
    case .comparison(let comparison):
      return self.filter(comparison, firestore)
    }
  }

  private static func filter(_ comparison: StructuredQuery.Comparison, _ firestore: Firestore)
    -> Filter?
  {
    let path = FieldPath(comparison.field.names)
    let value = any(comparison.constant, firestore)
    let isSpecial = [.null, .nan].contains(comparison.constant.typeClass)
    if comparison.field.isDocumentID, comparison.constant.mentionsText { return nil }
    switch comparison.operator {
    // The builders ask for null and NaN by operators of their own.
    case .equal: return isSpecial ? nil : .whereField(path, isEqualTo: value)
    case .notEqual: return isSpecial ? nil : .whereField(path, isNotEqualTo: value)
    case .isNull: return .whereField(path, isEqualTo: Double?.none as Any)
    case .isNaN: return .whereField(path, isEqualTo: Double.nan)
    case .isNotNull: return .whereField(path, isNotEqualTo: Int?.none as Any)
    case .isNotNaN: return .whereField(path, isNotEqualTo: Float.nan)
    case .lessThan: return .whereField(path, isLessThan: value)
    case .lessThanOrEqual: return .whereField(path, isLessThanOrEqualTo: value)
    case .greaterThan: return .whereField(path, isGreaterThan: value)
    case .greaterThanOrEqual: return .whereField(path, isGreaterOrEqualTo: value)
    case .arrayContains: return .whereField(path, arrayContains: value)
    case .in: return (value as? [Any]).map { .whereField(path, in: $0) }
    case .arrayContainsAny: return (value as? [Any]).map { .whereField(path, arrayContainsAny: $0) }
    case .notIn: return (value as? [Any]).map { .whereField(path, notIn: $0) }
    // Google's emulator has no others.
    default: return nil
    }
  }
}

extension StructuredQuery {
  /// The vector search that the query asks for; nil for other questions.
  var nearest: Nearest? { if case .nearest(let nearest) = question { nearest } else { nil } }
}

extension Value {
  /// In public, the text of a name is an id.
  fileprivate var mentionsText: Bool {
    switch self {
    case .string: true
    case .array(let elements): elements.contains(where: \.mentionsText)
    default: false
    }
  }
}
