#if DEBUG
  @testable import HearthEngine

  /// Evaluates a query on documents.
  struct MemoryAnswer {
    let query: EffectiveQuery
    private let reference: ReferenceQuery

    init(_ query: EffectiveQuery) {
      self.query = query
      reference = ReferenceQuery(query: query.structured)
    }

    /// Whole documents, in the order of the results; for a nearest-neighbour query, with the
    /// distance.
    func whole(_ documents: some Sequence<StoredDocument>) throws -> [StoredDocument] {
      if query.filters.hasSemiJoins { return try resolved(documents).whole(documents) }
      switch query.question {
      case .results: return try results(documents).map(\.document)
      case .nearest(let nearest): return try ranked(nearest, documents)
      case .search(let search): return try ranked(search, documents)
      }
    }

    /// In the query's order.
    private func results(
      _ documents: some Sequence<StoredDocument>
    ) throws -> [(document: StoredDocument, fields: ReferenceQuery.Document)] {
      var byPath: [ResourcePath: StoredDocument] = [:]
      var candidates: [ReferenceQuery.Document] = []
      for document in documents where query.scope.contains(document.path) {
        byPath[document.path] = document
        candidates.append(ReferenceQuery.Document((document.path, try document.body.map())))
      }
      let found = reference.results(among: candidates)
      try candidates.checkTests()
      return found.compactMap { fields in byPath[fields.path].map { ($0, fields) } }
    }

    private func ranked(
      _ nearest: StructuredQuery.Nearest, _ documents: some Sequence<StoredDocument>
    ) throws -> [StoredDocument] {
      var measured: [(document: StoredDocument, distance: Double)] = []
      for (document, fields) in try results(documents) {
        guard case .vector(let vector)? = fields.find(nearest.field)?.value,
          let distance = nearest.distance(to: vector)
        else { continue }
        let returned =
          try nearest.distanceField.map { try document.setting($0, to: .double(distance)) }
          ?? document
        measured.append((returned, distance))
      }
      let isProduct = nearest.measure == .dotProduct
      measured.sort { one, other in
        if one.distance != other.distance {
          return isProduct ? one.distance > other.distance : one.distance < other.distance
        }
        return ResourcePath.compare(one.document.path, other.document.path) < 0
      }
      return measured.prefix(nearest.limit).map(\.document)
    }

    /// Every match of a search, and the statistics of all documents of its scope.
    func matches(
      of search: TextSearch, _ documents: some Sequence<StoredDocument>
    ) throws -> (found: [(document: StoredDocument, match: TextMatch)], statistics: TextStatistics)
    {
      var all = EffectiveQuery(StructuredQuery(query.scope))
      all.filters = query.filters
      let reference = ReferenceQuery(query: all.structured)
      let words = TextMatcher(search)
      var statistics = TextStatistics(search)
      var found: [(document: StoredDocument, match: TextMatch)] = []
      for document in documents where query.scope.contains(document.path) {
        let (match, isMatch) = try document.body.withBytes { try words.find(in: MapView(body: $0)) }
        statistics.add(match)
        let candidate = ReferenceQuery.Document((document.path, try document.body.map()))
        if isMatch, !reference.results(among: [candidate]).isEmpty {
          found.append((document, match))
        }
        try [candidate].checkTests()
      }
      return (found, statistics)
    }

    private func ranked(
      _ search: TextSearch, _ documents: some Sequence<StoredDocument>
    ) throws -> [StoredDocument] {
      let (found, statistics) = try matches(of: search, documents)
      let ranking = TextRanking(search, statistics)
      let scored = found.map { (document: $0.document, score: ranking.score($0.match)) }
        .sorted { one, other in
          if one.score != other.score { return one.score > other.score }
          return ResourcePath.compare(one.document.path, other.document.path) < 0
        }
      return try scored.dropFirst(query.offset).prefix(query.limit ?? .max)
        .map { try search.scored($0.document, $0.score) }
    }

    /// With the values of semi-joins.
    private func resolved(_ documents: some Sequence<StoredDocument>) throws -> MemoryAnswer {
      MemoryAnswer(
        try query.resolved { join in
          try join.values(of: MemoryAnswer(join.effectiveQuery).whole(documents))
        })
    }

    func documents(_ documents: some Sequence<StoredDocument>) throws -> [StoredDocument] {
      let found = try whole(documents)
      if query.projection.isEmpty { return found }
      var shown: [StoredDocument] = []
      for document in found {
        let fields = reference.projected(try document.body.map())
        shown.append(
          StoredDocument(
            path: document.path, sequence: document.sequence, createTime: document.createTime,
            updateTime: document.updateTime, body: try DocumentBody(encoding: fields)))
      }
      return shown
    }

    func aggregate(
      _ aggregations: [Aggregation], _ documents: some Sequence<StoredDocument>
    ) throws -> [Value] {
      if query.filters.hasSemiJoins {
        return try resolved(documents).aggregate(aggregations, documents)
      }
      guard case .results = query.question else {
        let plain = EffectiveQuery(StructuredQuery(query.scope))
        return try MemoryAnswer(plain).aggregate(aggregations, whole(documents))
      }
      var candidates: [ReferenceQuery.Document] = []
      for document in documents where query.scope.contains(document.path) {
        candidates.append(ReferenceQuery.Document((document.path, try document.body.map())))
      }
      let values = reference.aggregate(aggregations, candidates)
      try candidates.checkTests()
      return values
    }
  }

  extension EffectiveQuery {
    /// A structured query with the same results.
    fileprivate var structured: StructuredQuery {
      var query = StructuredQuery(scope)
      query.filters = filters
      query.orders = orders
      query.start = start
      query.end = end
      query.limit = limit
      query.offset = offset
      query.isLimitToLast = isReversed
      query.projection = projection
      guard isReversed else { return query }
      for index in query.orders.indices { query.orders[index].isDescending.toggle() }
      (query.start, query.end) = (end?.turned, start?.turned)
      return query
    }
  }

  extension StructuredQuery.Nearest {
    /// Nil for a vector of another dimension, without a distance, or beyond the threshold.
    fileprivate func distance(to other: [Double]) -> Double? {
      guard other.count == vector.count else { return nil }
      let product = zip(vector, other).reduce(0) { $0 + $1.0 * $1.1 }
      let distance: Double
      switch measure {
      case .dotProduct: distance = product
      case .euclidean:
        distance = zip(vector, other).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
      case .cosine:
        let lengths =
          vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
          * other.reduce(0) { $0 + $1 * $1 }.squareRoot()
        guard lengths > 0 else { return nil }
        distance = 1 - product / lengths
      }
      guard let threshold else { return distance }
      return measure == .dotProduct
        ? (distance >= threshold ? distance : nil) : (distance <= threshold ? distance : nil)
    }
  }
#endif
