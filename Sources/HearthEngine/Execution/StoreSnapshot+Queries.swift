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
}

extension StoreSnapshot {
  /// Calls `body` with the name and the fields of every result, in the query's order and
  /// projection. Borrowed from the file where possible.
  func forEachBody(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(),
    _ body: (StoredName, StoredBody) throws -> Void
  ) throws {
    guard ranking(of: query) == nil, query.projection.isEmpty else {
      for document in try documents(matching: query, trace: trace) {
        try deadline?.check()
        try document.body.withBytes { try body(.path(document.path), StoredBody($0)) }
      }
      return
    }
    trace.found = query.offset
    try run(query, trace: trace).forEachBody { name, fields in
      trace.found += 1
      try body(name, fields)
    }
  }

  /// The decoded results, in the query's order.
  ///
  /// - Parameter isParallel: Many results are decoded by several threads: all of them call
  ///   `decode`, and `Model` must be `Sendable`.
  func decoded<Model>(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(), isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) throws -> [Model] {
    var models: [Model] = []
    guard isParallel, store.configuration.scanThreads > 1, deadline?.isSoon != true,
      ranking(of: query) == nil, query.projection.isEmpty
    else {
      try forEachBody(matching: query, trace: trace) { models.append(try decode($0, $1)) }
      return models
    }
    trace.found = query.offset
    try run(query, trace: trace).forEachDecoded(decode) { chunk in
      trace.found += chunk.count
      // Most results fit in one chunk, which is not copied.
      if models.isEmpty { models = chunk } else { models += chunk }
    }
    return models
  }
}
