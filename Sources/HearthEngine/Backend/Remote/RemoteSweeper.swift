import Dispatch
import Foundation
import Logging

/// Deletes the expired documents of a remote store from time to time.
///
///     policies ─▶ the first expired documents by the index of the policy ─▶ deletions, in one batch
///
/// A deletion is a change like any other, and is made only if the document is still the version that
/// expired. Every process sweeps: the second one finds nothing, or is refused.
final class RemoteSweeper: @unchecked Sendable {
  // Unchecked: `timer` changes in `start` only, before other threads have a reference.

  private let closed = Guarded(false)
  private var timer: (any DispatchSourceTimer)?
  private let queue = DispatchQueue(label: "hearth.expiry", qos: .utility)
  private let logger: Logger

  private static let batchCount = 128
  /// A timer counts nanoseconds in 64 bits, and traps on overflow.
  private static let longestSeconds = 365.0 * 86_400

  init(logger: Logger) { self.logger = logger }

  private var isClosed: Bool { closed.withLock(\.self) }

  /// Sweeps soon, and then every `interval`. Call it once.
  func start(_ backend: RemoteBackend, every interval: Duration) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let seconds = min(max(interval / .seconds(1), 0.001), Self.longestSeconds)
    // Not all processes at once.
    timer.schedule(
      deadline: .now() + min(seconds, 1) * Double.random(in: 0.5...1), repeating: seconds,
      leeway: .milliseconds(100))
    timer.setEventHandler { [weak self, weak backend] in
      guard let self, let backend else { return }
      do {
        let count = try sweep(backend)
        if count > 0 {
          logger.debug("Expired documents are deleted.", metadata: ["count": "\(count)"])
        }
      } catch {
        if isClosed { return }
        logger.error(
          "Expired documents could not be deleted.", metadata: ["error": "\(error)"])
      }
    }
    timer.resume()
    self.timer = timer
  }

  /// Waits for the sweep that is running.
  func close() {
    closed.withLock { $0 = true }
    timer?.cancel()
    queue.sync {}
  }

  /// Deletes all expired documents, batch by batch. Blocks. Returns the number of deleted documents.
  /// A document that cannot be deleted does not keep others: its error is thrown at the end, or after
  /// the first batch of which none was deleted.
  func sweep(_ backend: RemoteBackend) throws -> Int {
    let now = backend.now()
    var deleted = 0
    var failure: Status?
    for rule in try backend.catalogues.refresh().policies.rules {
      guard let field = rule.field else { continue }
      var query = Self.query(rule.collectionID, field, expiredAt: now)
      while !isClosed {
        let found = try backend.readBlocking(.results(of: query)).results
        let batch = delete(found, backend)
        deleted += batch.deleted
        failure = failure ?? batch.failure
        if let failure, batch.failure != nil, batch.deleted == 0 { throw failure }
        guard found.count == Self.batchCount, let last = found.last,
          let time = try last.body.withBytes({ try MapView(body: $0).value(at: field)?.timestamp() }
          )
        else { break }
        // Behind those that a reference rule keeps.
        query.start = StructuredQuery.Bound(
          values: [.timestamp(time), .reference(last.path)], isBefore: false)
      }
    }
    if let failure { throw failure }
    return deleted
  }

  private static func query(
    _ collectionID: String, _ field: FieldSegments, expiredAt now: Instant
  ) -> StructuredQuery {
    var query = StructuredQuery(.group(collectionID, below: .root))
    query.filters = [
      .comparison(
        StructuredQuery.Comparison(
          field: field, operator: .lessThanOrEqual, operand: .timestamp(now)))
    ]
    query.orders = [
      StructuredQuery.Order(field: field), StructuredQuery.Order(field: .documentID),
    ]
    query.limit = batchCount
    return query
  }

  private func delete(
    _ documents: [StoredDocument], _ backend: RemoteBackend
  ) -> (deleted: Int, failure: Status?) {
    let outcomes = Guarded<[Result<CommitResult, Status>]>([])
    let done = DispatchGroup()
    for document in documents {
      done.enter()
      let delete = Mutation(
        path: document.path, operation: .delete, precondition: .updateTime(document.updateTime))
      let request = CommitRequest([delete], completesAfterListeners: false)
      backend.commit(request, .lent) { outcome in
        outcomes.withLock { $0.append(outcome) }
        done.leave()
      }
    }
    done.wait()
    var deleted = 0
    var failure: Status?
    for outcome in outcomes.withLock(\.self) {
      switch outcome {
      case .success: deleted += 1
      // The document was changed or deleted meanwhile.
      case .failure(let status) where status.refusal != nil: break
      case .failure(let status): failure = failure ?? status
      }
    }
    return (deleted, failure)
  }
}

extension RemoteBackend: ExpiringBackend {
  package func setTTL(_ collectionID: String, _ field: FieldSegments?) async throws {
    try await awaiting { done in
      do throws(Status) { try writer.setTTL(collectionID, field, done) } catch {
        done(.failure(error))
      }
    }
    // Until its index is there, each sweep would fetch the whole collection.
    if field != nil { try await waitForIndexes() }
  }

  package func ttlPolicies() async throws -> [TTLPolicies.Rule] {
    try await onBlockingThread { [catalogues] in try catalogues.refresh().policies.rules }
  }

  package func deleteExpiredDocuments() async throws -> Int {
    try await onBlockingThread { [self] in
      try waiting { done in drain { done(.success(())) } }
      return try sweeper.sweep(self)
    }
  }
}
