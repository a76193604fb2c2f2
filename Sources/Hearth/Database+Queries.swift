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
    try tracing(query) { try snapshot.documents(matching: query, trace: $0) }
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery, in snapshot: StoreSnapshot
  ) throws -> [Value] {
    try tracing(query) { try snapshot.aggregate(aggregations, over: query, trace: $0) }
  }

  /// Follows the policy, and tells the advisor.
  private func tracing<Answer>(
    _ query: EffectiveQuery, _ body: (QueryTrace) throws -> Answer
  ) throws -> Answer {
    let trace = QueryTrace(isStrict: indexes.policy == .strict)
    let answer = try body(trace)
    indexes.note(query, trace)
    return answer
  }
}

extension IndexKeeper {
  /// Tells the advisor what an answer took.
  func note(_ query: EffectiveQuery, _ trace: QueryTrace) {
    guard advisor.isLearning else { return }
    if case .entries(let branches)? = trace.plan?.source {
      for branch in branches {
        advisor.note(use: branch.index)
        for follower in branch.followers { advisor.note(use: follower.index) }
      }
    }
    let touched = trace.touched.documents + trace.touched.entries
    // Not even looked at for what was quick.
    guard !trace.isServed, touched > IndexAdvisor.documentsRead else { return }
    for index in query.wantedIndexes(requiring: trace.required) {
      advisor.note(missing: index, touched: touched, returned: trace.found)
    }
  }
}
