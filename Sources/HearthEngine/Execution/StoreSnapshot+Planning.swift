/// What an answer may do; then how it was found and what it took.
final class QueryTrace {
  /// A query that indexes do not serve is refused.
  let isStrict: Bool
  let touched: ReadCounters
  /// The plan that was followed; nil before, and where the catalogue of collections alone answered.
  var plan: QueryPlan?
  /// How many results there were, those an offset skipped included.
  var found = 0

  /// The indexes that would have served the query, if none did.
  fileprivate(set) var missing: [IndexDefinition] = []

  init(_ touched: ReadCounters = ReadCounters(), isStrict: Bool = false) {
    self.touched = touched
    self.isStrict = isStrict
  }
}

extension StoreSnapshot {
  /// Knows the indexes that this transaction may read.
  ///
  /// - Parameters:
  ///   - needsOrder: False where any order will do.
  ///   - countsOnly: True where entries will do for documents.
  func planner(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], needsOrder: Bool = true,
    countsOnly: Bool = false, touched: ReadCounters = ReadCounters()
  ) throws -> Planner {
    var indexes: [StoredIndex] = []
    var documentCount = 0
    var collection: ResourcePath?
    switch query.scope {
    case .subtree: break
    case .collection(let path):
      collection = path
      indexes = try self.indexes().readable(.collection, of: path.id)
      if !indexes.isEmpty {
        documentCount = Int(clamping: try self.documentCount(inCollection: path))
      }
    case .group(let id, _):
      indexes = try self.indexes().readable(.group, of: id)
      if !indexes.isEmpty { documentCount = try lmdb.statistics(tables.documents).entries }
    }
    let statistics = PlanStatistics(documentCount: documentCount) { plan, range, limit in
      let probe = ReadCounters()
      let stream = try IndexJoin(
        plan, EntryPlan.RangeList(ranges: [range]), in: self, collection: collection, touched: probe
      )
      var count = 0
      while count < limit, try stream.next() != nil { count += 1 }
      touched.probes += probe.entries
      return count
    }
    return Planner(
      query, requiring: fields, indexes: indexes, statistics: statistics, needsOrder: needsOrder,
      countsOnly: countsOnly)
  }

  /// The cheapest way to answer.
  func run(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], needsOrder: Bool = true,
    countsOnly: Bool = false, trace: QueryTrace = QueryTrace()
  ) throws -> QueryExecutor {
    let planner = try planner(
      query, requiring: fields, needsOrder: needsOrder, countsOnly: countsOnly,
      touched: trace.touched)
    let plan = try planner.best()
    trace.plan = plan
    if !plan.isServed(query, needsOrder: needsOrder) { trace.missing = planner.missing }
    if trace.isStrict, !trace.missing.isEmpty { throw Status.requires(trace.missing) }
    return try QueryExecutor(
      query, in: self, requiring: fields, plan: plan, touched: trace.touched)
  }
}

extension Status {
  /// Names the indexes so that they can be pasted.
  fileprivate static func requires(_ indexes: [IndexDefinition]) -> Status {
    Status(
      .failedPrecondition,
      "The query requires an index. Declare it, or add it to firestore.indexes.json: "
        + indexes.map(\.json).joined(separator: ", "))
  }
}
