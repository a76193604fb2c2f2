extension Query {
  /// How the query is answered: which indexes are read, in which order, and what would serve it better.
  ///
  ///     print(try await books.order(by: "pages").limit(to: 20).explain(analyze: true))
  ///
  /// - Parameter analyze: Answers the query, too, and tells what that took. A database that refuses
  ///   queries without their index refuses this one all the same.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let query = try effective()
      let needsOrder = query.nearest == nil || query.limit != nil || query.offset > 0
      return try await firestore.database().explain(
        query, needsOrder: needsOrder, analyze: analyze
      ) { snapshot, trace in
        try snapshot.documents(matching: query, trace: trace).count
      }
    }
  }
}

extension AggregateQuery {
  /// How the numbers are found; see `Query.explain`.
  public func explain(analyze: Bool = false) async throws -> QueryExplanation {
    try await reporting {
      let (aggregations, query) = try checked()
      return try await self.query.firestore.database().explain(
        query, requiring: aggregations.compactMap(\.field),
        needsOrder: aggregations.contains { $0.field != nil }
          && (query.limit != nil || query.offset > 0), countsOnly: true, analyze: analyze
      ) { snapshot, trace in
        try snapshot.aggregate(aggregations, over: query, trace: trace).count
      }
    }
  }
}

/// How a query is answered, and what that took.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// What an answer took.
  public struct Execution: Sendable {
    /// Documents, or numbers of an aggregation.
    public var resultsReturned: Int
    public var indexEntriesTouched: Int
    public var documentsTouched: Int
    /// Keys of documents that a scan went over.
    public var keysTouched: Int
    public var duration: Duration
  }

  /// In words.
  public var plan: String
  /// The indexes that are read, as `books: author ↑, year ↓`.
  public var indexes: [String]
  /// Indexes, or names, alone tell the results: the answer costs what it returns.
  public var isServed: Bool
  /// Indexes that would serve the query, as entries of a `firestore.indexes.json`; empty if it is served.
  public var missingIndexes: [String]
  /// Nil if the query was not answered.
  public var execution: Execution?

  public var description: String {
    var lines = [plan]
    if let execution {
      let milliseconds = Double(Int(execution.duration / .microseconds(1))) / 1000
      lines.append(
        "\(execution.resultsReturned) returned in \(milliseconds) ms; touched "
          + "\(execution.indexEntriesTouched) index entries, \(execution.documentsTouched) documents, "
          + "\(execution.keysTouched) keys")
    }
    if !isServed, !missingIndexes.isEmpty {
      lines.append("An index would help: " + missingIndexes.joined(separator: ", "))
    }
    return lines.joined(separator: "\n")
  }
}

extension Database {
  fileprivate func explain(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], needsOrder: Bool,
    countsOnly: Bool = false, analyze: Bool,
    _ answer: (StoreSnapshot, QueryTrace) throws -> Int
  ) async throws -> QueryExplanation {
    await writer.settle(query.scope.readScope)
    return try store.read { snapshot in
      let plan = try snapshot.planner(
        query, requiring: fields, needsOrder: needsOrder, countsOnly: countsOnly
      ).best()
      let isServed = plan.isServed(query, needsOrder: needsOrder)
      let wanted = isServed ? [] : query.wantedIndexes(requiring: fields)
      var explanation = QueryExplanation(
        plan: plan.description, indexes: plan.indexNames, isServed: isServed,
        missingIndexes: wanted.map(\.json))
      guard analyze else { return explanation }
      let trace = QueryTrace(isStrict: indexes.policy == .strict)
      let clock = ContinuousClock()
      let start = clock.now
      let returned = try answer(snapshot, trace)
      // Never nothing.
      let duration = max(clock.now - start, .microseconds(1))
      explanation.execution = QueryExplanation.Execution(
        resultsReturned: returned,
        indexEntriesTouched: trace.touched.entries + trace.touched.probes,
        documentsTouched: trace.touched.documents + trace.touched.runDocuments,
        keysTouched: trace.touched.keys, duration: duration)
      return explanation
    }
  }
}

extension QueryPlan {
  fileprivate var indexNames: [String] {
    guard case .entries(let branches) = source else { return [] }
    var names: [String] = []
    for branch in branches {
      for index in [branch.index] + branch.followers.map(\.index)
      where !names.contains(index.definition.description) {
        names.append(index.definition.description)
      }
    }
    return names
  }
}
