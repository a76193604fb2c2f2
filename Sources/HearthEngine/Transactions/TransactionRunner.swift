import Foundation
import Logging

/// Runs the blocks of transactions, each on its own thread, so that any number of them may wait for
/// each other. Runs a block again after a conflict.
///
///     turn ─▶ block, whose reads are recorded ─▶ commit, if they still hold
///      ▲                                           └─ no: another attempt
///      └─────────────────────────────────────────────┘
///
/// From the fifth attempt on, the block runs with the file's write lock held.
package final class TransactionRunner: Sendable {
  /// A block's reads. Each blocks the thread.
  package struct Reader: Sendable {
    fileprivate let backend: any Backend
    fileprivate let context: RequestContext

    fileprivate init(_ backend: any Backend, _ id: TransactionID) {
      self.backend = backend
      context = RequestContext(thread: .blocked, transaction: id)
    }

    package func read(_ request: ReadRequest) throws(Status) -> ReadAnswer {
      try backend.waitingInBlock { backend.read(request, context, $0) }.answer
    }
  }

  /// A block's result and its writes, each of them checked.
  package struct Run: @unchecked Sendable {
    // Unchecked: made on one thread, passed on whole, and used on the next thread only.
    fileprivate let result: Result
    fileprivate let writes: Swift.Result<[Mutation], Status>

    package init(_ outcome: Swift.Result<Any?, any Error>, writes: Swift.Result<[Mutation], Status>)
    {
      self.writes = writes
      switch outcome {
      case .success(let value): result = Result(value: value)
      case .failure(let error):
        var result = Result(error: error)
        // The block may rethrow an error of a read.
        let known = error as NSError
        result.isContention =
          known.domain == FirestoreErrorDomain
          && known.code == FirestoreErrorCode.aborted.rawValue
        self.result = result
      }
    }

    fileprivate func request(_ id: TransactionID) throws(Status) -> CommitRequest {
      CommitRequest(try writes.get(), areChecked: true, in: id)
    }

    /// The result of a run whose commit has failed.
    fileprivate func failed(_ error: any Error) -> Result {
      var failed = Result(error: error)
      if let status = error as? Status {
        failed.error = status.nsError
        failed.isFinal = status.mayBeDone
        failed.isContention = status.isContention
      }
      if case .success(let mutations) = writes { failed.hasOnlyRead = mutations.isEmpty }
      return failed
    }
  }

  /// The result of a transaction.
  package struct Result: @unchecked Sendable {
    // Unchecked: for the same reason as `Run`.
    package fileprivate(set) var value: Any?
    package fileprivate(set) var error: (any Error)?
    fileprivate var isFinal = false
    /// Data that was read had changed.
    fileprivate var isContention = false
    /// The block has returned, and wrote nothing: what is checked at the commit are its reads.
    fileprivate var hasOnlyRead = false

    fileprivate init(value: Any?) { self.value = value }

    package init(error: any Error) { self.error = (error as? Status)?.nsError ?? error }

    /// The result after the last attempt.
    fileprivate func givenUp(after attempts: Int) -> Result {
      guard isContention, let error else { return self }
      if hasOnlyRead {
        return Result(
          error: Status(
            .failedPrecondition,
            "The transaction wrote nothing and was given up because of contention: in each of \(attempts) "
              + "attempts others had changed what it read before it ended. For reads alone use read, which "
              + "sees one state of the database and never fails for this reason.", cause: error))
      }
      let status = Status(
        .aborted,
        "The transaction was given up because of contention: in each of \(attempts) attempts others had changed "
          + "what it read before it could be committed, or held the file's write lock. Nothing was applied.",
        cause: error)
      return Result(error: status)
    }
  }

  package typealias Block = @Sendable (Reader) -> Run

  private struct Running {
    let callSite: CallSite
    let since = ContinuousClock.now
    var reminder = Reminder(after: .seconds(10))
  }

  private struct State {
    var running: [Int: Running] = [:]
    var lastNumber = 0
  }

  private let backend: any Backend
  private let path: String
  private let logger: Logger
  private let state = Guarded(State())
  private let watch = Watch()

  /// - Parameter path: The path of the database, for logs.
  package init(_ backend: any Backend, named path: String, _ logger: Logger) {
    self.backend = backend
    self.path = path
    self.logger = logger
  }

  deinit { close() }

  package func close() { watch.end() }

  // MARK: Attempts

  /// Runs `block`, and commits its writes if nothing it read has changed; otherwise runs it again.
  /// Ends early when its task is cancelled: then no commit begins.
  ///
  /// - Parameters:
  ///   - file, line: The place of the block in a user's source, for the watchdog.
  package func run(
    attempts: Int, file: StaticString, line: UInt, _ block: @escaping Block
  ) async -> Result {
    let start = TransactionStart(at: CallSite(file: file, line: line))
    return await withTaskCancellationHandler {
      await run(block, attempts: attempts, start)
    } onCancel: {
      start.cancel()
    }
  }

  private func run(
    _ block: @escaping Block, attempts: Int, _ first: TransactionStart
  ) async -> Result {
    var start = first
    // Also if it was cancelled before another attempt. Does nothing for a transaction that has
    // ended.
    defer { if let id = start.retrying { backend.end(id, isRetried: false) } }
    var number = 1
    while true {
      if Task.isCancelled { return Result(error: CancellationError()) }
      start.isExclusive = number >= Self.attemptsBeforeLock
      let (result, id) =
        start.isExclusive ? await attemptExclusively(block, start) : await attempt(block, start)
      guard let error = result.error else { return result }
      let mayTryAgain = !result.isFinal && Self.mayTryAgain(error)
      guard mayTryAgain, number < attempts else {
        if let id { backend.end(id, isRetried: false) }
        return mayTryAgain ? result.givenUp(after: number) : result
      }
      if result.isContention {
        start.retrying = id
      } else {
        start.retrying = nil
        if let id { backend.end(id, isRetried: false) }
        let ceiling = 1_000_000 << UInt64(min(number, 8))
        try? await Task.sleep(nanoseconds: UInt64.random(in: 0...UInt64(ceiling)))
      }
      number += 1
    }
  }

  /// From this attempt on, no other write runs meanwhile.
  private static let attemptsBeforeLock = 5

  /// The result, and the transaction's id if it has not ended.
  private func attempt(
    _ block: @escaping Block, _ start: TransactionStart
  ) async -> (Result, TransactionID?) {
    do {
      let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
      if Task.isCancelled { return (Result(error: CancellationError()), id) }
      let run = await onBlockThread(start.callSite) { [backend] in block(Reader(backend, id)) }
      if run.result.error != nil { return (run.result, id) }
      if Task.isCancelled { return (Result(error: CancellationError()), id) }
      do {
        _ = try await backend.commit(run.request(id))
        return (run.result, nil)
      } catch {
        return (run.failed(error), id)
      }
    } catch {
      return (Result(error: error), nil)
    }
  }

  /// Same as `attempt`, with the file's write lock held while the block runs, so that nothing it
  /// reads can change. After a second the lock is released, and the attempt fails when the block
  /// returns.
  private func attemptExclusively(
    _ block: @escaping Block, _ start: TransactionStart
  ) async -> (Result, TransactionID?) {
    await onBlockThread(start.callSite) { [backend] in
      // Begins on the block's thread: the writer never waits for a thread to start.
      var id: TransactionID?
      var finished: Run?
      do throws(Status) {
        let begun = try backend.waitingInBlock { backend.beginTransaction(start, .blocked, $0) }
        id = begun
        if start.isCancelled {
          backend.end(begun, isRetried: false)
          return (Result(error: CancellationError()), nil)
        }
        // On every path, the writer continues from here.
        var isCommitted = false
        defer { if !isCommitted { backend.end(begun, isRetried: true) } }
        let run = block(Reader(backend, begun))
        finished = run
        if run.result.error != nil { return (run.result, begun) }
        if start.isCancelled { return (Result(error: CancellationError()), begun) }
        let request = try run.request(begun)
        isCommitted = true
        // Blocks, but with the context of a task: the callbacks that it waits for may come on any
        // thread.
        _ = try backend.waitingInBlock { backend.commit(request, .lent, $0) }
        return (run.result, nil)
      } catch {
        return (finished?.failed(error) ?? Result(error: error), id)
      }
    }
  }

  /// Whether another attempt may succeed. An error of the user's own is final, and so is an error
  /// that Firestore calls permanent.
  private static func mayTryAgain(_ error: any Error) -> Bool {
    let error = error as NSError
    guard error.domain == FirestoreErrorDomain else { return false }
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .aborted, .alreadyExists, .failedPrecondition: return true
    case .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .internal, .unavailable,
      .unauthenticated:
      return true
    default: return false
    }
  }

  // MARK: Threads

  /// Runs `body` on its own thread. The watchdog logs its call site if it does not return.
  private func onBlockThread<Answer: Sendable>(
    _ callSite: CallSite, _ body: @escaping @Sendable () -> Answer
  ) async -> Answer {
    watch.begin { [weak self] in self?.look() }
    let number = state.withLock { state in
      state.lastNumber += 1
      state.running[state.lastNumber] = Running(callSite: callSite)
      return state.lastNumber
    }
    return await withCheckedContinuation { continuation in
      BlockingThreads.shared.run { [self] in
        let result = TransactionThread.inside(backend, body)
        state.withLock { $0.running[number] = nil }
        continuation.resume(returning: result)
      }
    }
  }

  private func look() {
    let now = ContinuousClock.now
    let due: [(CallSite, Duration)] = state.withLock { state in
      state.running.keys.compactMap { number in
        guard let running = state.running[number],
          let duration = state.running[number]?.reminder.isDue(running.since, now: now)
        else { return nil }
        return (running.callSite, duration)
      }
    }
    for (callSite, duration) in due {
      logger.warning(
        "A transaction's block has not returned.",
        metadata: [
          "database": "\(path)", "block": "\(callSite)", "duration": "\(duration)",
        ])
    }
  }
}

/// The database whose transaction's block a thread runs.
enum TransactionThread {
  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  static func inside<Result>(_ backend: any Backend, _ body: () -> Result) -> Result {
    pthread_setspecific(
      key, UnsafeRawPointer(Unmanaged.passUnretained(backend as AnyObject).toOpaque()))
    defer { pthread_setspecific(key, nil) }
    return withExtendedLifetime(backend) { body() }
  }

  /// Throws in a transaction's block of this database: the work would not be part of the
  /// transaction.
  static func refuse(in backend: any Backend) throws(Status) {
    guard let current = pthread_getspecific(key),
      current == UnsafeMutableRawPointer(Unmanaged.passUnretained(backend as AnyObject).toOpaque())
    else { return }
    throw Status(
      .failedPrecondition,
      "A transaction's block reads and writes with its transaction, and not with read and write of the "
        + "same database.")
  }
}
