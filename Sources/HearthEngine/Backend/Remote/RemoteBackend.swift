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
  private let transactions: TransactionTable<RemoteWriter.Job>
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
    let clock = settings.clock
    let now: @Sendable () -> Instant = { clock.map { Instant($0()) } ?? Instant.now() }
    self.store = store
    self.now = now
    transactions = TransactionTable(patience: settings.transactionPatience)
    catalogues = RemoteCatalogues(store)
    let record = try store.readBlocking(RemoteRead()).record
    horizon.note(record)
    source = RemoteChangeSource(store, catalogues, horizon, now: now)
    writer = RemoteWriter(
      store, catalogues, acknowledgements, source, horizon,
      queueLimitBytes: settings.queueLimitBytes, now: now,
      commitTime: CommitTime(maximumLead: settings.maximumClockLead), logger: logger)
    source.writer = writer
    catalogues.writer = writer
    listeners = BackendListeners(
      registry: ListenerRegistry(source, acknowledgements, logger: logger),
      history: History(
        id: Instant(microseconds: record.history), isRestored: record.isRestored))
    sweeper = RemoteSweeper(logger: logger)
    clockWatch = ClockWatch(of: store.name, now: now, logger: logger)
    writer.continueBuilding()
    if let interval = settings.ttlSweepInterval, !store.isReadOnly {
      sweeper.start(self, every: interval)
    }
    clockWatch.look(at: record.latestTime)
    clockWatch.start { [weak store] in try? store?.readBlocking(RemoteRead()).record.latestTime }
  }

  // MARK: Reading

  /// Computes an answer from the state that a request needs.
  private func answer<Answer>(
    _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ needs: @escaping @Sendable (RemoteCatalogue) -> RemoteNeeds,
    _ work: @escaping @Sendable (RemoteState) throws -> Answer
  ) {
    afterWrites(context, done) { [self] in
      if let time = context.readTime {
        BlockingThreads.shared.run { [self] in
          done(
            Result { () throws(Status) in
              let sequence = try sequence(at: time)
              let state = try source.state(needs, asOf: sequence)
              return try answered(state, work)
            })
        }
        return
      }
      catalogues.read(needs, isPrompt: context.thread != .busy) {
        done($0.flatMap { state in Result { () throws(Status) in try answered(state, work) } })
      }
    }
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

  /// Same as `answer`, for a request that reads one thing after another in one state.
  private func answerStepwise<Answer>(
    _ context: RequestContext, _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (_ fetch: (ResultRequest) throws -> FetchedResult) throws -> Answer
  ) {
    afterWrites(context, done) { [self] in
      BlockingThreads.shared.run { [self] in
        done(
          Result { () throws(Status) in
            let sequence: UInt64 =
              if let time = context.readTime {
                try self.sequence(at: time)
              } else {
                try store.readBlocking(RemoteRead()).record.sequence
              }
            do {
              return try work { request in
                try source.state(
                  {
                    var needs = RemoteNeeds(); needs.add(request, $0); return needs
                  }, asOf: sequence
                )
                .result(of: request)
              }
            } catch {
              throw Status(readingFailed: error)
            }
          })
      }
    }
  }

  /// The sequence of the last change at or before a time.
  private func sequence(at time: Timestamp) throws(Status) -> UInt64 {
    let time = Instant(time)
    var request = RemoteRead()
    request.lastChangeAt = time.microseconds
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

extension RemoteBackend: ListeningBackend {

  package func checkUsable() throws(Status) {
    // A forked child would share the connections, and has none of the threads.
    if getpid() != process { throw .forked }
  }

  package func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
    if writer.isOnThread { throw .nestedWrite }
    return try body()
  }

  package func documents(
    at paths: [ResourcePath], _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument?]>
  ) {
    let read = { @Sendable [self] in
      answer(context, done, { _ in RemoteNeeds(paths: paths) }) { [self] state in
        let found = state.documents(at: paths)
        if let id = context.transaction { try transactions.note(id, zip(paths, found)) }
        return found
      }
    }
    // A transaction that has read something does not wait: others may wait for it.
    guard paths.count == 1, let id = context.transaction,
      let (turn, isExclusive, hasRead) = try? transactions.waiting(of: id), !isExclusive, !hasRead
    else { return read() }
    transactions.queues.whenNext(at: paths[0], turn, read)
  }

  package func documents(
    matching query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument]>
  ) {
    let query = EffectiveQuery(query).resolved(at: now(), inSemiJoins: true)
    let isNow = context.readTime == nil
    let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = { catalogue in
      var needs = RemoteNeeds()
      needs.add(query, catalogue, isNow: isNow)
      return needs
    }
    answer(context, done, needs) { [self] state in
      guard let id = context.transaction else {
        return try RemoteResults(query).documents(state.documents)
      }
      try query.refuseSearch()
      var whole = query
      whole.projection = []
      let found = try RemoteResults(whole).documents(state.documents)
      try transactions.note(
        id, found.lazy.map { ($0.path, $0) },
        resultOf: ObservedQuery(whole, found, at: state.sequence))
      return try RemoteResults(query).documents(state.documents)
    }
  }

  package func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[Value]>
  ) {
    let query = EffectiveQuery(query, aggregating: aggregations)
      .resolved(at: now(), inSemiJoins: true)
    let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = { catalogue in
      var needs = RemoteNeeds()
      needs.add(query, catalogue)
      return needs
    }
    answer(context, done, needs) { state in
      try RemoteResults(query).aggregate(aggregations, state.documents)
    }
  }

  package func groups(
    _ query: GroupedQuery, _ context: RequestContext, _ done: @escaping Completion<[QueryGroup]>
  ) {
    let time = now()
    let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = { catalogue in
      var needs = RemoteNeeds()
      needs.add(query, at: time, catalogue)
      return needs
    }
    answer(context, done, needs) { try $0.groups(query, at: time) }
  }

  package func joined(
    _ query: JoinedQuery, _ context: RequestContext, _ done: @escaping Completion<JoinedResult>
  ) {
    let query = query.resolved(at: now())
    answerStepwise(context, done) { try query.read($0) }
  }

  package func explain(
    _ request: ExplainRequest, _ context: RequestContext,
    _ done: @escaping Completion<QueryExplanation>
  ) {
    let time = now()
    let query = request.query.resolved(at: time, inSemiJoins: true)
    let isWhole = request.aggregations != nil
    let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = { catalogue in
      var needs = RemoteNeeds()
      if let groups = request.groups {
        needs.add(groups, at: time, catalogue)
      } else {
        needs.add(query, catalogue, isNow: !isWhole)
      }
      return needs
    }
    let clock = ContinuousClock()
    let start = clock.now
    answer(context, done, needs) { [catalogues] state in
      var entries = false
      let catalogue = catalogues.newest
      for case .entries in needs(catalogue).scopes { entries = true }
      var explanation = QueryExplanation(
        plan: entries
          ? "The server reads the documents in ranges of an index, in one statement."
          : "The server reads the documents of the scope, in one statement.",
        indexes: [], isServed: entries,
        missingIndexes: try catalogue.missing(for: query, request.aggregations).map(\.json))
      guard request.analyzes else { return explanation }
      let documents = state.documents
      let count =
        if let aggregations = request.aggregations {
          try RemoteResults(query).aggregate(aggregations, documents).count
        } else if let groups = request.groups {
          try state.groups(groups, at: time).count
        } else {
          try RemoteResults(query).documents(documents).count
        }
      explanation.execution = QueryExplanation.Execution(
        resultsReturned: count, indexEntriesRead: entries ? documents.count : 0,
        documentsRead: documents.count, keysRead: documents.count,
        duration: max(clock.now - start, .microseconds(1)))
      return explanation
    }
  }

  package func collections(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    prefixes(below: path, context, done)
  }

  package func documentPaths(
    in collection: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    prefixes(below: collection, context, done)
  }

  /// The distinct paths with one more segment, of all documents below a path.
  private func prefixes(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>
  ) {
    let count = path.segments.count + 1
    @Sendable func prefixes(of paths: [ResourcePath]) -> [ResourcePath] {
      Set(
        paths.filter { $0.segments.count >= count && $0.hasPrefix(path) }
          .map { ResourcePath(Array($0.segments.prefix(count))) }
      ).sorted { ResourcePath.compare($0, $1) < 0 }
    }
    guard context.readTime == nil else {
      let needs: @Sendable (RemoteCatalogue) -> RemoteNeeds = { _ in
        RemoteNeeds(whole: .subtree(below: path.remoteIDs))
      }
      return answer(context, done, needs) { prefixes(of: $0.documents.map(\.path)) }
    }
    var request = RemoteRead()
    request.names = .subtree(below: path.remoteIDs)
    record(context, request, done) { answer throws(Status) in
      var paths: [ResourcePath] = []
      for name in answer.names { paths.append(try ResourcePath(remote: name)) }
      return prefixes(of: paths)
    }
  }

  package func page(
    after position: [UInt8]?, _ limits: DocumentPage.Limits, _ context: RequestContext,
    _ done: @escaping Completion<DocumentPage>
  ) {
    do throws(Status) {
      let last: RemoteKey? =
        if let position { RemoteKey(try ResourcePath(remote: position)) } else { nil }
      var request = RemoteRead()
      let limits = RemoteLimits(count: limits.count, byteCount: limits.byteCount)
      request.scopes = [.following(nil, after: last, limits)]
      record(context, request, done) { answer throws(Status) in
        var page = DocumentPage()
        for document in answer.documents { page.documents.append(try StoredDocument(document)) }
        if answer.reaches(limits) { page.next = answer.documents.last?.name }
        return page
      }
    } catch {
      done(.failure(error))
    }
  }

  package func documentCount(_ context: RequestContext, _ done: @escaping Completion<Int>) {
    var request = RemoteRead()
    request.withCount = true
    record(context, request, done) { Int(clamping: $0.count ?? 0) }
  }

  // MARK: Writing

  package func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    write(request, context, isAwaited: true, done)
  }

  package func submit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>
  ) {
    write(request, context, isAwaited: false, done)
  }

  private func write(
    _ request: CommitRequest, _ context: RequestContext, isAwaited: Bool,
    _ done: @escaping Completion<CommitResult>
  ) {
    do throws(Status) {
      if !request.areChecked { for mutation in request.mutations { try mutation.check() } }
      try Mutation.checkTotals(request.mutations)
      var job = RemoteWriter.Job(
        mutations: request.mutations,
        origin: request.completesAfterListeners ? acknowledgements.origin(context) : nil, done: done
      )
      if !isAwaited {
        job.waitingBytes = request.isCounted ? request.mutations.reduce(0) { $0 + $1.byteCount } : 0
      }
      guard let id = request.transaction else { return try writer.add(job) }
      let transaction = try transactions.transaction(id)
      job.origin = acknowledgements.origin(context)
      job.reads = transaction.reads
      job.done = try transactions.ending(id, done)
      guard let hold = transaction.hold else { return try writer.add(job) }
      if !hold.end(job) { job.done(.failure(.transactionHeldTooLong)) }
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

  package func release(_ transaction: TransactionID) { transactions.release(transaction) }
  package func rollback(_ transaction: TransactionID) { transactions.rollback(transaction) }

  // MARK: Changes

  /// The answer to a request for the record, after the writes that callers do not await.
  private func record<Answer>(
    _ context: RequestContext, _ request: RemoteRead, _ done: @escaping Completion<Answer>,
    _ work: @escaping @Sendable (RemoteAnswer) throws(Status) -> Answer
  ) {
    afterWrites(context, done) { [store, horizon] in
      store.read(request) { result in
        if case .success(let answer) = result { horizon.note(answer.record) }
        BlockingThreads.shared.run {
          done(result.flatMap { answer in Result { () throws(Status) in try work(answer) } })
        }
      }
    }
  }

  package func newestTime(_ context: RequestContext, _ done: @escaping Completion<Timestamp>) {
    record(context, RemoteRead(), done) { Timestamp(Instant(microseconds: $0.record.time)) }
  }

  package func oldestReadableTime(
    _ context: RequestContext, _ done: @escaping Completion<Timestamp?>
  ) {
    record(context, RemoteRead(), done) { answer in
      answer.record.trimmedTime == 0
        ? nil : Timestamp(Instant(microseconds: answer.record.trimmedTime))
    }
  }

  package func newestToken(_ context: RequestContext, _ done: @escaping Completion<ChangeToken>) {
    record(context, RemoteRead(), done) { [self] in token(after: $0.record.sequence) }
  }

  package func committedToken() throws -> ChangeToken {
    token(after: try store.readBlocking(RemoteRead()).record.sequence)
  }

  package func time(
    of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>
  ) {
    do throws(Status) {
      let sequence = try sequence(of: token)
      var request = RemoteRead()
      request.timeOf = sequence
      record(context, request, done) { answer throws(Status) in
        let record = answer.record
        guard sequence <= record.sequence else { throw .tokenOfTheFuture }
        guard sequence &+ 1 >= record.firstLogged else { throw .tokenTooOld }
        if sequence == record.sequence { return Timestamp(Instant(microseconds: record.time)) }
        return Timestamp(Instant(microseconds: answer.timeOf ?? record.trimmedTime))
      }
    } catch {
      done(.failure(error))
    }
  }

  package func token(
    at time: Timestamp, _ context: RequestContext, _ done: @escaping Completion<ChangeToken>
  ) {
    afterWrites(context, done) { [self] in
      BlockingThreads.shared.run { [self] in
        done(Result { () throws(Status) in token(after: try sequence(at: time)) })
      }
    }
  }

  package func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>
  ) {
    do throws(Status) {
      if isClosed.withLock(\.self) { throw .terminated }
      let sequence = try sequence(of: token)
      var request = RemoteRead()
      request.changes = RemoteRead.Changes(after: sequence, limits: RemoteLimits(count: 1024))
      store.read(request) { result in
        BlockingThreads.shared.run {
          done(
            result.flatMap { answer in
              Result { () throws(Status) in
                guard sequence <= answer.record.sequence else { throw .tokenOfTheFuture }
                guard sequence &+ 1 >= answer.record.firstLogged else { throw .tokenTooOld }
                var changes: [LoggedChange] = []
                for change in answer.changes { changes.append(try LoggedChange(change)) }
                return changes
              }
            })
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
      try writer.declare(definitions, done)
    } catch {
      done(.failure(error))
    }
  }

  package func drop(_ definitions: [IndexDefinition]) async throws {
    try await awaiting { done in
      do throws(Status) { try writer.drop(definitions, done) } catch { done(.failure(error)) }
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
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    if wasClosed { return }
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
    at time: Timestamp?, _ body: (any LocalReader) throws -> Answer
  ) async throws -> Answer {
    try reading(try await awaiting { position(.lent, at: time, $0) }, body)
  }

  package func readBlocking<Answer>(
    at time: Timestamp?, _ body: (any LocalReader) throws -> Answer
  ) throws -> Answer {
    try reading(try waiting { position(.blocked, at: time, $0) }, body)
  }

  /// The sequence of the state that a closure reads.
  private func position(
    _ context: RequestContext, at time: Timestamp?, _ done: @escaping Completion<UInt64>
  ) {
    afterWrites(context, done) { [self] in
      BlockingThreads.shared.run { [self] in
        done(
          Result { () throws(Status) in
            if let time { return try sequence(at: time) }
            return try store.readBlocking(RemoteRead()).record.sequence
          })
      }
    }
  }

  /// Each read of the closure blocks for a round trip.
  private func reading<Answer>(
    _ sequence: UInt64, _ body: (any LocalReader) throws -> Answer
  ) throws -> Answer {
    let state = RemotePlanState(catalogues.newest) { [source] needs throws(Status) in
      try source.state(needs, asOf: sequence).documents
    }
    var plan = CommitPlan(
      state, StoreState(lastSequence: sequence), now: now(), notAfter: .latest, documentCount: 0)
    return try withUnsafeMutablePointer(to: &plan) { plan in
      try body(RequestWriter(request: WriteContext(in: plan), backend: nil))
    }
  }

  package func write(
    file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
    _ done: @escaping Completion<CommitResult>
  ) {
    write(body, .lent, done)
  }

  package func writeBlocking(
    file: StaticString, line: UInt, _ body: (any LocalWriter) throws -> Void
  ) throws -> CommitResult {
    try withoutActuallyEscaping(body) { body in
      try waiting { write(body, .blocked, $0) }
    }
  }

  private func write(
    _ body: @escaping (any LocalWriter) throws -> Void, _ context: RequestContext,
    _ done: @escaping Completion<CommitResult>
  ) {
    var job = RemoteWriter.Job(mutations: [], origin: acknowledgements.origin(context), done: done)
    job.closure = RemoteClosure(body)
    do throws(Status) { try writer.add(job) } catch { done(.failure(error)) }
  }
}

extension RemoteBackend: TimeRepairingBackend {
  package func repairTimes() async throws -> Int {
    let writer = writer
    return try await onBlockingThread { try writer.repairTimes() }
  }
}

private func answered<Answer>(
  _ state: RemoteState, _ work: (RemoteState) throws -> Answer
) throws(Status) -> Answer {
  do { return try work(state) } catch { throw Status(readingFailed: error) }
}

extension RemoteStore {
  /// Same as `read`, for a thread that may block.
  func readBlocking(_ request: RemoteRead) throws(Status) -> RemoteAnswer {
    let done = DispatchSemaphore(value: 0)
    let answer = Guarded<Result<RemoteAnswer, Status>?>(nil)
    read(request) { result in
      answer.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let answer = answer.withLock(\.self) else { throw .terminated }
    return try answer.get()
  }
}

extension Status {
  static let tokenTooOld = Status(
    .outOfRange, "The change log does not reach back to the token.")
}
