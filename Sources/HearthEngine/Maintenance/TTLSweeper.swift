import Foundation
internal import LMDB
import Logging
import Synchronization

/// Deletes expired documents from time to time, in small batches.
///
///     expirations table ─▶ a batch of expired documents ─▶ one request each ─▶ the writer
///
/// A deletion is a change like any other, and is made only if the document is still the version
/// that expired. Several processes may sweep one file: the second one does nothing. A lease avoids
/// the duplicate work.
final class TTLSweeper: @unchecked Sendable {
  // Unchecked: `timer` changes in `start` only, before other threads have a reference.
  static let batch = 128

  private let store: Store
  private let writer: Writer
  private let logger: Logger
  private let lease: Lease
  private let queue = DispatchQueue(label: "hearth.expiry", qos: .utility)
  private var timer: (any DispatchSourceTimer)?
  private let isStopped = Atomic<Bool>(false)

  init(
    _ store: Store, _ writer: Writer, logger: Logger, lease: Lease = Lease(.sweep)
  ) {
    self.lease = lease
    self.store = store
    self.writer = writer
    self.logger = logger
  }

  /// A timer counts nanoseconds in 64 bits, and traps on overflow.
  private static let longestSeconds = 365.0 * 86_400

  /// Sweeps soon, and then every `interval`. Call it once.
  func start(interval: Duration) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let seconds = min(max(interval / .seconds(1), 0.001), Self.longestSeconds)
    timer.schedule(
      deadline: .now() + min(seconds, 1), repeating: seconds, leeway: .milliseconds(100))
    timer.setEventHandler { [weak self] in self?.sweepAutomatically() }
    timer.resume()
    self.timer = timer
  }

  /// Waits for the sweep that is running.
  func close() {
    isStopped.store(true, ordering: .relaxed)
    timer?.cancel()
    queue.sync {}
  }

  private func sweepAutomatically() {
    do {
      let count = try sweepIfElected()
      if count > 0 {
        logger.debug("Expired documents are deleted.", metadata: ["count": "\(count)"])
      }
    } catch {
      guard !isStopped.load(ordering: .relaxed) else { return }
      logger.error("Expired documents could not be deleted.", metadata: ["error": "\(error)"])
    }
  }

  /// Deletes all expired documents, unless another process is doing so. Blocks. Returns the number
  /// of deleted documents.
  func sweepIfElected() throws -> Int {
    let hasWork = try store.read { snapshot in
      try TTLPolicies.read(snapshot.lmdb, store.tables).hasWalk
        || snapshot.hasExpiredDocument(at: store.configuration.now())
    }
    guard hasWork, try isElected() else { return 0 }
    // If it cannot be given back, the lease ends by itself.
    defer { try? giveBack() }
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

  private func giveBack() throws {
    try store.write { transaction in
      guard try lease.isHeld(in: StoreSnapshot(transaction.snapshot, store)) else { return }
      try lease.giveBack(&transaction, in: store)
    }
  }

  /// Deletes all expired documents, batch by batch while `mayGoOn` returns true. Blocks. Returns
  /// the number of deleted documents. A document that cannot be read or deleted does not keep
  /// others: its error is thrown at the end, or after the first batch of which none was deleted.
  func sweep(while mayGoOn: () throws -> Bool = { true }) throws -> Int {
    let isStopped = { self.isStopped.load(ordering: .relaxed) }
    try store.finishTTLWalks(isStopped: isStopped)
    let now = store.configuration.now()
    var deleted = 0
    var failure: Status?
    var start: [UInt8]? = [0]
    while let from = start, try !isStopped() && mayGoOn() {
      let expired = try store.read {
        try $0.expiredDocuments(at: now, from: from, limit: Self.batch)
      }
      let batch = delete(expired.documents)
      deleted += batch.deleted
      failure = failure ?? expired.failure ?? batch.failure
      // Not even one: the next batch would fail as well, as on a full disk.
      if let failure, batch.failure != nil, batch.deleted == 0 { throw failure }
      start = expired.next
    }
    if let failure { throw failure }
    return deleted
  }

  private func delete(
    _ documents: [(path: ResourcePath, updateTime: Instant)]
  ) -> (deleted: Int, failure: Status?) {
    let done = DispatchGroup()
    let result = Result()
    for (path, updateTime) in documents {
      done.enter()
      let mutation = Mutation(
        path: path, operation: .delete,
        precondition: .updateTime(updateTime))
      writer.commit(
        CommitRequest(
          [mutation], isAwaited: false, isCounted: false, completesAfterListeners: false)
      ) { outcome in
        result.note(outcome)
        done.leave()
      }
    }
    done.wait()
    return result.value
  }

  private final class Result: Sendable {
    private let state = Guarded<(deleted: Int, failure: Status?)>((0, nil))

    func note(_ outcome: Writer.Outcome) {
      state.withLock { state in
        switch outcome {
        case .success: state.deleted += 1
        // The document was changed or deleted meanwhile.
        case .failure(let status) where status.refusal != nil: break
        case .failure(let status): state.failure = state.failure ?? status
        }
      }
    }

    var value: (deleted: Int, failure: Status?) { state.withLock { $0 } }
  }
}
