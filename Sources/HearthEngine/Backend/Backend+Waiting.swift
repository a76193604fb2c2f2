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
      guard let answer = DispatchSemaphore.waiting(for: verb) else { throw .terminated }
      return try answer.get()
    }
  }

  package func read(_ request: ReadRequest) async throws -> ReadAnswer {
    try await versioned(request).answer
  }

  /// The answer with the state that gave it.
  package func versioned(
    _ request: ReadRequest, at time: Timestamp? = nil
  ) async throws -> VersionedAnswer {
    let context = RequestContext.awaiting(at: time)
    return try await answer { read(request, context, $0) }
  }

  /// That of the newest state.
  package func newestVersion() async throws -> StateVersion {
    try await versioned(.nothing).version
  }

  /// A part of the answer, which `part` takes on the thread of the answer.
  package func read<Part>(
    _ request: ReadRequest, _ context: RequestContext,
    _ part: @escaping @Sendable (ReadAnswer) throws -> Part, _ done: @escaping Completion<Part>
  ) {
    read(request, context) { result in
      done(
        result.flatMap { found in
          Result { try part(found.answer) }.mapError { Status(readingFailed: $0) }
        })
    }
  }

  package func document(at path: ResourcePath) async throws -> StoredDocument? {
    try await read(.documents(at: [path])).documents[0]
  }

  package func commit(_ request: CommitRequest) async throws -> CommitResult {
    try await answer { commit(request, .lent, $0) }
  }

  /// Commits all mutations or none, and returns when the commit is durable.
  ///
  /// - Parameter areChecked: Each mutation was checked when it was made.
  @discardableResult
  package func commit(
    _ mutations: [Mutation], areChecked: Bool = false
  ) async throws -> CommitResult {
    try await answer { commit(CommitRequest(mutations, areChecked: areChecked), .lent, $0) }
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
    let request = CommitRequest(
      mutations, areChecked: areChecked, isAwaited: false, isCounted: isCounted,
      completesAfterListeners: completesAfterListeners)
    commit(request, .busy) { outcome in
      switch outcome {
      case .success: done(nil)
      case .failure(let status): done(status)
      }
    }
  }
}

extension ChangeFeed {
  /// For the newest state.
  package func newestToken() async throws -> ChangeToken {
    token(after: try await newestVersion().sequence)
  }
}

extension IndexedBackend {
  package func declare(_ indexes: [IndexDefinition]) async throws {
    try await answer { declare(indexes, $0) }
  }

  package func declareBlocking(_ indexes: [IndexDefinition]) throws(Status) {
    try waiting { declare(indexes, $0) }
  }
}

/// The verbs beside those of `Backend`. Each throws `unimplemented` if this one lacks them.
extension Backend {
  package func asChangeFeed() throws(Status) -> any ChangeFeed {
    guard let feed = self as? any ChangeFeed else {
      throw Status(.unimplemented, "The database keeps no log of its changes.")
    }
    return feed
  }

  package func asIndexed() throws(Status) -> any IndexedBackend {
    guard let indexed = self as? any IndexedBackend else {
      throw Status(.unimplemented, "The database has no indexes that can be declared here.")
    }
    return indexed
  }
}

/// The blocking forms. Each throws in a transaction's block, and if the verb would wait for this
/// thread.
extension Backend {
  package func readBlocking(_ request: ReadRequest) throws(Status) -> ReadAnswer {
    try waiting { read(request, .blocked, $0) }.answer
  }

  /// - Parameter areChecked: Each mutation was checked when it was made.
  package func commitBlocking(
    _ mutations: [Mutation], areChecked: Bool = false
  ) throws(Status) {
    let request = CommitRequest(mutations, areChecked: areChecked)
    _ = try waiting { commit(request, .blocked, $0) }
  }
}

extension LocalBackend {
  package func writeBlocking(
    file: StaticString, line: UInt, _ body: (any LocalWriter) throws -> Void
  ) throws -> CommitResult {
    try withoutActuallyEscaping(body) { body in
      try waiting { write(file: file, line: line, body, .blocked, $0) }
    }
  }
}

/// Defaults for backends that lend no bytes: they read copies.
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
    let found = try await answer { read(.documents(at: [path]), context, $0) }
    guard let document = try found.answer.documents[0] else { return try body(nil) }
    return try document.body.withBytes { try body(StoredBody($0)) }
  }

  /// Decodes copies, one after another, where the caller runs. If its executor has other work, that
  /// gets its turn in between.
  func decodedOwned<Answer>(
    matching query: StructuredQuery, _ context: RequestContext,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    var found = try await answer { read(.results(EffectiveQuery(query)), context, $0) }.answer
      .results
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
