extension StoreView {
  /// Explains the plan of a request and, if `analyzes`, runs it.
  func explain(_ request: ReadRequest, analyzes: Bool) throws -> QueryExplanation {
    guard let asked = request.explained.query else { throw Status.otherAnswer }
    let trace = QueryTrace(isStrict: analyzes && tracing.isStrict)
    // The plan depends on the values that conditions on other results have.
    let query = try snapshot.resolved(asked, trace: trace)
    var explanation = try plan(of: query, request)
    if analyzes { try run(request, query, &explanation) }
    explanation.parts = trace.joins.map { QueryExplanation($0, analyzes: analyzes) }
    if case .joined(let joined) = request {
      explanation.parts += try explainInclusions(of: joined, analyzes: analyzes)
    }
    return explanation
  }

  private func plan(of query: EffectiveQuery, _ request: ReadRequest) throws -> QueryExplanation {
    if let explained = try snapshot.ranking(of: query)?.explanation() { return explained }
    let aggregations: [Aggregation]? =
      if case .values(let asked, _) = request { asked } else { nil }
    var needsOrder = query.needsOrder(aggregations)
    if case .groups(let groups) = request {
      if let entries = try snapshot.entries(of: groups, query, QueryTrace()) {
        return QueryExplanation(entries.run.plan, isServed: true, missing: [])
      }
      needsOrder = query.isBounded
    }
    let planner = try snapshot.planner(
      query, requiring: aggregations?.compactMap(\.field) ?? [], needsOrder: needsOrder,
      countsOnly: aggregations != nil)
    let plan = try planner.best()
    return QueryExplanation(
      plan, isServed: plan.isServed(query, needsOrder: needsOrder), missing: planner.missing)
  }

  private func run(
    _ request: ReadRequest, _ query: EffectiveQuery, _ explanation: inout QueryExplanation
  ) throws {
    let trace = QueryTrace(isStrict: tracing.isStrict)
    let start = ContinuousClock.now
    switch request {
    case .values(let aggregations, _):
      trace.found = try snapshot.aggregate(aggregations, over: query, trace: trace).count
    case .groups(let groups):
      trace.found = try snapshot.groupTotals(groups, isLive: false, trace: trace).results().count
      // The index may lack documents, which is known after the run.
      if let plan = trace.plan {
        explanation = QueryExplanation(
          plan, isServed: trace.missing.isEmpty, missing: trace.missing)
      }
    default: trace.found = try snapshot.documents(matching: query, trace: trace).count
    }
    explanation.execution = QueryExplanation.Execution(trace, ContinuousClock.now - start)
  }

  /// Explains the inclusions of a query, level by level.
  private func explainInclusions(
    of query: JoinedQuery, analyzes: Bool
  ) throws -> [QueryExplanation] {
    let levels = JoinLevels(query.inclusions).levels
    var parts: [QueryExplanation] = []
    for case .some(let relation) in levels.map(\.relation) { parts.append(try plan(of: relation)) }
    guard analyzes else { return parts }
    var level = 0
    var traces = levels.map { _ in QueryTrace(isStrict: tracing.isStrict) }
    var durations = levels.map { _ in Duration.zero }
    _ = try query.read(
      results: { try snapshot.documents(matching: $0) }, before: { level = $0 }
    ) { request in
      let start = ContinuousClock.now
      var view = self
      view.tracing.note = { traces[level] = $0 }
      let result = try view.answer(request)
      traces[level].found = result.resultCount
      if case .documents(let paths) = request { traces[level].touched.documents = paths.count }
      durations[level] = ContinuousClock.now - start
      return result
    }
    for index in parts.indices {
      parts[index].execution = .init(traces[index + 1], durations[index + 1])
    }
    return parts
  }

  private func plan(of relation: Inclusion.Relation) throws -> QueryExplanation {
    switch relation {
    case .reference(let field):
      return QueryExplanation(
        plan: "included by \(field.canonicalText): documents by name", indexes: [],
        isServed: true, missingIndexes: [])
    case .referring(let query, let field, _):
      // The path of any document serves: all have the same plan.
      let one = relation.query(referringTo: ResourcePath(["a", "a"])) ?? query
      var explanation = try explain(.results(EffectiveQuery(one)), analyzes: false)
      explanation.plan =
        "included from \(query.scope.shown) by \(field.canonicalText): \(explanation.plan)"
      return explanation
    }
  }
}

extension ReadRequest {
  /// The read whose plan an explanation has: a joined query without what its results include.
  var explained: ReadRequest {
    guard case .joined(let joined) = self else { return self }
    return .results(EffectiveQuery(whole: joined.query))
  }

  /// The query whose results are returned, aggregated or grouped; nil for another request.
  var query: EffectiveQuery? {
    switch self {
    case .results(let query, _), .values(_, over: let query): query
    case .groups(let grouped): EffectiveQuery(whole: grouped.query)
    default: nil
    }
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
