import Dispatch

/// Same as `Backend.awaiting`. A free function, because it is specialised for each type of answer
/// and a protocol's method is not: looking up types at run time takes as long as reading a
/// document.
private func answer<Answer: Sendable>(
  of verb: (@escaping Completion<Answer>) -> Void
) async throws -> Answer {
  try await withCheckedContinuation { continuation in
    verb { continuation.resume(returning: $0) }
  }.get()
}

/// The async and blocking forms of the verbs, for every backend.
extension Backend {
  /// Calls a verb on this thread, which it may use, and waits for its completion.
  package func awaiting<Answer: Sendable>(
    _ verb: (@escaping Completion<Answer>) -> Void
  ) async throws -> Answer {
    try await answer(of: verb)
  }

  /// Same, with the context of a caller that awaits: its executor is held for a moment only.
  package func awaiting<Answer: Sendable>(
    _ verb: (RequestContext, @escaping Completion<Answer>) -> Void
  ) async throws -> Answer {
    let context = RequestContext.awaiting()
    return try await answer { verb(context, $0) }
  }

  /// Same as `awaiting`, for a thread that may block. Throws if the verb would wait for this
  /// thread, and in a transaction's block.
  func waiting<Answer: Sendable>(
    _ verb: (@escaping Completion<Answer>) -> Void
  ) throws(Status) -> Answer {
    try TransactionThread.refuse(in: self)
    return try waitingInBlock(verb)
  }

  /// Same as `waiting`, for calls of a transaction's block that belong to its transaction.
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
      // A key path in a generic function would be made for each call.
      guard let answer = answer.withLock({ $0 }) else { throw .terminated }
      return try answer.get()
    }
  }

  package func declare(_ indexes: [IndexDefinition]) async throws {
    try await answer { declare(indexes, $0) }
  }

  package func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?] {
    let context = RequestContext.awaiting()
    return try await answer { documents(at: paths, context, $0) }
  }

  package func document(at path: ResourcePath) async throws -> StoredDocument? {
    try await documents(at: [path])[0]
  }

  package func documents(matching query: StructuredQuery) async throws -> [StoredDocument] {
    let context = RequestContext.awaiting()
    return try await answer { documents(matching: query, context, $0) }
  }

  // MARK: In the past

  package func documents(
    at paths: [ResourcePath], asOf time: Timestamp
  ) async throws -> [StoredDocument?] {
    let context = RequestContext.awaiting(at: time)
    return try await answer { documents(at: paths, context, $0) }
  }

  package func documents(
    matching query: StructuredQuery, asOf time: Timestamp
  ) async throws -> [StoredDocument] {
    let context = RequestContext.awaiting(at: time)
    return try await answer { documents(matching: query, context, $0) }
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, asOf time: Timestamp
  ) async throws -> [Value] {
    let context = RequestContext.awaiting(at: time)
    return try await answer { aggregate(aggregations, over: query, context, $0) }
  }

  /// The time in whole microseconds; if it is nil, that of the newest commit.
  package func time(at time: Timestamp?) async throws -> Timestamp {
    if let time { return Timestamp(Instant(time)) }
    let context = RequestContext.awaiting()
    return try await answer { newestTime(context, $0) }
  }

  package func explain(
    _ query: StructuredQuery, _ aggregations: [Aggregation]? = nil, analyzes: Bool
  ) async throws -> QueryExplanation {
    try await explain(
      ExplainRequest(
        query: EffectiveQuery(query, aggregating: aggregations ?? []), aggregations: aggregations,
        analyzes: analyzes))
  }

  package func explain(_ request: ExplainRequest) async throws -> QueryExplanation {
    let context = RequestContext.awaiting()
    return try await awaiting { explain(request, context, $0) }
  }

  package func commit(_ request: CommitRequest) async throws -> CommitResult {
    try await answer { commit(request, .lent, $0) }
  }

  /// Commits all mutations or none, and returns when the commit is durable.
  ///
  package func groupsBlocking(_ query: GroupedQuery) throws(Status) -> [QueryGroup] {
    try waiting { groups(query, .blocked, $0) }
  }

  /// - Parameter areChecked: Each mutation was checked when it was made.
  @discardableResult
  package func commit(
    _ mutations: [Mutation], areChecked: Bool = false
  ) async throws -> CommitResult {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    return try await commit(request)
  }

  /// Same as `commit`, for writes that the caller does not await: reads that begin later wait for
  /// them.
  ///
  /// - Parameters:
  ///   - completesAfterListeners: See `CommitRequest`.
  ///   - isCounted: See `CommitRequest`.
  ///   - done: Called with the error, or with nil after the commit.
  package func submit(
    _ mutations: [Mutation], areChecked: Bool = false, completesAfterListeners: Bool,
    isCounted: Bool = true, _ done: @escaping @Sendable (Status?) -> Void
  ) {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    request.completesAfterListeners = completesAfterListeners
    request.isCounted = isCounted
    submit(request, .busy) { outcome in
      switch outcome {
      case .success: done(nil)
      case .failure(let status): done(status)
      }
    }
  }
}

/// The blocking forms. Each throws in a transaction's block, and if the verb would wait for this
/// thread.
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

  package func declareBlocking(_ indexes: [IndexDefinition]) throws(Status) {
    try waiting { declare(indexes, $0) }
  }

  package func joinedBlocking(_ query: JoinedQuery) throws(Status) -> JoinedResult {
    try waiting { joined(query, .blocked, $0) }
  }

  /// - Parameter areChecked: Each mutation was checked when it was made.
  package func commitBlocking(
    _ mutations: [Mutation], areChecked: Bool = false
  ) throws(Status) {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    _ = try waiting { commit(request, .blocked, $0) }
  }
}

/// Defaults for readers that have one way to read: by queries.
extension LocalReader {
  package func groups(_ query: GroupedQuery) throws -> [QueryGroup] {
    var whole = query.query
    whole.projection = []
    var totals = GroupTotals(query)
    for document in try documents(matching: whole) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return try totals.results()
  }

  package func joined(_ query: JoinedQuery) throws -> JoinedResult {
    try query.read(
      results: { try documents(matching: $0) },
      { request in
        switch request {
        case .documentsAt(let paths):
          return .documentsAt(try paths.map { try document(at: $0) })
        case .documentsReferring(let relation, let paths):
          return .several(
            try paths.map { path in
              guard let query = relation.query(referringTo: path) else { throw Status.otherResult }
              return .documents(try documents(matching: query))
            })
        default: throw Status.otherResult
        }
      })
  }
}

/// Defaults for readers that lend no bytes: they read copies.
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

/// The same defaults for backends.
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

  /// Reads a copy.
  func withOwnedBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    let found = try await answer { documents(at: [path], context, $0) }
    guard let document = found[0] else { return try body(nil) }
    return try document.body.withBytes { try body(StoredBody($0)) }
  }

  /// Decodes copies, one after another, where the caller runs. If its executor has other work, that
  /// gets its turn in between.
  func decodedOwned<Answer>(
    matching query: StructuredQuery, _ context: RequestContext,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    var found: [StoredDocument] = try await answer { documents(matching: query, context, $0) }
    var answers: [Answer] = []
    answers.reserveCapacity(found.count)
    var deadline = context.thread == .lent ? nil : ReadDeadline.soon
    // Each copy is freed before the next is decoded, not all of them together at the end.
    found.reverse()
    while let document = found.popLast() {
      if deadline?.hasPassed == true {
        await Task.yield()
        deadline = .soon
      }
      answers.append(
        try document.body.withBytes { try decode(.path(document.path), StoredBody($0)) })
    }
    return answers
  }
}
