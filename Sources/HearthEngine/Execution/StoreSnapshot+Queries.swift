/// Answers queries within a transaction: plan, execute, project.
extension StoreSnapshot {
  /// The query's results, copied, in the query's order and projection.
  ///
  /// - Parameter fields: Every result has these. Empty for a ranking.
  func documents(
    matching query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    guard let ranking = ranking(of: query) else {
      let found = try run(query, requiring: fields, trace: trace).documents()
      trace.found = found.count + query.offset
      return found
    }
    let found = try ranking.documents(trace)
    guard let projection = Projection(query.projection) else { return found }
    return try found.map { try projection.applied(to: $0) }
  }

  /// The decoded results, in the query's order and projection.
  ///
  /// - Parameter isParallel: Many results are decoded by several threads: all of them call
  ///   `decode`, and `Model` must be `Sendable`.
  func decoded<Model>(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(), isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) throws -> [Model] {
    guard ranking(of: query) == nil, query.projection.isEmpty else {
      return try documents(matching: query, trace: trace).map { document in
        try deadline?.check()
        return try document.body.withBytes { try decode(.path(document.path), StoredBody($0)) }
      }
    }
    let models = try run(query, trace: trace).decoded(isParallel: isParallel, decode)
    trace.found = query.offset + models.count
    return models
  }
}
