/// Finds the results of a query among documents that were fetched: what `MemoryAnswer` finds, by the
/// engine's own comparisons instead of the reference's.
///
///     fetched ─▶ scope, conditions ─▶ sort keys, cursors ─▶ sorted ─▶ offset, limit
struct RemoteResults {
  private let query: EffectiveQuery

  init(_ query: EffectiveQuery) { self.query = query }

  /// Whole documents, in the order of the results.
  ///
  /// - Parameter fields: Every result has these.
  func whole(
    _ documents: [StoredDocument], requiring fields: [FieldSegments] = []
  ) throws -> [StoredDocument] {
    guard query.nearest == nil, query.search == nil else {
      return try MemoryAnswer(query).whole(documents)
    }
    let resolved = try query.resolved { join in
      try join.values(of: RemoteResults(join.effectiveQuery).whole(documents))
    }
    let keys = SortKeyEncoder(resolved.orders)
    var matcher = Matcher(resolved.filters, requiring: fields)
    let start = resolved.start.map { EncodedCursor($0, keys) }
    let end = resolved.end.map { EncodedCursor($0, keys) }
    var found: [(key: [UInt8], document: StoredDocument)] = []
    for document in documents where resolved.scope.contains(document.path) {
      let passes = try document.body.withBytes { body in
        try matcher.matches(MapView(body: body)) { document.path }
      }
      guard passes, let key = try keys.key(of: document) else { continue }
      if let start, !start.isBefore(key) { continue }
      if let end, end.isBefore(key) { continue }
      found.append((key, document))
    }
    found.sort { SortKeyEncoder.compare($0.key, $1.key) < 0 }
    let results = found.dropFirst(resolved.offset).prefix(resolved.limit ?? .max).map(\.document)
    return resolved.isReversed ? results.reversed() : results
  }

  /// The results, with the fields that the query asks for.
  func documents(_ documents: [StoredDocument]) throws -> [StoredDocument] {
    let found = try whole(documents)
    guard let projection = Projection(query.projection) else { return found }
    return try found.map { try projection.applied(to: $0) }
  }

  func aggregate(
    _ aggregations: [Aggregation], _ documents: [StoredDocument]
  ) throws -> [Value] {
    guard query.limit == nil, query.offset == 0, query.nearest == nil, query.search == nil else {
      return try MemoryAnswer(query).aggregate(aggregations, documents)
    }
    return try totals(aggregations, documents, isLive: false).values
  }

  func totals(
    _ aggregations: [Aggregation], _ documents: [StoredDocument], isLive: Bool
  ) throws -> AggregationTotals {
    var totals = AggregationTotals(aggregations, isLive: isLive)
    var whole = query
    whole.projection = []
    for document in try RemoteResults(whole).whole(documents, requiring: totals.fields) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return totals
  }
}
