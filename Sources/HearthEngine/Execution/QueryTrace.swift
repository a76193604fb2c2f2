/// The policy for one execution of a query and, afterwards, its plan and cost.
final class QueryTrace {
  /// Whether a query that indexes do not serve is refused.
  let isStrict: Bool
  let touched: ReadCounters
  /// The executed plan. Nil before execution, and if the stored document count alone was the
  /// answer.
  var plan: QueryPlan?
  /// The queries of its semi-joins, which were read first. Not part of `touched`.
  private(set) var joins: [Join] = []
  /// The number of results, including those that an offset skipped.
  var found = 0

  /// The indexes that would have served the query; empty if indexes served it.
  var missing: [IndexDefinition] = []

  /// One semi-join.
  struct Join {
    let join: SemiJoin
    let trace: QueryTrace
    let duration: Duration
  }

  init(_ touched: ReadCounters = ReadCounters(), isStrict: Bool = false) {
    self.touched = touched
    self.isStrict = isStrict
  }

  /// Reads the values of a semi-join with a trace of its own.
  func tracing<Values>(
    _ join: SemiJoin, _ read: (QueryTrace) throws -> Values
  ) rethrows -> Values {
    let trace = QueryTrace(isStrict: isStrict)
    let start = ContinuousClock.now
    let values = try read(trace)
    joins.append(Join(join: join, trace: trace, duration: ContinuousClock.now - start))
    return values
  }
}
