import Collections
import Foundation
import LMDB
import Logging
import Synchronization

/// Takes everything that waits, plans each request, applies the plans in one LMDB transaction, commits
/// once, and tells every caller.
///
///     callers ──▶ queue ──▶ [ plan · plan · plan ] ──▶ put … ──▶ commit ──▶ acknowledge all
///                           └────────── one OS thread, one transaction ──────┘
///
/// One thread, because an LMDB write transaction belongs to one. Requests are done in the order in
/// which they were handed over. No caller is ever blocked: async forms wait for room, the others are
/// refused beyond `queueLimitBytes`.
final class Writer: Sendable {
  typealias Outcome = Result<CommitResult, Status>

  private struct Request {
    var mutations: [Mutation]
    var byteCount: Int
    var ticket: TicketBook.Ticket
    /// Nobody waits for this request, so that reads have to.
    var isTracked: Bool
    var complete: @Sendable (Outcome) -> Void

    var paths: [ResourcePath] { isTracked ? mutations.map(\.name.path) : [] }
  }

  private enum Phase {
    /// Next: closing.
    case open
    /// Takes nothing more, does what waits. Next: closed.
    case closing
    case closed
  }

  private struct State {
    var phase = Phase.open
    var queue: Deque<Request> = []
    var queuedBytes = 0
    /// The thread sleeps, or is about to: whoever adds to the queue wakes it.
    var isAsleep = false
    var tickets = TicketBook()
    var waitingForRoom: Deque<CheckedContinuation<Void, Never>> = []
  }

  private let store: Store
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private let finished = DispatchGroup()
  /// How many requests have tickets: reads look here before they take the lock.
  private let trackedCount = Atomic<Int>(0)
  private let logger: Logger

  /// What waits for the writer may take this much memory.
  let queueLimitBytes: Int
  /// One LMDB transaction takes requests up to this much, so that its dirty pages stay bounded.
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
    thread.start()
  }

  // MARK: Handing over

  /// Hands a request over and returns. Reads that begin later and touch its documents wait for it.
  ///
  /// `complete` runs once, on the writer's thread: `resourceExhausted` if too much waits already,
  /// `failedPrecondition` after `close`.
  func submit(_ mutations: [Mutation], complete: @escaping @Sendable (Outcome) -> Void) {
    let byteCount = mutations.reduce(0) { $0 + $1.byteCount }
    let refusal: Status? = state.withLock { state in
      if state.phase != .open { return .terminated }
      // One request always fits, however large: the limit bounds what waits behind it.
      if state.queuedBytes > 0, state.queuedBytes + byteCount > queueLimitBytes {
        return Status(
          .resourceExhausted,
          "\(state.queuedBytes) bytes of writes wait already. Await writes, or write less at once.")
      }
      enqueue(mutations, byteCount, isTracked: true, complete, &state)
      return nil
    }
    if let refusal { complete(.failure(refusal)) }
  }

  /// Hands a request over once there is room, and waits until it is durable.
  ///
  /// Throws `Status`: what refused the request, or what failed below.
  func commit(_ mutations: [Mutation]) async throws -> CommitResult {
    let byteCount = mutations.reduce(0) { $0 + $1.byteCount }
    while !hasRoom(for: byteCount) { await room(for: byteCount) }
    let outcome: Outcome = await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        guard state.phase == .open else { return false }
        enqueue(
          mutations, byteCount, isTracked: false, { continuation.resume(returning: $0) }, &state)
        return true
      }
      if !isOpen { continuation.resume(returning: .failure(.terminated)) }
    }
    return try outcome.get()
  }

  private func hasRoom(for byteCount: Int) -> Bool {
    state.withLock { state in
      state.queuedBytes == 0 || state.queuedBytes + byteCount <= queueLimitBytes
        || state.phase != .open
    }
  }

  private func room(for byteCount: Int) async {
    await withCheckedContinuation { continuation in
      let waits = state.withLock { state in
        if state.queuedBytes == 0 || state.queuedBytes + byteCount <= queueLimitBytes {
          return false
        }
        state.waitingForRoom.append(continuation)
        return true
      }
      if !waits { continuation.resume() }
    }
  }

  private func enqueue(
    _ mutations: [Mutation], _ byteCount: Int, isTracked: Bool,
    _ complete: @escaping @Sendable (Outcome) -> Void, _ state: inout State
  ) {
    let paths = isTracked ? mutations.map(\.name.path) : []
    let ticket = state.tickets.issue(for: paths)
    if isTracked { trackedCount.wrappingAdd(1, ordering: .relaxed) }
    state.queue.append(
      Request(
        mutations: mutations, byteCount: byteCount, ticket: ticket, isTracked: isTracked,
        complete: complete))
    state.queuedBytes += byteCount
    if state.isAsleep {
      state.isAsleep = false
      wake.signal()
    }
  }

  // MARK: Waiting

  /// Waits for the requests that nobody awaits, were handed over before this call, and touch `scope`.
  func settle(_ scope: ReadScope) async {
    guard trackedCount.load(ordering: .acquiring) > 0 else { return }
    await wait { $0.newest(touching: scope) }
  }

  /// Calls `body` once what `settle` waits for is done: at once, or on the writer's thread.
  func whenSettled(_ scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock { state in
      guard let ticket = state.tickets.newest(touching: scope) else { return true }
      return state.tickets.wait(for: ticket, body)
    }
    if isSettled { body() }
  }

  /// Waits for every request handed over before this call, awaited by others or not.
  func drain() async {
    await wait { $0.newest }
  }

  private func wait(for choose: @escaping @Sendable (TicketBook) -> TicketBook.Ticket?) async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        guard let ticket = choose(state.tickets) else { return true }
        return state.tickets.wait(for: ticket) { continuation.resume() }
      }
      if isDone { continuation.resume() }
    }
  }

  /// Takes no more, does what waits, and ends the thread. Blocks until then.
  func close() {
    state.withLock { state in
      if state.phase == .open { state.phase = .closing }
      if state.isAsleep {
        state.isAsleep = false
        wake.signal()
      }
    }
    finished.wait()
  }

  // MARK: The thread

  private func run() {
    while let group = takeGroup() {
      commit(group)
    }
    let waiting = state.withLock { state in
      state.phase = .closed
      defer { state.waitingForRoom = [] }
      return state.waitingForRoom
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits for work. Nil once closing and nothing is left.
  private func takeGroup() -> [Request]? {
    while true {
      enum Next {
        case work([Request])
        case sleep
        case end
      }
      let next: Next = state.withLock { state in
        guard !state.queue.isEmpty else {
          if state.phase != .open { return .end }
          state.isAsleep = true
          return .sleep
        }
        var group: [Request] = []
        var bytes = 0
        while let request = state.queue.first,
          group.isEmpty || bytes + request.byteCount <= Self.groupLimitBytes
        {
          bytes += request.byteCount
          group.append(request)
          state.queue.removeFirst()
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

  /// Commits a group, whole or, if the storage refuses it, in ever smaller parts until the culprit
  /// stands alone.
  private func commit(_ group: [Request]) {
    var rest = group[...]
    var portion = rest.count
    var growths = 0
    while !rest.isEmpty {
      let part = rest.prefix(portion)
      switch attempt(part.map(\.mutations)) {
      case .committed(let outcomes, let sequence):
        store.commits.advance(to: sequence)
        finish(part, outcomes)
      case .unchanged(let outcomes):
        finish(part, outcomes)
      case .mapFull(let error):
        growths += 1
        do {
          guard growths < 40 else { throw error }
          try store.environment.grow(toAtLeast: store.environment.info.mapSizeBytes * 2)
          continue
        } catch {
          let status = Status(writing: error as? LMDBError ?? .mapFull)
          finish(part, part.map { _ in .failure(status) })
        }
      case .refused(let error):
        guard part.count > 1 else {
          finish(part, [.failure(error)])
          break
        }
        portion = part.count / 2
        continue
      case .unknown(let error):
        logger.error("A commit could not be flushed.", metadata: ["error": "\(error)"])
        finish(part, part.map { _ in .failure(error) })
      }
      rest = rest.dropFirst(part.count)
      portion = max(1, min(portion, rest.count))
    }
  }

  private enum Attempt {
    case committed([Outcome], sequence: UInt64)
    /// No request changed anything; there was nothing to commit.
    case unchanged([Outcome])
    case mapFull(LMDBError)
    /// Nothing was applied.
    case refused(Status)
    /// The commit itself failed: it may have been applied.
    case unknown(Status)
  }

  private func attempt(_ requests: [[Mutation]]) -> Attempt {
    do {
      var transaction = try begin()
      var plan = try GroupPlan(
        StoreSnapshot(transaction.snapshot, store), now: store.configuration.now())
      var outcomes: [Outcome] = []
      outcomes.reserveCapacity(requests.count)
      for mutations in requests {
        do {
          outcomes.append(.success(try plan.plan(mutations)))
        } catch let refusal as Status {
          outcomes.append(.failure(refusal))
        }
      }
      guard !plan.isEmpty else { return .unchanged(outcomes) }
      for step in try plan.steps(trimmingTo: dueTrim()) {
        try apply(step, to: &transaction)
      }
      let sequence = plan.state.lastSequence
      do {
        try transaction.commit()
      } catch .mapFull {
        return .mapFull(.mapFull)
      } catch {
        return .unknown(Status(committing: error))
      }
      return .committed(outcomes, sequence: sequence)
    } catch let error as LMDBError {
      return error == .mapFull ? .mapFull(error) : .refused(Status(writing: error))
    } catch let error as Status {
      return .refused(error)
    } catch {
      return .refused(Status(.internal, "Writing failed.", cause: error))
    }
  }

  /// After a commit whose flush failed the environment is opened anew first.
  private func begin() throws(LMDBError) -> WriteTransaction {
    do {
      return try store.environment.beginWrite()
    } catch .needsReopen {
      try store.environment.reopen()
      return try store.environment.beginWrite()
    }
  }

  private func apply(_ step: GroupPlan.Step, to transaction: inout WriteTransaction) throws {
    try step.key.withUnsafeBytes { key in
      if let value = step.value {
        _ = try value.withUnsafeBytes {
          try transaction.put(step.table, key, $0, append: step.isAppend)
        }
      } else {
        _ = try transaction.delete(step.table, key)
      }
    }
  }

  private func finish(_ requests: ArraySlice<Request>, _ outcomes: [Outcome]) {
    let (released, resumed) = state.withLock { state in
      var resumed: [@Sendable () -> Void] = []
      for request in requests {
        state.queuedBytes -= request.byteCount
        if request.isTracked { trackedCount.wrappingSubtract(1, ordering: .releasing) }
        resumed += state.tickets.finish(request.ticket, request.paths)
      }
      // Whoever waits for room looks again; those that still do not fit wait again.
      let released = state.waitingForRoom
      state.waitingForRoom = []
      return (released, resumed)
    }
    for (request, outcome) in zip(requests, outcomes) { request.complete(outcome) }
    for resume in resumed { resume() }
    for continuation in released { continuation.resume() }
  }

  // MARK: The change log's keeping

  /// When the log was looked over last. Touched by the writer's thread only.
  private let lastTrim = Mutex(ContinuousClock.now)

  /// Every second or so the log is looked over.
  private func dueTrim() -> ChangeLogTrim? {
    let isDue = lastTrim.withLock { last in
      guard ContinuousClock.now - last > .seconds(1) else { return false }
      last = .now
      return true
    }
    guard isDue else { return nil }
    let age = store.configuration.changeLogAge
    return ChangeLogTrim(
      oldestKept: Instant(
        microseconds: store.configuration.now().microseconds
          - age.components.seconds * 1_000_000),
      bytesKept: store.configuration.changeLogBytes)
  }
}

extension Status {
  static let terminated = Status(
    .failedPrecondition, "The client has already been terminated.")
  static let forked = Status(
    .failedPrecondition, "The database belongs to the process that opened it, not to its fork.")
}
