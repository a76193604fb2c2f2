import Dispatch

/// The transactions of a backend that have begun and not ended, with what each has read.
///
///     begin ─▶ reads, each recorded ─▶ commit, if what was read is still so ─▶ ended
///                                        └─ conflict ─▶ begin another attempt: waits for its turn
///     begin exclusively ─▶ the writer waits, for at most a second ─▶ commit
///
/// Optimistic: a transaction that is not exclusive locks nothing, and stores only its reads.
final class TransactionTable<Work: Sendable>: Sendable {
  struct Transaction {
    var reads = ReadSet()
    /// Nil if the transaction is not exclusive.
    var hold: TransactionHold<Work>?
    var turn: DocumentQueues.Turn
  }

  private struct State {
    var transactions: [TransactionID: Transaction] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Guarded(State())
  let queues: DocumentQueues

  /// - Parameter patience: How long a transaction waits in a queue that does not move.
  init(patience: Duration = DocumentQueues.patience) {
    queues = DocumentQueues(patience: patience)
  }

  /// The number of transactions that have begun and not ended.
  var count: Int { state.withLock(\.transactions.count) }

  // MARK: Beginning and ending

  /// - Parameter reserve: Lets all writes wait for an exclusive transaction. Calls its completion when
  ///   they do, or with the error because of which they do not.
  func begin(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>,
    reserving reserve:
      @escaping @Sendable (TransactionHold<Work>, @escaping Completion<Void>) -> Void
  ) {
    let begin = { @Sendable [self] (turn: DocumentQueues.Turn) in
      guard start.isExclusive else { return done(.success(add(turn))) }
      let hold = TransactionHold<Work>()
      reserve(hold) { [self] outcome in
        if case .failure = outcome { queues.end(turn) }
        done(outcome.map { add(turn, holding: hold) })
      }
    }
    guard let former = start.retrying.flatMap(remove) else { return begin(DocumentQueues.Turn()) }
    former.hold?.end(nil)
    let paths = Array(former.reads.documents.keys)
    guard context.thread == .blocked else {
      return queues.whenTurn(at: paths, cancelledBy: start.cancellation, begin)
    }
    // Continues on the caller's thread: the thread that submits a write determines what its
    // completion waits for.
    let turn = DispatchSemaphore.waiting { came in
      queues.whenTurn(at: paths, cancelledBy: start.cancellation, came)
    }
    begin(turn ?? DocumentQueues.Turn())
  }

  private func add(
    _ turn: DocumentQueues.Turn, holding hold: TransactionHold<Work>? = nil
  ) -> TransactionID {
    state.withLock { state in
      state.lastNumber += 1
      let id = TransactionID(number: state.lastNumber)
      state.transactions[id] = Transaction(hold: hold, turn: turn)
      return id
    }
  }

  /// Removes one that was committed, or is tried again. Returns it.
  @discardableResult
  private func remove(_ id: TransactionID) -> Transaction? {
    let removed = state.withLock { $0.transactions.removeValue(forKey: id) }
    if let removed { queues.end(removed.turn) }
    return removed
  }

  /// See `Backend.end`.
  func end(_ id: TransactionID, isRetried: Bool) {
    let hold =
      isRetried ? state.withLock { $0.transactions[id]?.hold } : remove(id)?.hold
    hold?.end(nil)
  }

  func close() {
    for id in state.withLock({ Array($0.transactions.keys) }) { end(id, isRetried: false) }
  }

  // MARK: Reading and committing

  /// How its reads wait. Throws `invalidArgument` if there is none.
  func waiting(
    of id: TransactionID
  ) throws(Status) -> (turn: DocumentQueues.Turn, isExclusive: Bool, hasRead: Bool) {
    // Without its reads, which would be copied by the next note.
    let found = state.withLock { state in
      state.transactions[id].map { ($0.turn, $0.hold != nil, !$0.reads.isEmpty) }
    }
    guard let found else { throw .transactionEnded }
    return found
  }

  /// Whether it holds up all writes. Not if there is none.
  func isExclusive(_ id: TransactionID) -> Bool {
    state.withLock { $0.transactions[id]?.hold != nil }
  }

  /// To be committed. Throws `invalidArgument` if there is none.
  func transaction(_ id: TransactionID) throws(Status) -> Transaction {
    guard let transaction = state.withLock({ $0.transactions[id] }) else {
      throw .transactionEnded
    }
    return transaction
  }

  /// Records what a transaction has read of the state with a sequence, if that is known. The documents of an answer
  /// are whole.
  ///
  /// Throws `aborted` if one of the documents was read before and differs.
  func note(
    _ id: TransactionID, _ request: ReadRequest, _ answer: ReadAnswer, at sequence: UInt64?
  ) throws(Status) {
    try state.withLock { state throws(Status) in
      guard let transaction = state.transactions[id] else { throw Status.transactionEnded }
      var reads = transaction.reads
      // The copy would otherwise be copied when it changes.
      state.transactions[id]?.reads = ReadSet()
      defer { state.transactions[id]?.reads = reads }
      try reads.note(request, answer, at: sequence)
    }
  }

  /// A completion of a commit that ends the transaction, if it succeeds. Its reads are kept for another
  /// attempt, which may come late or never.
  func ending(
    _ id: TransactionID, _ done: @escaping Completion<CommitResult>
  ) throws(Status) -> Completion<CommitResult> {
    let turn = try transaction(id).turn
    return { [self] outcome in
      switch outcome {
      case .success: remove(id)
      case .failure: queues.end(turn)
      }
      done(outcome)
    }
  }
}

/// All writes wait for an exclusive transaction, for at most a second.
///
///     the writer comes ─▶ begun ─▶ the transaction reads ─▶ its work, or nil ─▶ the writer goes on
final class TransactionHold<Work: Sendable>: Sendable {
  private let state = Guarded<(isOver: Bool, work: Work?)>((false, nil))
  private let ended = DispatchSemaphore(value: 0)

  /// The work for the writer's thread, if it came in time.
  var work: Work? { state.withLock(\.work) }

  /// On the writer's thread: waits for its work.
  func wait() -> Work? {
    _ = ended.wait(timeout: .now() + .seconds(1))
    return state.withLock { state in
      state.isOver = true
      return state.work
    }
  }

  /// Returns false if it has ended already, or has waited for too long.
  @discardableResult
  func end(_ work: Work?) -> Bool {
    defer { ended.signal() }
    return state.withLock { state in
      guard !state.isOver else { return false }
      state.isOver = true
      state.work = work
      return true
    }
  }
}

extension Status {
  static let transactionEnded = Status(
    .invalidArgument, "The transaction has ended, or was never begun.")
  static let transactionHeldTooLong = contention(
    "The transaction held up all writes for more than a second. Nothing was applied.")
  static let readsHaveChanged = contention("What was read has changed. Nothing was applied.")

  /// An attempt that is worth another one.
  static func contention(_ message: String) -> Status {
    var status = Status(.aborted, message)
    status.isContention = true
    return status
  }
}
