extension StoreView {
  /// Explains the inclusions of a query, level by level.
  func explainInclusions(
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
      results: { try snapshot.documents(matching: EffectiveQuery($0)) }, before: { level = $0 }
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
      // Of any document: all have the same plan.
      let one = relation.query(referringTo: ResourcePath(["a", "a"])) ?? query
      var explanation = try snapshot.explain(
        ExplainRequest(query: EffectiveQuery(one)), isStrict: false)
      explanation.plan =
        "included from \(query.scope.shown) by \(field.canonicalText): \(explanation.plan)"
      return explanation
    }
  }
}
