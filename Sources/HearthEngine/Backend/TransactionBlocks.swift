import Foundation
import Logging

/// The blocks of transactions that run in a database, each on a thread of its own, so that any number of them
/// may wait for each other.
package final class TransactionBlocks: Sendable {
  private struct Running {
    let callSite: CallSite
    let since = ContinuousClock.now
    var reminder = Reminder(after: .seconds(10))
  }

  private struct State {
    var running: [Int: Running] = [:]
    var lastNumber = 0
  }

  private let path: String
  private let logger: Logger
  private let state = Guarded(State())
  private let watch = Watch()

  package init(_ path: String, _ logger: Logger) {
    self.path = path
    self.logger = logger
  }

  deinit { close() }

  package func close() { watch.end() }

  /// Runs `body` on a thread of its own; the watchdog names it if it does not return.
  package func run<Result: Sendable>(
    _ callSite: CallSite, in backend: any Backend, _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    watch.begin { [weak self] in self?.look() }
    let number = state.withLock { state in
      state.lastNumber += 1
      state.running[state.lastNumber] = Running(callSite: callSite)
      return state.lastNumber
    }
    return await withCheckedContinuation { continuation in
      BlockingThreads.shared.run { [self] in
        let result = BlockThread.inside(backend, body)
        state.withLock { $0.running[number] = nil }
        continuation.resume(returning: result)
      }
    }
  }

  /// Throws in a transaction's block of this database: what it did would not be part of the transaction.
  package static func refuse(in backend: any Backend) throws(Status) {
    try BlockThread.refuse(in: backend)
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

/// Which database's transaction a thread runs the block of.
private enum BlockThread {
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
