extension Listener {
  /// The document, query or aggregation that a listener watches.
  ///
  /// Indirect: a query has some 300 bytes, and each listener has its target in several places.
  package indirect enum Target: Hashable, Sendable {
    case document(ResourcePath)
    case query(EffectiveQuery)
    case totals(EffectiveQuery, [Aggregation])
    case groups(GroupedQuery)
    case joined(JoinedQuery)

    package static func results(of query: StructuredQuery) -> Listener.Target {
      .query(EffectiveQuery(query))
    }

    package static func totals(
      of query: StructuredQuery, _ aggregations: [Aggregation]
    ) -> Listener.Target {
      .totals(EffectiveQuery(query, aggregating: aggregations), aggregations)
    }

    /// The first snapshot waits for writes within this scope.
    var scope: ReadScope {
      switch self {
      case .document(let path): .document(path)
      case .query(let query), .totals(let query, _): query.readScope
      case .groups(let grouped): EffectiveQuery(grouped.query).readScope
      case .joined: .everything
      }
    }
  }
}

extension Listener.Target: CustomStringConvertible {
  /// For logs, without the values of filters.
  package var description: String {
    switch self {
    case .document(let path): "document \(path.text)"
    case .query(let query): "query of \(query.scope.name)"
    case .totals(let query, _): "aggregation over \(query.scope.name)"
    case .groups(let grouped): "groups of \(grouped.query.scope.name)"
    case .joined(let joined): "query of \(joined.query.scope.name), with included documents"
    }
  }
}

extension StructuredQuery.Scope {
  var name: String {
    switch self {
    case .collection(let path): "collection \(path.text)"
    case .group(let id, _): "collection group \(id)"
    case .subtree(let path): "everything below \(path.text)"
    }
  }

  /// An answer waits for writes within this scope.
  var readScope: ReadScope {
    switch self {
    case .collection(let path): .collection(path)
    case .group(let id, _): .group(id)
    case .subtree: .everything
    }
  }
}
