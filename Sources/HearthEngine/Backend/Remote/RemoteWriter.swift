import DequeModule
import Dispatch
import Foundation
import Logging

/// Writes to a `RemoteStore`: whatever waits while a commit is under way is in the next one.
///
///     requests ─▶ a batch ─┬▶ all of them blind: the store decides ─▶ complete
///                          └▶ the store's lock ─▶ their documents ─▶ each request in turn, in memory
///                               └─▶ the changes of all that succeed, durable ─▶ complete
///
/// A batch that was certainly not applied is tried again, each request until `patience` is over since it was
/// added. One that may be applied is never sent again: its requests fail, and say so.
final class RemoteWriter: Sendable {
  private enum Item {
    case request(WriteRequest)
    case hold(TransactionHold<WriteRequest>, begun: @Sendable (Result<Void, Status>) -> Void)
    case indexes(Edit, deadline: ContinuousClock.Instant, Completion<Void>)
    case mark(@Sendable () -> Void)

    /// Whether it needs the lock.
    var writes: Bool {
      if case .mark = self { false } else { true }
    }
  }

  typealias Edit = @Sendable (inout RemoteIndexEdit) throws(Status) -> Void

  /// A request with its result. An acknowledgement completes it, if listeners are waited for.
  typealias Outcome = (
    request: WriteRequest, result: Result<CommitResult, Status>, acknowledgement: Acknowledgement?
  )

  private struct Shared {
    var items: Deque<Item> = []
    var isRunning = false
    var isClosed = false
    /// Writes that their callers await and that are not done, and those that nobody awaits.
    var awaited = 0
    var unawaited = 0
    var waitingBytes = 0
  }

  private let shared = Guarded(Shared())
  let store: any RemoteStore
  let catalogues: RemoteCatalogues
  let acknowledgements: Acknowledgements
  let source: RemoteChangeSource
  let horizon: RemoteHorizon
  private let settings: EmbeddedBackend.Settings
  let now: @Sendable () -> Instant
  private let logger: Logger
  /// When the log was last trimmed.
  private let trimmed = Guarded<ContinuousClock.Instant?>(nil)
  private let idle = DispatchGroup()
  private let building = Guarded(Building())
  /// For tests: every commit reads first.
  let readsFirst = Guarded(false)

  private static let patience = Duration.seconds(20)
  /// Writes that may wait, of those that their callers await.
  static let waitingWrites = 20_000
  private static let batchCount = 128
  private static let batchBytes = 4 << 20

  init(
    _ store: any RemoteStore, _ catalogues: RemoteCatalogues, _ acknowledgements: Acknowledgements,
    _ source: RemoteChangeSource, _ horizon: RemoteHorizon, _ settings: EmbeddedBackend.Settings,
    logger: Logger
  ) {
    self.store = store
    self.catalogues = catalogues
    self.acknowledgements = acknowledgements
    self.source = source
    self.horizon = horizon
    self.settings = settings
    now = settings.store.now
    self.logger = logger
  }

  // MARK: Queueing

  func add(_ request: WriteRequest) throws(Status) {
    var request = request
    request.deadline = .now + Self.patience
    let (isTracked, bytes) = (request.isTracked, request.countedBytes)
    try add(.request(request)) { [limit = settings.queueLimitBytes] shared throws(Status) in
      guard isTracked else {
        guard shared.awaited < Self.waitingWrites else {
          throw Status(
            .resourceExhausted, "\(shared.awaited) writes wait already. Try again later.")
        }
        shared.awaited += 1
        return
      }
      guard bytes == 0 || shared.waitingBytes == 0 || shared.waitingBytes + bytes <= limit else {
        throw .tooManyWaiting(bytes: shared.waitingBytes)
      }
      shared.waitingBytes += bytes
      shared.unawaited += 1
    }
  }

  /// Calls `begun` when all writes wait for `hold`, or with the error because of which they do not.
  func add(
    _ hold: TransactionHold<WriteRequest>,
    _ begun: @escaping @Sendable (Result<Void, Status>) -> Void
  ) throws(Status) {
    try add(.hold(hold, begun: begun)) { _ in }
  }

  /// Calls `body` after everything that was added before.
  func whenDone(_ body: @escaping @Sendable () -> Void) {
    do throws(Status) { try add(.mark(body)) { _ in } } catch { body() }
  }

  /// Calls `body` after all writes that were added before and that nobody awaits: now, if there are
  /// none.
  func whenUnawaitedAreDone(_ body: @escaping @Sendable () -> Void) {
    if shared.withLock({ $0.unawaited == 0 }) { body() } else { whenDone(body) }
  }

  private func add(
    _ item: Item, _ check: (inout Shared) throws(Status) -> Void
  ) throws(Status) {
    let mustStart = try shared.withLock { shared throws(Status) in
      if shared.isClosed { throw Status.terminated }
      if store.isReadOnly, item.writes { throw Status.openForReading }
      try check(&shared)
      shared.items.append(item)
      defer { shared.isRunning = true }
      if !shared.isRunning { idle.enter() }
      return !shared.isRunning
    }
    if mustStart { BlockingThreads.shared.run { self.work() } }
  }

  /// Refuses what comes, and waits for what is under way.
  func close() {
    shared.withLock { $0.isClosed = true }
    idle.wait()
  }

  // MARK: Working

  private func work() {
    thread.withLock { $0 = pthread_self() }
    while true {
      var requests: [WriteRequest] = []
      let other: Item? = shared.withLock { shared in
        var bytes = 0
        while requests.count < Self.batchCount, case .request(let request)? = shared.items.first {
          // A closure is run once: it is alone.
          if request.closure != nil, !requests.isEmpty { break }
          bytes += request.byteCount
          if !requests.isEmpty, bytes > Self.batchBytes { break }
          requests.append(request)
          shared.items.removeFirst()
          if request.closure != nil { break }
        }
        if requests.isEmpty, let item = shared.items.popFirst() { return item }
        if requests.isEmpty {
          // Before another thread can begin.
          thread.withLock { $0 = nil }
          shared.isRunning = false
          idle.leave()
        }
        return nil
      }
      switch other {
      case .mark(let body)?: body()
      case .hold(let hold, let begun)?: serve(hold, begun)
      case .indexes(let edit, let deadline, let done)?:
        done(Result { () throws(Status) in try change(edit, until: deadline) })
      case .request?: break
      case nil:
        if requests.isEmpty { return }
        run(requests)
      }
    }
  }

  private let thread = Guarded<pthread_t?>(nil)

  /// On the writer's thread, a blocking call would wait for itself.
  var isOnThread: Bool {
    thread.withLock { $0 }.map { pthread_equal($0, pthread_self()) != 0 } ?? false
  }

  private func run(_ requests: [WriteRequest]) {
    guard let others = runBlind(requests), others.isEmpty || runReading(others) else { return }
    trimIfDue()
  }

  /// Returns false if the store has failed.
  private func runReading(_ requests: [WriteRequest]) -> Bool {
    do throws(Status) {
      try retrying(until: requests.firstDeadline) {
        requests.allSatisfy { $0.closure?.hasRun != true }
      } _: { () throws(Status) in
        try store.write { writing throws(Status) in try write(requests, writing) }
      }
      return true
    } catch {
      fail(requests, error)
      return false
    }
  }

  /// Until it succeeds, or fails with something that another attempt does not mend.
  func retrying<Answer>(
    until deadline: ContinuousClock.Instant, mayRepeat: () -> Bool = { true },
    _ body: () throws(Status) -> Answer
  ) throws(Status) -> Answer {
    var pause = 0.01
    while true {
      do throws(Status) { return try body() } catch {
        guard isPassing(error), ContinuousClock.now < deadline, mayRepeat() else { throw error }
        logger.warning("Writing is tried again.", metadata: ["error": "\(error)"])
      }
      Thread.sleep(forTimeInterval: pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, 1)
    }
  }

  /// Whether another attempt may succeed, and nothing was applied.
  private func isPassing(_ error: Status) -> Bool {
    (error.code == .unavailable || error.isContention) && !error.mayBeDone
      && !shared.withLock(\.isClosed)
  }

  /// Ends the requests of a batch for which the store has failed. Those that have more patience are tried
  /// again. Those in the queue that have none do not wait until it is their turn to fail.
  func fail(_ requests: [WriteRequest], _ error: Status) {
    let now = ContinuousClock.now
    let isPassing = isPassing(error)
    var again: [Item] = []
    var ended: [WriteRequest] = []
    for request in requests {
      if isPassing, request.isPatient(at: now), request.closure?.hasRun != true {
        again.append(.request(request))
      } else {
        ended.append(request)
      }
    }
    var late: [WriteRequest] = []
    // A failure that another batch need not have.
    if isPassing || error.mayBeDone {
      shared.withLock { shared in
        shared.items.removeAll { item in
          guard case .request(let request) = item, !request.isPatient(at: now) else { return false }
          late.append(request)
          return true
        }
        shared.items.prepend(contentsOf: again)
      }
    }
    // These were never sent, whatever has become of the batch.
    let unsent = Status(
      .unavailable, "The server could not be reached in time. Nothing was applied.", cause: error)
    finish(ended.map { ($0, .failure(error), nil) } + late.map { ($0, .failure(unsent), nil) })
  }

  /// Holds the lock until the transaction ends, or for a second.
  private func serve(_ hold: TransactionHold<WriteRequest>, _ begun: (Result<Void, Status>) -> Void)
  {
    var hasBegun = false
    var request: WriteRequest?
    do throws(Status) {
      try store.write { writing throws(Status) in
        _ = try lock(RemoteRead(), writing)
        hasBegun = true
        begun(.success(()))
        request = hold.wait()
        guard let request else { return }
        try write([request], writing, isHeld: true)
      }
    } catch {
      if !hasBegun { return begun(.failure(error)) }
      if let request { finish([(request, .failure(error), nil)], isHeld: true) }
    }
  }

  /// Takes the lock, and reads. A store that has lost commits goes on behind them first.
  private func lock(
    _ request: RemoteRead, _ writing: any RemoteWriting
  ) throws(Status) -> RemoteAnswer {
    let answer = try writing.lock(request)
    guard var batch = horizon.batch(mending: answer.record) else { return answer }
    logger.error(
      "The server has lost commits: the history of changes begins again.",
      metadata: [
        "server": "\(store.name)", "newest": "\(answer.record.sequence)",
        "seen": "\(horizon.sequence)",
      ])
    batch.id = UUID().bytes
    try writing.commit(batch)
    return try writing.lock(request)
  }

  /// Looks, under the lock, whether the store has lost commits. A closed writer has nobody who could
  /// notice.
  func mend() { edit({ _ in }) { _ in } }

  /// Under the lock: executes the requests one after another, and commits those that succeed.
  private func write(
    _ requests: [WriteRequest], _ writing: any RemoteWriting, isHeld: Bool = false
  ) throws(Status) {
    var paths: Set<ResourcePath> = []
    for request in requests {
      for mutation in request.mutations { paths.insert(mutation.path) }
      for path in request.reads?.documents.keys ?? [:].keys { paths.insert(path) }
    }
    var request = RemoteRead()
    if !paths.isEmpty { request.scopes = [.documents(paths.map { RemoteKey($0) })] }
    let answer = isHeld ? try writing.read(request) : try lock(request, writing)
    let catalogue = try catalogue(answer.record.generation, writing)
    let documents = try answer.stored()
    let state = RemotePlanState(catalogue, documents, known: paths) { needs throws(Status) in
      try writing.read(RemoteRead(scopes: needs(catalogue).scopes)).stored()
    }
    var plan = CommitPlan(
      state, StoreState(answer.record), now: now(), notAfter: latestTime,
      documentCount: paths.count)
    try Status.ofReading { try plan.prepare(for: requests.flatMap(\.mutations)) }
    var outcomes: [Outcome] = []
    for request in requests {
      let counted = state.changes.count
      let result = outcome(of: request, in: &plan)
      // The connection's failure is that of all requests.
      if let failure = state.failure { throw failure }
      let acknowledgement = acknowledgements.acknowledgement(of: request, result) { _ in
        state.changes[counted...].map(\.path)
      }
      outcomes.append((request, result, acknowledgement))
    }
    // Nothing to store: not even the time of a commit without changes.
    guard let newest = plan.newestTime else { return finish(outcomes, isHeld: isHeld) }

    var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
    for (position, change) in state.changes.enumerated() {
      let next = position + 1
      let change = LoggedChange(
        change, endsCommit: next == state.changes.count || state.changes[next].startsCommit)
      try catalogue.addEntries(of: change, to: &batch)
      batch.changes.append(change)
    }
    batch.record.sequence = plan.state.lastSequence
    if let last = state.changes.last { batch.record.time = last.commitTime.microseconds }
    // The clocks of other processes may be behind those of commits that changed nothing.
    if newest.microseconds > batch.record.time {
      batch.record.readTime = max(batch.record.readTime, newest.microseconds)
    }
    let waiting = outcomes.compactMap(\.acknowledgement)
    acknowledgements.expect(waiting)
    do throws(Status) { try writing.commit(batch) } catch {
      acknowledgements.withdraw(waiting)
      throw error
    }
    finish(outcomes, isHeld: isHeld)
  }

  private func catalogue(
    _ generation: UInt64, _ writing: any RemoteWriting
  ) throws(Status) -> RemoteCatalogue {
    let known = catalogues.newest
    if known.generation == generation { return known }
    return try catalogues.note(writing.read(RemoteRead(withIndexes: true)))
  }

  private func outcome(
    of request: WriteRequest, in plan: inout CommitPlan
  ) -> Result<CommitResult, Status> {
    var request = request
    do { return try plan.outcome(of: &request) } catch {
      return .failure(Status(readingFailed: error))
    }
  }

  /// - Parameter isHeld: The request was not in the queue.
  func finish(_ outcomes: [Outcome], isHeld: Bool = false) {
    if !isHeld {
      let unawaited = outcomes.count { $0.request.isTracked }
      let bytes = outcomes.reduce(0) { $0 + $1.request.countedBytes }
      shared.withLock { shared in
        shared.awaited -= outcomes.count - unawaited
        shared.unawaited -= unawaited
        shared.waitingBytes -= bytes
      }
    }
    for case .success(let result) in outcomes.lazy.map(\.result) {
      horizon.note(result.sequence, result.commitTime.microseconds)
    }
    source.noteCommit()
    for outcome in outcomes {
      outcome.request.closure?.release()
      guard let acknowledgement = outcome.acknowledgement else {
        outcome.request.complete(outcome.result)
        continue
      }
      acknowledgement.commit(outcome.result)
    }
    let waiting = outcomes.compactMap(\.acknowledgement)
    acknowledgements.noteCommit(of: waiting)
    for acknowledgement in waiting { acknowledgement.release() }
  }

  // MARK: Trimming

  private static let trimInterval = Duration.seconds(5)

  /// Now and then drops the changes that are older than the retention, or more, and old ids of commits.
  private func trimIfDue() {
    let isDue = trimmed.withLock { trimmed in
      let now = ContinuousClock.now
      if let last = trimmed, now - last < Self.trimInterval { return false }
      trimmed = now
      return true
    }
    guard isDue else { return }
    do throws(Status) {
      let hasMore = try store.write { writing throws(Status) in
        let isBehind = try trimLog(writing)
        return try writing.removeOldCommitIDs() || isBehind
      }
      if hasMore { trimmed.withLock { $0 = nil } }
    } catch {
      logger.warning("The change log is not trimmed yet.", metadata: ["error": "\(error)"])
    }
  }

  /// Returns whether there is more to drop.
  private func trimLog(_ writing: any RemoteWriting) throws(Status) -> Bool {
    let request = RemoteRead(
      lastChangeAt: now().microseconds - store.retention.ageMicroseconds,
      logLimitBytes: store.retention.limitBytes)
    // Mostly there is nothing to drop, and others need the lock.
    guard try writing.look(request).lastToTrim != nil else { return false }
    let answer = try lock(request, writing)
    guard let last = answer.lastToTrim else { return false }
    // At most so many at once: others wait for the lock.
    let through = min(last, answer.record.firstLogged + 50_000)
    let time = try writing.read(RemoteRead(timeOf: through)).timeOf
    var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
    batch.trimsThrough = through
    batch.record.firstLogged = through + 1
    batch.record.trimmedTime = time ?? batch.record.trimmedTime
    try writing.commit(batch)
    return through < last
  }

  // MARK: Times

  /// The latest time that a commit may get now.
  var latestTime: Instant { settings.store.commitTime.latest(at: now()) }

  /// Waits for the commits under way, and lets all later ones have a later time than this one.
  func settle(_ time: Instant, _ request: RemoteRead) throws(Status) -> RemoteAnswer {
    try store.write { writing throws(Status) in
      let answer = try lock(request, writing)
      guard time > answer.record.latestTime else { return answer }
      var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
      batch.record.readTime = time.microseconds
      try writing.commit(batch)
      return answer
    }
  }

  /// Corrects times that are ahead of the clock; see `TimeRepair`. Returns the number of documents
  /// with other times. Blocks.
  func repairTimes() throws(Status) -> Int {
    try store.write { writing throws(Status) in
      let record = try lock(RemoteRead(), writing).record
      var repair = TimeRepair(now: now())
      let (kept, newest) = try writing.times(upTo: repair.now)
      for time in [kept, newest, record.time, record.readTime] { repair.note(time) }
      guard repair.isNeeded else { return 0 }
      return try writing.commit(repair, id: UUID().bytes)
    }
  }

  // MARK: Indexes

  /// Edits the indexes when it is its turn, and then builds what is unfinished.
  func editAndBuild(_ body: @escaping Edit, _ done: @escaping Completion<Void>) {
    edit(body) { [self] outcome in
      done(outcome)
      if case .success = outcome { continueBuilding() }
    }
  }

  private func edit(_ body: @escaping Edit, _ done: @escaping Completion<Void>) {
    do throws(Status) {
      try add(.indexes(body, deadline: .now + Self.patience, done)) { _ in }
    } catch {
      done(.failure(error))
    }
  }

  private struct Building {
    var isRunning = false
    /// Somebody has asked for it since it has looked for the last time.
    var isWanted = false
  }

  /// Builds what is unfinished, in the background, until nothing is left or the writer is closed.
  ///
  /// - Parameter delay: In seconds: another process may be about to do it.
  func continueBuilding(after delay: Double = 0) {
    // Another process builds.
    if store.isReadOnly { return }
    let mustStart = building.withLock { building in
      building.isWanted = true
      defer { building.isRunning = true }
      return !building.isRunning
    }
    if mustStart { startBuilding(after: delay, pause: 0.5) }
  }

  /// - Parameter pause: After an error, in seconds.
  private func startBuilding(after delay: Double, pause: Double) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
      BlockingThreads.shared.run { [weak self] in self?.buildInTurn(delay > 0, pause: pause) }
    }
  }

  private func buildInTurn(_ isPatient: Bool, pause: Double) {
    if shared.withLock(\.isClosed) { return }
    building.withLock { $0.isWanted = false }
    do throws(Status) {
      if isPatient { try waitWhileOthersBuild() }
      _ = try build()
    } catch {
      if shared.withLock(\.isClosed) { return }
      logger.warning("An index is not built yet.", metadata: ["error": "\(error)"])
      return startBuilding(
        after: pause * Double.random(in: 0.5...1), pause: min(pause * 2, 30))
    }
    let isWanted = building.withLock { building in
      building.isRunning = building.isWanted
      return building.isWanted
    }
    if isWanted { startBuilding(after: 0.5, pause: 0.5) }
  }

  /// Until an index is unfinished and nobody has done a step for a while. Several processes that build
  /// at once would have the lock all the time.
  private func waitWhileOthersBuild() throws(Status) {
    var generation: UInt64?
    while true {
      let catalogue = try catalogues.refresh()
      guard catalogue.indexes.contains(where: \.isUnfinished), catalogue.generation != generation
      else { return }
      generation = catalogue.generation
      Thread.sleep(forTimeInterval: .random(in: 1...2))
    }
  }

  /// Builds step by step until no index is unfinished, and returns all. Several processes share the
  /// steps. Blocks.
  func build() throws(Status) -> [StoredIndex] {
    while true {
      let indexes = try catalogues.refresh().indexes
      guard indexes.contains(where: \.isUnfinished) else { return indexes }
      if indexes.contains(where: \.isBuilding) {
        try editBlocking { edit throws(Status) in try edit.buildFurther() }
        continue
      }
      let verification = try retrying(until: .now + Self.patience) { () throws(Status) in
        try store.readAlone { read throws(Status) in try RemoteIndexVerification(read) }
      }
      if let verification {
        try editBlocking { edit in edit.conclude(verification) }
      } else {
        // Another process does it.
        Thread.sleep(forTimeInterval: 0.2)
      }
    }
  }

  private func editBlocking(_ body: @escaping Edit) throws(Status) {
    try DispatchSemaphore.waiting { edit(body, $0) }?.get()
  }

  private func change(
    _ body: Edit, until deadline: ContinuousClock.Instant
  ) throws(Status) {
    try retrying(until: deadline) { () throws(Status) in
      try store.write { writing throws(Status) in
        let answer = try lock(RemoteRead(withIndexes: true), writing)
        let catalogue = try RemoteCatalogue(
          generation: answer.record.generation, answer.indexes)
        var edit = RemoteIndexEdit(catalogue, writing, id: UUID().bytes, record: answer.record)
        try body(&edit)
        guard edit.hasChanges else { return }
        // Not the number of a change that a failover has lost, which other processes may know.
        edit.batch.record.generation = max(
          edit.batch.record.generation + 1, UInt64(clamping: now().microseconds))
        try writing.commit(edit.batch)
      }
    }
    _ = try catalogues.refresh()
  }
}

extension [WriteRequest] {
  var firstDeadline: ContinuousClock.Instant { compactMap(\.deadline).min() ?? .now }
}

extension WriteRequest {
  fileprivate func isPatient(at now: ContinuousClock.Instant) -> Bool {
    deadline.map { now < $0 } ?? false
  }
}

extension StoredIndex {
  fileprivate var isBuilding: Bool { if case .building = state { true } else { false } }
}

extension RemoteAnswer {
  /// The last change that the log need not keep.
  fileprivate var lastToTrim: UInt64? {
    let last = [lastChangeAt, lastExcess].compactMap(\.self).max()
    return last.flatMap { $0 >= record.firstLogged ? $0 : nil }
  }
}

extension StoreState {
  fileprivate init(_ record: RemoteRecord) {
    self.init(lastSequence: record.sequence, lastCommitTime: record.latestTime)
  }
}

extension UUID {
  var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
