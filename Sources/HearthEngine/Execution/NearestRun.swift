/// A search for the nearest vectors among the results of a query in one snapshot.
struct NearestRun: RankedRun {
  let nearest: StructuredQuery.Nearest
  let query: EffectiveQuery
  let snapshot: StoreSnapshot

  func documents(with overlay: DocumentOverlay?, _ trace: QueryTrace) throws -> [StoredDocument] {
    if let overlay {
      var found: [StoredDocument] = []
      try snapshot.forEachResult(of: query, with: overlay, trace) {
        found.append($0)
        return true
      }
      return try nearest.nearest(among: found)
    }
    let run = try snapshot.run(
      query, needsOrder: query.limit != nil || query.offset > 0, trace: trace)
    // The executor keeps the keys of documents that the query names.
    return try withExtendedLifetime(run) {
      try run.nearest(nearest, trace).map { scored in
        let path = try snapshot.path(of: scored.found)
        return try nearest.measured(snapshot.copy(scored.found, path: path), scored.distance)
      }
    }
  }

  /// The plan is that of the query.
  func explanation() throws -> QueryExplanation? { nil }
}

extension StructuredQuery.Nearest {
  /// The nearest documents, nearest first.
  func nearest(among documents: [StoredDocument]) throws -> [StoredDocument] {
    var lookup = FieldLookup(field)
    let metric = DistanceFunction(self)
    var topK = TopK<ScoredDocument<StoredDocument>>(limit: limit)
    func compare(
      _ lhs: ScoredDocument<StoredDocument>, _ rhs: ScoredDocument<StoredDocument>
    ) -> Int {
      let order = metric.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : ResourcePath.compare(lhs.found.path, rhs.found.path)
    }
    for document in documents {
      let distance = try document.body.withView { body throws(Status) in
        try lookup.find(in: body)?.vectorView().flatMap(metric.distance)
      }
      guard let distance, metric.accepts(distance) else { continue }
      try topK.add(ScoredDocument(found: document, distance: distance), by: compare)
    }
    return try topK.finish(by: compare).map { try measured($0.found, $0.distance) }
  }

  /// The document, with its distance if the search asks for it.
  func measured(_ document: StoredDocument, _ distance: Double) throws -> StoredDocument {
    try distanceField.map { try document.setting($0, to: .double(distance)) } ?? document
  }
}
