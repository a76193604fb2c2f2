import Foundation
internal import LMDB
import Logging

/// The embedded database as a backend: the file, its writer and its listeners.
///
///     read   ─▶ waits for earlier writes that touch its scope ─▶ a read transaction ─▶ completes
///     commit ─▶ the writer ─▶ durable ─▶ listeners' callbacks ─▶ completes
package final class EmbeddedBackend: Sendable {
  let store: Store
  let writer: Writer
  package let listeners: BackendListeners
  let indexes: IndexManager
  /// Nil for a database that is open for reading only.
  let sweeper: TTLSweeper?
  /// Distinguishes tokens of this database from those of another one, or from before a restore.
  let history: History
  let transactions: TransactionTable<HeldCommit>
  private let clockWatch: ClockWatch
  private let logger: Logger
  /// The folder of a database that lives in memory, as far as users see. Removed with the database.
  private let memoryFolder: MemoryFolder?

  /// - Parameter namedPath: The path that the user gave for the file, if it is not `path`.
  init(
    path: String, named namedPath: String? = nil, configuration: StoreConfiguration,
    queueLimitBytes: Int, indexPolicy: IndexingPolicy = .declared,
    transactionPatience: Duration = DocumentQueues.patience, logger: Logger,
    memoryFolder: MemoryFolder? = nil
  ) throws {
    store = try Store(path: path, named: namedPath, configuration: configuration)
    self.logger = logger
    self.memoryFolder = memoryFolder
    if memoryFolder == nil {
      do {
        try BootMark.update(store)
      } catch {
        // Reading goes on when the disk is full.
        logger.warning(
          "Change tokens of commits that the system has lost may be accepted.",
          metadata: ["path": "\(path)", "error": "\(error)"])
      }
    }
    history = try store.read { try History.read($0) }
    clockWatch = ClockWatch(of: path, now: configuration.now, logger: logger)
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: logger)
    let indexes = IndexManager(store, policy: indexPolicy, logger: logger)
    self.indexes = indexes
    let registry = ListenerRegistry(store, writer, logger: logger, isStrict: indexPolicy == .strict)
    {
      if indexes.advisor.isLearning { indexes.note($0) }
    }
    listeners = BackendListeners(registry: registry, history: history)
    transactions = TransactionTable(patience: transactionPatience)
    indexes.start()
    sweeper = configuration.isReadOnly ? nil : TTLSweeper(store, writer, logger: logger)
    if let interval = configuration.ttlSweepInterval { sweeper?.start(interval: interval) }
    let newest = { @Sendable [weak store] in try? store?.read { try $0.state().lastCommitTime } }
    if let time = newest() { clockWatch.look(at: time) }
    clockWatch.start(newest)
  }

  /// Removes a file. Returns false, and does nothing, if it is open in this or another process.
  package static func removeFile(at path: String) throws(Status) -> Bool {
    try Store.remove(at: path)
  }

  /// Runs `body` with a trace that follows the index policy, and reports the trace to the advisor.
  func tracing<Answer>(_ body: (QueryTrace) throws -> Answer) throws -> Answer {
    let trace = QueryTrace(isStrict: indexes.policy == .strict)
    let answer = try body(trace)
    if indexes.advisor.isLearning { indexes.note(trace) }
    return answer
  }

  /// How long an answer takes to compute.
  enum Length {
    /// No longer than reading a few documents.
    case short
    /// Unknown, but the reads observe the deadline of their snapshot.
    case limited
    case unlimited
  }

  /// Computes an answer once the writes that touch `scope` are done, on a thread that `context`
  /// allows.
  func answer<Answer>(
    _ scope: ReadScope, _ context: RequestContext, _ length: Length,
    _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (StoreSnapshot) throws -> Answer
  ) {
    let answer = { @Sendable [self] in
      done(Result { () throws(Status) in try reading { try store.read(work) } })
    }
    if context.thread != .busy, writer.hasNoPendingWrites(touching: scope) {
      guard context.thread == .brief else { return answer() }
      if length != .unlimited, let answer = answerBriefly(work) { return done(answer) }
      return DispatchQueue.global().async(execute: answer)
    }
    if context.thread == .blocked {
      // The caller's thread waits here, and reads itself.
      let done = DispatchSemaphore(value: 0)
      writer.whenWritesAreDone(touching: scope) { done.signal() }
      done.wait()
      return answer()
    }
    writer.whenWritesAreDone(touching: scope) {
      // Long work must not run on the writer's thread, nor on that of a caller with other work.
      if length == .short { answer() } else { DispatchQueue.global().async(execute: answer) }
    }
  }

  /// Nil if the answer takes longer than a caller's executor may be held.
  private func answerBriefly<Answer>(
    _ work: (StoreSnapshot) throws -> Answer
  ) -> Result<Answer, Status>? {
    do {
      return .success(try store.read(until: .soon, work))
    } catch is ReadDeadline.Passed {
      return nil
    } catch {
      return .failure(Status(readingFailed: error))
    }
  }
}

extension EmbeddedBackend {
  /// Computes an answer on the state at a time, on a thread that `context` allows.
  private func answer<Answer>(
    at time: Timestamp, _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (StoreSnapshot, UInt64) throws -> Answer
  ) {
    let time = Instant(time)
    let answer = { @Sendable [self] (context: RequestContext) in
      self.answer(.nothing, context, .unlimited, done) { try work($0, $0.sequence(at: time)) }
    }
    do {
      // Later commits have later times.
      if try store.read({ try $0.state().lastCommitTime >= time }) { return answer(context) }
    } catch {
      return done(.failure(Status(readingFailed: error)))
    }
    // A commit that has begun may have an earlier time.
    writer.whenDrained { [self] in
      if store.configuration.isReadOnly { return answer(.busy) }
      BlockingThreads.shared.run { [self] in
        do throws(Status) { try awaitWriters() } catch { return done(.failure(error)) }
        // Elsewhere: there are as many of these threads as calls that wait, each with a result.
        answer(.busy)
      }
    }
  }

  /// Blocks until the processes that have the file's write lock have committed.
  private func awaitWriters() throws(Status) {
    do { _ = try store.beginWriting() } catch {
      throw (error as? LMDBError).map(Status.init(writing:)) ?? Status(readingFailed: error)
    }
  }
}

/// Converts the errors of reading to a `Status`.
private func reading<Answer>(_ body: () throws -> Answer) throws(Status) -> Answer {
  do { return try body() } catch { throw Status(readingFailed: error) }
}

extension EmbeddedBackend: ListeningBackend {

  package func checkUsable() throws(Status) {
    // A forked child has no writer's thread: nothing that it submits would ever complete.
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
      return documents(at: paths, in: id, context, done)
    }
    if let time = context.readTime {
      return answer(at: time, context, done) { snapshot, sequence in
        try paths.map { try snapshot.document(at: $0, asOf: sequence) }
      }
    }
    answer(.all(of: paths), context, paths.count == 1 ? .short : .limited, done) { snapshot in
      let touched = ReadCounters()
      return try paths.map {
        try touched.countKey(until: snapshot.deadline)
        return try snapshot.document(at: $0)
      }
    }
  }

  package func documents(
    matching query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument]>
  ) {
    let query = EffectiveQuery(query)
    if let id = context.transaction {
      do throws(Status) { try query.refuseSearch() } catch { return done(.failure(error)) }
      return documents(matching: query, in: id, context, done)
    }
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try tracing { try snapshot.documents(matching: query, asOf: sequence, trace: $0) }
      }
    }
    answer(query.readScope, context, .limited, done) { [self] snapshot in
      try tracing { try snapshot.documents(matching: query, trace: $0) }
    }
  }

  // Usually no write has to be waited for, and the caller has no other work: then these need no
  // continuation.

  package func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?] {
    let context = RequestContext.awaiting()
    guard context.thread == .lent else {
      return try await awaiting { documents(at: paths, context, $0) }
    }
    if writer.hasTickets { await writer.waitForWrites(touching: .all(of: paths)) }
    return try store.read { snapshot in try paths.map { try snapshot.document(at: $0) } }
  }

  package func documents(matching query: StructuredQuery) async throws -> [StoredDocument] {
    let context = RequestContext.awaiting()
    guard context.thread == .lent else {
      return try await awaiting { documents(matching: query, context, $0) }
    }
    let query = EffectiveQuery(query)
    if writer.hasTickets { await writer.waitForWrites(touching: query.readScope) }
    return try store.read { snapshot in
      try tracing { try snapshot.documents(matching: query, trace: $0) }
    }
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[Value]>
  ) {
    let query = EffectiveQuery(query, aggregating: aggregations)
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try tracing {
          try snapshot.aggregate(aggregations, over: query, asOf: sequence, trace: $0)
        }
      }
    }
    answer(query.readScope, context, .limited, done) { [self] snapshot in
      try tracing { try snapshot.aggregate(aggregations, over: query, trace: $0) }
    }
  }

  package func groups(
    _ query: GroupedQuery, _ context: RequestContext, _ done: @escaping Completion<[QueryGroup]>
  ) {
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try tracing { try snapshot.groups(query, asOf: sequence, trace: $0) }
      }
    }
    answer(EffectiveQuery(query.query).readScope, context, .limited, done) { [self] snapshot in
      try tracing { try snapshot.groups(query, trace: $0) }
    }
  }

  package func joined(
    _ query: JoinedQuery, _ context: RequestContext, _ done: @escaping Completion<JoinedResult>
  ) {
    if let time = context.readTime {
      return answer(at: time, context, done) { snapshot, sequence in
        try query.read { try snapshot.result(of: $0, asOf: sequence) }
      }
    }
    answer(.everything, context, .limited, done) { [self] in try joined(query, in: $0) }
  }

  func joined(_ query: JoinedQuery, in snapshot: StoreSnapshot) throws -> JoinedResult {
    try query.read { request in
      try snapshot.result(of: request, isStrict: indexes.policy == .strict) { trace in
        if indexes.advisor.isLearning { indexes.note(trace) }
      }
    }
  }

  package func explain(
    _ request: ExplainRequest, _ context: RequestContext,
    _ done: @escaping Completion<QueryExplanation>
  ) {
    answer(request.query.readScope, context, .unlimited, done) { [self] snapshot in
      let isStrict = indexes.policy == .strict
      var explanation = try snapshot.explain(request, isStrict: isStrict)
      if let joined = request.joined {
        explanation.parts += try snapshot.explainInclusions(
          of: joined, analyzes: request.analyzes, isStrict)
      }
      return explanation
    }
  }

  package func collections(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    answer(.everything, context, .unlimited, done) { try $0.collections(below: path) }
  }

  package func documentPaths(
    in collection: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    answer(.everything, context, .unlimited, done) { try $0.documentPaths(in: collection) }
  }

  package func page(
    after position: [UInt8]?, _ limits: DocumentPage.Limits, _ context: RequestContext,
    _ done: @escaping Completion<DocumentPage>
  ) {
    answer(.everything, context, .unlimited, done) { try $0.page(after: position, limits) }
  }

  package func documentCount(_ context: RequestContext, _ done: @escaping Completion<Int>) {
    answer(.everything, context, .short, done) {
      try $0.lmdb.statistics($0.tables.documents).entries
    }
  }

  package func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer {
    guard context.readTime == nil else {
      return try await withOwnedBody(at: path, context, body)
    }
    if writer.hasTickets { await writer.waitForWrites(touching: .document(path)) }
    return try store.read { try body($0.body(at: path)) }
  }

  package func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer] {
    guard context.readTime == nil else {
      return try await decodedOwned(matching: query, context, decode)
    }
    let effective = EffectiveQuery(query)
    if writer.hasTickets {
      await writer.waitForWrites(touching: effective.readScope)
    }
    let read = { [self] (deadline: ReadDeadline?) in
      try store.read(until: deadline) { snapshot in
        try tracing { trace in
          try snapshot.decoded(matching: effective, trace: trace, isParallel: isParallel, decode)
        }
      }
    }
    guard context.thread == .brief else { return try read(nil) }
    do { return try read(.soon) } catch is ReadDeadline.Passed {}
    guard isParallel else { return try await decodedOwned(matching: query, .busy, decode) }
    return try await onFreeThread { try read(nil) }
  }

  // MARK: Writing

  package func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    if let id = request.transaction { return commit(request, in: id, done) }
    writer.commit(request, isBlocking: context.thread == .blocked, done)
  }

  package func submit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    writer.submit(
      request.mutations, areChecked: request.areChecked, isCounted: request.isCounted,
      completesAfterListeners: request.completesAfterListeners, complete: done)
  }

  package func drain(_ done: @escaping @Sendable () -> Void) { writer.whenDrained(done) }

  // MARK: Changes

  package func newestTime(_ context: RequestContext, _ done: @escaping Completion<Timestamp>) {
    answer(.everything, context, .short, done) { Timestamp(try $0.state().lastCommitTime) }
  }

  package func oldestReadableTime(
    _ context: RequestContext, _ done: @escaping Completion<Timestamp?>
  ) {
    answer(.nothing, context, .short, done) { try $0.oldestReadableTime().map { Timestamp($0) } }
  }

  package func committedToken() throws -> ChangeToken {
    token(after: try store.read { try $0.state().lastSequence })
  }

  package func newestToken(_ context: RequestContext, _ done: @escaping Completion<ChangeToken>) {
    answer(.everything, context, .short, done) { [self] in
      token(after: try $0.state().lastSequence)
    }
  }

  package func time(
    of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>
  ) {
    answer(.nothing, context, .short, done) { [self] snapshot in
      let sequence = try sequence(of: token)
      let state = try snapshot.state()
      guard sequence <= state.lastSequence else { throw Status.tokenOfTheFuture }
      if sequence == state.lastSequence { return Timestamp(state.lastCommitTime) }
      if sequence == 0 { return Timestamp(Instant(microseconds: 0)) }
      guard let change = try snapshot.change(sequence) else {
        throw Status(.outOfRange, "The change log does not reach back to the token.")
      }
      return Timestamp(change.commitTime)
    }
  }

  package func token(
    at time: Timestamp, _ context: RequestContext, _ done: @escaping Completion<ChangeToken>
  ) {
    answer(at: time, context, done) { [self] _, sequence in token(after: sequence) }
  }

  package func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>
  ) {
    answer(.nothing, context, .unlimited, done) { [self] snapshot in
      let sequence = try sequence(of: token)
      guard try sequence <= snapshot.state().lastSequence else { throw Status.tokenOfTheFuture }
      let page = try snapshot.changePage(after: sequence)
      // No changes would ever come.
      guard !page.isEmpty || store.environment.isInPlace else {
        throw Status(reading: .fileReplaced)
      }
      return page
    }
  }

  package func close() {
    transactions.close()
    indexes.close()
    sweeper?.close()
    clockWatch.close()
    writer.close()
    registry.close()
    store.close()
    memoryFolder?.remove()
  }
}

extension IndexManager {
  /// Reports to the advisor what an answer used, what it lacked, and what it cost.
  func note(_ trace: QueryTrace) {
    for join in trace.joins { note(join.trace) }
    if case .entries(let branches)? = trace.plan?.source {
      for branch in branches {
        advisor.note(use: branch.index)
        for joinedIndex in branch.joined { advisor.note(use: joinedIndex.index) }
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
    self =
      error as? Status ?? (error as? LMDBError).map(Status.init(reading:))
      ?? Status(.unavailable, "Reading failed.", cause: error)
  }
}
