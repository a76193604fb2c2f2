import Dispatch
import Foundation
import Logging

/// A backend whose documents are in tables on a server, which several processes use at once.
///
///     commit ─▶ RemoteWriter: all that wait, in one commit of the server ─▶ completes
///     read   ─▶ what the request needs, in one round trip ─▶ a `RemoteState` of it ─▶ the answer
///     listen ─▶ RemoteChangeSource: the log of the server, commit by commit
///
/// A read in the past takes the documents as they are, and undoes the changes since.
package final class RemoteBackend: Sendable {
  private let isClosed = Guarded(false)
  private let transactions: TransactionTable<WriteRequest>
  let store: any RemoteStore
  let writer: RemoteWriter
  let catalogues: RemoteCatalogues
  private let horizon = RemoteHorizon()
  let acknowledgements = Acknowledgements()
  let source: RemoteChangeSource
  package let listeners: BackendListeners
  let now: @Sendable () -> Instant
  let sweeper: RemoteSweeper
  private let clockWatch: ClockWatch
  private let process = getpid()

  /// Reads the store's record: blocks for one round trip.
  package init(
    _ store: any RemoteStore, _ settings: EmbeddedBackend.Settings, logger: Logger
  ) throws(Status) {
    let now = settings.store.now
    self.store = store
    self.now = now
    transactions = TransactionTable(patience: settings.transactionPatience)
    catalogues = RemoteCatalogues(store)
    let record = try store.readBlocking(RemoteRead()).record
    horizon.note(record)
    source = RemoteChangeSource(store, catalogues, horizon, now: now)
    writer = RemoteWriter(
      store, catalogues, acknowledgements, source, horizon, settings, logger: logger)
    source.writer = writer
    catalogues.writer = writer
    listeners = BackendListeners(
      registry: ListenerRegistry(source, acknowledgements, logger: logger),
      history: History(
        id: Instant(microseconds: record.history), isRestored: record.isRestored))
    sweeper = RemoteSweeper(logger: logger)
    clockWatch = ClockWatch(of: store.name, now: now, logger: logger)
    writer.continueBuilding()
    if let interval = settings.store.ttlSweepInterval, !store.isReadOnly {
      sweeper.start(self, every: interval)
    }
    clockWatch.look(at: record.latestTime)
    clockWatch.start { [weak store] in try? store?.readBlocking(RemoteRead()).record.latestTime }
  }

  // MARK: Reading

  /// Answers from the state that a request needs: one round trip; two in the past.
  private func fetch(
    _ request: ReadRequest, _ context: RequestContext, _ done: @escaping Completion<VersionedAnswer>
  ) {
    let isNow = context.readTime == nil
    let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = {
      RemoteNeeds(request, $0, isNow: isNow)
    }
    let start = ContinuousClock.now
    let work = {
      @Sendable [self] (state: RemoteState, version: StateVersion) throws(Status) in
      try Status.ofReading {
        if case .explanation(let asked, let analyzes) = request {
          let explanation = try explain(
            asked.explained, analyzes, needs(catalogues.newest), state, since: start)
          return VersionedAnswer(.explanation(explanation), version)
        }
        let found = try answer(request, in: context.transaction, state)
        guard context.isMeasured else { return VersionedAnswer(found, version) }
        return VersionedAnswer(
          found, version, .init(found, needs(catalogues.newest), state, since: start))
      }
    }
    afterWrites(context, done) { [self] in
      if let time = context.readTime {
        return BlockingThreads.shared.complete(done) { [self] () throws(Status) in
          let version = try version(at: time)
          let state = try source.state(needs, asOf: version.sequence)
          return try work(state, version)
        }
      }
      catalogues.read(needs, isPrompt: context.thread != .busy) {
        done($0.flatMap { state in Result { () throws(Status) in try work(state, state.version) } })
      }
    }
  }

  /// Recorded for a transaction.
  private func answer(
    _ request: ReadRequest, in transaction: TransactionID?, _ state: RemoteState
  ) throws -> ReadAnswer {
    guard let transaction else { return try state.answer(request) }
    let recorded = try request.recorded()
    let answer = try state.answer(recorded)
    try transactions.note(transaction, recorded, answer, at: state.version.sequence)
    return try request.answer(fromWhole: answer)
  }

  /// Calls `body` after the writes that callers do not await; in a transaction that holds the lock,
  /// at once.
  private func afterWrites<Answer>(
    _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ body: @escaping @Sendable () -> Void
  ) {
    if isClosed.withLock(\.self) { return done(.failure(.terminated)) }
    let isExclusive = context.transaction.map { transactions.isExclusive($0) } ?? false
    if isExclusive { body() } else { writer.whenUnawaitedAreDone(body) }
  }

  /// Same as `afterWrites`, for an answer that blocks.
  private func blockingAfterWrites<Answer>(
    _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ body: @escaping @Sendable () throws(Status) -> Answer
  ) {
    afterWrites(context, done) { BlockingThreads.shared.complete(done, body) }
  }

  /// Answers from a state that is read in one step after another.
  private func fetchStepwise(
    _ query: JoinedQuery, _ context: RequestContext, _ done: @escaping Completion<VersionedAnswer>
  ) {
    blockingAfterWrites(context, done) { [self] () throws(Status) in
      let version = try version(at: context.readTime)
      return try Status.ofReading {
        let joined = try query.read { request in
          try source.state({ RemoteNeeds(request, $0) }, asOf: version.sequence).answer(request)
        }
        return VersionedAnswer(.joined(joined), version)
      }
    }
  }

  /// The state at a time, or the newest. Blocks for a round trip.
  private func version(at time: Timestamp?) throws(Status) -> StateVersion {
    guard let time else { return StateVersion(try store.readBlocking(RemoteRead()).record) }
    return StateVersion(sequence: try sequence(at: time), time: Timestamp(Instant(time)))
  }

  /// The sequence of the last change at or before a time.
  private func sequence(at time: Timestamp) throws(Status) -> UInt64 {
    let time = Instant(time)
    let request = RemoteRead(lastChangeAt: time.microseconds)
    var answer = try store.readBlocking(request)
    guard time <= max(now(), answer.record.latestTime) else {
      throw .invalidArgument("The read time cannot be in the future.")
    }
    if time > answer.record.latestTime, !store.isReadOnly {
      // A commit under way may get an earlier time: waits for it. A store that is only read cannot.
      answer = try writer.settle(time, request)
    }
    guard time.microseconds >= answer.record.trimmedTime else {
      let oldest = Instant(microseconds: answer.record.trimmedTime)
      throw Status(
        .outOfRange,
        "The change log does not reach back to the read time. "
          + "The oldest readable time is \(oldest.text).")
    }
    return answer.lastChangeAt ?? (answer.record.firstLogged &- 1)
  }
}

extension RemoteBackend: ListeningBackend, IndexedBackend {

  package func checkUsable() throws(Status) {
    // A forked child would share the connections, and has none of the threads.
    if getpid() != process { throw .forked }
  }

  package func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
    if writer.isOnThread { throw .nestedWrite }
    return try body()
  }

  package func read(
    _ request: ReadRequest, _ context: RequestContext, _ done: @escaping Completion<VersionedAnswer>
  ) {
    let request = request.resolved(at: now())
    if context.transaction != nil {
      do throws(Status) { _ = try request.recorded() } catch { return done(.failure(error)) }
    }
    switch request {
    case .documents(let paths):
      // A transaction that has read something does not wait: others may wait for it.
      guard paths.count == 1, let id = context.transaction,
        let (turn, isExclusive, hasRead) = try? transactions.waiting(of: id), !isExclusive, !hasRead
      else { return fetch(request, context, done) }
      transactions.queues.whenNext(at: paths[0], turn) { [self] in fetch(request, context, done) }
    case .joined(let query): fetchStepwise(query, context, done)
    case .collections(let path) where context.readTime == nil,
      .documentPaths(in: let path) where context.readTime == nil:
      let read = RemoteRead(names: .subtree(below: path.remoteIDs))
      versioned(context, read, done) { answer throws(Status) in
        let paths = try answer.names.map { name throws(Status) in try ResourcePath(remote: name) }
        return .paths(ResourcePath.prefixes(of: paths, below: path))
      }
    case .page(let position, let limits): page(after: position, limits, context, done)
    case .documentCount:
      versioned(context, RemoteRead(withCount: true), done) { .count(Int(clamping: $0.count ?? 0)) }
    case .nothing:
      guard let time = context.readTime else {
        return versioned(context, RemoteRead(), done) { _ in .nothing }
      }
      blockingAfterWrites(context, done) { [self] () throws(Status) in
        VersionedAnswer(.nothing, try version(at: time))
      }
    default: fetch(request, context, done)
    }
  }

  private func explain(
    _ request: ReadRequest, _ analyzes: Bool, _ needs: RemoteNeeds, _ state: RemoteState,
    since start: ContinuousClock.Instant
  ) throws -> QueryExplanation {
    guard let query = request.query else { throw Status.otherAnswer }
    var aggregations: [Aggregation]?
    if case .values(let asked, _) = request { aggregations = asked }
    let entries = needs.readsEntries
    var explanation = QueryExplanation(
      plan: entries
        ? "The server reads the documents in ranges of an index, in one statement."
        : "The server reads the documents of the scope, in one statement.",
      indexes: [], isServed: entries,
      missingIndexes: try catalogues.newest.missing(for: query, aggregations).map(\.json))
    guard analyzes else { return explanation }
    explanation.execution = .init(try state.answer(request), needs, state, since: start)
    return explanation
  }

  private func page(
    after position: [UInt8]?, _ limits: PageLimits, _ context: RequestContext,
    _ done: @escaping Completion<VersionedAnswer>
  ) {
    do throws(Status) {
      let last: RemoteKey? =
        if let position { RemoteKey(try ResourcePath(remote: position)) } else { nil }
      let request = RemoteRead(scopes: [.following(nil, after: last, limits)])
      versioned(context, request, done) { answer throws(Status) in
        var page = DocumentPage()
        page.documents = try answer.stored()
        if answer.reaches(limits) { page.next = answer.documents.last?.name }
        return .page(page)
      }
    } catch {
      done(.failure(error))
    }
  }

  /// Same as `record`, with the state that answered.
  private func versioned(
    _ context: RequestContext, _ request: RemoteRead, _ done: @escaping Completion<VersionedAnswer>,
    _ work: @escaping @Sendable (RemoteAnswer) throws(Status) -> ReadAnswer
  ) {
    record(context, request, done) { answer throws(Status) in
      VersionedAnswer(try work(answer), StateVersion(answer.record))
    }
  }

  // MARK: Writing

  package func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    do throws(Status) {
      let origin = request.completesAfterListeners ? acknowledgements.origin(context) : nil
      guard let id = request.transaction else {
        return try writer.add(WriteRequest(request, from: origin, done))
      }
      let transaction = try transactions.transaction(id)
      let write = try WriteRequest(
        request, on: transaction.reads, from: origin, transactions.ending(id, done))
      guard let hold = transaction.hold else { return try writer.add(write) }
      if !hold.end(write) { write.complete(.failure(.transactionHeldTooLong)) }
    } catch {
      done(.failure(error))
    }
  }

  package func drain(_ done: @escaping @Sendable () -> Void) { writer.whenDone(done) }

  // MARK: Transactions

  package func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>
  ) {
    if isClosed.withLock(\.self) { return done(.failure(.terminated)) }
    // Another attempt has its turn among the transactions of this process; those of others may still be
    // in between.
    transactions.begin(start, context, done) { [writer] hold, begun in
      do throws(Status) { try writer.add(hold, begun) } catch { begun(.failure(error)) }
    }
  }

  package func end(_ transaction: TransactionID, isRetried: Bool) {
    transactions.end(transaction, isRetried: isRetried)
  }

  // MARK: Changes

  /// The answer to a request for the record, after the writes that callers do not await.
  private func record<Answer>(
    _ context: RequestContext, _ request: RemoteRead, _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (RemoteAnswer) throws(Status) -> Answer
  ) {
    afterWrites(context, done) { [store, horizon] in
      store.read(request) { result in
        if case .success(let answer) = result { horizon.note(answer.record) }
        BlockingThreads.shared.complete(done) { () throws(Status) in try work(result.get()) }
      }
    }
  }

  package func committedToken() throws -> ChangeToken {
    token(after: try store.readBlocking(RemoteRead()).record.sequence)
  }

  package func time(
    of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>
  ) {
    do throws(Status) {
      let sequence = try sequence(of: token)
      record(context, RemoteRead(timeOf: sequence), done) { answer throws(Status) in
        let record = answer.record
        try record.check(sequence)
        if sequence == record.sequence { return Timestamp(Instant(microseconds: record.time)) }
        return Timestamp(Instant(microseconds: answer.timeOf ?? record.trimmedTime))
      }
    } catch {
      done(.failure(error))
    }
  }

  package func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>
  ) {
    do throws(Status) {
      if isClosed.withLock(\.self) { throw .terminated }
      let sequence = try sequence(of: token)
      let changes = RemoteRead.Changes(after: sequence, limits: PageLimits(count: 1024))
      store.read(RemoteRead(changes: changes)) { result in
        BlockingThreads.shared.complete(done) { () throws(Status) in
          let answer = try result.get()
          try answer.record.check(sequence)
          return try answer.changes.map { change throws(Status) in try LoggedChange(change) }
        }
      }
    } catch {
      done(.failure(error))
    }
  }

  // MARK: Indexes

  package func declare(_ definitions: [IndexDefinition], _ done: @escaping Completion<Void>) {
    do throws(Status) {
      try IndexDefinition.check(definitions)
      writer.editAndBuild(
        { edit throws(Status) in
          for definition in definitions { try edit.declare(definition) }
        }, done)
    } catch {
      done(.failure(error))
    }
  }

  package func drop(_ definitions: [IndexDefinition]) async throws {
    try await awaiting { done in
      writer.editAndBuild(
        { edit in for definition in definitions { edit.drop(definition) } }, done)
    }
  }

  package func indexList() throws -> [IndexInfo] {
    try catalogues.refresh().indexes.map { IndexInfo($0) }
  }

  package func waitForIndexes() async throws {
    let writer = writer
    let indexes = try await onBlockingThread { try writer.build() }
    for index in indexes { try index.checkValid() }
  }

  package func close() {
    if isClosed.exchange(true) { return }
    sweeper.close()
    clockWatch.close()
    transactions.close()
    writer.close()
    registry.close()
    store.close()
  }
}

extension RemoteBackend: LocalBackend {
  package func read<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) async throws -> Answer {
    try reading(try await awaiting { position(.lent, at: time, $0) }, body)
  }

  package func readBlocking<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) throws -> Answer {
    try reading(try waiting { position(.blocked, at: time, $0) }, body)
  }

  /// The sequence of the state that a closure reads.
  private func position(
    _ context: RequestContext, at time: Timestamp?, _ done: @escaping Completion<UInt64>
  ) {
    blockingAfterWrites(context, done) { [self] () throws(Status) in
      try version(at: time).sequence
    }
  }

  /// Each read of the closure blocks for a round trip.
  private func reading<Answer>(
    _ sequence: UInt64, _ body: (any DocumentState) throws -> Answer
  ) throws -> Answer {
    let state = RemotePlanState(catalogues.newest) { [source] needs throws(Status) in
      try source.state(needs, asOf: sequence).documents
    }
    var plan = CommitPlan(
      state, StoreState(lastSequence: sequence), now: now(), notAfter: .latest, documentCount: 0)
    return try withUnsafeMutablePointer(to: &plan) { plan in
      try body(PlannedState(plan))
    }
  }

  package func write(
    file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
    _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    let request = WriteRequest(WriteClosure(body), from: acknowledgements.origin(context), done)
    do throws(Status) { try writer.add(request) } catch { done(.failure(error)) }
  }
}

extension RemoteBackend: TimeRepairingBackend {
  package func repairTimes() async throws -> Int {
    let writer = writer
    return try await onBlockingThread { try writer.repairTimes() }
  }
}

extension QueryExplanation.Execution {
  fileprivate init(
    _ answer: ReadAnswer, _ needs: RemoteNeeds, _ state: RemoteState,
    since start: ContinuousClock.Instant
  ) {
    let count = state.documents.count
    self.init(
      resultsReturned: answer.resultCount, indexEntriesRead: needs.readsEntries ? count : 0,
      documentsRead: count, keysRead: count,
      duration: max(ContinuousClock.now - start, .microseconds(1)))
  }
}

extension RemoteNeeds {
  /// Whether documents are found by entries of an index.
  fileprivate var readsEntries: Bool {
    scopes.contains { if case .entries = $0 { true } else { false } }
  }
}

extension RemoteStore {
  /// Same as `read`, for a thread that may block.
  func readBlocking(_ request: RemoteRead) throws(Status) -> RemoteAnswer {
    guard let answer = DispatchSemaphore.waiting(for: { read(request, $0) }) else {
      throw .terminated
    }
    return try answer.get()
  }
}

extension RemoteRecord {
  /// Throws unless the log has every change after this sequence.
  func check(_ sequence: UInt64) throws(Status) {
    guard sequence <= self.sequence else { throw .tokenOfTheFuture }
    guard sequence &+ 1 >= firstLogged else { throw .tokenTooOld }
  }
}

extension Status {
  static let tokenTooOld = Status(
    .outOfRange, "The change log does not reach back to the token.")
}
