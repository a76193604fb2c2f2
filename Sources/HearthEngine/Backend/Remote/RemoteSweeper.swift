import Logging

/// Deletes the expired documents of a remote store from time to time.
///
///     policies ─▶ the first expired documents by the index of the policy ─▶ deletions, in one batch
///
/// Every process sweeps: the second one finds nothing, or is refused.
final class RemoteSweeper: Sendable {
  private let timer: ExpiryTimer

  init(logger: Logger) { timer = ExpiryTimer(logger: logger) }

  /// Sweeps soon, and then every `interval`. Call it once.
  func start(_ backend: RemoteBackend, every interval: Duration) {
    // Not all processes at once.
    timer.start(every: interval, jitter: .random(in: 0.5...1)) { [weak self, weak backend] in
      guard let self, let backend else { return 0 }
      return try sweep(backend)
    }
  }

  /// Waits for the sweep that is running.
  func close() { timer.close() }

  /// Deletes all expired documents, batch by batch; see `ExpirySweep`. Blocks. Returns the number of
  /// deleted documents.
  func sweep(_ backend: RemoteBackend) throws -> Int {
    let now = backend.now()
    var sweep = ExpirySweep()
    for rule in try backend.catalogues.refresh().policies.rules {
      guard let field = rule.field else { continue }
      var query = Self.query(rule.collectionID, field, expiredAt: now)
      while !timer.isClosed {
        let found = try backend.readBlocking(.results(EffectiveQuery(query))).results
        try sweep.delete(found.map { ($0.path, $0.updateTime) }) { deletion, done in
          backend.commit(CommitRequest([deletion], completesAfterListeners: false), .lent, done)
        }
        guard found.count == ExpirySweep.batchCount, let last = found.last,
          let time = try last.body.withBytes({ try MapView(body: $0).value(at: field)?.timestamp() }
          )
        else { break }
        // Behind those that a reference rule keeps.
        query.start = StructuredQuery.Bound(
          values: [.timestamp(time), .reference(last.path)], isBefore: false)
      }
    }
    return try sweep.end()
  }

  private static func query(
    _ collectionID: String, _ field: FieldSegments, expiredAt now: Instant
  ) -> StructuredQuery {
    var query = StructuredQuery(.group(collectionID, below: .root))
    query.filters = [
      .comparison(
        StructuredQuery.Comparison(
          field: field, operator: .lessThanOrEqual, operand: .timestamp(now)))
    ]
    query.orders = [
      StructuredQuery.Order(field: field), StructuredQuery.Order(field: .documentID),
    ]
    query.limit = ExpirySweep.batchCount
    return query
  }
}

extension RemoteBackend: ExpiringBackend {
  package func setTTL(_ collectionID: String, _ field: FieldSegments?) async throws {
    try await awaiting { done in
      writer.editAndBuild({ edit throws(Status) in try edit.setTTL(collectionID, field) }, done)
    }
    // Until its index is there, each sweep would fetch the whole collection.
    if field != nil { try await waitForIndexes() }
  }

  package func ttlPolicies() async throws -> [TTLPolicies.Rule] {
    try await onBlockingThread { [catalogues] in try catalogues.refresh().policies.rules }
  }

  package func deleteExpiredDocuments() async throws -> Int {
    try await onBlockingThread { [self] in
      try waiting { done in drain { done(.success(())) } }
      return try sweeper.sweep(self)
    }
  }
}
