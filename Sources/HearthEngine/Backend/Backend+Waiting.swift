import Dispatch

/// As `Backend.awaiting`. Specialised for each answer, which a method of a protocol is not: looking up types at run time
/// takes as long as reading a document.
private func answer<Answer: Sendable>(
  of verb: (@escaping Completion<Answer>) -> Void
) async throws -> Answer {
  try await withCheckedContinuation { continuation in
    verb { continuation.resume(returning: $0) }
  }.get()
}

/// The forms of verbs that wait, for every backend.
extension Backend {
  /// Waits for a verb that begins on this thread, and may use it.
  package func awaiting<Answer: Sendable>(
    _ verb: (@escaping Completion<Answer>) -> Void
  ) async throws -> Answer {
    try await answer(of: verb)
  }

  /// As `awaiting`, for a thread that may block. Throws if the verb would wait for this thread, and in a transaction's
  /// block.
  func waiting<Answer: Sendable>(
    _ verb: (@escaping Completion<Answer>) -> Void
  ) throws(Status) -> Answer {
    try TransactionThread.refuse(in: self)
    return try waitingInBlock(verb)
  }

  /// As `waiting`, for what a transaction's block does with its transaction.
  func waitingInBlock<Answer: Sendable>(
    _ verb: (@escaping Completion<Answer>) -> Void
  ) throws(Status) -> Answer {
    try blocking { () throws(Status) in
      let done = DispatchSemaphore(value: 0)
      let answer = Guarded<Result<Answer, Status>?>(nil)
      verb { result in
        answer.withLock { $0 = result }
        done.signal()
      }
      done.wait()
      guard let answer = answer.withLock(\.self) else { throw .terminated }
      return try answer.get()
    }
  }

  package func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?] {
    try await answer { documents(at: paths, .lent, $0) }
  }

  package func document(at path: ResourcePath) async throws -> StoredDocument? {
    try await documents(at: [path])[0]
  }

  package func documents(matching query: StructuredQuery) async throws -> [StoredDocument] {
    try await answer { documents(matching: query, .lent, $0) }
  }

  // MARK: In the past

  package func documents(
    at paths: [ResourcePath], asOf time: Timestamp
  ) async throws -> [StoredDocument?] {
    try await answer { documents(at: paths, .reading(at: time), $0) }
  }

  package func documents(
    matching query: StructuredQuery, asOf time: Timestamp
  ) async throws -> [StoredDocument] {
    try await answer { documents(matching: query, .reading(at: time), $0) }
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, asOf time: Timestamp
  ) async throws -> [Value] {
    try await answer { aggregate(aggregations, over: query, .reading(at: time), $0) }
  }

  /// The time in whole microseconds; if there is none, that of the newest commit.
  package func time(at time: Timestamp?) async throws -> Timestamp {
    if let time { return Timestamp(Instant(time)) }
    return try await answer { newestTime(.lent, $0) }
  }

  package func explain(
    _ query: StructuredQuery, _ aggregations: [Aggregation]? = nil, analyzes: Bool
  ) async throws -> QueryExplanation {
    let request = ExplainRequest(
      query: EffectiveQuery(query), aggregations: aggregations, analyzes: analyzes)
    return try await awaiting { explain(request, .lent, $0) }
  }

  package func commit(_ request: CommitRequest) async throws -> CommitResult {
    try await answer { commit(request, .lent, $0) }
  }

  /// Does all of them or nothing, and returns when that is durable.
  ///
  /// - Parameter areChecked: Each of them was checked when it was made.
  @discardableResult
  package func commit(
    _ mutations: [Mutation], areChecked: Bool = false
  ) async throws -> CommitResult {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    return try await commit(request)
  }

  /// As `commit`, for writes that nobody waits for: reads that begin later do.
  ///
  /// - Parameters:
  ///   - tellsListenersFirst: See `CommitRequest`.
  ///   - isCounted: See `CommitRequest`.
  ///   - done: Told what kept them from being done.
  package func submit(
    _ mutations: [Mutation], areChecked: Bool = false, tellsListenersFirst: Bool,
    isCounted: Bool = true, _ done: @escaping @Sendable (Status?) -> Void
  ) {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    request.tellsListenersFirst = tellsListenersFirst
    request.isCounted = isCounted
    submit(request, .busy) { outcome in
      switch outcome {
      case .success: done(nil)
      case .failure(let status): done(status)
      }
    }
  }
}

/// The forms that block their thread. Each throws in a transaction's block, and where the verb would wait for this thread.
extension Backend {
  package func documentsBlocking(
    at paths: [ResourcePath]
  ) throws(Status) -> [StoredDocument?] {
    try waiting { documents(at: paths, .blocked, $0) }
  }

  package func documentsBlocking(
    matching query: StructuredQuery
  ) throws(Status) -> [StoredDocument] {
    try waiting { documents(matching: query, .blocked, $0) }
  }

  package func aggregateBlocking(
    _ aggregations: [Aggregation], over query: StructuredQuery
  ) throws(Status) -> [Value] {
    try waiting { aggregate(aggregations, over: query, .blocked, $0) }
  }

  /// - Parameter areChecked: Each of them was checked when it was made.
  package func commitBlocking(
    _ mutations: [Mutation], areChecked: Bool = false
  ) throws(Status) {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    _ = try waiting { commit(request, .blocked, $0) }
  }
}

/// For readers that lend no bytes: what they find is owned.
extension LocalReader {
  package func withBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer {
    guard let document = try document(at: path) else { return try body(nil) }
    return try document.body.withBytes { try body(StoredBody($0)) }
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer] {
    try documents(matching: query).map { document in
      try document.body.withBytes { try decode(.path(document.path), StoredBody($0)) }
    }
  }
}

/// The same for backends.
extension Backend {
  package func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    try await withOwnedBody(at: path, context, body)
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    try await decodedOwned(matching: query, context, decode)
  }

  /// Through a copy.
  func withOwnedBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    let found = try await answer { documents(at: [path], context, $0) }
    guard let document = found[0] else { return try body(nil) }
    return try document.body.withBytes { try body(StoredBody($0)) }
  }

  /// From copies, one after another.
  func decodedOwned<Answer>(
    matching query: StructuredQuery, _ context: RequestContext,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    let found: [StoredDocument] = try await answer { documents(matching: query, context, $0) }
    return try found.map { document in
      try document.body.withBytes { try decode(.path(document.path), StoredBody($0)) }
    }
  }
}
