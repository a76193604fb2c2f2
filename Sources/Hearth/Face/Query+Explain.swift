extension Query {
  /// How the query is answered: which indexes are read, in which order, and what would serve it better.
  ///
  ///     print(try await books.order(by: "pages").limit(to: 20).explain(analyze: true))
  ///
  /// - Parameter analyze: Answers the query, too, and tells what that took. A database that refuses
  ///   queries without their index refuses this one all the same.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let query = try checked()
      return try await firestore.database().backend.explain(query, analyzes: analyze)
    }
  }
}

extension AggregateQuery {
  /// How the numbers are found; see `Query.explain`.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let (aggregations, checked) = try checked()
      return try await query.firestore.database().backend
        .explain(checked, aggregations, analyzes: analyze)
    }
  }
}
