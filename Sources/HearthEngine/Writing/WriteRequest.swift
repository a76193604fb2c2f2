/// Writes that are committed together, or not at all.
package struct CommitRequest: Sendable {
  let mutations: [Mutation]
  /// Each mutation was checked when it was made.
  let areChecked: Bool
  /// Whether its caller waits for the completion. If not, reads that begin later wait for it. That of
  /// a transaction is awaited.
  let isAwaited: Bool
  /// Whether it counts toward the limit on writes that are not awaited. A caller that sets false
  /// bounds its own queue.
  let isCounted: Bool
  /// Whether it completes after the callbacks of this process's listeners that it concerns, or
  /// after `Acknowledgements.patience`.
  let completesAfterListeners: Bool
  /// The transaction whose reads must still be current.
  var transaction: TransactionID?

  package init(
    _ mutations: [Mutation], areChecked: Bool = false, isAwaited: Bool = true,
    isCounted: Bool = true, completesAfterListeners: Bool = true,
    in transaction: TransactionID? = nil
  ) {
    self.mutations = mutations
    self.areChecked = areChecked
    self.isAwaited = isAwaited
    self.isCounted = isCounted
    self.completesAfterListeners = completesAfterListeners
    self.transaction = transaction
  }
}

package struct TransactionID: Hashable, Sendable {
  let number: UInt64
}

/// A request in a writer's queue: mutations, or a closure that makes them.
struct WriteRequest: Sendable {
  enum Work: Sendable {
    /// - Parameter on: The reads that they depend on; nil for none.
    case mutations([Mutation], on: ReadSet?)
    /// Next: its mutations, or failed. Runs once, even if the group is planned again.
    case closure(WriteClosure)
    case failed(Status)
  }

  var work: Work
  let byteCount: Int
  /// No caller waits for this request, so reads have to.
  let isTracked: Bool
  /// Counted toward the limit on requests that are not awaited.
  let countedBytes: Int
  /// Set if it completes after the callbacks of the listeners it concerns.
  var origin: WriteOrigin?
  /// Called once: when the request is durable, or refused.
  let complete: Completion<CommitResult>
  /// In the queue of a file.
  var ticket: PendingWrites.Ticket = 0
  /// After this instant, a failure of the remote store ends the request instead of being tried again. Nil for a file.
  var deadline: ContinuousClock.Instant?

  /// Bytes counted for a closure while it waits.
  private static let closureByteCount = 256

  /// - Parameters:
  ///   - verifications: Are done first, and not checked: a name that was read may be one that nobody can write.
  ///   - reads: The reads that it depends on; nil for none.
  init(
    _ request: CommitRequest, verifying verifications: [Mutation] = [], on reads: ReadSet? = nil,
    from origin: WriteOrigin?, _ complete: @escaping Completion<CommitResult>
  ) throws(Status) {
    if !request.areChecked { for mutation in request.mutations { try mutation.check() } }
    let mutations =
      verifications.isEmpty ? request.mutations : verifications + request.mutations
    byteCount = try Mutation.checkTotals(mutations)
    work = .mutations(mutations, on: reads)
    isTracked = !request.isAwaited && request.transaction == nil
    countedBytes = isTracked && request.isCounted ? byteCount : 0
    self.origin = origin
    self.complete = complete
  }

  init(
    _ closure: WriteClosure, from origin: WriteOrigin?,
    _ complete: @escaping Completion<CommitResult>
  ) {
    work = .closure(closure)
    byteCount = Self.closureByteCount
    isTracked = false
    countedBytes = 0
    self.origin = origin
    self.complete = complete
  }

  /// None as long as they are not known.
  var mutations: [Mutation] {
    if case .mutations(let mutations, on: _) = work { mutations } else { [] }
  }

  var reads: ReadSet? {
    if case .mutations(_, on: let reads) = work { reads } else { nil }
  }

  var closure: WriteClosure? {
    if case .closure(let closure) = work { closure } else { nil }
  }

  /// No other request is in its group.
  var isAlone: Bool { closure?.isAlone ?? false }
}

/// A user's closure on its way to the writer, where it runs once. It is released before its creator, which waits,
/// continues.
final class WriteClosure: @unchecked Sendable {
  // Unchecked: used by its creator until it is handed over, then by the writer's thread.
  private var body: ((any LocalWriter) throws -> Void)?
  /// In the user's source, for the watchdog.
  let callSite: CallSite?
  /// No other request is in its group: it reads the committed state, which others may read at the same time.
  let isAlone: Bool
  private let tracing: QueryTracing

  init(
    from callSite: CallSite? = nil, isAlone: Bool = false, tracing: QueryTracing = .none,
    _ body: @escaping (any LocalWriter) throws -> Void
  ) {
    self.callSite = callSite
    self.isAlone = isAlone
    self.tracing = tracing
    self.body = body
  }

  /// Or it will not.
  var hasRun: Bool { body == nil }

  func release() { body = nil }

  /// Runs it, and adds its request to the group. If that fails, the group is unchanged: the closure has thrown a
  /// `Status`, or another error, which is the cause of `cancelled`.
  ///
  /// - Returns: Also the work that takes its place, since it must not run again.
  func run(in plan: inout CommitPlan) -> (WriteRequest.Work, Result<CommitResult, Status>) {
    withUnsafeMutablePointer(to: &plan) { plan in
      let state = PlannedState(plan, isAlone: isAlone, tracing: tracing)
      defer { state.drop() }
      do {
        guard let body else { throw Status.terminated }
        release()
        try body(state)
        let result = try state.take()
        return (.mutations(state.request.mutations, on: state.request.reads), .success(result))
      } catch {
        let status =
          state.request.fault ?? error as? Status
          ?? Status(.cancelled, "A write closure threw an error.", cause: error)
        return (.failed(status), .failure(status))
      }
    }
  }
}

extension Status {
  /// Of requests that are not awaited.
  static func tooManyWaiting(bytes: Int) -> Status {
    Status(
      .resourceExhausted, "\(bytes) bytes of writes wait already. Await writes, or write less.")
  }
}
