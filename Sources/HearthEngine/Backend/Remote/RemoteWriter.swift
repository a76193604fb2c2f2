import DequeModule
import Dispatch
import Foundation
import Logging

/// Writes to a `RemoteStore`: whatever waits while a commit is under way is in the next one.
///
///     jobs ─▶ one batch ─┬▶ all of them blind: the store decides ─▶ complete
///                        └▶ the store's lock ─▶ their documents ─▶ each job in turn, in memory
///                               └─▶ the changes of all that succeed, durable ─▶ complete
///
/// A batch that was certainly not applied is tried again until `patience` is over. One that may be
/// applied is never sent again: its jobs fail, and say so.
final class RemoteWriter: Sendable {
  struct Job: Sendable {
    var mutations: [Mutation]
    /// A user's closure instead of mutations.
    var closure: RemoteClosure?
    /// Those of a transaction.
    var reads = ReadSet()
    var origin: WriteOrigin?
    /// Of a write that its caller does not await; nil for others.
    var waitingBytes: Int?
    var done: Completion<CommitResult>

    init(
      mutations: [Mutation], origin: WriteOrigin?, done: @escaping Completion<CommitResult>
    ) {
      self.mutations = mutations
      self.origin = origin
      self.done = done
    }

    fileprivate var byteCount: Int { mutations.reduce(0) { $0 + $1.byteCount } }
  }

  private enum Item {
    case job(Job)
    case hold(TransactionHold<Job>, begun: @Sendable (Result<Void, Status>) -> Void)
    case indexes(@Sendable (inout RemoteIndexEdit) throws(Status) -> Void, Completion<Void>)
    case mark(@Sendable () -> Void)
  }

  private struct Shared {
    var items: Deque<Item> = []
    var isRunning = false
    var isClosed = false
    /// Writes that their callers do not await and that are not done.
    var unawaited = 0
    var waitingBytes = 0
  }

  private let shared = Guarded(Shared())
  let store: any RemoteStore
  let catalogues: RemoteCatalogues
  let acknowledgements: Acknowledgements
  let source: RemoteChangeSource
  private let queueLimitBytes: Int
  let now: @Sendable () -> Instant
  private let logger: Logger
  /// When the log was last trimmed.
  private let trimmed = Guarded<ContinuousClock.Instant?>(nil)
  private let idle = DispatchGroup()
  /// For tests: every commit reads first.
  let readsFirst = Guarded(false)

  private static let patience = Duration.seconds(20)
  private static let batchCount = 128
  private static let batchBytes = 4 << 20

  init(
    _ store: any RemoteStore, _ catalogues: RemoteCatalogues, _ acknowledgements: Acknowledgements,
    _ source: RemoteChangeSource, queueLimitBytes: Int, now: @escaping @Sendable () -> Instant,
    logger: Logger
  ) {
    self.store = store
    self.catalogues = catalogues
    self.acknowledgements = acknowledgements
    self.source = source
    self.queueLimitBytes = queueLimitBytes
    self.now = now
    self.logger = logger
  }

  // MARK: Queueing

  func add(_ job: Job) throws(Status) {
    try add(.job(job)) { [queueLimitBytes] shared throws(Status) in
      guard let bytes = job.waitingBytes else { return }
      guard bytes == 0 || shared.waitingBytes == 0 || shared.waitingBytes + bytes <= queueLimitBytes
      else {
        throw Status(
          .resourceExhausted,
          "\(shared.waitingBytes) bytes of writes wait already. Await writes, or write less.")
      }
      shared.waitingBytes += bytes
      shared.unawaited += 1
    }
  }

  /// Calls `begun` when all writes wait for `hold`, or with the error because of which they do not.
  func add(
    _ hold: TransactionHold<Job>, _ begun: @escaping @Sendable (Result<Void, Status>) -> Void
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
      var jobs: [Job] = []
      let other: Item? = shared.withLock { shared in
        var bytes = 0
        while jobs.count < Self.batchCount, case .job(let job)? = shared.items.first {
          // A closure is run once: it is alone.
          if job.closure != nil, !jobs.isEmpty { break }
          bytes += job.byteCount
          if !jobs.isEmpty, bytes > Self.batchBytes { break }
          jobs.append(job)
          shared.items.removeFirst()
          if job.closure != nil { break }
        }
        if jobs.isEmpty, let item = shared.items.popFirst() { return item }
        if jobs.isEmpty {
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
      case .indexes(let edit, let done)?: done(Result { () throws(Status) in try change(edit) })
      case .job?: break
      case nil:
        if jobs.isEmpty { return }
        run(jobs)
      }
    }
  }

  private let thread = Guarded<pthread_t?>(nil)

  /// On the writer's thread, a blocking call would wait for itself.
  var isOnThread: Bool {
    thread.withLock { $0 }.map { pthread_equal($0, pthread_self()) != 0 } ?? false
  }

  private func run(_ jobs: [Job]) {
    let others = runBlind(jobs)
    if !others.isEmpty { runReading(others) }
    trimIfDue()
  }

  private func runReading(_ jobs: [Job]) {
    do throws(Status) {
      try retrying {
        jobs.allSatisfy { $0.closure?.hasRun != true }
      } _: { () throws(Status) in
        try store.write { writing throws(Status) in try write(jobs, writing) }
      }
    } catch {
      finish(jobs.map { ($0, .failure(error)) })
    }
  }

  /// Until it succeeds, or fails with something that another attempt does not mend.
  func retrying<Answer>(
    mayRepeat: () -> Bool = { true }, _ body: () throws(Status) -> Answer
  ) throws(Status) -> Answer {
    let deadline = ContinuousClock.now + Self.patience
    var pause = 0.01
    while true {
      do throws(Status) { return try body() } catch {
        guard error.code == .unavailable || error.isContention, !error.mayBeDone,
          ContinuousClock.now < deadline, !shared.withLock(\.isClosed), mayRepeat()
        else { throw error }
        logger.warning("Writing is tried again.", metadata: ["error": "\(error)"])
      }
      Thread.sleep(forTimeInterval: pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, 1)
    }
  }

  /// Holds the lock until the transaction ends, or for a second.
  private func serve(_ hold: TransactionHold<Job>, _ begun: (Result<Void, Status>) -> Void) {
    var hasBegun = false
    var job: Job?
    do throws(Status) {
      try store.write { writing throws(Status) in
        _ = try writing.lock(RemoteRead())
        hasBegun = true
        begun(.success(()))
        job = hold.wait()
        guard let job else { return }
        try write([job], writing, isLocked: true)
      }
    } catch {
      if !hasBegun { return begun(.failure(error)) }
      if let job { finish([(job, .failure(error))]) }
    }
  }

  /// Under the lock: executes the jobs one after another, and commits those that succeed.
  private func write(
    _ jobs: [Job], _ writing: any RemoteWriting, isLocked: Bool = false
  ) throws(Status) {
    var paths: Set<ResourcePath> = []
    for job in jobs {
      for mutation in job.mutations { paths.insert(mutation.path) }
      for path in job.reads.documents.keys { paths.insert(path) }
    }
    var request = RemoteRead()
    if !paths.isEmpty { request.scopes = [.documents(paths.map { RemoteKey($0) })] }
    let answer = isLocked ? try writing.read(request) : try writing.lock(request)
    let catalogue = try catalogue(answer.record.generation, writing)
    var documents: [StoredDocument] = []
    for document in answer.documents { documents.append(try StoredDocument(document)) }
    let reader = RemoteReader(writing, catalogue)
    var state = MemoryState(
      of: documents, known: Array(paths), sequence: answer.record.sequence,
      time: Instant(microseconds: answer.record.time), indexes: catalogue.constraints
    ) { wanted throws(Status) in try reader.documents(wanted) }

    let now = { [now] in max(now(), Instant(microseconds: answer.record.readTime + 1)) }
    var outcomes: [(job: Job, outcome: Result<CommitResult, Status>)] = []
    var expected: [Int: Acknowledgement] = [:]
    for job in jobs {
      do throws(Status) {
        try check(job, reader, &state)
        let before = state.sequence
        let logged = state.log.count
        let result =
          if let closure = job.closure {
            try closure.run(&state, now())
          } else {
            try state.commit(job.mutations, at: state.time(now()))
          }
        if let origin = job.origin, result.sequence > before {
          let changed = state.log[logged...].map(\.path)
          if acknowledgements.concern(changed) {
            expected[outcomes.count] = Acknowledgement(
              result.sequence, changed, from: origin, complete: job.done)
          }
        }
        outcomes.append((job, .success(result)))
      } catch {
        // The connection's failure is that of all jobs.
        if reader.hasFailed { throw error }
        outcomes.append((job, .failure(error)))
      }
    }
    guard state.sequence > answer.record.sequence else { return finish(outcomes) }

    var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
    for change in state.log {
      try catalogue.addEntries(of: change, to: &batch)
      batch.changes.append(change.remote)
    }
    batch.record.sequence = state.sequence
    batch.record.time = state.lastTime.microseconds
    let waiting = expected.sorted { $0.key < $1.key }.map(\.value)
    acknowledgements.expect(waiting)
    do throws(Status) { try writing.commit(batch) } catch {
      acknowledgements.withdraw(waiting)
      throw error
    }
    finish(outcomes, expected)
  }

  private func catalogue(
    _ generation: UInt64, _ writing: any RemoteWriting
  ) throws(Status) -> RemoteCatalogue {
    let known = catalogues.newest
    if known.generation == generation { return known }
    var request = RemoteRead()
    request.withIndexes = true
    let answer = try writing.read(request)
    return try catalogues.note(answer)
  }

  /// Throws `aborted` if what a transaction has read is no longer so.
  private func check(
    _ job: Job, _ reader: RemoteReader, _ state: inout MemoryState
  ) throws(Status) {
    for (path, seen) in job.reads.documents where state.documents[path]?.updateTime != seen {
      throw .readsHaveChanged
    }
    for seen in job.reads.results {
      try state.load(seen.query)
      let found: [StoredDocument]
      do { found = try RemoteResults(seen.query).documents(Array(state.documents.values)) } catch {
        throw Status(readingFailed: error)
      }
      guard seen.holds(for: found) else { throw .readsHaveChanged }
    }
  }

  func finish(
    _ outcomes: [(job: Job, outcome: Result<CommitResult, Status>)],
    _ expected: [Int: Acknowledgement] = [:]
  ) {
    var unawaited = 0
    var bytes = 0
    for case let count? in outcomes.map(\.job.waitingBytes) {
      unawaited += 1
      bytes += count
    }
    shared.withLock { shared in
      shared.unawaited -= unawaited
      shared.waitingBytes -= bytes
    }
    source.noteCommit()
    for (position, (job, outcome)) in outcomes.enumerated() {
      guard let acknowledgement = expected[position] else {
        job.done(outcome)
        continue
      }
      acknowledgement.commit(outcome)
    }
    let waiting = expected.sorted { $0.key < $1.key }.map(\.value)
    acknowledgements.noteCommit(of: waiting)
    for acknowledgement in waiting { acknowledgement.release() }
  }

  // MARK: Trimming

  private static let trimInterval = Duration.seconds(5)

  /// Now and then drops the changes that are older than the retention, or more.
  private func trimIfDue() {
    let isDue = trimmed.withLock { trimmed in
      let now = ContinuousClock.now
      if let last = trimmed, now - last < Self.trimInterval { return false }
      trimmed = now
      return true
    }
    guard isDue else { return }
    do throws(Status) {
      try store.write { writing throws(Status) in try trim(writing) }
    } catch {
      logger.warning("The change log is not trimmed yet.", metadata: ["error": "\(error)"])
    }
  }

  private func trim(_ writing: any RemoteWriting) throws(Status) {
    var request = RemoteRead()
    request.lastChangeAt = now().microseconds - store.retention.ageMicroseconds
    request.logLimitBytes = store.retention.limitBytes
    let answer = try writing.lock(request)
    guard let last = [answer.lastChangeAt, answer.lastExcess].compactMap(\.self).max(),
      last >= answer.record.firstLogged
    else { return }
    // At most so many at once: others wait for the lock.
    let through = min(last, answer.record.firstLogged + 50_000)
    if through < last { trimmed.withLock { $0 = nil } }
    request = RemoteRead()
    request.timeOf = through
    let time = try writing.read(request).timeOf
    var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
    batch.trimsThrough = through
    batch.record.firstLogged = through + 1
    batch.record.trimmedTime = time ?? batch.record.trimmedTime
    try writing.commit(batch)
  }

  // MARK: Times

  /// Waits for the commits under way, and lets all later ones have a later time than this one.
  func settle(_ time: Instant, _ request: RemoteRead) throws(Status) -> RemoteAnswer {
    try store.write { writing throws(Status) in
      let answer = try writing.lock(request)
      guard time.microseconds > max(answer.record.time, answer.record.readTime) else {
        return answer
      }
      var batch = RemoteBatch(id: UUID().bytes, record: answer.record)
      batch.record.readTime = time.microseconds
      try writing.commit(batch)
      return answer
    }
  }

  // MARK: Indexes

  func declare(
    _ definitions: [IndexDefinition], _ done: @escaping Completion<Void>
  ) throws(Status) {
    try edit(done) { edit throws(Status) in
      for definition in definitions { try edit.declare(definition) }
    }
  }

  func drop(_ definitions: [IndexDefinition], _ done: @escaping Completion<Void>) throws(Status) {
    try edit(done) { edit in for definition in definitions { edit.drop(definition) } }
  }

  func setTTL(
    _ collectionID: String, _ field: FieldSegments?, _ done: @escaping Completion<Void>
  ) throws(Status) {
    try edit(done) { edit throws(Status) in try edit.setTTL(collectionID, field) }
  }

  private func edit(
    _ done: @escaping Completion<Void>,
    _ body: @escaping @Sendable (inout RemoteIndexEdit) throws(Status) -> Void
  ) throws(Status) {
    try add(
      .indexes(body) { [self] outcome in
        done(outcome)
        if case .success = outcome { continueBuilding() }
      }
    ) { _ in }
  }

  /// Builds what is unfinished, in the background.
  func continueBuilding() {
    BlockingThreads.shared.run { [self] in
      do throws(Status) { _ = try build() } catch {
        if error.code == .failedPrecondition { return }
        logger.warning("An index is not built yet.", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Builds step by step until no index is unfinished, and returns all. Several processes share the
  /// steps. Blocks.
  func build() throws(Status) -> [StoredIndex] {
    while true {
      let indexes = try catalogues.refresh().indexes
      guard indexes.contains(where: \.isUnfinished) else { return indexes }
      let done = DispatchSemaphore(value: 0)
      let outcome = Guarded<Result<Void, Status>>(.success(()))
      try add(
        .indexes({ edit throws(Status) in try edit.buildFurther() }) { result in
          outcome.withLock { $0 = result }
          done.signal()
        }
      ) { _ in }
      done.wait()
      try outcome.withLock(\.self).get()
    }
  }

  private func change(
    _ body: (inout RemoteIndexEdit) throws(Status) -> Void
  ) throws(Status) {
    try retrying { () throws(Status) in
      try store.write { writing throws(Status) in
        var request = RemoteRead()
        request.withIndexes = true
        let answer = try writing.lock(request)
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

/// A user's closure on its way to the writer, where it runs once.
final class RemoteClosure: @unchecked Sendable {
  // Unchecked: used by its maker until it is handed over, then by the writer.
  private var body: ((any LocalWriter) throws -> Void)?
  private(set) var hasRun = false

  init(_ body: @escaping (any LocalWriter) throws -> Void) { self.body = body }

  func run(_ state: inout MemoryState, _ now: Instant) throws(Status) -> CommitResult {
    hasRun = true
    // Released before the waiting caller continues.
    defer { body = nil }
    do {
      guard let body else { throw Status.terminated }
      return try MemoryWriter.run(body, on: &state, now)
    } catch {
      throw error as? Status
        ?? Status(.cancelled, "A write closure threw an error.", cause: error)
    }
  }
}

/// Reads under the lock.
private final class RemoteReader: @unchecked Sendable {
  // Unchecked: used by the thread that has the lock, as long as it has it.

  private let writing: any RemoteWriting
  private let catalogue: RemoteCatalogue
  /// Reading failed, so that nothing of the batch can be decided.
  private(set) var hasFailed = false

  init(_ writing: any RemoteWriting, _ catalogue: RemoteCatalogue) {
    self.writing = writing
    self.catalogue = catalogue
  }

  func documents(_ wanted: MemoryState.Wanted) throws(Status) -> [StoredDocument] {
    var needs = RemoteNeeds()
    switch wanted {
    case .document(let path): needs.add([path])
    case .results(let query): needs.add(query, catalogue)
    }
    var request = RemoteRead()
    request.scopes = needs.scopes
    do throws(Status) {
      var documents: [StoredDocument] = []
      for document in try writing.read(request).documents {
        documents.append(try StoredDocument(document))
      }
      return documents
    } catch {
      hasFailed = true
      throw error
    }
  }
}

extension UUID {
  var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
