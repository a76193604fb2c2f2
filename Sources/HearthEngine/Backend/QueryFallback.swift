/// Answers queries that a backend cannot answer itself: in this process, on a superset of the
/// results.
///
///     query ─▶ can the backend do all of it? ─ yes ─▶ backend
///                └─ no ─▶ backend, with scope and filters only ─▶ MemoryAnswer
///
/// The cost is the transfer of the superset, which `explain` reports. All other calls go to the
/// backend unchanged.
final class QueryFallback: Backend {
  private let base: any Backend

  init(_ base: any Backend) { self.base = base }

  package var capabilities: BackendCapabilities { .all }

  private func missing(for query: EffectiveQuery) -> BackendCapabilities {
    query.neededCapabilities.subtracting(base.capabilities)
  }

  /// A query that finds all documents that `query` needs, and perhaps more.
  private func superset(of query: EffectiveQuery) -> StructuredQuery {
    var superset = StructuredQuery(query.scope)
    superset.filters = query.filters
    return superset
  }

  // MARK: Reading

  package func documents(
    at paths: [ResourcePath], _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument?]>
  ) {
    base.documents(at: paths, context, done)
  }

  package func documents(
    matching query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument]>
  ) {
    let effective = EffectiveQuery(query)
    guard !missing(for: effective).isEmpty else {
      return base.documents(matching: query, context, done)
    }
    base.documents(matching: superset(of: effective), context) { found in
      done(found.evaluated { try MemoryAnswer(effective).documents($0) })
    }
  }

  package func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?] {
    try await base.documents(at: paths)
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[Value]>
  ) {
    let effective = EffectiveQuery(query, aggregating: aggregations)
    guard !missing(for: effective).isEmpty else {
      return base.aggregate(aggregations, over: query, context, done)
    }
    base.documents(matching: superset(of: effective), context) { found in
      done(found.evaluated { try MemoryAnswer(effective).aggregate(aggregations, $0) })
    }
  }

  package func groups(
    _ query: GroupedQuery, _ context: RequestContext, _ done: @escaping Completion<[QueryGroup]>
  ) {
    base.groups(query, context, done)
  }

  package func joined(
    _ query: JoinedQuery, _ context: RequestContext, _ done: @escaping Completion<JoinedResult>
  ) {
    base.joined(query, context, done)
  }

  package func explain(
    _ request: ExplainRequest, _ context: RequestContext,
    _ done: @escaping Completion<QueryExplanation>
  ) {
    let missing = missing(for: request.query)
    guard !missing.isEmpty else { return base.explain(request, context, done) }
    var request = request
    request.query = EffectiveQuery(superset(of: request.query))
    request.aggregations = nil
    request.groups = nil
    request.joined = nil
    base.explain(request, context) { explanation in
      done(
        explanation.map { explanation in
          var explanation = explanation
          explanation.plan +=
            "\nThe backend cannot do this itself: \(missing). All these documents are fetched, and the "
            + "results are found among them here."
          explanation.isServed = false
          return explanation
        })
    }
  }

  package func collections(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    base.collections(below: path, context, done)
  }

  package func documentPaths(
    in collection: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    base.documentPaths(in: collection, context, done)
  }

  package func page(
    after position: [UInt8]?, _ limits: DocumentPage.Limits, _ context: RequestContext,
    _ done: @escaping Completion<DocumentPage>
  ) {
    base.page(after: position, limits, context, done)
  }

  package func documentCount(_ context: RequestContext, _ done: @escaping Completion<Int>) {
    base.documentCount(context, done)
  }

  package func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    try await base.withBody(at: path, context, body)
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    guard missing(for: EffectiveQuery(query)).isEmpty else {
      return try await decodedOwned(matching: query, context, decode)
    }
    return try await base.decoded(matching: query, context, isParallel: isParallel, decode)
  }

  // MARK: Writing

  package func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    base.commit(request, context, done)
  }

  package func submit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    base.submit(request, context, done)
  }

  package func drain(_ done: @escaping @Sendable () -> Void) { base.drain(done) }

  // MARK: Transactions

  package func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>
  ) {
    base.beginTransaction(start, context, done)
  }

  package func release(_ transaction: TransactionID) { base.release(transaction) }
  package func rollback(_ transaction: TransactionID) { base.rollback(transaction) }

  // MARK: Listening, which needs no optional capability

  package func listen(to target: Listener.Target, from token: ChangeToken?, _ listener: Listener) {
    base.listen(to: target, from: token, listener)
  }

  package func stopListening(to target: Listener.Target, _ listener: Listener) {
    base.stopListening(to: target, listener)
  }

  package func addSyncObserver(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    base.addSyncObserver(body)
  }
  package func removeSyncObserver(_ observer: Int) { base.removeSyncObserver(observer) }

  // MARK: Changes

  package func newestTime(_ context: RequestContext, _ done: @escaping Completion<Timestamp>) {
    base.newestTime(context, done)
  }

  package func oldestReadableTime(
    _ context: RequestContext, _ done: @escaping Completion<Timestamp?>
  ) {
    base.oldestReadableTime(context, done)
  }

  package func newestToken(_ context: RequestContext, _ done: @escaping Completion<ChangeToken>) {
    base.newestToken(context, done)
  }

  package func time(
    of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>
  ) {
    base.time(of: token, context, done)
  }

  package func token(
    at time: Timestamp, _ context: RequestContext, _ done: @escaping Completion<ChangeToken>
  ) {
    base.token(at: time, context, done)
  }

  package func committedToken() throws -> ChangeToken { try base.committedToken() }

  package func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>
  ) {
    base.changes(since: token, context, done)
  }

  package func addChangeObserver(_ body: @escaping @Sendable () -> Void) -> Int {
    base.addChangeObserver(body)
  }
  package func removeChangeObserver(_ observer: Int) { base.removeChangeObserver(observer) }
  package func token(after sequence: UInt64) -> ChangeToken { base.token(after: sequence) }

  // MARK: The end

  package func declare(_ indexes: [IndexDefinition], _ done: @escaping Completion<Void>) {
    base.declare(indexes, done)
  }
  package func drop(_ indexes: [IndexDefinition]) async throws { try await base.drop(indexes) }
  package func indexList() throws -> [IndexInfo] { try base.indexList() }
  package func waitForIndexes() async throws { try await base.waitForIndexes() }

  package func close() { base.close() }
  package func checkUsable() throws(Status) { try base.checkUsable() }
  package func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
    try base.blocking(body)
  }
}

extension Backend {
  /// This backend, or a `QueryFallback` that adds what it cannot do.
  package var complete: any Backend { capabilities == .all ? self : QueryFallback(self) }
}

extension EffectiveQuery {
  /// The capabilities that a backend needs to answer this query itself.
  var neededCapabilities: BackendCapabilities { nearest == nil ? [] : .nearestVectors }
}

extension Result where Failure == Status {
  /// `body` of the value.
  func evaluated<Answer>(
    _ body: (Success) throws -> Answer
  ) -> Result<Answer, Status> {
    flatMap { found in
      Result<Answer, Status> { () throws(Status) in
        do { return try body(found) } catch { throw Status(readingFailed: error) }
      }
    }
  }
}
