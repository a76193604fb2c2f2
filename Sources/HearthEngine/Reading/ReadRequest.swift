/// A question that a state of a store answers. The answer is the ``ReadAnswer`` that its comment names.
///
///     let found = try await backend.read(.results(query)).results
///     let (answer, version) = …    // the same, with the state that answered
///
/// Queries have been checked. All parts of a request are answered by one state.
package enum ReadRequest: Sendable {
  /// `documents`: those at the paths, in their order; nil for one that does not exist.
  case documents(at: [ResourcePath])
  /// `results`: in the query's order, with the fields that it asks for. Only documents that have all of the fields.
  indirect case results(EffectiveQuery, requiring: [FieldSegments] = [])
  /// `part`: the first results, as whole documents, until they have about so many bytes, and whether they are all. Of
  /// a query whose results are in an order that a cursor may begin in. A state that has all results anyway answers
  /// with all.
  indirect case part(of: EffectiveQuery, bytes: Int)
  /// `values`: one for each aggregation over the results that have all aggregated fields.
  indirect case values([Aggregation], over: EffectiveQuery)
  /// `groups` of a query's results, in their order.
  indirect case groups(GroupedQuery)
  /// `joined`: the results, and the documents that they include.
  indirect case joined(JoinedQuery)
  /// `explanation` of the way results, values, groups or joined results are found; if `analyzes`, with the cost of
  /// finding them.
  indirect case explanation(of: ReadRequest, analyzes: Bool = false)
  /// `paths` of the collections directly below a document or the root, in the order of their ids.
  case collections(below: ResourcePath)
  /// `paths` of the documents of a collection in the order of their ids, with those that do not exist but have
  /// documents below them.
  case documentPaths(in: ResourcePath)
  /// `page` of all documents: the first, or the one after a position that another page has returned. In an order
  /// of the store's own, which does not change.
  case page(after: [UInt8]?, PageLimits)
  /// `count` of all documents.
  case documentCount
  /// `nothing`: for the version alone.
  case nothing

  // MARK: Parts of live results

  /// `several`, each with `results`: for each path those of `Relation.query(referringTo:)`. Only for a relation
  /// with a query.
  indirect case referring(Inclusion.Relation, to: [ResourcePath])
  /// `totals` over all documents that have the aggregated fields. Without a limit or an offset.
  indirect case totals(EffectiveQuery, [Aggregation])
  /// `groupTotals`: all groups. Without a limit or an offset of documents.
  indirect case groupTotals(GroupedQuery)
  /// `matches`: all documents with the words of a search that meet the query's conditions, whatever its limit is.
  indirect case matches(TextSearch, among: EffectiveQuery)
  /// `several`; no member is this case.
  case several([ReadRequest])

  package static func values(
    of aggregations: [Aggregation], over query: StructuredQuery
  ) -> ReadRequest {
    .values(aggregations, over: EffectiveQuery(query, aggregating: aggregations))
  }
}

/// The answer to a ``ReadRequest``.
package enum ReadAnswer: Sendable {
  case documents([StoredDocument?])
  case results([StoredDocument])
  case part([StoredDocument], isLast: Bool)
  case values([Value])
  case groups([QueryGroup])
  indirect case joined(JoinedResult)
  indirect case explanation(QueryExplanation)
  case paths([ResourcePath])
  indirect case page(DocumentPage)
  case count(Int)
  case nothing
  indirect case totals(AggregationTotals)
  indirect case groupTotals(GroupTotals)
  indirect case matches([StoredDocument], TextStatistics)
  case several([ReadAnswer])
}

/// Each throws `internal` if this is the answer to another request.
extension ReadAnswer {
  private func wanted<Part>(_ part: (ReadAnswer) -> Part?) throws(Status) -> Part {
    guard let part = part(self) else { throw .otherAnswer }
    return part
  }

  package var documents: [StoredDocument?] {
    get throws(Status) { try wanted { if case .documents(let found) = $0 { found } else { nil } } }
  }

  package var results: [StoredDocument] {
    get throws(Status) { try wanted { if case .results(let found) = $0 { found } else { nil } } }
  }

  package var part: (found: [StoredDocument], isLast: Bool) {
    get throws(Status) {
      guard case .part(let found, let isLast) = self else { throw .otherAnswer }
      return (found, isLast)
    }
  }

  package var values: [Value] {
    get throws(Status) { try wanted { if case .values(let found) = $0 { found } else { nil } } }
  }

  package var groups: [QueryGroup] {
    get throws(Status) { try wanted { if case .groups(let found) = $0 { found } else { nil } } }
  }

  package var joined: JoinedResult {
    get throws(Status) { try wanted { if case .joined(let found) = $0 { found } else { nil } } }
  }

  package var explanation: QueryExplanation {
    get throws(Status) {
      try wanted { if case .explanation(let found) = $0 { found } else { nil } }
    }
  }

  package var paths: [ResourcePath] {
    get throws(Status) { try wanted { if case .paths(let found) = $0 { found } else { nil } } }
  }

  package var page: DocumentPage {
    get throws(Status) { try wanted { if case .page(let found) = $0 { found } else { nil } } }
  }

  package var count: Int {
    get throws(Status) { try wanted { if case .count(let found) = $0 { found } else { nil } } }
  }

  /// The number of documents that exist, of values, or of groups.
  var resultCount: Int {
    switch self {
    case .documents(let documents): documents.count { $0 != nil }
    case .results(let documents): documents.count
    case .values(let values): values.count
    case .groups(let groups): groups.count
    case .several(let answers): answers.reduce(0) { $0 + $1.resultCount }
    default: 0
    }
  }

  var several: [ReadAnswer] {
    get throws(Status) { try wanted { if case .several(let found) = $0 { found } else { nil } } }
  }
}

/// The state that an answer is of.
package struct StateVersion: Hashable, Sendable {
  /// The sequence of its newest change.
  package var sequence: UInt64
  /// Reads at this time show this state, as far back as the change log goes.
  package var time: Timestamp

  package init(sequence: UInt64, time: Timestamp) {
    self.sequence = sequence
    self.time = time
  }
}

/// An answer, and the state that gave it.
package struct VersionedAnswer: Sendable {
  package internal(set) var answer: ReadAnswer
  package let version: StateVersion
  /// The cost of the query that the answer is of, if the context of the request asks for it.
  package let execution: QueryExplanation.Execution?

  init(
    _ answer: ReadAnswer, _ version: StateVersion, _ execution: QueryExplanation.Execution? = nil
  ) {
    self.answer = answer
    self.version = version
    self.execution = execution
  }
}

extension ReadRequest {
  /// The answer of a state that finds documents by name and results of queries, and for which a request that
  /// consists of these is no single question. Nil for other requests.
  ///
  /// - Parameter answer: Its answer to a request of `documents` or `results`.
  func composed(_ answer: (ReadRequest) throws -> ReadAnswer) throws -> ReadAnswer? {
    switch self {
    case .several(let requests):
      return .several(try requests.map { try $0.composed(answer) ?? answer($0) })
    case .referring(let relation, let paths):
      return .several(
        try paths.compactMap(relation.query).map { query in
          try answer(.results(EffectiveQuery(query)))
        })
    case .part(var query, _):
      query.projection = []
      return .part(try answer(.results(query)).results, isLast: true)
    case .groups(let grouped):
      return .groups(try Self.totals(of: grouped, isLive: false, answer).results())
    case .groupTotals(let grouped):
      return .groupTotals(try Self.totals(of: grouped, isLive: true, answer))
    case .joined(let joined):
      return .joined(try joined.read { try $0.composed(answer) ?? answer($0) })
    default: return nil
    }
  }

  private static func totals(
    of grouped: GroupedQuery, isLive: Bool, _ answer: (ReadRequest) throws -> ReadAnswer
  ) throws -> GroupTotals {
    var totals = GroupTotals(grouped, isLive: isLive)
    for document in try answer(.results(EffectiveQuery(whole: grouped.query))).results {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return totals
  }
}

extension Status {
  static let otherAnswer = Status(.internal, "A state gave another answer than was asked for.")
}
