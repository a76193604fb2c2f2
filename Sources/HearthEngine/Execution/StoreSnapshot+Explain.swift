extension StoreSnapshot {
  /// Explains the plan of a query without its inclusions and, if requested, runs it.
  func explain(_ request: ExplainRequest, isStrict: Bool) throws -> QueryExplanation {
    let trace = QueryTrace(isStrict: request.analyzes && isStrict)
    // The plan depends on the values that conditions on other results have.
    let query = try resolved(request.query, trace: trace)
    var explanation = try plan(of: query, request)
    if request.analyzes { try run(request, query, isStrict, &explanation) }
    explanation.parts = trace.joins.map { QueryExplanation($0, analyzes: request.analyzes) }
    return explanation
  }

  private func plan(
    of query: EffectiveQuery, _ request: ExplainRequest
  ) throws -> QueryExplanation {
    if let explained = try ranking(of: query)?.explanation() { return explained }
    if let groups = request.groups, let entries = try entries(of: groups, query, QueryTrace()) {
      return QueryExplanation(entries.run.plan, isServed: true, missing: [])
    }
    let needsOrder = request.needsOrder
    let planner = try planner(
      query, requiring: request.aggregations?.compactMap(\.field) ?? [], needsOrder: needsOrder,
      countsOnly: request.aggregations != nil)
    let plan = try planner.best()
    return QueryExplanation(
      plan, isServed: plan.isServed(query, needsOrder: needsOrder), missing: planner.missing)
  }

  private func run(
    _ request: ExplainRequest, _ query: EffectiveQuery, _ isStrict: Bool,
    _ explanation: inout QueryExplanation
  ) throws {
    let trace = QueryTrace(isStrict: isStrict)
    let start = ContinuousClock.now
    if let aggregations = request.aggregations {
      trace.found = try aggregate(aggregations, over: query, trace: trace).count
    } else if let groups = request.groups {
      trace.found = try groupTotals(groups, isLive: false, trace: trace).results().count
      // The index may lack documents, which is known after the run.
      if let plan = trace.plan {
        explanation = QueryExplanation(
          plan, isServed: trace.missing.isEmpty, missing: trace.missing)
      }
    } else {
      trace.found = try documents(matching: query, trace: trace).count
    }
    explanation.execution = QueryExplanation.Execution(trace, ContinuousClock.now - start)
  }
}

extension ExplainRequest {
  fileprivate var needsOrder: Bool {
    let isBounded = query.limit != nil || query.offset > 0
    if let aggregations { return aggregations.contains { $0.field != nil } && isBounded }
    return groups == nil && query.question.traits.contains(.ordered) || isBounded
  }
}

extension QueryExplanation {
  fileprivate init(_ plan: QueryPlan, isServed: Bool, missing: [IndexDefinition]) {
    self.init(
      plan: plan.description, indexes: plan.indexNames, isServed: isServed,
      missingIndexes: isServed ? [] : missing.map(\.json))
  }

  /// The query of a semi-join, which has run.
  fileprivate init(_ join: QueryTrace.Join, analyzes: Bool) {
    let trace = join.trace
    let plan = trace.plan?.description ?? ""
    self.init(
      plan:
        "condition on \(join.join.field.canonicalText) in \(join.join.query.scope.shown): \(plan)",
      indexes: trace.plan?.indexNames ?? [], isServed: trace.missing.isEmpty,
      missingIndexes: trace.missing.map(\.json))
    if analyzes { execution = Execution(trace, join.duration) }
    parts = trace.joins.map { QueryExplanation($0, analyzes: analyzes) }
  }
}

extension QueryExplanation.Execution {
  /// - Parameter duration: With that of the semi-joins.
  init(_ trace: QueryTrace, _ duration: Duration) {
    let own = trace.joins.reduce(duration) { $0 - $1.duration }
    self.init(
      resultsReturned: trace.found,
      indexEntriesRead: trace.touched.entries + trace.touched.probes,
      documentsRead: trace.touched.documents + trace.touched.runDocuments,
      keysRead: trace.touched.keys, duration: max(own, .microseconds(1)))
  }
}

extension StructuredQuery.Scope {
  var shown: String {
    switch self {
    case .collection(let path): path.text
    case .group(let id, _): "all \(id)"
    case .subtree: "all documents"
    }
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
