/// Answers the queries of a relation for one document after another. They differ only in the path that
/// a field equals: one plan serves all of them, if that value is a fixed part of the keys that it
/// reads.
///
///     (book ↑, stars ↓)    book == books/a  ─▶  fixed: k(books/a)
///                          book == books/b  ─▶  fixed: k(books/b), everything else the same
struct ReferringQueries {
  private let relation: Inclusion.Relation
  private let snapshot: StoreSnapshot
  /// For all queries together.
  let trace: QueryTrace
  private var last: (query: EffectiveQuery, plan: QueryPlan)?
  private var walk: ReferringWalk?

  init(_ relation: Inclusion.Relation, in snapshot: StoreSnapshot, _ trace: QueryTrace) {
    self.relation = relation
    self.snapshot = snapshot
    self.trace = trace
  }

  /// The results that refer to the document; nil if the relation has no query.
  mutating func documents(referringTo path: ResourcePath) throws -> [StoredDocument]? {
    let found: [StoredDocument]
    if let walk {
      found = try walk.documents(referringTo: path)
    } else {
      guard let query = relation.query(referringTo: path) else { return nil }
      found = try run(EffectiveQuery(query)).documents()
    }
    trace.found += found.count
    return found
  }

  private mutating func run(_ query: EffectiveQuery) throws -> QueryExecutor {
    if let last, let plan = last.plan.rebound(from: last.query, to: query) {
      self.last = (query, plan)
      return try QueryExecutor(query, in: snapshot, plan: plan, touched: trace.touched)
    }
    let run = try snapshot.run(query, trace: trace)
    if query.isResolved {
      last = (query, run.plan)
      walk = try ReferringWalk(run)
    }
    return run
  }
}

/// A walk through an index whose entries alone are the results, in order: it goes to the entries of
/// one referred document after another.
private struct ReferringWalk {
  private let run: QueryExecutor
  private let entries: IndexJoin
  private let projection: Projection?
  private let fixed: [[UInt8]]
  private let position: Int
  private let isDescending: Bool

  /// Nil if the plan reads anything else.
  init?(_ run: QueryExecutor) throws {
    guard run.plan.isExact, run.plan.isOrdered, !run.plan.mayRepeat,
      case (let branch, .fixed(let position))? = run.plan.bindingPlace(of: run.query),
      branch.rangeLists.count == 1
    else { return nil }
    self.run = run
    self.position = position
    fixed = branch.fixed
    isDescending = branch.index.definition.components[position].isDescending
    projection = Projection(run.query.projection)
    entries = try run.entries(of: branch, in: branch.rangeLists[0])
  }

  func documents(referringTo path: ResourcePath) throws -> [StoredDocument] {
    let key = Value.reference(path).componentKey
    var fixed = fixed
    fixed[position] = isDescending ? key.map { ~$0 } : key
    entries.restart(fixed: fixed)
    let query = run.query
    var skipped = 0
    var found: [StoredDocument] = []
    while found.count != query.limit, let entry = try entries.next() {
      if skipped < query.offset {
        skipped += 1
        continue
      }
      let stored = try entries.scan.document(of: entry)
      run.touched.documents += 1
      let document = try run.snapshot.copy(stored, path: run.name(of: stored).path)
      found.append(try projection?.applied(to: document) ?? document)
    }
    return query.isReversed ? found.reversed() : found
  }
}
