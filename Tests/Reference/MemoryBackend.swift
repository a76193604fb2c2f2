#if DEBUG
  import Dispatch
  import Foundation
  import Logging
  import Synchronization

  @testable import HearthEngine

  /// A backend without a file, in plain Swift: the reference for the embedded backend, and the second
  /// backend on which the public API is tested.
  ///
  ///     commit ─▶ the queue ─▶ the state ─▶ listeners' callbacks ─▶ completes
  ///     read   ─▶ in place, or after the writes that are on the queue
  ///
  /// Every answer examines all documents, and the whole log is kept. Listeners are those of the
  /// embedded backend, over another source.
  final class MemoryBackend: Sendable {
    private struct Shared {
      var state: MemoryState
      var isClosed = false
      /// Writes that their callers do not await and that are not done.
      var waiting = 0
      var waitingBytes = 0
    }

    private let shared: Guarded<Shared>
    private let transactions = TransactionTable<@Sendable () -> Void>()
    private let queue = DispatchQueue(label: "hearth.memory")
    private let mark = DispatchSpecificKey<ObjectIdentifier>()
    let acknowledgements = Acknowledgements()
    private let now: @Sendable () -> Instant
    private let queueLimitBytes: Int
    private let saved: @Sendable (MemoryState) -> Void
    let source: MemoryChangeSource
    let listeners: BackendListeners

    /// - Parameter saved: Called with the state on close.
    init(
      _ state: MemoryState = MemoryState(), history: Instant, queueLimitBytes: Int = 64 << 20,
      now: @escaping @Sendable () -> Instant, logger: Logger,
      saved: @escaping @Sendable (MemoryState) -> Void = { _ in }
    ) {
      shared = Guarded(Shared(state: state))
      source = MemoryChangeSource(state, writes: queue, now: now)
      listeners = BackendListeners(
        registry: ListenerRegistry(source, acknowledgements, logger: logger),
        history: History(id: history))
      self.now = now
      self.queueLimitBytes = queueLimitBytes
      self.saved = saved
      queue.setSpecific(key: mark, value: ObjectIdentifier(self))
    }

    private var isOnQueue: Bool { DispatchQueue.getSpecific(key: mark) == ObjectIdentifier(self) }

    /// Computes an answer on the state after all writes that callers do not await.
    private func answer<Answer>(
      _ context: RequestContext, _ done: @escaping Completion<Answer>,
      _ work: @escaping @Sendable (MemoryState) throws -> Answer
    ) {
      let answer = { @Sendable [self] in
        done(
          Result { () throws(Status) in
            let (state, isClosed) = shared.withLock { ($0.state, $0.isClosed) }
            if isClosed { throw .terminated }
            do { return try work(state) } catch { throw Status(readingFailed: error) }
          })
      }
      let isExclusive = context.transaction.map { transactions.isExclusive($0) } ?? false
      let isDone = isExclusive || shared.withLock { $0.waiting == 0 }
      if context.thread != .busy, context.thread != .brief, isDone {
        answer()
      } else {
        queue.async(execute: answer)
      }
    }

    /// Runs `change` on the queue, notifies the listeners, and completes.
    ///
    /// - Parameters:
    ///   - countedBytes: The size of a write that its caller does not await, so that reads wait for
    ///     it; nil for others.
    ///   - hold: That of the exclusive transaction that holds the queue.
    private func perform(
      from origin: WriteOrigin?, countedBytes: Int? = nil,
      in hold: TransactionHold<@Sendable () -> Void>? = nil,
      _ done: @escaping Completion<CommitResult>,
      _ change: @escaping (inout MemoryState) throws -> CommitResult
    ) {
      let refusal: Status? = shared.withLock { shared in
        if shared.isClosed { return .terminated }
        let bytes = countedBytes ?? 0
        guard
          bytes == 0 || shared.waitingBytes == 0 || shared.waitingBytes + bytes <= queueLimitBytes
        else {
          return Status(
            .resourceExhausted,
            "\(shared.waitingBytes) bytes of writes wait already. Await writes, or write less.")
        }
        shared.waitingBytes += bytes
        if countedBytes != nil { shared.waiting += 1 }
        return nil
      }
      if let refusal { return done(.failure(refusal)) }
      let change = Once(change)
      let work = { @Sendable [self] in
        // A copy: user code that runs in `change` may read this database.
        let (current, isClosed) = shared.withLock { ($0.state, $0.isClosed) }
        let before = current.sequence
        var state = current
        let outcome = isClosed ? .failure(.terminated) : change.run(&state)
        shared.withLock { shared in
          if case .success = outcome { shared.state = state }
          shared.waitingBytes -= countedBytes ?? 0
          if countedBytes != nil { shared.waiting -= 1 }
        }
        finish(outcome, since: before, state, from: origin, done)
      }
      guard let hold else { return queue.async(execute: work) }
      if !hold.end(work) { done(.failure(.transactionHeldTooLong)) }
    }

    /// A change on its way to the queue, where it runs once. Releases its closure before the waiting
    /// caller continues.
    private final class Once: @unchecked Sendable {
      // Unchecked: used by its maker until it is handed over, then by the queue.
      private var change: ((inout MemoryState) throws -> CommitResult)?

      init(_ change: @escaping (inout MemoryState) throws -> CommitResult) { self.change = change }

      func run(_ state: inout MemoryState) -> Result<CommitResult, Status> {
        defer { change = nil }
        do {
          guard let change else { throw Status.terminated }
          return .success(try change(&state))
        } catch {
          return .failure(
            error as? Status
              ?? Status(.cancelled, "A write closure threw an error.", cause: error))
        }
      }
    }

    private func finish(
      _ outcome: Result<CommitResult, Status>, since before: UInt64, _ state: MemoryState,
      from origin: WriteOrigin?, _ done: @escaping Completion<CommitResult>
    ) {
      guard case .success(let result) = outcome, result.sequence > before else {
        return done(outcome)
      }
      let paths = state.log[Int(before)...].map(\.path)
      var acknowledgement: Acknowledgement?
      if let origin, acknowledgements.concern(paths) {
        acknowledgement = Acknowledgement(result.sequence, paths, from: origin, complete: done)
      }
      // In this order: a reader that finds the changes also finds these.
      acknowledgements.expect(acknowledgement.map { [$0] } ?? [])
      source.commit(state)
      guard let acknowledgement else { return done(outcome) }
      acknowledgement.commit(outcome)
      acknowledgements.noteCommit(of: [acknowledgement])
      acknowledgement.release()
    }
  }

  extension MemoryBackend: ListeningBackend, IndexedBackend {
    func checkUsable() throws(Status) {}

    func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer {
      if isOnQueue { throw .nestedWrite }
      return try body()
    }

    // MARK: Reading

    func read(
      _ request: ReadRequest, _ context: RequestContext,
      _ done: @escaping Completion<VersionedAnswer>
    ) {
      let now = now()
      answer(context, done) { [self] state in
        let state = try past(state, at: context.readTime)
        let start = ContinuousClock.now
        let version = StateVersion(
          sequence: state.sequence,
          time: Timestamp(context.readTime.map { Instant($0) } ?? state.lastTime))
        func versioned(_ answer: ReadAnswer) -> VersionedAnswer {
          VersionedAnswer(
            answer, version, context.isMeasured ? state.execution(of: answer, since: start) : nil)
        }
        guard let id = context.transaction else {
          return versioned(try state.answer(request, at: now))
        }
        let recorded = try request.recorded().resolved(at: now)
        let answer = try state.answer(recorded, at: now)
        // Always compared: nothing is known to be untouched.
        try transactions.note(id, recorded, answer, at: nil)
        return versioned(try request.answer(fromWhole: answer))
      }
    }

    // MARK: Writing

    func commit(
      _ request: CommitRequest, _ context: RequestContext,
      _ done: @escaping Completion<CommitResult>
    ) {
      do throws(Status) {
        try check(request)
        let mutations = request.mutations
        if let id = request.transaction { return try commit(id, mutations, context, done) }
        let bytes = request.isCounted ? mutations.reduce(0) { $0 + $1.byteCount } : 0
        perform(
          from: request.completesAfterListeners ? acknowledgements.origin(context) : nil,
          countedBytes: request.isAwaited ? nil : bytes, done
        ) { [now] state in
          try state.commit(mutations, at: state.time(now()))
        }
      } catch {
        done(.failure(error))
      }
    }

    private func check(_ request: CommitRequest) throws(Status) {
      if !request.areChecked { for mutation in request.mutations { try mutation.check() } }
      try Mutation.checkTotals(request.mutations)
    }

    func drain(_ done: @escaping @Sendable () -> Void) { queue.async(execute: done) }

    // MARK: Transactions

    func beginTransaction(
      _ start: TransactionStart, _ context: RequestContext,
      _ done: @escaping Completion<TransactionID>
    ) {
      transactions.begin(start, context, done) { [self] hold, begun in
        queue.async { [self] in
          guard !shared.withLock(\.isClosed) else { return begun(.failure(.terminated)) }
          begun(.success(()))
          hold.wait()?()
        }
      }
    }

    func end(_ transaction: TransactionID, isRetried: Bool) {
      transactions.end(transaction, isRetried: isRetried)
    }

    private func commit(
      _ id: TransactionID, _ mutations: [Mutation], _ context: RequestContext,
      _ done: @escaping Completion<CommitResult>
    ) throws(Status) {
      let transaction = try transactions.transaction(id)
      let reads = transaction.reads
      let ended = try transactions.ending(id, done)
      perform(from: acknowledgements.origin(context), in: transaction.hold, ended) { [now] state in
        for (path, seen) in reads.documents where state.documents[path]?.updateTime != seen {
          throw Status.readsHaveChanged
        }
        for seen in reads.results {
          let answer = try state.answer(seen.request, at: now())
          guard seen.holds(for: answer) else { throw Status.readsHaveChanged }
        }
        return try state.commit(mutations, at: state.time(now()))
      }
    }

    // MARK: Changes

    func committedToken() -> ChangeToken { token(after: shared.withLock(\.state.sequence)) }

    func time(
      of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>
    ) {
      answer(context, done) { [self] state in
        let sequence = try sequence(of: token)
        guard sequence <= state.sequence else { throw Status.tokenOfTheFuture }
        if sequence == state.sequence { return Timestamp(state.lastTime) }
        if sequence == 0 { return Timestamp(Instant(microseconds: 0)) }
        return Timestamp(state.log[Int(sequence) - 1].commitTime)
      }
    }

    func changes(
      since token: ChangeToken, _ context: RequestContext,
      _ done: @escaping Completion<[LoggedChange]>
    ) {
      done(
        Result { () throws(Status) in
          let (state, isClosed) = shared.withLock { ($0.state, $0.isClosed) }
          if isClosed { throw .terminated }
          let sequence = try sequence(of: token)
          guard sequence <= state.sequence else { throw .tokenOfTheFuture }
          return Array(state.log[Int(sequence)...].prefix(1024))
        })
    }

    // MARK: Indexes

    func declare(_ definitions: [IndexDefinition], _ done: @escaping Completion<Void>) {
      change(done) { state throws(Status) in
        try IndexDefinition.check(definitions)
        try state.declare(definitions)
      }
    }

    func drop(_ definitions: [IndexDefinition]) async throws {
      try await awaiting { done in change(done) { $0.drop(definitions) } }
    }

    func indexList() throws -> [IndexInfo] {
      shared.withLock(\.state).indexes.map(\.info)
    }

    func waitForIndexes() async throws {
      for index in shared.withLock(\.state).indexes { try index.checkValid() }
    }

    /// Changes the indexes, in the order of the writes.
    private func change(
      _ done: @escaping Completion<Void>,
      _ body: @escaping @Sendable (inout MemoryState) throws(Status) -> Void
    ) {
      queue.async { [self] in
        done(
          Result { () throws(Status) in
            var (state, isClosed) = shared.withLock { ($0.state, $0.isClosed) }
            if isClosed { throw .terminated }
            try body(&state)
            shared.withLock { $0.state = state }
          })
      }
    }

    func close() {
      transactions.close()
      let state = queue.sync {
        shared.withLock { shared in
          shared.isClosed = true
          return shared.state
        }
      }
      registry.close()
      saved(state)
    }
  }

  extension MemoryBackend: LocalBackend {
    func read<Answer>(
      at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
    ) async throws -> Answer {
      let state = try await awaiting { answer(.lent, $0, \.self) }
      return try body(MemoryReader(MemoryState.StagedRequest(past(state, at: time))))
    }

    func readBlocking<Answer>(
      at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
    ) throws -> Answer {
      let state = try waiting { answer(.blocked, $0, \.self) }
      return try body(MemoryReader(MemoryState.StagedRequest(past(state, at: time))))
    }

    fileprivate func past(_ state: MemoryState, at time: Timestamp?) throws(Status) -> MemoryState {
      guard let time = time.map({ Instant($0) }) else { return state }
      guard time <= max(now(), state.lastTime) else {
        throw .invalidArgument("The read time cannot be in the future.")
      }
      return state.asOf(UInt64(state.log.count { $0.commitTime <= time }))
    }

    func write(
      file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
      _ context: RequestContext, _ done: @escaping Completion<CommitResult>
    ) {
      perform(from: acknowledgements.origin(context), done) { [now] in
        try MemoryWriter.run(body, on: &$0, now())
      }
    }
  }

  extension Collection<StoredDocument> {
    /// The groups of the results among these documents.
    func groups(_ query: GroupedQuery, at time: Instant) throws -> [QueryGroup] {
      var query = query
      var found = Array(self)
      if case .search = query.query.question {
        found = try MemoryAnswer(EffectiveQuery(query.query).resolved(at: time, inSemiJoins: true))
          .whole(found)
        query.query = StructuredQuery(query.query.scope)
      }
      query.query = query.query.resolved(at: time)
      query.query.filters = try query.query.filters.resolved { join in
        try join.values(of: MemoryAnswer(join.effectiveQuery).whole(self))
      }
      let documents = try found.map { ReferenceQuery.Document(($0.path, try $0.body.map())) }
      let groups = ReferenceQuery.groups(query, documents)
      try documents.checkTests()
      return groups
    }
  }
#endif
