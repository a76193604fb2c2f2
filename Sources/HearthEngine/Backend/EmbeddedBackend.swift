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
  /// Reports a query to the advisor.
  private let note: @Sendable (QueryTrace) -> Void
  /// Nil for a database that is open for reading only.
  let sweeper: TTLSweeper?
  let transactions: TransactionTable<WriteRequest>
  private let clockWatch: ClockWatch
  private let logger: Logger
  /// The folder of a database that lives in memory, as far as users see. Removed with the database.
  private let memoryFolder: MemoryFolder?

  /// - Parameter namedPath: The path that the user gave for the file, if it is not `path`.
  init(
    path: String, named namedPath: String? = nil, _ settings: Settings, logger: Logger,
    memoryFolder: MemoryFolder? = nil
  ) throws {
    let configuration = settings.store
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
    let history = try store.read { try History.read($0) }
    clockWatch = ClockWatch(of: path, now: configuration.now, logger: logger)
    writer = Writer(store, queueLimitBytes: settings.queueLimitBytes, logger: logger)
    let indexes = IndexManager(store, policy: settings.indexPolicy, logger: logger)
    self.indexes = indexes
    note = { trace in if indexes.advisor.isLearning { indexes.note(trace) } }
    let registry = ListenerRegistry(
      store, writer, logger: logger, isStrict: settings.indexPolicy == .strict, note: note)
    listeners = BackendListeners(registry: registry, history: history)
    transactions = TransactionTable(patience: settings.transactionPatience)
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
      done(Result { try store.read(work) }.mapError { Status(readingFailed: $0) })
    }
    if context.thread != .busy, writer.hasNoPendingWrites(touching: scope) {
      guard context.thread == .brief else { return answer() }
      if length != .unlimited {
        do {
          return done(.success(try store.read(until: .soon, work)))
        } catch is ReadDeadline.Passed {
          // It takes longer than a caller's executor may be held.
        } catch {
          return done(.failure(Status(readingFailed: error)))
        }
      }
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

extension EmbeddedBackend: ListeningBackend, IndexedBackend {

  package func checkUsable() throws(Status) {
    // A forked child has no writer's thread: nothing that it submits would ever complete.
    if store.environment.isForked { throw .forked }
  }

  package func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
    try WriterWaitGraph.waiting(for: writer, body)
  }

  // MARK: Reading

  package func read(
    _ request: ReadRequest, _ context: RequestContext, _ done: @escaping Completion<VersionedAnswer>
  ) {
    if let id = context.transaction { return read(request, in: id, context, done) }
    if let time = context.readTime {
      return answer(at: time, context, done) { [self] snapshot, sequence in
        try view(snapshot, .asOf(sequence)).answer(
          request, StateVersion(sequence: sequence, time: Timestamp(Instant(time))),
          isMeasured: context.isMeasured)
      }
    }
    answer(request.readScope, context, request.length, done) { [self] snapshot in
      try view(snapshot).answer(
        request, StateVersion(try snapshot.state()), isMeasured: context.isMeasured)
    }
  }

  // Usually no write has to be waited for, and the caller has no other work: then this needs no
  // continuation.

  package func read(_ request: ReadRequest) async throws -> ReadAnswer {
    let context = RequestContext.awaiting()
    guard context.thread == .lent else {
      return try await awaiting { read(request, context, $0) }.answer
    }
    if writer.hasTickets { await writer.waitForWrites(touching: request.readScope) }
    return try store.read { try view($0).answer(request) }
  }

  func view(_ snapshot: StoreSnapshot, _ versions: StoreView.Versions = .stored) -> StoreView {
    StoreView(snapshot, versions, tracing)
  }

  /// Follows the index policy, and reports to the advisor.
  var tracing: QueryTracing {
    QueryTracing(isStrict: indexes.policy == .strict, note: note)
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

  package func drain(_ done: @escaping @Sendable () -> Void) { writer.whenDrained(done) }

  // MARK: Changes

  package func committedToken() throws -> ChangeToken {
    token(after: try store.read { try $0.state().lastSequence })
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
      guard let change = try snapshot.change(sequence) else { throw Status.tokenTooOld }
      return Timestamp(change.commitTime)
    }
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

extension StateVersion {
  init(_ state: StoreState) {
    self.init(sequence: state.lastSequence, time: Timestamp(state.lastCommitTime))
  }
}

extension ReadRequest {
  /// An answer waits for writes within this scope.
  var readScope: ReadScope {
    switch self {
    case .documents(let paths): .all(of: paths)
    case .results(let query, _), .part(let query, _), .values(_, over: let query): query.readScope
    case .groups(let grouped): EffectiveQuery(grouped.query).readScope
    case .explanation(let request, _): request.explained.readScope
    default: .everything
    }
  }

  var length: EmbeddedBackend.Length {
    switch self {
    case .documents(let paths) where paths.count == 1: .short
    case .documentCount, .nothing: .short
    case .documents, .results, .part, .values, .groups, .joined: .limited
    default: .unlimited
    }
  }
}

extension Status {
  package init(readingFailed error: any Error) {
    self =
      error as? Status ?? (error as? LMDBError).map(Status.init(reading:))
      ?? Status(.unavailable, "Reading failed.", cause: error)
  }

  /// Runs `body`. Its errors are those of a read.
  package static func ofReading<Answer>(
    _ body: () throws -> Answer
  ) throws(Status) -> Answer {
    do { return try body() } catch { throw Status(readingFailed: error) }
  }
}
