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
    let resolved = try query.resolved { join in
      try join.values(of: RemoteResults(join.effectiveQuery).whole(documents))
    }
    if let search = resolved.search {
      let (found, statistics) = try Self.matches(of: search, resolved, documents)
      let ranking = TextRanking(search, statistics)
      var best = SearchResults(limit: resolved.lastWanted)
      for (document, match) in found { best.add(document, ranking.score(match)) }
      return try best.documents(from: resolved.offset, search)
    }
    let found = try Self.results(of: resolved, documents, requiring: fields)
    return try resolved.nearest?.nearest(among: found) ?? found
  }

  private static func results(
    of query: EffectiveQuery, _ documents: [StoredDocument], requiring fields: [FieldSegments]
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

  /// Every match of a search, whatever its limit is, and the statistics of its scope.
  func matches(
    _ documents: [StoredDocument]
  ) throws -> (found: [StoredDocument], statistics: TextStatistics) {
    guard let search = query.search else { throw Status(.internal, "The query has no search.") }
    let (found, statistics) = try Self.matches(of: search, query, documents)
    return (found.map(\.document), statistics)
  }

  private static func matches(
    of search: TextSearch, _ query: EffectiveQuery, _ documents: [StoredDocument]
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
    var (whole, documents) = (query, documents)
    whole.projection = []
    whole.nearest = nil
    // The best results of a search, of which only those with the fields count.
    if query.search != nil {
      documents = try RemoteResults(whole).whole(documents)
      whole = EffectiveQuery(StructuredQuery(query.scope))
    }
    for document in try RemoteResults(whole).whole(documents, requiring: totals.fields) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return totals
  }
}
