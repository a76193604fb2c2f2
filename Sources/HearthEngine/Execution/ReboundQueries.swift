/// Runs queries that differ only in the operand of their last filter, an equality: one plan serves
/// all of them, if that value is a fixed part of the keys that it reads.
///
///     (book ↑, stars ↓)    book == books/a  ─▶  fixed: k(books/a)
///                          book == books/b  ─▶  fixed: k(books/b), everything else the same
struct ReboundQueries {
  private let snapshot: StoreSnapshot
  private var last: (query: EffectiveQuery, plan: QueryPlan)?

  init(_ snapshot: StoreSnapshot) { self.snapshot = snapshot }

  /// An executor for the next of the queries.
  mutating func run(_ query: EffectiveQuery, _ trace: QueryTrace) throws -> QueryExecutor {
    if let last, let plan = last.plan.rebound(from: last.query, to: query) {
      self.last = (query, plan)
      trace.plan = plan
      return try QueryExecutor(query, in: snapshot, plan: plan, touched: trace.touched)
    }
    let run = try snapshot.run(query, trace: trace)
    last = !query.isResolved ? nil : (query, run.plan)
    return run
  }
}

extension QueryPlan {
  /// This plan for a query whose last filter, an equality, has another operand. Nil if the plan has
  /// the value anywhere else than in the fixed components, or if it would not be the best plan for
  /// many entries.
  fileprivate func rebound(from old: EffectiveQuery, to new: EffectiveQuery) -> QueryPlan? {
    guard isOrdered || old.limit == nil, old.start == nil, old.end == nil,
      case .entries(let branches) = source, branches.count == 1, var branch = branches.first,
      branch.joined.isEmpty, branch.condition == old.filters,
      case .comparison(let before)? = old.filters.last,
      case .comparison(let after)? = new.filters.last,
      [.equal, .arrayContains].contains(before.operator), before.operator == after.operator,
      old.filters.dropLast().allSatisfy({ filter in
        // Another condition on the field would restrict its values further.
        guard case .comparison(let other) = filter else { return false }
        return other.field != before.field
      })
    else { return nil }
    let components = branch.index.definition.components
    guard let position = components.firstIndex(where: { $0.field == before.field }),
      position < branch.fixed.count, components.count(where: { $0.field == before.field }) == 1
    else { return nil }
    let key = after.operand.componentKey
    branch.fixed[position] = components[position].isDescending ? key.map { ~$0 } : key
    branch.condition = new.filters
    var plan = self
    plan.source = .entries([branch])
    return plan
  }
}
