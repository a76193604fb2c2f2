import Foundation
import Logging

/// The embedded database as a backend: the file, its writer and its listeners.
///
///     read   ─▶ waits for earlier writes that touch its scope ─▶ a read transaction ─▶ completes
///     commit ─▶ the writer ─▶ durable ─▶ listeners' callbacks ─▶ completes
package final class EmbeddedBackend: Sendable {
  let store: Store
  let writer: Writer
  let registry: ListenerRegistry
  let indexes: IndexManager
  /// Nil if nothing may be written.
  let sweeper: TTLSweeper?
  /// What a token of another database, or from before a restore, is told by.
  let history: History
  let transactions: TransactionTable
  private let logger: Logger
  /// Removed with the database: for one that lives in memory, as far as users see.
  private let memoryFolder: MemoryFolder?

  /// - Parameter namedPath: The path by which a person named the file, if it is not `path`.
  init(
    path: String, named namedPath: String? = nil, configuration: StoreConfiguration,
    queueLimitBytes: Int, indexPolicy: IndexingPolicy = .declared, logger: Logger,
    memoryFolder: MemoryFolder? = nil
  ) throws {
    store = try Store(path: path, named: namedPath, configuration: configuration)
    self.logger = logger
    self.memoryFolder = memoryFolder
    history = try store.read { try History.read($0) }
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: logger)
    let indexes = IndexManager(store, policy: indexPolicy, logger: logger)
    self.indexes = indexes
    registry = ListenerRegistry(store, writer, logger: logger, isStrict: indexPolicy == .strict) {
      if indexes.advisor.isLearning { indexes.note($0) }
    }
    transactions = TransactionTable()
    indexes.start()
    sweeper = configuration.isReadOnly ? nil : TTLSweeper(store, writer, logger: logger)
    if let interval = configuration.expirySweepInterval { sweeper?.start(interval: interval) }
  }

  /// Removes a file. False, and nothing done, if it is open, here or in another process.
  package static func removeFile(at path: String) throws(Status) -> Bool {
    try Store.remove(at: path)
  }

  /// Follows the policy, and tells the advisor.
  func tracing<Answer>(_ body: (QueryTrace) throws -> Answer) throws -> Answer {
    let trace = QueryTrace(isStrict: indexes.policy == .strict)
    let answer = try body(trace)
    if indexes.advisor.isLearning { indexes.note(trace) }
    return answer
  }

  /// Works out an answer once the writes that touch `scope` are done, where the context says.
  ///
  /// - Parameter isShort: It never takes longer than a few documents do.
  func answer<Answer>(
    _ scope: ReadScope, _ context: RequestContext, isShort: Bool = false,
    _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (StoreSnapshot) throws -> Answer
  ) {
    let answer = { @Sendable [self] in
      done(Result { () throws(Status) in try reading { try store.read(work) } })
    }
    if context.thread == .lent || context.thread == .blocked, writer.isSettled(scope) {
      return answer()
    }
    if context.thread == .blocked {
      // The caller waits here, and reads itself.
      let done = DispatchSemaphore(value: 0)
      writer.whenSettled(scope) { done.signal() }
      done.wait()
      return answer()
    }
    writer.whenSettled(scope) {
      // A long one not on the writer's thread, nor on that of a caller who has other things to do.
      if isShort { answer() } else { DispatchQueue.global().async(execute: answer) }
    }
  }
}

extension EmbeddedBackend {
  /// Works out an answer on the state at a time, where the context says.
  private func answer<Answer>(
    at time: Timestamp, _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (StoreSnapshot, UInt64) throws -> Answer
  ) {
    let time = Instant(time)
    let answer = { @Sendable [self] (context: RequestContext) in
      self.answer(.nothing, context, done) { try work($0, $0.sequence(at: time)) }
    }
    do {
      // Later commits have later times.
      if try store.read({ try $0.state().lastCommitTime >= time }) { return answer(context) }
    } catch {
      return done(.failure(Status(readingFailed: error)))
    }
    // One that has begun may have an earlier time.
    writer.whenDrained { answer(.busy) }
  }
}

/// What reading throws, as a status.
private func reading<Answer>(_ body: () throws -> Answer) throws(Status) -> Answer {
  do { return try body() } catch { throw Status(readingFailed: error) }
}

extension EmbeddedBackend: Backend {
  package var capabilities: BackendCapabilities { .all }

  package func checkUsable() throws(Status) {
    // Nothing would ever come of what a forked child hands over: it has no writer's thread.
    if store.environment.isForked { throw .forked }
  }

  package func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
    try WriterWaitGraph.waiting(for: writer, body)
  }

  // MARK: Reading

  package func documents(
    at paths: [ResourcePath], _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument?]>
  ) {
    if let id = context.transaction {
      return transactions.read(id, paths, context, in: self, done)
    }
    if let time = context.readTime {
      return answer(at: time, context, done) { snapshot, sequence in
        try paths.map { try snapshot.document(at: $0, asOf: sequence) }
      }
    }
    answer(.all(of: paths), context, isShort: paths.count == 1, done) { snapshot in
      try paths.map { try snapshot.document(at: $0) }
    }
  }

  package func documents(
    matching query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument]>
  ) {
    let query = EffectiveQuery(query)
    if let id = context.transaction {
      return transactions.read(id, query, context, in: self, done)
    }
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try tracing { try snapshot.documents(matching: query, asOf: sequence, trace: $0) }
      }
    }
    answer(query.scope.readScope, context, done) { [self] snapshot in
      try tracing { try snapshot.documents(matching: query, trace: $0) }
    }
  }

  // Mostly nothing has to be waited for: then these need no continuation.

  package func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?] {
    if writer.hasTickets { await writer.settle(.all(of: paths)) }
    return try store.read { snapshot in try paths.map { try snapshot.document(at: $0) } }
  }

  package func documents(matching query: StructuredQuery) async throws -> [StoredDocument] {
    let query = EffectiveQuery(query)
    if writer.hasTickets { await writer.settle(query.scope.readScope) }
    return try store.read { snapshot in
      try tracing { try snapshot.documents(matching: query, trace: $0) }
    }
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[Value]>
  ) {
    let query = EffectiveQuery(query)
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try tracing {
          try snapshot.aggregate(aggregations, over: query, asOf: sequence, trace: $0)
        }
      }
    }
    answer(query.scope.readScope, context, done) { [self] snapshot in
      try tracing { try snapshot.aggregate(aggregations, over: query, trace: $0) }
    }
  }

  package func explain(
    _ request: ExplainRequest, _ context: RequestContext,
    _ done: @escaping Completion<QueryExplanation>
  ) {
    answer(request.query.scope.readScope, context, done) { [self] snapshot in
      try snapshot.explain(request, isStrict: indexes.policy == .strict)
    }
  }

  package func collections(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    answer(.everything, context, done) { try $0.collections(below: path) }
  }

  package func documentPaths(
    in collection: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    answer(.everything, context, done) { try $0.documentPaths(in: collection) }
  }

  package func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    guard context.readTime == nil else {
      return try await withOwnedBody(at: path, context, body)
    }
    if writer.hasTickets { await writer.settle(.document(path)) }
    return try store.read { try body($0.body(at: path)) }
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    guard context.readTime == nil else {
      return try await decodedOwned(matching: query, context, decode)
    }
    let query = EffectiveQuery(query)
    if writer.hasTickets { await writer.settle(query.scope.readScope) }
    return try store.read { snapshot in
      try tracing { trace in
        try snapshot.decoded(matching: query, trace: trace, isParallel: isParallel, decode)
      }
    }
  }

  // MARK: Writing

  package func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    if let id = request.transaction { return transactions.commit(id, request, in: self, done) }
    writer.commit(request, isBlocking: context.thread == .blocked, done)
  }

  package func submit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    writer.submit(
      request.mutations, areChecked: request.areChecked, isCounted: request.isCounted,
      tellsListenersFirst: request.tellsListenersFirst, complete: done)
  }

  package func drain(_ done: @escaping @Sendable () -> Void) { writer.whenDrained(done) }

  // MARK: Transactions

  package func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>
  ) {
    transactions.begin(start, context, in: self, done)
  }

  package func release(_ transaction: TransactionID) { transactions.release(transaction) }
  package func rollback(_ transaction: TransactionID) { transactions.rollback(transaction) }

  // MARK: Listening

  package func listen(to target: Listener.Target, from token: ChangeToken?, _ listener: Listener) {
    do throws(Status) {
      registry.add(listener, watching: target, from: try token.map(start) ?? .now)
    } catch {
      listener.end(error)
      registry.noteNews()
    }
  }

  private func start(_ token: ChangeToken) throws(Status) -> ListenerRegistry.Start {
    do throws(Status) {
      return .after(try sequence(of: token))
    } catch {
      guard error.code == .outOfRange else { throw error }
      return .reset
    }
  }

  package func stopListening(to target: Listener.Target, _ listener: Listener) {
    registry.remove(listener, watching: target)
  }

  package func addSyncObserver(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    registry.addInSync(body)
  }
  package func removeSyncObserver(_ observer: Int) { registry.removeInSync(observer) }

  // MARK: Changes

  package func newestTime(_ context: RequestContext, _ done: @escaping Completion<Timestamp>) {
    answer(.everything, context, isShort: true, done) { Timestamp(try $0.state().lastCommitTime) }
  }

  package func committedToken() throws -> ChangeToken {
    token(after: try store.read { try $0.state().lastSequence })
  }

  package func newestToken(_ context: RequestContext, _ done: @escaping Completion<ChangeToken>) {
    answer(.everything, context, isShort: true, done) { [self] in
      token(after: try $0.state().lastSequence)
    }
  }

  package func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>
  ) {
    answer(.nothing, context, done) { [self] snapshot in
      let sequence = try sequence(of: token)
      guard try sequence <= snapshot.state().lastSequence else { throw Status.tokenOfTheFuture }
      let portion = try snapshot.portion(after: sequence)
      // Nothing more would ever come.
      guard !portion.isEmpty || store.environment.isInPlace else {
        throw Status(reading: .fileReplaced)
      }
      return portion
    }
  }

  package func addChangeObserver(_ body: @escaping @Sendable () -> Void) -> Int {
    registry.addTail(body)
  }
  package func removeChangeObserver(_ observer: Int) { registry.removeTail(observer) }

  package func token(after sequence: UInt64) -> ChangeToken {
    ChangeToken(database: history.id, sequence: sequence)
  }

  /// The sequence to go on from, of a token of this database.
  private func sequence(of token: ChangeToken) throws(Status) -> UInt64 {
    if token.database == history.id { return token.sequence }
    if history.isRestored {
      throw Status(
        .outOfRange,
        "The change token is from before the database was restored from a backup, or of another one."
      )
    }
    throw .invalidArgument("The change token is of another database.")
  }

  package func close() {
    transactions.close()
    indexes.close()
    sweeper?.close()
    writer.close()
    registry.close()
    store.close()
    memoryFolder?.remove()
  }
}

extension IndexManager {
  /// Tells the advisor what an answer took.
  func note(_ trace: QueryTrace) {
    if case .entries(let branches)? = trace.plan?.source {
      for branch in branches {
        advisor.note(use: branch.index)
        for follower in branch.followers { advisor.note(use: follower.index) }
      }
    }
    let touched = trace.touched.documents + trace.touched.entries
    for index in trace.missing {
      advisor.note(missing: index, touched: touched, returned: trace.found)
    }
  }
}

extension Status {
  package init(readingFailed error: any Error) {
    self = error as? Status ?? Status(.unavailable, "Reading failed.", cause: error)
  }
}
