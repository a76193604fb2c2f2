/// Questions to an open database: planned, counted, and told to whoever learns from them.
extension Database {
  /// A query's results as of the newest commit and every write handed over before.
  func documents(matching query: EffectiveQuery) async throws -> [StoredDocument] {
    await writer.settle(query.scope.readScope)
    return try store.read { try documents(matching: query, in: $0) }
  }

  func documents(
    matching query: EffectiveQuery, in snapshot: StoreSnapshot
  ) throws -> [StoredDocument] {
    try tracing { try snapshot.documents(matching: query, trace: $0) }
  }

  /// The results, each made of its bytes where they are stored.
  func decoded<Model>(
    matching query: EffectiveQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) async throws -> [Model] {
    await writer.settle(query.scope.readScope)
    return try store.read { snapshot in
      try tracing { trace in
        try snapshot.decoded(matching: query, trace: trace, isParallel: isParallel, decode)
      }
    }
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery, in snapshot: StoreSnapshot
  ) throws -> [Value] {
    try tracing { try snapshot.aggregate(aggregations, over: query, trace: $0) }
  }

  /// Follows the policy, and tells the advisor.
  func tracing<Answer>(_ body: (QueryTrace) throws -> Answer) throws -> Answer {
    let trace = QueryTrace(isStrict: indexes.policy == .strict)
    let answer = try body(trace)
    if indexes.advisor.isLearning { indexes.note(trace) }
    return answer
  }
}

extension IndexKeeper {
  /// Tells the advisor what an answer took.
  func note(_ trace: QueryTrace) {
    if case .entries(let branches)? = trace.plan?.source {
      for branch in branches {
        advisor.note(use: branch.index)
        for follower in branch.followers { advisor.note(use: follower.index) }
      }
    }
    let touched = trace.touched.documents + trace.touched.entries
    for index in trace.missing {
      advisor.note(missing: index, touched: touched, returned: trace.found)
    }
  }
}
