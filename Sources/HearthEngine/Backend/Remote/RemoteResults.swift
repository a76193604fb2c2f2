/// Finds the results of a query among documents that were fetched, by the engine's own comparisons.
///
///     fetched ─▶ scope, conditions ─▶ sort keys, cursors ─▶ sorted ─▶ offset, limit
///                                  │                                    └▶ distances ─▶ the nearest
///                                  └▶ words ─▶ statistics, scores ─▶ the best
struct RemoteResults {
  private let query: EffectiveQuery

  init(_ query: EffectiveQuery) { self.query = query }

  /// Whole documents, in the order of the results.
  ///
  /// - Parameter fields: Every result has these.
  func whole(
    _ documents: [StoredDocument], requiring fields: [FieldSegments] = []
  ) throws -> [StoredDocument] {
    let resolved = try resolved(documents)
    return try resolved.ranked(documents) ?? resolved.results(among: documents, requiring: fields)
  }

  /// With the values of semi-joins.
  private func resolved(_ documents: [StoredDocument]) throws -> RemoteResults {
    RemoteResults(
      try query.resolved { join in
        try join.values(of: RemoteResults(join.effectiveQuery).whole(documents))
      })
  }

  /// The documents of a ranking, the best first; nil for results in the query's order.
  private func ranked(_ documents: [StoredDocument]) throws -> [StoredDocument]? {
    switch query.question {
    case .results: return nil
    case .nearest(let nearest):
      return try nearest.nearest(among: results(among: documents, requiring: []))
    case .search(let search):
      let (found, statistics) = try matches(of: search, documents)
      return try search.ranked(found, statistics, for: query)
    }
  }

  /// In the query's order.
  private func results(
    among documents: [StoredDocument], requiring fields: [FieldSegments]
  ) throws -> [StoredDocument] {
    let keys = SortKeyEncoder(query.orders)
    var matcher = Matcher(query.filters, requiring: fields)
    let start = query.start.map { EncodedCursor($0, keys) }
    let end = query.end.map { EncodedCursor($0, keys) }
    var found: [(key: [UInt8], document: StoredDocument)] = []
    for document in documents where query.scope.contains(document.path) {
      let passes = try document.body.withBytes { body in
        try matcher.matches(MapView(body: body)) { document.path }
      }
      guard passes, let key = try keys.key(of: document) else { continue }
      if let start, !start.isBefore(key) { continue }
      if let end, end.isBefore(key) { continue }
      found.append((key, document))
    }
    found.sort { UTF8Order.compare($0.key, $1.key) < 0 }
    let results = found.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.document)
    return query.isReversed ? results.reversed() : results
  }

  /// Every match of a search, whatever the limit is, and the statistics of the scope.
  func matches(
    of search: TextSearch, _ documents: [StoredDocument]
  ) throws -> (found: [(document: StoredDocument, match: TextMatch)], statistics: TextStatistics) {
    let words = TextMatcher(search)
    var matcher = Matcher(query.filters)
    var statistics = TextStatistics(search)
    var found: [(document: StoredDocument, match: TextMatch)] = []
    for document in documents where query.scope.contains(document.path) {
      try document.body.withBytes { bytes in
        let fields = try MapView(body: bytes)
        let (match, isMatch) = try words.find(in: fields)
        statistics.add(match)
        if isMatch, try matcher.matches(fields, path: { document.path }) {
          found.append((document, match))
        }
      }
    }
    return (found, statistics)
  }

  /// The results, with the fields that the query asks for.
  func documents(
    _ documents: [StoredDocument], requiring fields: [FieldSegments] = []
  ) throws -> [StoredDocument] {
    let found = try whole(documents, requiring: fields)
    guard let projection = Projection(query.projection) else { return found }
    return try found.map { try projection.applied(to: $0) }
  }

  func aggregate(
    _ aggregations: [Aggregation], _ documents: [StoredDocument]
  ) throws -> [Value] {
    try totals(aggregations, documents, isLive: false).values
  }

  /// Over the results that have every aggregated field.
  func totals(
    _ aggregations: [Aggregation], _ documents: [StoredDocument], isLive: Bool
  ) throws -> AggregationTotals {
    var totals = AggregationTotals(aggregations, isLive: isLive)
    var (whole, documents) = (try resolved(documents), documents)
    // Only those documents of a ranking count that have the fields.
    if let ranked = try whole.ranked(documents) {
      documents = ranked
      whole = RemoteResults(EffectiveQuery(StructuredQuery(query.scope)))
    }
    for document in try whole.results(among: documents, requiring: totals.fields) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return totals
  }
}
