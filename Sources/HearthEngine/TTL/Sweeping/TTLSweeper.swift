internal import LMDB
import Logging

/// Deletes the expired documents of a file from time to time, in small batches.
///
///     expirations table ─▶ a batch of expired documents ─▶ one request each ─▶ the writer
///
/// Several processes may sweep one file: the second one does nothing. A lease avoids the duplicate work.
final class TTLSweeper: Sendable {
  private let store: Store
  private let writer: Writer
  private let lease: Lease
  private let timer: ExpiryTimer

  init(
    _ store: Store, _ writer: Writer, logger: Logger, lease: Lease = Lease(.sweep)
  ) {
    self.lease = lease
    self.store = store
    self.writer = writer
    timer = ExpiryTimer(logger: logger)
  }

  /// Sweeps soon, and then every `interval`. Call it once.
  func start(interval: Duration) {
    timer.start(every: interval) { [weak self] in try self?.sweepIfElected() ?? 0 }
  }

  /// Waits for the sweep that is running.
  func close() { timer.close() }

  /// Deletes all expired documents, unless another process is doing so. Blocks. Returns the number
  /// of deleted documents.
  func sweepIfElected() throws -> Int {
    let hasWork = try store.read { snapshot in
      try TTLPolicies.read(snapshot.lmdb, store.tables).hasWalk
        || snapshot.hasExpiredDocument(at: store.configuration.now())
    }
    guard hasWork, try isElected() else { return 0 }
    // If it cannot be given back, the lease ends by itself.
    defer { try? lease.giveBackIfHeld(in: store) }
    return try sweep { try self.isElected() }
  }

  /// Takes or renews the lease, unless another process has it.
  private func isElected() throws -> Bool {
    guard try store.read({ try lease.state(in: $0) != .own }) else { return true }
    return try store.write { transaction in
      switch try lease.state(in: StoreSnapshot(transaction.snapshot, store)) {
      case .others: return false
      case .own, .available:
        try lease.take(&transaction, in: store)
        return true
      }
    }
  }

  /// Deletes all expired documents, batch by batch while `mayGoOn` returns true; see `ExpirySweep`.
  /// Blocks. Returns the number of deleted documents.
  func sweep(while mayGoOn: () throws -> Bool = { true }) throws -> Int {
    try store.finishTTLWalks(isStopped: { timer.isClosed })
    let now = store.configuration.now()
    var sweep = ExpirySweep()
    var start: [UInt8]? = [0]
    while let from = start, try !timer.isClosed && mayGoOn() {
      let expired = try store.read {
        try $0.expiredDocuments(at: now, from: from, limit: ExpirySweep.batchCount)
      }
      try sweep.delete(expired.documents, unread: expired.failure) { deletion, done in
        writer.commit(
          CommitRequest(
            [deletion], isAwaited: false, isCounted: false, completesAfterListeners: false), done)
      }
      start = expired.next
    }
    return try sweep.end()
  }
}
