import DequeModule
import Foundation
internal import LMDB
import Logging
import Synchronization

/// Takes everything that waits, plans each request, applies the plans in one LMDB transaction, commits
/// once, and tells every caller.
///
///     callers ──▶ queue ──▶ [ plan · plan · plan ] ──▶ put … ──▶ commit ──▶ acknowledge all
///                           └────────── one OS thread, one transaction ──────┘
///
/// One thread, because an LMDB write transaction belongs to one. Requests are done in the order in
/// which they were handed over. No caller is ever blocked. What callers await they keep in memory
/// themselves; of what nobody awaits at most `queueLimitBytes` wait, and more is refused.
final class Writer: Sendable {
  typealias Outcome = Result<CommitResult, Status>

  private struct Request {
    enum Work {
      case mutations([Mutation], on: ReadSet?)
      /// Next: what came of it. It runs once, whatever becomes of the group.
      case closure(Closure)
      case failed(Status)
    }

    /// A closure that is let go before its maker, who waits, goes on.
    final class Closure: @unchecked Sendable {
      // Unchecked: its maker's until it is handed over, then the writer's thread's.
      private var body: ((WriteContext) throws -> Void)?
      let callSite: CallSite?
      /// No other request is in its group: what it reads in the file is what there is.
      let isAlone: Bool

      init(
        callSite: CallSite?, isAlone: Bool = false, body: @escaping (WriteContext) throws -> Void
      ) {
        self.callSite = callSite
        self.isAlone = isAlone
        self.body = body
      }

      /// Once; nil from then on.
      func take() -> ((WriteContext) throws -> Void)? {
        defer { body = nil }
        return body
      }
    }

    var work: Work
    var byteCount: Int
    /// Of the limit on what nobody awaits.
    var countedBytes: Int
    var ticket: PendingWrites.Ticket
    /// Nobody waits for this request, so that reads have to.
    var isTracked: Bool
    /// If it completes after the callbacks of the listeners it concerns.
    var origin: WriteOrigin?
    var complete: @Sendable (Outcome) -> Void

    var mutationCount: Int {
      if case .mutations(let mutations, on: _) = work { mutations.count } else { 0 }
    }

    var isAlone: Bool {
      if case .closure(let closure) = work { closure.isAlone } else { false }
    }
  }

  /// What the thread does, for the watchdog.
  private enum Activity {
    case idle
    /// Next: plans.
    case waitingForFile
    case planning
    case runningClosure(CallSite?)
    case committing
    /// Those who asked for it are called: handlers of users run here.
    case reporting
  }

  private struct Doing {
    var activity = Activity.idle
    var since: ContinuousClock.Instant?
    var reminder = Reminder()
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
    /// Of the requests that nobody awaits.
    var unawaitedBytes = 0
    /// Of all requests that are not done.
    var waitingBytes = 0
    /// The thread sleeps, or is about to: whoever adds to the queue wakes it.
    var isAsleep = false
    var tickets = PendingWrites()
  }

  private let store: Store
  let acknowledgements = Acknowledgements()
  private let state = Guarded(State())
  private let wake = DispatchSemaphore(value: 0)
  private let finished = DispatchGroup()
  /// How many requests have tickets: reads look here before they take the lock.
  private let trackedCount = Atomic<Int>(0)
  private let logger: Logger
  private let observer = Guarded<(@Sendable (WriterReport) -> Void)?>(nil)
  private let sampler = Guarded<(@Sendable (WriterSample) -> Void)?>(nil)
  private let doing = Guarded(Doing())
  private let watch = Watch()

  /// What waits for the writer and is not awaited may take this much memory.
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
    // Here, and not by the first write: a thread inherits the priority of who starts it, and without
    // privileges does not get a better one. That may be one in the background.
    thread.start()
  }

  // MARK: Handing over

  /// Hands a request over and returns. Reads that begin later and touch its documents wait for it.
  ///
  /// `complete` runs once: on the writer's thread when the request is done, or at once if it is
  /// refused: `invalidArgument` for what no database takes, `resourceExhausted` if too much waits
  /// already, `failedPrecondition` after `close`.
  ///
  /// - Parameters:
  ///   - areChecked: Each of them was, when it was made.
  ///   - isCounted: Takes part in the limit; others bound by themselves what waits.
  ///   - tellsListenersFirst: `complete` runs after the callbacks of the listeners that the request concerns, or
  ///     after `Acknowledgements.patience`.
  func submit(
    _ mutations: [Mutation], areChecked: Bool = false, isCounted: Bool = true,
    tellsListenersFirst: Bool = false,
    complete: @escaping @Sendable (Outcome) -> Void
  ) {
    do throws(Status) {
      try check(mutations, areChecked: areChecked)
      let byteCount = mutations.reduce(0) { $0 + $1.byteCount }
      enqueue(
        .mutations(mutations, on: nil), touching: mutations, byteCount: byteCount,
        countedBytes: isCounted ? byteCount : 0,
        from: tellsListenersFirst ? origin(isBlocking: false) : nil, complete)
    } catch {
      complete(.failure(error))
    }
  }

  /// Hands a request over; `complete` runs when it is durable, and the listeners that it concerns were told, or at
  /// once if it is refused. Whoever handed it over waits for that: reads do not.
  ///
  /// - Parameters:
  ///   - premises: What it rests on.
  ///   - isBlocking: The caller's thread waits.
  func commit(
    _ request: CommitRequest, on premises: ReadSet? = nil, isBlocking: Bool = false,
    _ complete: @escaping @Sendable (Outcome) -> Void
  ) {
    do throws(Status) {
      try check(request.mutations, areChecked: request.areChecked)
      let byteCount = request.mutations.reduce(0) { $0 + $1.byteCount }
      enqueue(
        .mutations(request.mutations, on: premises), byteCount: byteCount,
        from: request.tellsListenersFirst ? origin(isBlocking: isBlocking) : nil, complete)
    } catch {
      complete(.failure(error))
    }
  }

  private func check(_ mutations: [Mutation], areChecked: Bool) throws(Status) {
    if !areChecked { for mutation in mutations { try mutation.check() } }
    try Mutation.checkTotals(mutations)
  }

  /// Runs `body` once, on the writer's thread; `complete` runs when what it wrote is durable, and the listeners that
  /// it concerns were told.
  ///
  /// What `body` throws refuses the request; what it was is up to its maker.
  ///
  /// - Parameters:
  ///   - callSite: Where in a user's source the closure is, for the watchdog.
  ///   - isBlocking: The caller's thread waits.
  func perform(
    from callSite: CallSite? = nil, isBlocking: Bool = false,
    _ body: @escaping (WriteContext) throws -> Void,
    complete: @escaping @Sendable (Outcome) -> Void
  ) {
    let work = Request.Work.closure(Request.Closure(callSite: callSite, body: body))
    enqueue(work, byteCount: Self.closureByteCount, from: origin(isBlocking: isBlocking), complete)
  }

  /// As `perform`. What is committed is all there is while `body` runs, and anybody may read it.
  func submitAlone(
    from callSite: CallSite? = nil, _ body: @escaping (WriteContext) throws -> Void,
    complete: @escaping @Sendable (Outcome) -> Void
  ) {
    let closure = Request.Closure(callSite: callSite, isAlone: true, body: body)
    enqueue(
      .closure(closure), byteCount: Self.closureByteCount, from: origin(isBlocking: false), complete
    )
  }

  /// Nil if nobody listens: who does so from now on is told of the write as something that is there.
  /// Nor on a writer's thread, whose database would be held up by another one's callbacks.
  private func origin(isBlocking: Bool) -> WriteOrigin? {
    acknowledgements.isIdle || WriterWaitGraph.isOnWritersThread
      ? nil : WriteOrigin(isBlocking: isBlocking)
  }

  /// A closure's request while it waits.
  private static let closureByteCount = 256

  /// Without what it touches a request is one whose caller waits: reads do not, and it is not counted.
  private func enqueue(
    _ work: Request.Work, touching mutations: [Mutation]? = nil, byteCount: Int,
    countedBytes: Int = 0, from origin: WriteOrigin? = nil,
    _ complete: @escaping @Sendable (Outcome) -> Void
  ) {
    let (refusal, mustWake): (Status?, Bool) = state.withLock { state in
      guard state.phase == .open else { return (.terminated, false) }
      // One request always fits, however large: the limit bounds what waits behind it.
      let unawaitedBytes = state.unawaitedBytes + countedBytes
      guard countedBytes == 0 || state.unawaitedBytes == 0 || unawaitedBytes <= queueLimitBytes
      else {
        let refusal = Status(
          .resourceExhausted,
          "\(state.unawaitedBytes) bytes of writes wait already. Await writes, or write less.")
        return (refusal, false)
      }
      state.unawaitedBytes = unawaitedBytes
      state.waitingBytes += byteCount
      if mutations != nil { trackedCount.wrappingAdd(1, ordering: .relaxed) }
      let ticket =
        mutations.map { state.tickets.issue(touching: $0.lazy.map(\.path)) }
        ?? state.tickets.issue()
      state.queue.append(
        Request(
          work: work, byteCount: byteCount, countedBytes: countedBytes, ticket: ticket,
          isTracked: mutations != nil, origin: origin, complete: complete))
      let mustWake = state.isAsleep
      state.isAsleep = false
      return (nil, mustWake)
    }
    // Without the lock, which is the first thing the thread takes.
    if mustWake { wake.signal() }
    guard let refusal else { return }
    if case .closure(let closure) = work { _ = closure.take() }
    complete(.failure(refusal))
  }

  /// Requests that no group has taken yet.
  var waitingCount: Int { state.withLock { $0.queue.count } }
  /// Of all requests that are not done.
  var waitingBytes: Int { state.withLock(\.waitingBytes) }

  /// Tells `observer` of every group, on the writer's thread.
  func observe(_ observer: (@Sendable (WriterReport) -> Void)?) {
    self.observer.withLock { $0 = observer }
  }

  // MARK: Waiting

  /// Waits for the requests that nobody awaits, were handed over before this call, and touch `scope`.
  func settle(_ scope: ReadScope) async {
    guard hasTickets else { return }
    await withCheckedContinuation { continuation in
      whenSettled(scope) { continuation.resume() }
    }
  }

  /// If false, nothing has to be waited for.
  var hasTickets: Bool { trackedCount.load(ordering: .acquiring) > 0 }

  /// What `settle` waits for is done.
  func isSettled(_ scope: ReadScope) -> Bool {
    guard hasTickets else { return true }
    return state.withLock { $0.tickets.newest(touching: scope) == nil }
  }

  /// Calls `body` once what `settle` waits for is done: at once, or on the writer's thread.
  func whenSettled(_ scope: ReadScope, _ body: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock { state in
      guard let ticket = state.tickets.newest(touching: scope) else { return true }
      return state.tickets.wait(for: ticket, body)
    }
    if isSettled { body() }
  }

  /// Calls `body` once every request handed over before this call is done, awaited by others or not: at once, or on
  /// the writer's thread.
  func whenDrained(_ body: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      guard let ticket = state.tickets.newestWaiting else { return true }
      return state.tickets.wait(for: ticket, body)
    }
    if isDone { body() }
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
    watch.end()
  }

  // MARK: The watchdog

  private func begin(_ activity: Activity) {
    beWatched()
    let now = ContinuousClock.now
    doing.withLock { doing in
      doing.activity = activity
      doing.since = now
    }
  }

  private func beWatched() {
    watch.begin { [weak self] in self?.look() }
  }

  private func beIdle() {
    doing.withLock { doing in
      doing.activity = .idle
      doing.since = nil
    }
  }

  /// On the watchdog's thread.
  private func look() {
    let now = ContinuousClock.now
    let sampler = sampler.withLock { $0 }
    let (activity, since, due) = doing.withLock { doing in
      (doing.activity, doing.since, doing.reminder.isDue(doing.since, now: now))
    }
    let (requests, bytes, isClosing) = state.withLock { state in
      (state.queue.count, state.waitingBytes, state.phase == .closing)
    }
    sampler?(
      WriterSample(
        waitingRequests: requests, waitingBytes: bytes, busy: since.map { now - $0 } ?? .zero))
    guard let due else { return }
    var metadata: Logger.Metadata = [
      "database": "\(store.path)", "duration": "\(due)", "waitingRequests": "\(requests)",
      "waitingBytes": "\(bytes)",
    ]
    if isClosing { metadata["closing"] = "true" }
    switch activity {
    case .idle: break
    case .waitingForFile:
      guard let process = writingProcess() else {
        return logger.warning(
          "The writer waits for the file's write lock, which somebody else holds.",
          metadata: metadata)
      }
      metadata["process"] = "\(process)"
      logger.warning(
        process == getpid()
          ? "The writer waits for the file's write lock, which another thread of this process holds."
          : "The writer waits for the file's write lock, which process \(process) holds.",
        metadata: metadata)
    case .runningClosure(let callSite):
      if let callSite { metadata["closure"] = "\(callSite)" }
      logger.warning(
        "A write closure has not returned, and holds up all writes.", metadata: metadata)
    case .planning, .committing:
      logger.warning("A commit is not done, and holds up all writes.", metadata: metadata)
    case .reporting:
      logger.warning(
        "A handler on the writer's thread has not returned, and holds up all writes.",
        metadata: metadata)
    }
  }

  /// Nil once the writer closes: the file may be closed then.
  private func writingProcess() -> Int32? {
    watch.unlessOver { store.environment.writingProcess }
  }

  /// Calls `sampler` once a second, on the watchdog's thread.
  func sample(_ sampler: (@Sendable (WriterSample) -> Void)?) {
    self.sampler.withLock { $0 = sampler }
    beWatched()
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

  /// Commits a group, whole or, if the storage refuses it, in ever smaller parts until the culprit
  /// stands alone.
  private func commit(_ group: [Request]) {
    var rest = group[...]
    var portion = rest.count
    var growths = 0
    // Requests keep their time when they are planned again.
    var now: Instant?
    while !rest.isEmpty {
      var tried = min(portion, rest.count)
      var report = WriterReport()
      let attempt = attempt(&rest, &tried, &now, &report)
      let part = rest.prefix(tried)
      switch attempt {
      case .committed(let outcomes, let plan, let acknowledgements):
        report.isCommit = true
        finish(part, outcomes, report, acknowledgements) {
          store.commits.advance(to: plan.state.lastSequence)
          // After our own listeners: to those who wait at the bell in this process it is no news then.
          store.environment.ring()
        }
        // Letting go of a large plan takes time, which nobody has to wait for.
        withExtendedLifetime(plan) {}
      case .unchanged(let outcomes):
        finish(part, outcomes, report)
      case .mapFull(let error):
        growths += 1
        do {
          guard growths < 40 else { throw error }
          try store.environment.grow(toAtLeast: store.environment.info.mapSizeBytes * 2)
          continue
        } catch {
          let status = Status(writing: error as? LMDBError ?? .mapFull)
          finish(part, part.map { _ in .failure(status) }, report)
        }
      case .refused(let error):
        guard tried > 1 else {
          finish(part, [.failure(error)], report)
          break
        }
        portion = tried / 2
        continue
      case .unknown(let outcomes, let error):
        logger.error("A commit could not be flushed.", metadata: ["error": "\(error)"])
        finish(part, outcomes.map { $0.flatMap { _ in .failure(error) } }, report)
      }
      rest = rest.dropFirst(tried)
    }
  }

  private enum Attempt {
    case committed([Outcome], CommitPlan, [Int: Acknowledgement])
    /// No request changed anything; there was nothing to commit.
    case unchanged([Outcome])
    case mapFull(LMDBError)
    /// Nothing was applied.
    case refused(Status)
    /// The commit itself failed: what was not refused may have been applied.
    case unknown([Outcome], Status)
  }

  /// - Parameters:
  ///   - requests: Closures among them that were run give way to what came of them.
  ///   - count: How many of the requests to take; fewer are if they grow large.
  private func attempt(
    _ requests: inout ArraySlice<Request>, _ count: inout Int, _ now: inout Instant?,
    _ report: inout WriterReport
  ) -> Attempt {
    do {
      begin(.waitingForFile)
      var transaction = try begin()
      begin(.planning)
      let time = now ?? store.configuration.now()
      now = time
      var plan = try CommitPlan(
        StoreSnapshot(transaction.snapshot, store), now: time,
        documentCount: requests.prefix(count).reduce(0) { $0 + $1.mutationCount })
      let outcomes = try outcomes(of: &requests, count, in: &plan)
      count = outcomes.count
      guard !plan.isEmpty else { return .unchanged(outcomes) }
      try plan.apply(to: &transaction, trimming: dueTrim())
      report.bytes = plan.byteCount
      let acknowledgements = expect(requests.prefix(count), outcomes)
      begin(.committing)
      let began = ContinuousClock.now
      defer { report.flush = ContinuousClock.now - began }
      do {
        try transaction.commit(ringing: false)
      } catch {
        self.acknowledgements.withdraw(Array(acknowledgements.values))
        if error == .mapFull { return .mapFull(error) }
        return .unknown(outcomes, Status(committing: error))
      }
      return .committed(outcomes, plan, acknowledgements)
    } catch let error as LMDBError {
      return error == .mapFull ? .mapFull(error) : .refused(Status(writing: error))
    } catch let error as Status {
      return .refused(error)
    } catch {
      return .refused(Status(.internal, "Writing failed.", cause: error))
    }
  }

  /// By their places, of the requests that changed something that somebody listens to.
  private func expect(
    _ requests: ArraySlice<Request>, _ outcomes: [Outcome]
  ) -> [Int: Acknowledgement] {
    guard !acknowledgements.isIdle else { return [:] }
    var expected: [Acknowledgement] = []
    var byPlace: [Int: Acknowledgement] = [:]
    for (place, (request, outcome)) in zip(requests, outcomes).enumerated() {
      guard let origin = request.origin, case .mutations(let mutations, on: _) = request.work,
        case .success(let result) = outcome
      else { continue }
      let paths = mutations.map(\.path)
      guard acknowledgements.concern(paths) else { continue }
      let acknowledgement = Acknowledgement(
        result.sequence, paths, from: origin, complete: request.complete)
      expected.append(acknowledgement)
      byPlace[place] = acknowledgement
    }
    acknowledgements.expect(expected)
    return byPlace
  }

  private func outcomes(
    of requests: inout ArraySlice<Request>, _ count: Int, in plan: inout CommitPlan
  ) throws -> [Outcome] {
    var outcomes: [Outcome] = []
    outcomes.reserveCapacity(count)
    for index in requests.indices.prefix(count) {
      switch requests[index].work {
      case .mutations(let mutations, let premises):
        do {
          if let premises { try plan.check(premises) }
          outcomes.append(.success(try plan.plan(mutations)))
        } catch let refusal as Status {
          outcomes.append(.failure(refusal))
        }
      case .closure(let closure):
        let (work, outcome) = run(closure, in: &plan)
        requests[index].work = work
        outcomes.append(outcome)
      case .failed(let status):
        outcomes.append(.failure(status))
      }
      // How much closures write shows only now.
      if plan.byteCount > Self.groupLimitBytes { break }
    }
    return outcomes
  }

  private func run(
    _ closure: Request.Closure, in plan: inout CommitPlan
  ) -> (Request.Work, Outcome) {
    let began = ContinuousClock.now
    begin(.runningClosure(closure.callSite))
    defer {
      warnIfLong("A write closure held up all writes.", since: began, logger)
      begin(.planning)
    }
    return withUnsafeMutablePointer(to: &plan) { plan in
      let live = WriteContext(in: plan)
      defer { live.drop() }
      do {
        try closure.take()?(live)
        let result = try live.take()
        return (.mutations(live.mutations, on: live.premises), .success(result))
      } catch {
        let status =
          live.fault ?? error as? Status
          ?? Status(.cancelled, "A write closure threw an error.", cause: error)
        return (.failed(status), .failure(status))
      }
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

  /// - Parameters:
  ///   - acknowledgements: Of requests, by place, that are completed by these.
  ///   - tellListeners: Called once reads and new listeners need not wait any more.
  private func finish(
    _ requests: ArraySlice<Request>, _ outcomes: [Outcome], _ report: WriterReport,
    _ acknowledgements: [Int: Acknowledgement] = [:], tellListeners: () -> Void = {}
  ) {
    begin(.reporting)
    let resumed = state.withLock { state in
      for request in requests {
        if request.isTracked { trackedCount.wrappingSubtract(1, ordering: .releasing) }
        state.unawaitedBytes -= request.countedBytes
        state.waitingBytes -= request.byteCount
      }
      return state.tickets.finish(requests.last?.ticket ?? 0)
    }
    for resume in resumed { resume() }
    tellListeners()
    if !acknowledgements.isEmpty {
      for (place, outcome) in outcomes.enumerated() { acknowledgements[place]?.commit(outcome) }
      self.acknowledgements.noteCommit(of: Array(acknowledgements.values))
    }
    for (place, (request, outcome)) in zip(requests, outcomes).enumerated() {
      // One that never came to run.
      if case .closure(let closure) = request.work { _ = closure.take() }
      if let acknowledgement = acknowledgements[place] {
        acknowledgement.release()
      } else {
        request.complete(outcome)
      }
    }
    guard let observer = observer.withLock({ $0 }) else { return }
    var report = report
    report.requests = requests.count
    report.failures = outcomes.count { if case .failure = $0 { true } else { false } }
    observer(report)
  }

  // MARK: The change log's keeping

  /// When the log's age was looked at last. Touched by the writer's thread only.
  private let lastTrim = Guarded<ContinuousClock.Instant?>(nil)

  /// The log's size is looked at with every commit, its age every second or so.
  private func dueTrim() -> ChangeLogTrim {
    let isDue = lastTrim.withLock { last in
      let now = ContinuousClock.now
      if let last, now - last < .seconds(1) { return false }
      last = now
      return true
    }
    let (seconds, attoseconds) = store.configuration.changeLogAge.components
    let age = min(max(seconds, 0), 1 << 40) * 1_000_000 + attoseconds / 1_000_000_000_000
    return ChangeLogTrim(
      oldestKept: isDue
        ? Instant(microseconds: store.configuration.now().microseconds - age) : nil,
      bytesKept: store.configuration.changeLogBytes)
  }
}

/// The file at one moment.
package struct StorageUse: Sendable {
  package var fileBytes: Int
  /// Up to the last page that was ever used.
  package var usedBytes: Int
  package var mapBytes: Int
  var readers: Int
  /// How many commits the oldest running read is behind.
  package var oldestReaderLag: Int
}

/// What became of a group.
package struct WriterReport: Sendable {
  package var requests = 0
  package var failures = 0
  /// Something was put, and is durable.
  package var isCommit = false
  /// About what was put.
  package var bytes = 0
  /// What LMDB took to write and flush it.
  package var flush = Duration.zero
}

/// The writer at one moment, whether it goes on or not.
package struct WriterSample: Sendable {
  package var waitingRequests: Int
  package var waitingBytes: Int
  /// How long it has been at what it does; zero if it does nothing.
  package var busy: Duration
}

extension Status {
  package static let terminated = Status(
    .failedPrecondition, "The client has already been terminated.")
  static let forked = Status(
    .failedPrecondition, "The database belongs to the process that opened it, not to its fork.")
}

/// Closures hold something up while they run: one that took longer than a second is logged.
package func warnIfLong(
  _ sentence: Logger.Message, since began: ContinuousClock.Instant, _ logger: Logger
) {
  let duration = ContinuousClock.now - began
  guard duration > .seconds(1) else { return }
  logger.warning(sentence, metadata: ["duration": "\(duration)"])
}
