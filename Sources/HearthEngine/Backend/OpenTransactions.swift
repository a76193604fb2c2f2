import Dispatch

/// The transactions of a backend that have begun and not ended, with what each has read.
///
///     begin ─▶ reads, each recorded ─▶ commit, if what was read is still so ─▶ ended
///
/// Locks nothing, unless a transaction is exclusive: that one holds all writes, for a second at most.
/// A transaction may have a turn at documents, which ends with it.
final class OpenTransactions<Work: Sendable>: Sendable {
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

  subscript(id: TransactionID) -> Transaction? { state.withLock { $0.transactions[id] } }

  /// Throws `invalidArgument` if there is none.
  func transaction(_ id: TransactionID) throws(Status) -> Transaction {
    guard let transaction = self[id] else { throw .transactionEnded }
    return transaction
  }

  func add(
    _ turn: DocumentQueues.Turn = .init(), holding hold: TransactionHold<Work>? = nil
  ) -> TransactionID {
    state.withLock { state in
      state.lastNumber += 1
      let id = TransactionID(number: state.lastNumber)
      state.transactions[id] = Transaction(hold: hold, turn: turn)
      return id
    }
  }

  /// Records what a transaction has read: documents, and the result of a query.
  ///
  /// Throws `aborted` if one of the documents was read before and differs.
  func note(
    _ id: TransactionID, _ found: some Sequence<(ResourcePath, StoredDocument?)>,
    resultOf seen: ObservedQuery? = nil
  ) throws(Status) {
    try state.withLock { state throws(Status) in
      guard let transaction = state.transactions[id] else { throw Status.transactionEnded }
      var reads = transaction.reads
      // The copy would otherwise be copied when it changes.
      state.transactions[id]?.reads = ReadSet()
      defer { state.transactions[id]?.reads = reads }
      if let seen { reads.results.append(seen) }
      try reads.note(found)
    }
  }

  /// Removes one that was committed, or is tried again. Returns it.
  @discardableResult
  func remove(_ id: TransactionID) -> Transaction? {
    let removed = state.withLock { $0.transactions.removeValue(forKey: id) }
    if let removed { queues.end(removed.turn) }
    return removed
  }

  func release(_ id: TransactionID) { self[id]?.hold?.end(nil) }

  func rollback(_ id: TransactionID) { remove(id)?.hold?.end(nil) }

  func close() {
    for id in state.withLock({ Array($0.transactions.keys) }) { rollback(id) }
  }
}

/// All writes wait for an exclusive transaction, for at most a second.
///
///     the writer comes ─▶ begun ─▶ the transaction reads ─▶ its work, or nil ─▶ the writer goes on
final class TransactionHold<Work: Sendable>: Sendable {
  private let state = Guarded<(isOver: Bool, work: Work?)>((false, nil))
  private let ended = DispatchSemaphore(value: 0)

  /// On the writer's thread: returns what is to be done there, if it came in time.
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
