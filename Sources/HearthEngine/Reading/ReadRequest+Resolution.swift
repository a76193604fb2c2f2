extension ReadRequest {
  /// The same request at a time: its queries have no relative times.
  func resolved(at time: Instant) -> ReadRequest {
    switch self {
    case .results(let query, let fields):
      .results(query.resolved(at: time, inSemiJoins: true), requiring: fields)
    case .part(let query, let bytes):
      .part(of: query.resolved(at: time, inSemiJoins: true), bytes: bytes)
    case .values(let aggregations, let query):
      .values(aggregations, over: query.resolved(at: time, inSemiJoins: true))
    case .groups(let grouped): .groups(grouped.resolved(at: time))
    case .joined(let query): .joined(query.resolved(at: time))
    case .explanation(let request, let analyzes):
      .explanation(of: request.resolved(at: time), analyzes: analyzes)
    default: self
    }
  }
}

extension GroupedQuery {
  fileprivate func resolved(at time: Instant) -> GroupedQuery {
    var resolved = self
    resolved.query = query.resolved(at: time)
    return resolved
  }
}
