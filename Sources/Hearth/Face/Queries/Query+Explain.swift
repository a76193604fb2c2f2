extension Query {
  /// Explains the query: which indexes it reads, in which order, and which index would serve it
  /// better.
  ///
  ///     print(try await books.order(by: "pages").limit(to: 20).explain(analyze: true))
  ///
  /// - Parameter analyze: Also runs the query and measures it. With
  ///   `FirestoreSettings.IndexPolicy.strict`, throws `failedPrecondition` for a query whose index
  ///   does not exist.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await explained(analyze)
  }
}

extension AggregateQuery {
  /// Explains how the aggregations are computed; see `Query.explain`.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await explained(analyze)
  }
}

extension GroupedAggregateQuery {
  /// Explains how the groups are formed; see `Query.explain`.
  ///
  ///     let groups = db.collection("books").group(by: ["author"])
  ///     print(try await groups.explain(analyze: true))
  ///
  /// An index with the fields of the groups and of the aggregations answers without documents.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await explained(analyze)
  }
}

extension IncludingQuery {
  /// Explains the query, and as `QueryExplanation.parts` what its results include; see
  /// `Query.explain`.
  ///
  ///     let books = db.collection("books").including(.reference("author"))
  ///     print(try await books.explain(analyze: true))
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await explained(analyze)
  }
}

extension Readable {
  fileprivate func explained(_ analyzes: Bool) async throws -> QueryExplanation {
    try await reporting {
      let request = ReadRequest.explanation(of: try request(in: nil), analyzes: analyzes)
      return try await query.firestore.database().backend.read(request).explanation
    }
  }
}
