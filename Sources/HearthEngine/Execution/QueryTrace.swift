/// The policy for one execution of a query and, afterwards, its plan and cost.
final class QueryTrace {
  /// Whether a query that indexes do not serve is refused.
  let isStrict: Bool
  let touched: ReadCounters
  /// The executed plan. Nil before execution, and if the stored document count alone was the
  /// answer.
  var plan: QueryPlan?
  /// The number of results, including those that an offset skipped.
  var found = 0

  /// The indexes that would have served the query; empty if indexes served it.
  var missing: [IndexDefinition] = []

  init(_ touched: ReadCounters = ReadCounters(), isStrict: Bool = false) {
    self.touched = touched
    self.isStrict = isStrict
  }
}
