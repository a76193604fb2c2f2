/// Finds the documents of a ranking in one snapshot: whole, the best first.
protocol RankedRun {
  /// - Parameter overlay: The versions that replace stored ones; nil for none.
  func documents(with overlay: DocumentOverlay?, _ trace: QueryTrace) throws -> [StoredDocument]

  /// Nil if the plan of the query is what there is to explain.
  func explanation() throws -> QueryExplanation?
}

extension StoreSnapshot {
  /// Nil for a query whose results are in its own order.
  func ranking(of query: EffectiveQuery) -> (any RankedRun)? {
    switch query.question {
    case .results: nil
    case .nearest(let nearest): NearestRun(nearest: nearest, query: query, snapshot: self)
    case .search(let search): SearchRun(search: search, query: query, snapshot: self)
    }
  }
}

extension StoredDocument {
  /// The document with one field set, as if it were stored with it.
  func setting(_ field: FieldSegments, to value: Value) throws -> StoredDocument {
    var map = try body.map()
    map.set(value, at: field.names)
    return StoredDocument(
      path: path, sequence: sequence, createTime: createTime, updateTime: updateTime,
      body: try DocumentBody(encoding: map))
  }
}
