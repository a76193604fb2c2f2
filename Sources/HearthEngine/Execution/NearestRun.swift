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
    let run = try snapshot.run(query, needsOrder: query.isBounded, trace: trace)
    // The executor keeps the keys of documents that the query names.
    return try withExtendedLifetime(run) {
      let found = try nearest.nearest(by: run.compareNames) { look in
        try run.forEachUnordered { entry, fields in
          trace.found += 1
          try look(entry, fields)
          return true
        }
      }
      return try found.map { entry, distance in
        let path = try snapshot.path(of: entry)
        return try nearest.measured(snapshot.copy(entry, path: path), distance)
      }
    }
  }

  /// The plan is that of the query.
  func explanation() throws -> QueryExplanation? { nil }
}

extension StructuredQuery.Nearest {
  /// The nearest documents, nearest first.
  func nearest(among documents: [StoredDocument]) throws -> [StoredDocument] {
    try nearest(by: { ResourcePath.compare($0.path, $1.path) }) { look in
      for document in documents {
        try document.body.withBytes { try look(document, MapView(body: $0)) }
      }
    }.map(measured)
  }

  /// The nearest documents and their distances, nearest first.
  ///
  /// - Parameters:
  ///   - compareNames: The order of documents with one distance.
  ///   - walk: Calls its argument with every document and its fields.
  fileprivate func nearest<Found>(
    by compareNames: @escaping (Found, Found) throws -> Int,
    _ walk: (_ look: (Found, MapView) throws -> Void) throws -> Void
  ) throws -> [(found: Found, distance: Double)] {
    typealias Measured = (found: Found, distance: Double)
    var lookup = FieldLookup(field)
    let metric = DistanceFunction(self)
    var topK = TopK<Measured>(limit: limit)
    func compare(_ lhs: Measured, _ rhs: Measured) throws -> Int {
      let order = metric.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : try compareNames(lhs.found, rhs.found)
    }
    try walk { found, fields in
      guard let vector = try lookup.find(in: fields)?.vectorView(),
        let distance = metric.distance(to: vector), metric.accepts(distance)
      else { return }
      try topK.add((found, distance), by: compare)
    }
    return try topK.finish(by: compare)
  }

  /// The document, with its distance if the search asks for it.
  func measured(_ document: StoredDocument, _ distance: Double) throws -> StoredDocument {
    try distanceField.map { try document.setting($0, to: .double(distance)) } ?? document
  }
}
