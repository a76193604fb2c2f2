/// Answers queries within a transaction: plan, execute, project.
extension StoreSnapshot {
  /// The query's results, copied, in the query's order and projection.
  ///
  /// - Parameters:
  ///   - fields: Every result has these. Empty for a ranking.
  ///   - overlay: The versions that replace stored ones; nil for none.
  func documents(
    matching query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    with overlay: DocumentOverlay? = nil, trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    var found: [StoredDocument] = []
    if let ranking = ranking(of: query) {
      found = try ranking.documents(with: overlay, trace)
    } else if let overlay {
      try forEachResult(of: query, requiring: fields, with: overlay, trace) {
        found.append($0)
        return true
      }
      if query.isReversed { found.reverse() }
    } else {
      found = try run(query, requiring: fields, trace: trace).documents()
      trace.found = found.count + query.offset
      return found
    }
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

  // MARK: Plans

  /// A planner with the indexes that this transaction may read.
  ///
  /// - Parameters:
  ///   - needsOrder: False if results may come in any order.
  ///   - countsOnly: True if entries suffice and documents are not needed.
  func planner(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], needsOrder: Bool = true,
    countsOnly: Bool = false, touched: ReadCounters = ReadCounters()
  ) throws -> Planner {
    let collection = query.scope.collection
    let indexes =
      try query.scope.indexed.map { try self.indexes().readable($0.scope, of: $0.id) } ?? []
    var documentCount = 0
    if !indexes.isEmpty {
      documentCount =
        try collection.map { Int(clamping: try self.documentCount(inCollection: $0)) }
        ?? lmdb.statistics(tables.documents).entries
    }
    return Planner(
      query, requiring: fields, indexes: indexes, documentCount: documentCount,
      needsOrder: needsOrder, countsOnly: countsOnly
    ) { plan, ranges, limit in
      let probe = ReadCounters()
      let stream = try IndexJoin(
        plan, ranges, in: self, collection: collection, touched: probe)
      let counts = try stream.counts(upTo: limit)
      touched.probes += probe.entries
      return counts
    }
  }

  /// An executor with the cheapest plan: a remembered one, or that of the planner. Throws
  /// `failedPrecondition` if the trace is strict and the query needs an index that is missing or not
  /// ready.
  func run(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], needsOrder: Bool = true,
    countsOnly: Bool = false, trace: QueryTrace = QueryTrace()
  ) throws -> QueryExecutor {
    let query = query.isResolved ? query : try resolved(query, trace: trace)
    let shape = PlanMemory.Shape(
      query, requiring: fields, needsOrder: needsOrder, countsOnly: countsOnly)
    let memory = try shape.map { _ in try planMemory() }
    let plan: QueryPlan
    if let shape, let known = memory?.plan(for: query, shape) {
      plan = known
    } else {
      let planner = try planner(
        query, requiring: fields, needsOrder: needsOrder, countsOnly: countsOnly,
        touched: trace.touched)
      plan = try planner.best()
      if !plan.isServed(query, needsOrder: needsOrder) { trace.missing = planner.missing }
      if let shape { memory?.remember(plan, for: query, shape, needsOrder: needsOrder) }
    }
    trace.plan = plan
    if trace.isStrict, !trace.missing.isEmpty { throw Status.requires(trace.missing) }
    return try QueryExecutor(
      query, in: self, requiring: fields, plan: plan, touched: trace.touched)
  }
}

extension StoreSnapshot {
  /// The plans for the indexes of this transaction.
  private func planMemory() throws -> PlanMemory {
    let generation = try indexGeneration()
    return store.planMemory.memory(of: generation) { PlanMemory(generation: generation) }
  }

  /// The query at the present, with the values of its semi-joins.
  func resolved(
    _ query: EffectiveQuery, trace: QueryTrace = QueryTrace()
  ) throws -> EffectiveQuery {
    try query.resolved(at: store.configuration.now()).resolved { join in
      try trace.tracing(join) { try values(of: join, $0) }
    }
  }

  private func values(of join: SemiJoin, _ trace: QueryTrace) throws -> SemiJoin.Values {
    let inner = join.effectiveQuery
    let readsField = !inner.isBounded && !join.field.isDocumentID
    let run = try run(
      inner, requiring: join.required, needsOrder: inner.isBounded, countsOnly: readsField,
      trace: trace)
    var values = KeyCollector()
    if readsField, let positions = run.plan.positions(of: join.field) {
      try run.forEachEntry { branch, stream, entry in
        trace.found += 1
        let isValue = try stream.withKey(of: positions[branch], in: entry) { values.add($0) }
        if !isValue {
          // An array: each of its elements is a value.
          try join.forEachKey(of: stream.scan.fields(of: entry), at: { .root }) { values.add($0) }
        }
        return true
      }
      return .keys(values.finish())
    }
    try run.forEachUnordered { entry, fields in
      trace.found += 1
      try join.forEachKey(of: fields, at: { try path(of: entry) }) { values.add($0) }
      return true
    }
    return .keys(values.finish())
  }

  /// Same as `resolved`, in another state, whose results `find` returns.
  func resolved(
    _ query: EffectiveQuery, _ find: (EffectiveQuery) throws -> [StoredDocument]
  ) throws -> EffectiveQuery {
    try query.resolved(at: store.configuration.now()).resolved { join in
      try join.values(of: find(join.effectiveQuery))
    }
  }
}
