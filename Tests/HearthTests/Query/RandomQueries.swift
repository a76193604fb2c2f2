import Foundation
import HearthGeometry

@testable import Hearth
@testable import HearthEngine

/// Small worlds of documents that resemble one another, and queries that nearly fit them.
struct RandomQueries {
  var values: RandomValues
  private var seen: [Value] = []
  /// What queries are about.
  private var known: [(path: ResourcePath, fields: MapValue)] = []

  init(seed: UInt64) { values = RandomValues(seed: seed) }

  private static let fields = ["a", "b", "c", "m.x", "m.y", "m.x.z"]

  // MARK: Documents

  /// Few ids, so that same-named collections lie below one another.
  private mutating func id() -> String {
    values.generator.pick([
      "a", "b", "a", "books", "__id7__", "__id-3__", "z", "a\u{0}", "é", "long-id-0123456789-x",
    ])
  }

  mutating func path(below: ResourcePath = .root) -> ResourcePath {
    var path = below
    repeat {
      path = path.appending(values.generator.pick(["a", "books", "b"])).appending(id())
    } while values.generator.one(in: 3) && path.segments.count < 6
    return path
  }

  mutating func world(_ count: Int) -> [(path: ResourcePath, fields: MapValue)] {
    var documents: [ResourcePath: MapValue] = [:]
    for _ in 0..<count {
      let base =
        documents.isEmpty || values.generator.one(in: 2)
        ? .root
        : values.generator.pick(Array(documents.keys).sorted { ResourcePath.compare($0, $1) < 0 })
      guard base.segments.count < 6 else { continue }
      documents[path(below: base)] = fields()
    }
    return documents.map { ($0.key, $0.value) }.sorted { ResourcePath.compare($0.0, $1.0) < 0 }
  }

  mutating func fields() -> MapValue {
    var fields: [(String, Value)] = []
    for name in ["a", "b", "c"] where !values.generator.one(in: 4) {
      fields.append((name, value()))
    }
    if values.generator.one(in: 2) {
      var inner: [(String, Value)] = []
      for name in ["x", "y"] where !values.generator.one(in: 3) { inner.append((name, value())) }
      if values.generator.one(in: 3) {
        inner.append(("x", .map(MapValue([("z", value())]))))
      }
      fields.append(("m", .map(MapValue(inner))))
    } else if values.generator.one(in: 4) {
      fields.append(("m", value()))
    }
    return MapValue(fields)
  }

  /// Mostly one that was there before, or its neighbour.
  private mutating func value() -> Value {
    if !seen.isEmpty, !values.generator.one(in: 4) {
      let known = values.generator.pick(seen)
      return values.generator.one(in: 4) ? cleaned(values.neighbour(of: known)) : known
    }
    let value =
      values.generator.one(in: 3)
      ? .integer(Int64(values.generator.below(4)))
      : (values.generator.one(in: 6)
        ? .array([.integer(1), .string("a"), .null])
        : (values.generator.one(in: 6) ? maps() : cleaned(values.value(depth: 2))))
    if seen.count < 40 { seen.append(value) }
    return value
  }

  /// An array whose elements are often maps, with names that fields have.
  private mutating func maps() -> Value {
    .array(
      (0..<values.generator.below(3)).map { _ in
        let number = Value.integer(Int64(values.generator.below(3)))
        let name = values.generator.pick(["x", "y"])
        return values.generator.one(in: 4) ? number : .map(MapValue([(name, number)]))
      })
  }

  /// Without what the server refuses as an operand or in a document.
  private func cleaned(_ value: Value) -> Value {
    do throws(Status) {
      try StructuredQuery.check(operand: value)
      try DocumentBody(MapValue([("a", value)])).checkFields()
      return value
    } catch {
      return .null
    }
  }

  // MARK: Queries

  private mutating func field() -> FieldSegments {
    FieldSegments(
      values.generator.pick(RandomQueries.fields).split(separator: ".").map(String.init))
  }

  mutating func query(_ world: [(path: ResourcePath, fields: MapValue)]) -> StructuredQuery {
    known = world
    let paths = world.map(\.path)
    let some = paths.isEmpty ? path() : values.generator.pick(paths)
    var query: StructuredQuery
    switch values.generator.below(8) {
    case 0, 1, 2, 3: query = StructuredQuery(.collection(some.parent))
    case 4, 5:
      query = StructuredQuery(.group(values.generator.pick(["a", "books", "b"]), below: .root))
    case 6:
      query = StructuredQuery(.subtree(below: values.generator.one(in: 2) ? .root : some))
    default: query = StructuredQuery(.group(some.parent.id, below: some.parent.parent))
    }
    let isFree =
      switch query.scope {
      case .collection: true
      case .group(_, let below): below.isRoot
      case .subtree: false
      }
    // Few conditions: what many leave over is mostly nothing.
    var filters = values.generator.below(values.generator.one(in: 2) ? 2 : 4)
    while filters > 0 {
      query.add(filter(depth: 2, paths, onNameOnly: !isFree))
      filters -= 1
    }
    if isFree {
      for _ in 0..<values.generator.below(3) {
        query.orders.append(
          StructuredQuery.Order(
            field: field(), isDescending: values.generator.one(in: 2),
            keepsMissing: values.generator.one(in: 8)))
      }
    }
    if values.generator.one(in: 4) {
      query.orders.append(
        StructuredQuery.Order(
          field: .documentID, isDescending: isFree && values.generator.one(in: 2)))
    }
    query.start = bound(query, paths)
    query.end = bound(query, paths)
    if values.generator.one(in: 3) {
      query.limit = values.generator.below(5)
      query.isLimitToLast =
        !query.orders.isEmpty && values.generator.one(in: 2)
        && query.offset == 0 && isFree
    }
    if !query.isLimitToLast, values.generator.one(in: 5) {
      query.offset = values.generator.below(4)
    }
    for _ in 0..<(values.generator.one(in: 5) ? values.generator.below(3) : 0) {
      query.projection.append(values.generator.one(in: 5) ? .documentID : field())
    }
    return query
  }

  private mutating func bound(_ query: StructuredQuery, _ paths: [ResourcePath]) -> StructuredQuery
    .Bound?
  {
    guard values.generator.one(in: 3) else { return nil }
    var bound: [Value] = []
    // Often where a document stands.
    let document =
      known.isEmpty || values.generator.one(in: 3) ? nil : values.generator.pick(known)
    for order in query.orders.prefix(1 + values.generator.below(3)) {
      if order.field.isDocumentID {
        bound.append(document.map { .reference($0.path) } ?? name(paths))
      } else {
        bound.append(document.flatMap { value(of: order.field, in: $0.fields) } ?? value())
      }
    }
    return StructuredQuery.Bound(values: bound, isBefore: values.generator.one(in: 2))
  }

  private func value(of field: FieldSegments, in fields: MapValue) -> Value? {
    var value = Value.map(fields)
    for name in field.names {
      guard case .map(let map) = value, let next = map[name] else { return nil }
      value = next
    }
    return cleaned(value)
  }

  /// Often what some document has there.
  private mutating func operand(of field: FieldSegments) -> Value {
    guard !known.isEmpty, !values.generator.one(in: 3) else { return value() }
    return value(of: field, in: values.generator.pick(known).fields) ?? value()
  }

  private mutating func name(_ paths: [ResourcePath]) -> Value {
    .reference(
      paths.isEmpty || values.generator.one(in: 4) ? path() : values.generator.pick(paths))
  }

  /// A condition, often a composite, on what some of the documents have.
  mutating func condition(
    about world: [(path: ResourcePath, fields: MapValue)]
  ) -> StructuredQuery.Filter {
    known = world
    return filter(depth: 3, world.map(\.path), onNameOnly: false)
  }

  private mutating func filter(
    depth: Int, _ paths: [ResourcePath], onNameOnly: Bool
  ) -> StructuredQuery.Filter {
    if depth > 0, values.generator.one(in: 4) {
      let members = (0..<(2 + values.generator.below(2))).map { _ in
        filter(depth: depth - 1, paths, onNameOnly: onNameOnly)
      }
      let composite: StructuredQuery.Filter =
        values.generator.one(in: 2) ? .all(members) : .any(members)
      let shown = values.generator.one(in: 8) ? composite.unordered : composite
      return values.generator.one(in: 6) ? shown.negated : shown
    }
    let comparison = comparison(paths, onNameOnly: onNameOnly)
    let reached = values.generator.one(in: 8) ? comparison.throughArrays : comparison
    let shown = values.generator.one(in: 8) ? reached.unordered : reached
    return values.generator.one(in: 8) ? shown.negated : shown
  }

  private mutating func comparison(
    _ paths: [ResourcePath], onNameOnly: Bool
  ) -> StructuredQuery.Filter {
    if onNameOnly || values.generator.one(in: 6) {
      let kinds: [StructuredQuery.Comparison.Operator] = [
        .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .in,
        .notIn, .inSet,
      ]
      let kind = values.generator.pick(kinds)
      let operand: Value =
        kind.takesList
        ? .array((0..<(1 + values.generator.below(3))).map { _ in name(paths) }) : name(paths)
      return .comparison(
        StructuredQuery.Comparison(field: .documentID, operator: kind, operand: operand))
    }
    let kinds: [StructuredQuery.Comparison.Operator] = [
      .equal, .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual,
      .in, .notIn, .arrayContains, .arrayContainsAny, .isNull, .isNaN, .isNotNull, .isNotNaN,
    ]
    let own: [StructuredQuery.Comparison.Operator] = [
      .inSet, .arrayContainsAll, .arrayContainedIn, .hasPrefix, .hasSuffix, .containsText,
      .equalsIgnoringCase,
      .matchesPattern, .withinRegion, .withinRegion,
    ]
    let kind = values.generator.pick(values.generator.one(in: 4) ? own : kinds)
    let field = field()
    var operand = Value.null
    switch kind {
    case .hasPrefix, .hasSuffix, .containsText, .equalsIgnoringCase:
      operand = .string(text(kind, of: field))
    case .matchesPattern:
      let text = text(.hasPrefix, of: field)
      let pattern = values.generator.pick([
        "^" + NSRegularExpression.escapedPattern(for: text), "a|b", "^.$", "[a-z]+\\d*", "",
      ])
      return .comparison(
        .init(field: field, matching: pattern, options: values.generator.pick(["", "i", "s"])))
    case .withinRegion: return .comparison(.init(field: field, within: region(field)))
    case .inSet:
      // Often more than are compared one by one.
      let count = values.generator.one(in: 3) ? 40 : 1 + values.generator.below(4)
      operand = .array((0..<count).map { _ in self.operand(of: field) })
    case .arrayContainsAll:
      if case .array(let elements) = self.operand(of: field), !elements.isEmpty {
        operand = .array(elements.filter { _ in values.generator.one(in: 2) } + [elements[0]])
      } else {
        operand = .array([values.generator.pick([.integer(1), .string("a"), value()])])
      }
    case .arrayContainedIn:
      // Often a superset of what some document has there.
      var elements: [Value] = []
      for _ in 0..<(1 + values.generator.below(4)) {
        if case .array(let found) = self.operand(of: field) { elements += found }
      }
      if values.generator.one(in: 4) { elements += (0..<40).map { _ in value() } }
      operand = .array(elements + [.integer(1), value()])
    case .in, .notIn:
      operand = .array(
        (0..<(1 + values.generator.below(4))).map { _ in self.operand(of: field) })
    case .arrayContainsAny:
      operand = .array((0..<(1 + values.generator.below(4))).map { _ in value() })
    case .isNull, .isNaN, .isNotNull, .isNotNaN: break
    case .arrayContains: operand = values.generator.pick([.integer(1), .string("a"), value()])
    default: operand = self.operand(of: field)
    }
    return .comparison(StructuredQuery.Comparison(field: field, operator: kind, operand: operand))
  }

  /// Often around what some document has there.
  private mutating func region(_ field: FieldSegments) -> GeoRegion {
    var center = Coordinate(latitude: 10, longitude: 20)
    for _ in 0..<4 {
      if case .geoPoint(let point) = operand(of: field) {
        center = point
        break
      }
    }
    let size = values.generator.pick([0.0, 1, 40])
    let (south, north) = (max(-90, center.latitude - size), min(90, center.latitude + size))
    let (west, east) = (max(-180, center.longitude - size), min(180, center.longitude + size))
    switch values.generator.below(3) {
    case 0:
      return .circle(
        latitude: center.latitude, longitude: center.longitude, radiusMeters: size * 100_000)
    case 1: return .box(south: south, west: west, north: north, east: east)
    default:
      return .polygon([
        .init(latitude: -90, longitude: -170), .init(latitude: north, longitude: west / 2),
        .init(latitude: 80, longitude: 170),
      ])
    }
  }

  /// Often a part of what some document has there.
  private mutating func text(
    _ kind: StructuredQuery.Comparison.Operator, of field: FieldSegments
  ) -> String {
    guard case .string(let text) = operand(of: field) else {
      return values.generator.pick(["", "a", "A", "é", "\u{0}"])
    }
    let count = values.generator.below(text.count + 1)
    return switch kind {
    case .hasPrefix: String(text.prefix(count))
    case .hasSuffix: String(text.suffix(count))
    case .containsText: String(text.dropFirst(count).prefix(2))
    default: values.generator.one(in: 2) ? text.uppercased() : text
    }
  }

  mutating func aggregations() -> [Aggregation] {
    (0..<(1 + values.generator.below(3))).map { index in
      switch values.generator.below(9) {
      case 6: return Aggregation(.values(field()))
      case 7: return Aggregation(.distinctSum(field()))
      case 8: return Aggregation(.distinctAverage(field()))
      case 2: return Aggregation(.minimum(field()))
      case 3: return Aggregation(.maximum(field()))
      case 4: return Aggregation(.distinct(field()))
      case 0: return Aggregation(.count(upTo: values.generator.one(in: 3) ? 3 : nil))
      case 1: return Aggregation(.sum(field()))
      default: return Aggregation(.average(field()))
      }
    }
  }

  /// So many queries that the server would take.
  mutating func validQueries(
    _ count: Int, _ world: [(path: ResourcePath, fields: MapValue)]
  ) -> [StructuredQuery] {
    var queries: [StructuredQuery] = []
    while queries.count < count {
      let query = query(world)
      if (try? query.check()) != nil { queries.append(query) }
    }
    return queries
  }

  // MARK: Indexes

  /// Of single fields, of several, and some of those that the queries want; each once.
  mutating func indexes(wantedBy queries: [StructuredQuery]) -> [IndexDefinition] {
    var indexes: [IndexDefinition] = []
    func add(_ index: IndexDefinition) {
      if !indexes.contains(index.stored) { indexes.append(index.stored) }
    }
    for _ in 0..<12 {
      let count = 1 + values.generator.below(3)
      var fields: [FieldSegments] = []
      while fields.count < count {
        let field = field()
        if !fields.contains(field) { fields.append(field) }
      }
      let contained = values.generator.one(in: 3) ? values.generator.below(count) : nil
      let components = fields.enumerated().map { position, field in
        IndexDefinition.Component(
          field: field,
          kind: position == contained
            ? .contains : values.generator.one(in: 2) ? .ascending : .descending)
      }
      add(
        IndexDefinition(
          values.generator.pick(["a", "books", "b"]),
          scope: values.generator.one(in: 3) ? .group : .collection, components,
          isNameDescending: values.generator.one(in: 2)))
    }
    for query in queries where values.generator.one(in: 3) {
      for index in EffectiveQuery(query).wantedIndexes() { add(index) }
    }
    return indexes
  }
}
