extension Query {
  /// How the query is answered: which indexes are read, in which order, and what would serve it better.
  ///
  ///     print(try await books.order(by: "pages").limit(to: 20).explain(analyze: true))
  ///
  /// - Parameter analyze: Answers the query, too, and tells what that took. A database that refuses
  ///   queries without their index refuses this one all the same.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let request = ExplainRequest(query: try effective(), analyzes: analyze)
      let backend = try firestore.database().backend
      return try await backend.awaiting { backend.explain(request, .lent, $0) }
    }
  }
}

extension AggregateQuery {
  /// How the numbers are found; see `Query.explain`.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let (aggregations, effective) = try checked()
      let request = ExplainRequest(
        query: effective, aggregations: aggregations, analyzes: analyze)
      let backend = try query.firestore.database().backend
      return try await backend.awaiting { backend.explain(request, .lent, $0) }
    }
  }
}
