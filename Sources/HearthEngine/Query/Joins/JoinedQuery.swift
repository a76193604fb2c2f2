/// A query with documents that its results refer to, or that refer to them.
///
///     books ─┬─ author              the document that a field refers to
///            │    └─ publisher      of that document
///            └─ reviews where book  documents of another query, whose field refers to the result
///
/// All levels are read from one state: a level at a time, each with one batch of reads.
package struct JoinedQuery: Hashable, Sendable {
  package var query: StructuredQuery
  package var inclusions: [Inclusion]

  package init(_ query: StructuredQuery, including inclusions: [Inclusion]) {
    self.query = query
    self.inclusions = inclusions
  }

  /// Whether the result changes when time passes.
  var hasRelativeTimes: Bool {
    query.filters.hasRelativeTimes(inSemiJoins: true)
      || inclusions.contains(where: \.hasRelativeTimes)
  }

  /// The query at a time; see `StructuredQuery.resolved(at:)`.
  func resolved(at now: Instant) -> JoinedQuery {
    guard hasRelativeTimes else { return self }
    return JoinedQuery(
      query.resolved(at: now), including: inclusions.map { $0.resolved(at: now) })
  }

  /// Throws `invalidArgument` for a query that no database answers.
  package func check() throws(Status) {
    try query.check(cursorsReachImpliedOrders: true)
    guard query.question.traits.contains(.joined) else {
      throw .invalidArgument(
        "The results of a vector search, or of a search for words, do not include other documents.")
    }
    for inclusion in inclusions { try inclusion.check(depth: 1) }
  }
}

/// Documents that are included with each document of a result, or of another inclusion.
package struct Inclusion: Hashable, Sendable {
  package enum Relation: Hashable, Sendable {
    /// The documents that a field refers to: one reference, or an array of them.
    case reference(FieldSegments)
    /// The results of a query that refer to the document, in the query's order, with its limit for
    /// each document. Their field is a reference, or an array of them.
    case referring(StructuredQuery, FieldSegments, isArray: Bool)
  }

  package var relation: Relation
  package var inclusions: [Inclusion]

  package init(_ relation: Inclusion.Relation, including inclusions: [Inclusion] = []) {
    self.relation = relation
    self.inclusions = inclusions
  }

  fileprivate var hasRelativeTimes: Bool {
    if case .referring(let query, _, _) = relation,
      query.filters.hasRelativeTimes(inSemiJoins: true)
    {
      return true
    }
    return inclusions.contains(where: \.hasRelativeTimes)
  }

  fileprivate func resolved(at now: Instant) -> Inclusion {
    var resolved = self
    if case .referring(let query, let field, let isArray) = relation {
      resolved.relation = .referring(query.resolved(at: now), field, isArray: isArray)
    }
    resolved.inclusions = inclusions.map { $0.resolved(at: now) }
    return resolved
  }

  fileprivate func check(depth: Int) throws(Status) {
    guard depth <= Limits.nestedQueries else {
      throw .invalidArgument(
        "Included documents include others more than \(Limits.nestedQueries) levels deep.")
    }
    switch relation {
    case .reference(let field): try Inclusion.check(field)
    case .referring(let query, let field, _):
      try Inclusion.check(field)
      guard query.question.traits.contains(.joined) else {
        throw .invalidArgument(
          "The results of a vector search, or of a search for words, are not included.")
      }
      guard let one = relation.query(referringTo: ResourcePath(["a", "a"])) else { return }
      try one.check(cursorsReachImpliedOrders: true)
    }
    for inclusion in inclusions { try inclusion.check(depth: depth + 1) }
  }

  private static func check(_ field: FieldSegments) throws(Status) {
    try StructuredQuery.check(field: field)
    guard !field.isDocumentID else {
      throw .invalidArgument("The name of a document refers to no other document.")
    }
  }
}

extension Inclusion.Relation {
  /// The query's results that refer to one document; nil for the other kind.
  func query(referringTo path: ResourcePath) -> StructuredQuery? {
    guard case .referring(var query, let field, let isArray) = self else { return nil }
    query.add(
      .comparison(
        StructuredQuery.Comparison(
          field: field, operator: isArray ? .arrayContains : .equal, operand: .reference(path))))
    query.projection = []
    return query
  }
}

/// The levels of a joined query, the results first, then each inclusion before those inside of it.
struct JoinLevels {
  struct Level {
    /// Nil for the results.
    var relation: Inclusion.Relation?
    var children: [Int] = []
  }

  private(set) var levels = [Level()]

  init(_ inclusions: [Inclusion]) { add(inclusions, below: 0) }

  private mutating func add(_ inclusions: [Inclusion], below parent: Int) {
    for inclusion in inclusions {
      let index = levels.count
      levels.append(Level(relation: inclusion.relation))
      levels[parent].children.append(index)
      add(inclusion.inclusions, below: index)
    }
  }
}

extension StoredDocument {
  /// The documents that a field refers to: a reference, or those of an array, in order.
  func references(in field: FieldSegments) throws -> [ResourcePath] {
    try body.withView { body throws(Status) in
      guard let value = try body.value(at: field) else { return [] }
      guard var elements = try value.array() else {
        return try value.reference().map { [$0] } ?? []
      }
      var paths: [ResourcePath] = []
      for _ in 0..<elements.count {
        if let path = try elements.next().reference() { paths.append(path) }
      }
      return paths
    }
  }
}
