/// Explains the plan of a query and, if requested, runs it.
extension StoreSnapshot {
  func explain(_ request: ExplainRequest, isStrict: Bool) throws -> QueryExplanation {
    let query = try resolved(request.query)
    let aggregations = request.aggregations
    if let search = query.search {
      return try explain(search, query, aggregations, request.analyzes, isStrict)
    }
    let isBounded = query.limit != nil || query.offset > 0
    let needsOrder =
      if let aggregations {
        aggregations.contains { $0.field != nil } && isBounded
      } else {
        query.nearest == nil || isBounded
      }
    let planner = try planner(
      query, requiring: aggregations?.compactMap(\.field) ?? [], needsOrder: needsOrder,
      countsOnly: aggregations != nil)
    let plan = try planner.best()
    let isServed = plan.isServed(query, needsOrder: needsOrder)
    var explanation = QueryExplanation(
      plan: plan.description, indexes: plan.indexNames, isServed: isServed,
      missingIndexes: isServed ? [] : planner.missing.map(\.json))
    guard request.analyzes else { return explanation }
    explanation.execution = try run(query, aggregations, isStrict)
    return explanation
  }

  private func run(
    _ query: EffectiveQuery, _ aggregations: [Aggregation]?, _ isStrict: Bool
  ) throws -> QueryExplanation.Execution {
    let trace = QueryTrace(isStrict: isStrict)
    let clock = ContinuousClock()
    let start = clock.now
    let returned =
      if let aggregations {
        try aggregate(aggregations, over: query, trace: trace).count
      } else {
        try documents(matching: query, trace: trace).count
      }
    // Never zero.
    let duration = max(clock.now - start, .microseconds(1))
    return QueryExplanation.Execution(
      resultsReturned: returned,
      indexEntriesRead: trace.touched.entries + trace.touched.probes,
      documentsRead: trace.touched.documents + trace.touched.runDocuments,
      keysRead: trace.touched.keys, duration: duration)
  }

  private func explain(
    _ search: TextSearch, _ query: EffectiveQuery, _ aggregations: [Aggregation]?,
    _ analyzes: Bool, _ isStrict: Bool
  ) throws -> QueryExplanation {
    let index = try index(for: query, search)
    var explanation = QueryExplanation(
      plan: index.map { "index (\($0.definition)), best scores first" }
        ?? "every document of the scope",
      indexes: index.map { [$0.definition.description] } ?? [], isServed: index != nil,
      missingIndexes: index == nil ? query.wantedIndexes().map(\.json) : [])
    if analyzes { explanation.execution = try run(query, aggregations, isStrict) }
    return explanation
  }
}

extension QueryPlan {
  fileprivate var indexNames: [String] {
    guard case .entries(let branches) = source else { return [] }
    var names: [String] = []
    for branch in branches {
      for index in [branch.index] + branch.joined.map(\.index)
      where !names.contains(index.definition.description) {
        names.append(index.definition.description)
      }
    }
    return names
  }
}
