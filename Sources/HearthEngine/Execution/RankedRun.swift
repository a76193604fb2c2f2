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
