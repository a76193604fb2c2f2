/// A query's conditions, prepared to test stored documents without decoding them.
///
///     all ─┬─ population > 5
///          └─ any ─┬─ tags contains "old"
///                  └─ __name__ == cities/a
///
/// The tree is one list, in pre-order; each node has the index after its last descendant.
///
/// Each user has its own copy: it remembers the usual positions of fields.
struct Matcher {
  private enum Kind { case all, any, field, name, notField, notName }

  private struct Node {
    var kind: Kind
    /// The index of the field test or name test.
    var test = 0
    /// The index after the node and its descendants.
    var end = 0
  }

  private var nodes: [Node] = []
  private var fieldTests: [FieldTest] = []
  private var nameTests: [NameTest] = []
  /// All tests are on fields and all must pass, as in most queries.
  private var isFlat = false

  /// Every document passes.
  var isEmpty: Bool { nodes.count == 1 }

  /// The values of semi-joins that are not resolved.
  private let values: [SemiJoin: ValueSet]
  /// For relative times that are not resolved.
  private let time: ReadTime?
  private let deadline: ReadDeadline?

  /// The filters must have been checked. A document must also have each of `fields`.
  ///
  /// - Parameter deadline: When a test that takes long ends with `ReadDeadline.Passed`.
  init(
    _ filters: [StructuredQuery.Filter], requiring fields: [FieldSegments] = [],
    _ values: [SemiJoin: ValueSet] = [:], at time: ReadTime? = nil,
    until deadline: ReadDeadline? = nil
  ) {
    self.deadline = deadline
    self.values = values
    self.time = time
    appendGroup(.all, filters, requiring: fields)
    isFlat = nodes.count == 1 + fieldTests.count && !nodes.contains { $0.kind == .notField }
  }

  private mutating func append(_ filter: StructuredQuery.Filter) {
    switch filter {
    case .all(let members): appendGroup(.all, members)
    case .any(let members): appendGroup(.any, members)
    case .comparison(let comparison) where comparison.field.isDocumentID:
      let kind: Kind = comparison.isNegated ? .notName : .name
      nodes.append(Node(kind: kind, test: nameTests.count, end: nodes.count + 1))
      nameTests.append(NameTest(comparison, values(of: comparison)))
    case .comparison(let comparison):
      let kind: Kind = comparison.isNegated ? .notField : .field
      nodes.append(Node(kind: kind, test: fieldTests.count, end: nodes.count + 1))
      if let values = values(of: comparison) {
        fieldTests.append(FieldTest(comparison, values))
      } else if comparison.operator.isRelative, let time {
        fieldTests.append(FieldTest(comparison, at: time))
      } else {
        fieldTests.append(FieldTest(comparison, until: deadline))
      }
    }
  }

  /// The values of a semi-join; nil for other comparisons.
  private func values(of comparison: StructuredQuery.Comparison) -> JoinedValues? {
    comparison.foundKeys.map { .found($0) }
      ?? comparison.semiJoin.flatMap { values[$0] }.map { .live($0) }
  }

  private mutating func appendGroup(
    _ kind: Kind, _ members: [StructuredQuery.Filter], requiring fields: [FieldSegments] = []
  ) {
    let start = nodes.count
    nodes.append(Node(kind: kind))
    for member in members { append(member) }
    for field in fields {
      nodes.append(Node(kind: .field, test: fieldTests.count, end: nodes.count + 1))
      fieldTests.append(FieldTest(requiring: field))
    }
    nodes[start].end = nodes.count
  }

  /// - Parameter path: The document's path; called only if a condition is on the name.
  @inline(__always)
  mutating func matches(_ body: MapView, path: () throws -> ResourcePath) throws -> Bool {
    guard isFlat else { return try holds(0, body, path) }
    for index in fieldTests.indices {
      guard try passes(index, body) else { return false }
    }
    return true
  }

  @inline(__always)
  private mutating func passes(_ index: Int, _ body: MapView) throws -> Bool {
    do throws(Status) {
      return try fieldTests[index].passes(body)
    } catch {
      if deadline != nil, error.code == .cancelled { throw ReadDeadline.Passed() }
      throw error
    }
  }

  private mutating func holds(
    _ index: Int, _ body: MapView, _ path: () throws -> ResourcePath
  ) throws -> Bool {
    let node = nodes[index]
    switch node.kind {
    case .field: return try passes(node.test, body)
    case .name: return try nameTests[node.test].passes(path())
    case .notField: return try !passes(node.test, body)
    case .notName: return try !nameTests[node.test].passes(path())
    case .all:
      var member = index + 1
      while member < node.end {
        guard try holds(member, body, path) else { return false }
        member = nodes[member].end
      }
      return true
    case .any:
      var member = index + 1
      while member < node.end {
        if try holds(member, body, path) { return true }
        member = nodes[member].end
      }
      return false
    }
  }
}

extension Matcher {
  /// Tests fields that are in no document: their name equals no other.
  mutating func matches(_ fields: MapValue) throws -> Bool {
    try DocumentBody(encoding: fields).withBytes { bytes in
      try matches(MapView(body: bytes)) { .root }
    }
  }
}

extension StructuredQuery {
  /// Returns a function that tests fields by the filters. The query must have been checked.
  package func predicate() throws(Status) -> (MapValue) throws -> Bool {
    guard !comparisons.contains(where: { $0.semiJoin != nil || $0.operator.isRelative }) else {
      throw .invalidArgument(
        "A condition on the results of a query, or relative to the time of a read, needs a query.")
    }
    var matcher = Matcher(filters)
    return { try matcher.matches($0) }
  }
}

/// One comparison of a document's name.
struct NameTest {
  private let rule: StructuredQuery.Comparison.Operator.KeyRule
  private let paths: [ResourcePath]
  /// The paths, if there are many.
  private let set: Set<ResourcePath>?
  /// Those of a semi-join.
  private let values: JoinedValues?

  init(_ comparison: StructuredQuery.Comparison, _ values: JoinedValues? = nil) {
    self.values = values
    rule = comparison.operator.traits.keys
    paths = values == nil ? comparison.comparedPaths : []
    set = paths.count > 30 ? Set(paths) : nil
  }

  func passes(_ path: ResourcePath) -> Bool {
    if let values { return values.contains(Value.reference(path).componentKey) }
    switch rule {
    case .points: return set?.contains(path) ?? paths.contains(path)
    case .exceptPoints: return !paths.isEmpty && !(set?.contains(path) ?? paths.contains(path))
    case .below(let isInclusive):
      return paths.first.map { ResourcePath.compare(path, $0) < (isInclusive ? 1 : 0) } ?? false
    case .above(let isInclusive):
      return paths.first.map { ResourcePath.compare(path, $0) > (isInclusive ? -1 : 0) } ?? false
    default: return false
    }
  }
}

extension StructuredQuery.Comparison {
  /// The paths that a comparison of the name compares with.
  var comparedPaths: [ResourcePath] {
    if let foundKeys {
      return foundKeys.map { key in
        var reader = KeyReader(key)
        guard case .reference(let path)? = try? reader.readValue() else { return nil }
        return path
      }.compactMap(\.self)
    }
    return operands.compactMap { if case .reference(let path) = $0 { path } else { nil } }
  }

  /// At least the number of those paths.
  var comparedPathCount: Int { foundKeys?.count ?? comparedPaths.count }
}
