import DequeModule
import Foundation
import Logging
import Synchronization

/// Takes all waiting requests, plans each, applies the plans in one LMDB transaction, commits once,
/// and completes every request.
///
///     callers ──▶ queue ──▶ [ plan · plan · plan ] ──▶ put … ──▶ commit ──▶ acknowledge all
///                           └────────── one OS thread, one transaction ──────┘
///
/// One thread, because an LMDB write transaction belongs to one. Requests are done in the order of
/// submission. No caller is blocked. Awaited requests are not limited; of requests that are not
/// awaited at most `queueLimitBytes` wait, and more are refused.
final class Writer: Sendable {
  typealias Outcome = Result<CommitResult, Status>

  enum Phase {
    /// Next: closing.
    case open
    /// Takes no more requests, finishes those that wait. Next: closed.
    case closing
    case closed
  }

  struct State {
    var phase = Phase.open
    var queue: Deque<WriteRequest> = []
    /// Bytes of the requests that are not awaited.
    var unawaitedBytes = 0
    /// Bytes of all requests that are not done.
    var waitingBytes = 0
    /// The thread sleeps, or is about to: the next request wakes it.
    var isAsleep = false
    var tickets = PendingWrites()
  }

  let store: Store
  let acknowledgements = Acknowledgements()
  let state = Guarded(State())
  private let wake = DispatchSemaphore(value: 0)
  private let finished = DispatchGroup()
  /// Number of tracked requests that are not done. Reads check it before they take the lock.
  let trackedCount = Atomic<Int>(0)
  let logger: Logger
  let observer = Guarded<(@Sendable (WriterReport) -> Void)?>(nil)
  let sampler = Guarded<(@Sendable (WriterSample) -> Void)?>(nil)
  let doing = Guarded(Doing())
  let watch = Watch()
  /// When the log's age was last checked. Used by the writer's thread only.
  let lastTrim = Guarded<ContinuousClock.Instant?>(nil)

  /// The time of the last commit that changed nothing, which the file does not have. Used by the
  /// writer's thread only.
  let unstoredTime = Guarded<Instant?>(nil)

  /// Memory limit for waiting requests that are not awaited.
  let queueLimitBytes: Int
  /// One LMDB transaction takes requests up to this size, to bound its dirty pages.
  static let groupLimitBytes = 8 << 20

  init(_ store: Store, queueLimitBytes: Int = 64 << 20, logger: Logger) {
    self.store = store
    self.queueLimitBytes = queueLimitBytes
    self.logger = logger
    finished.enter()
    let thread = Thread { [self] in
      run()
      finished.leave()
    }
    thread.name = "hearth-writer"
    thread.stackSize = 4 << 20
    // Started here, not by the first write: a thread inherits the priority of its creator, which
    // may be a background one, and cannot raise it without privileges.
    thread.start()
  }

  // MARK: Submitting

  /// Submits a request and returns. If its caller does not await it, reads that begin later and touch its documents
  /// wait for it.
  ///
  /// `complete` runs once: on the writer's thread when the request is durable and the listeners it concerns were
  /// called back, or at once if it is refused, with `invalidArgument` for a mutation that no database accepts,
  /// `resourceExhausted` if too much is waiting, `failedPrecondition` after `close`.
  ///
  /// - Parameters:
  ///   - verifications, reads: See `WriteRequest`.
  ///   - isBlocking: The caller's thread waits.
  func commit(
    _ request: CommitRequest, verifying verifications: [Mutation] = [], on reads: ReadSet? = nil,
    isBlocking: Bool = false, _ complete: @escaping @Sendable (Outcome) -> Void
  ) {
    do throws(Status) {
      let origin =
        request.completesAfterListeners
        ? WriteOrigin(isBlocking: isBlocking, acknowledgements) : nil
      enqueue(
        try WriteRequest(request, verifying: verifications, on: reads, from: origin, complete))
    } catch {
      complete(.failure(error))
    }
  }

  /// Runs a closure once, on the writer's thread. `complete` runs when its writes are durable and the
  /// listeners they concern were called back; see `WriteClosure.run` for the failures.
  ///
  /// - Parameter isBlocking: The caller's thread waits.
  func perform(
    _ closure: WriteClosure, isBlocking: Bool = false,
    _ complete: @escaping @Sendable (Outcome) -> Void
  ) {
    let origin = WriteOrigin(isBlocking: isBlocking, acknowledgements)
    enqueue(WriteRequest(closure, from: origin, complete))
  }

  private func enqueue(_ request: WriteRequest) {
    var request = request
    // A writer's thread must not wait for the callbacks of another database.
    if WriterWaitGraph.isOnWritersThread { request.origin = nil }
    let mutations = request.mutations
    let mayCascade = request.isTracked && mayCascade(mutations)
    let (refusal, mustWake): (Status?, Bool) = state.withLock { state in
      guard state.phase == .open else { return (.terminated, false) }
      // One request always fits, however large: the limit bounds what waits behind it.
      let unawaitedBytes = state.unawaitedBytes + request.countedBytes
      guard
        request.countedBytes == 0 || state.unawaitedBytes == 0 || unawaitedBytes <= queueLimitBytes
      else { return (.tooManyWaiting(bytes: state.unawaitedBytes), false) }
      state.unawaitedBytes = unawaitedBytes
      state.waitingBytes += request.byteCount
      if request.isTracked { trackedCount.wrappingAdd(1, ordering: .relaxed) }
      request.ticket =
        mayCascade
        ? state.tickets.issueForEverything()
        : request.isTracked
          ? state.tickets.issue(touching: mutations.lazy.map(\.path)) : state.tickets.issue()
      state.queue.append(request)
      let mustWake = state.isAsleep
      state.isAsleep = false
      return (nil, mustWake)
    }
    // Outside the lock, which the thread takes first.
    if mustWake { wake.signal() }
    guard let refusal else { return }
    request.closure?.release()
    request.complete(.failure(refusal))
  }

  /// Whether reference rules may change other documents than those of the mutations. True if it is
  /// not known which rules there are.
  private func mayCascade(_ mutations: [Mutation]) -> Bool {
    let hasDeletion = mutations.contains {
      if case .delete = $0.operation { true } else { false }
    }
    guard hasDeletion else { return false }
    return store.indexMemory.last.map { !$0.references.isEmpty } ?? true
  }

  /// Number of requests that no group has taken yet.
  var waitingCount: Int { state.withLock { $0.queue.count } }
  /// Bytes of all requests that are not done.
  var waitingBytes: Int { state.withLock(\.waitingBytes) }

  /// Calls `observer` after every group, on the writer's thread.
  func observe(_ observer: (@Sendable (WriterReport) -> Void)?) {
    self.observer.withLock { $0 = observer }
  }

  // MARK: Waiting

  /// Waits for the requests that are not awaited, were submitted before this call, and touch
  /// `scope`.
  func waitForWrites(touching scope: ReadScope) async {
    guard hasTickets else { return }
    await withCheckedContinuation { continuation in
      whenWritesAreDone(touching: scope) { continuation.resume() }
    }
  }

  /// If false, there is nothing to wait for.
  var hasTickets: Bool { trackedCount.load(ordering: .acquiring) > 0 }

  /// Whether what `waitForWrites` waits for is done.
  func hasNoPendingWrites(touching scope: ReadScope) -> Bool {
    guard hasTickets else { return true }
    return state.withLock { $0.tickets.newest(touching: scope) == nil }
  }

  /// Calls `body` once what `waitForWrites` waits for is done: at once, or on the writer's thread.
  func whenWritesAreDone(touching scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      guard let ticket = state.tickets.newest(touching: scope) else { return true }
      return state.tickets.wait(for: ticket, body)
    }
    if isDone { body() }
  }

  /// Calls `body` once every request submitted before this call is done, awaited or not: at once,
  /// or on the writer's thread.
  func whenDrained(_ body: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      guard let ticket = state.tickets.newestWaiting else { return true }
      return state.tickets.wait(for: ticket, body)
    }
    if isDone { body() }
  }

  /// Takes no more requests, finishes those that wait, and ends the thread. Blocks until then.
  func close() {
    state.withLock { state in
      if state.phase == .open { state.phase = .closing }
      if state.isAsleep {
        state.isAsleep = false
        wake.signal()
      }
    }
    finished.wait()
    watch.end()
  }

  // MARK: The thread

  private func run() {
    WriterWaitGraph.own(self)
    while let group = takeGroup() {
      commit(group)
      beIdle()
    }
    state.withLock { $0.phase = .closed }
  }

  /// Waits for work. Nil when the writer closes and nothing is left.
  private func takeGroup() -> [WriteRequest]? {
    while true {
      enum Next {
        case work([WriteRequest])
        case sleep
        case end
      }
      let next: Next = state.withLock { state in
        guard !state.queue.isEmpty else {
          if state.phase != .open { return .end }
          state.isAsleep = true
          return .sleep
        }
        var group: [WriteRequest] = []
        var bytes = 0
        while let request = state.queue.first,
          group.isEmpty
            || bytes + request.byteCount <= Self.groupLimitBytes && !request.isAlone
        {
          bytes += request.byteCount
          group.append(request)
          state.queue.removeFirst()
          if request.isAlone { break }
        }
        return .work(group)
      }
      switch next {
      case .work(let group): return group
      case .sleep: wake.wait()
      case .end: return nil
      }
    }
  }
}
