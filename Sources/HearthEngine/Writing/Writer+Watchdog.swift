import Foundation
internal import LMDB
import Logging

/// Reports what keeps the writer busy for too long.
extension Writer {
  /// The thread's current activity, for the watchdog.
  enum Activity {
    case idle
    /// Next: planning.
    case waitingForFile
    case planning
    case runningClosure(CallSite?)
    case committing
    /// Completions and observers are called: users' handlers run here.
    case reporting
  }

  struct Doing {
    var activity = Activity.idle
    var since: ContinuousClock.Instant?
    var reminder = Reminder()
  }

  func note(_ activity: Activity) {
    beWatched()
    let now = ContinuousClock.now
    doing.withLock { doing in
      doing.activity = activity
      doing.since = now
    }
  }

  func beWatched() {
    watch.begin { [weak self] in self?.look() }
  }

  func beIdle() {
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
          "The writer waits for the file's write lock, which another process holds.",
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

  /// Nil once the writer closes: the file may be closed by then.
  private func writingProcess() -> Int32? {
    watch.unlessOver { store.environment.writingProcess }
  }

  /// Calls `sampler` once a second, on the watchdog's thread.
  func sample(_ sampler: (@Sendable (WriterSample) -> Void)?) {
    self.sampler.withLock { $0 = sampler }
    beWatched()
  }
}
