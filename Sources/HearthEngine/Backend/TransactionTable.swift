import Dispatch

/// The transactions of an embedded database that have begun and not ended.
///
///     begin ─▶ reads, each recorded ─▶ commit, if the read set still holds ─▶ ended
///                                        └─ conflict ─▶ begin another attempt: waits for its turn
///     begin exclusively ─▶ the writer waits, for at most a second ─▶ commit
///
/// Optimistic: a transaction that is not exclusive locks nothing, and stores only its reads.
final class TransactionTable: Sendable {
  fileprivate final class Entry: Sendable {
    let reads = Guarded(ReadSet())
    let turn: DocumentQueues.Turn
    /// Nil if the transaction is not exclusive.
    let hold: WriterReservation?

    init(_ turn: DocumentQueues.Turn, _ hold: WriterReservation? = nil) {
      self.turn = turn
      self.hold = hold
    }

    func note(_ found: some Sequence<(ResourcePath, StoredDocument?)>) throws(Status) {
      try reads.withLock { reads throws(Status) in try reads.note(found) }
    }
  }

  private struct State {
    var lastNumber: UInt64 = 0
    var entries: [TransactionID: Entry] = [:]
  }

  private let state = Guarded(State())
  let lines: DocumentQueues

  /// - Parameter patience: How long a transaction waits in a queue that does not move.
  init(patience: Duration) { lines = DocumentQueues(patience: patience) }

  /// The number of transactions that have begun and not ended.
  var count: Int { state.withLock(\.entries.count) }

  // MARK: Beginning and ending

  func begin(
    _ start: TransactionStart, _ context: RequestContext, in backend: EmbeddedBackend,
    _ done: @escaping Completion<TransactionID>
  ) {
    let begin = { @Sendable [self] (turn: DocumentQueues.Turn) in
      guard start.isExclusive else { return done(.success(add(Entry(turn)))) }
      beginExclusively(start, turn, in: backend, done)
    }
    guard let former = start.retrying.flatMap(end) else { return begin(DocumentQueues.Turn()) }
    former.hold?.release()
    let paths = former.reads.withLock { Array($0.documents.keys) }
    guard context.thread == .blocked else {
      return lines.whenTurn(at: paths, cancelledBy: start.cancellation, begin)
    }
    // Continues on the caller's thread: the thread that submits a write determines what its
    // completion waits for.
    let turn = Guarded<DocumentQueues.Turn?>(nil)
    let arrived = DispatchSemaphore(value: 0)
    lines.whenTurn(at: paths, cancelledBy: start.cancellation) { came in
      turn.withLock { $0 = came }
      arrived.signal()
    }
    arrived.wait()
    begin(turn.withLock(\.self) ?? DocumentQueues.Turn())
  }

  private func beginExclusively(
    _ start: TransactionStart, _ turn: DocumentQueues.Turn, in backend: EmbeddedBackend,
    _ done: @escaping Completion<TransactionID>
  ) {
    let hold = WriterReservation { [self] hold in
      if case .failure = hold { lines.end(turn) }
      done(hold.map { add(Entry(turn, $0)) })
    }
    backend.writer.submitAlone(from: start.callSite) { request in
      for mutation in try hold.hold(atMost: .seconds(1)) { try request.write(mutation) }
    } complete: {
      hold.finish($0)
    }
  }

  private func add(_ entry: Entry) -> TransactionID {
    state.withLock { state in
      state.lastNumber += 1
      let id = TransactionID(number: state.lastNumber)
      state.entries[id] = entry
      return id
    }
  }

  private func end(_ id: TransactionID) -> Entry? {
    guard let entry = state.withLock({ $0.entries.removeValue(forKey: id) }) else { return nil }
    lines.end(entry.turn)
    return entry
  }

  func release(_ id: TransactionID) { state.withLock { $0.entries[id] }?.hold?.release() }

  func rollback(_ id: TransactionID) { end(id)?.hold?.release() }

  func close() {
    let ids = state.withLock { Array($0.entries.keys) }
    for id in ids { rollback(id) }
  }

  private func entry(_ id: TransactionID) throws(Status) -> Entry {
    guard let entry = state.withLock({ $0.entries[id] }) else {
      throw .transactionEnded
    }
    return entry
  }

  // MARK: Reading

  func read(
    _ id: TransactionID, _ paths: [ResourcePath], _ context: RequestContext,
    in backend: EmbeddedBackend, _ done: @escaping Completion<[StoredDocument?]>
  ) {
    do throws(Status) {
      let entry = try entry(id)
      // A transaction that has read something does not wait: others may wait for it.
      let scope = entry.hold == nil ? ReadScope.all(of: paths) : .nothing
      let read = { @Sendable (context: RequestContext) in
        backend.answer(scope, context, paths.count == 1 ? .short : .limited, done) { snapshot in
          let found = try paths.map { try snapshot.document(at: $0) }
          try entry.note(zip(paths, found))
          return found
        }
      }
      guard paths.count == 1, entry.hold == nil,
        entry.reads.withLock({ $0.documents.isEmpty && $0.results.isEmpty })
      else { return read(context) }
      if context.thread == .blocked {
        lines.waitBlocking(for: paths[0], entry.turn)
        read(context)
      } else {
        lines.whenNext(at: paths[0], entry.turn) { read(context) }
      }
    } catch {
      done(.failure(error))
    }
  }

  func read(
    _ id: TransactionID, _ query: EffectiveQuery, _ context: RequestContext,
    in backend: EmbeddedBackend, _ done: @escaping Completion<[StoredDocument]>
  ) {
    do throws(Status) {
      let entry = try entry(id)
      // Records whole documents: fields that the projection leaves out may change as well.
      var whole = query
      whole.projection = []
      let projection = Projection(query.projection)
      backend.answer(
        entry.hold == nil ? query.readScope : .nothing, context, .limited, done
      ) { [whole] snapshot in
        let found = try backend.tracing { try snapshot.documents(matching: whole, trace: $0) }
        try entry.note(found.lazy.map { ($0.path, $0) })
        let seen = ObservedQuery(whole, found, at: try snapshot.state().lastSequence)
        entry.reads.withLock { $0.results.append(seen) }
        guard let projection else { return found }
        return try found.map { try projection.applied(to: $0) }
      }
    } catch {
      done(.failure(error))
    }
  }

  // MARK: Committing

  /// Commits if the read set still holds. A transaction that was committed has ended.
  func commit(
    _ id: TransactionID, _ request: CommitRequest, in backend: EmbeddedBackend,
    _ done: @escaping Completion<CommitResult>
  ) {
    do throws(Status) {
      let entry = try entry(id)
      let ended: Completion<CommitResult> = { [self] result in
        switch result {
        case .success: _ = end(id)
        // Its reads are kept for another attempt, which may come late or never.
        case .failure: lines.end(entry.turn)
        }
        done(result)
      }
      if let hold = entry.hold { return hold.commit(request.mutations, ended) }
      var request = request
      var readSet = ReadSet()
      let (documents, results) = entry.reads.withLock { ($0.documents, $0.results) }
      readSet.results = results
      if request.mutations.isEmpty, documents.isEmpty, results.isEmpty {
        // Nothing to write and nothing to validate: waits for no write.
        return backend.answer(.nothing, .lent, .short, ended) {
          let state = try $0.state()
          return CommitResult(
            commitTime: state.lastCommitTime, sequence: state.lastSequence, results: [])
        }
      }
      if !request.areChecked { for mutation in request.mutations { try mutation.check() } }
      request.areChecked = true
      request.mutations =
        documents.map { path, version in
          Mutation(
            path: path, operation: .verify,
            precondition: version.map { .updateTime($0) } ?? .exists(false))
        } + request.mutations
      let verifications = documents.count
      backend.writer.commit(request, on: results.isEmpty ? nil : readSet) { result in
        ended(
          result.map { result in
            var result = result
            result.results = Array(result.results.dropFirst(verifications))
            return result
          })
      }
    } catch {
      done(.failure(error))
    }
  }
}

/// A reservation of the writer's thread, which waits for an exclusive transaction to end.
///
///     waiting ─ the writer comes ─▶ held ─ commit, release, timeout ─▶ ended ─ written ─▶ finished
///        └─ refused ─▶ finished
final class WriterReservation: Sendable {
  private enum End {
    case commit([Mutation], Completion<CommitResult>)
    case release
  }

  private struct State {
    /// Nil once it was called.
    var begun: (@Sendable (Result<WriterReservation, Status>) -> Void)?
    var end: End?
    var outcome: Writer.Outcome?
  }

  private let state: Guarded<State>
  private let ended = DispatchSemaphore(value: 0)

  init(_ begun: @escaping @Sendable (Result<WriterReservation, Status>) -> Void) {
    state = Guarded(State(begun: begun))
  }

  /// On the writer's thread: waits for the transaction to end, and returns what is to be written.
  fileprivate func hold(atMost limit: Duration) throws(Status) -> [Mutation] {
    state.withLock { $0.begun.take() }?(.success(self))
    _ = ended.wait(timeout: .now() + limit / .seconds(1))
    switch state.withLock(\.end) {
    case .commit(let mutations, _)?: return mutations
    case .release?: throw Status(.cancelled, "The transaction was rolled back.")
    case nil: throw .heldTooLong
    }
  }

  /// On the writer's thread, or where the request was refused.
  fileprivate func finish(_ outcome: Writer.Outcome) {
    let (begun, end) = state.withLock { state in
      state.outcome = outcome
      return (state.begun.take(), state.end)
    }
    if let begun, case .failure(let status) = outcome { begun(.failure(status)) }
    if case .commit(_, let done)? = end { done(outcome) }
  }

  fileprivate func commit(_ mutations: [Mutation], _ done: @escaping Completion<CommitResult>) {
    end(.commit(mutations, done))
  }

  fileprivate func release() { end(.release) }

  private func end(_ end: End) {
    let late: Writer.Outcome? = state.withLock { state in
      guard state.end == nil else { return .failure(.transactionEnded) }
      // The writer uses this, or has continued without it.
      state.end = end
      return state.outcome
    }
    ended.signal()
    if let late, case .commit(_, let done) = end { done(late) }
  }
}

extension Status {
  fileprivate static let heldTooLong = contention(
    "The transaction's block held the file's write lock for more than a second. Nothing was applied."
  )
}
