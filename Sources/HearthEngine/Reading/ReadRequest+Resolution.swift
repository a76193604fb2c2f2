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
    case .explanation(let request): .explanation(request.resolved(at: time))
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

extension ExplainRequest {
  /// The read that is explained, without inclusions.
  var read: ReadRequest {
    if let aggregations { return .values(aggregations, over: query) }
    return groups.map { .groups($0) } ?? .results(query, requiring: [])
  }

  fileprivate func resolved(at time: Instant) -> ExplainRequest {
    var resolved = self
    resolved.query = query.resolved(at: time, inSemiJoins: true)
    resolved.groups = groups?.resolved(at: time)
    return resolved
  }
}
