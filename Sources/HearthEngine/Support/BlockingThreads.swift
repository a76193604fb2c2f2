import DequeModule
import Dispatch
import Glibc

/// Threads for work that may block without limit: users' blocks, closing, checking a file.
///
///     BlockingThreads.shared.run { … }
///
/// Each piece of work has its own thread, so that none waits for another, however many block. A
/// thread that is done takes the next piece of work, or ends after `idleSeconds`.
///
/// Dispatch's global queues give a process 64 threads: blocks that wait for each other use them up.
package final class BlockingThreads: Sendable {
  package typealias Work = @Sendable () -> Void

  package static let shared = BlockingThreads()

  private struct State {
    var threadCount = 0
    /// Threads that wait for work and are not woken yet.
    var idleCount = 0
    /// Work for threads that are woken, or, if the system gives no more threads, for the first that
    /// is done.
    var waiting: Deque<Work> = []
  }

  private let state = Guarded(State())
  private let wake = WakeUp()

  private static let idleSeconds = 5

  /// Runs `work` on its own thread, and returns at once. If the process has no such thread and gets
  /// none from the system, `work` runs on the caller's thread.
  package func run(_ work: @escaping Work) {
    let hasThread = state.withLock { state in
      state.waiting.append(work)
      if state.idleCount > 0 {
        state.idleCount -= 1
        return true
      }
      state.threadCount += 1
      return false
    }
    if hasThread { return wake.signal() }
    guard !startThread() else { return }
    // The system gives no more threads: the next thread that is done takes the work.
    let isLost = state.withLock { state in
      state.threadCount -= 1
      return state.threadCount == 0
    }
    if isLost { serve(untilEmpty: true) }
  }

  private func startThread() -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        Unmanaged<BlockingThreads>.fromOpaque(context).takeRetainedValue().serve(untilEmpty: false)
        return nil
      }, context.toOpaque())
    if code != 0 { context.release() }
    return code == 0
  }

  private func serve(untilEmpty: Bool) {
    while true {
      while let work = state.withLock({ $0.waiting.popFirst() }) { work() }
      if untilEmpty { return }
      state.withLock { $0.idleCount += 1 }
      if wake.wait(seconds: Self.idleSeconds) { continue }
      // No signal came in time, but one may have come since.
      let mustEnd = state.withLock { state in
        guard state.idleCount > 0 else { return false }
        state.idleCount -= 1
        state.threadCount -= 1
        return true
      }
      if mustEnd { return }
      wake.waitForSignal()
    }
  }

  /// The number of threads. For tests.
  var count: Int { state.withLock(\.threadCount) }
}

/// The system's counting semaphore.
private final class WakeUp: @unchecked Sendable {
  // Unchecked: the semaphore is the system's, which many threads may use at once.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  /// Returns false if no signal came in time.
  func wait(seconds: Int) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    end.tv_sec += seconds
    while sem_timedwait(semaphore, &end) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }

  func waitForSignal() {
    while sem_wait(semaphore) != 0, errno == EINTR {}
  }
}

/// Runs `body`, which may block, on its own thread instead of one of the few that run async code.
package func onBlockingThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    BlockingThreads.shared.run {
      continuation.resume(with: Swift.Result { try body() })
    }
  }
}

/// Runs `body` on a thread of Dispatch's global queue, for work that takes long and does not block.
///
/// `body` and its result are handed over: nobody else uses them meanwhile.
func onFreeThread<Result>(_ body: @escaping () throws -> Result) async throws -> Result {
  let body = HandedOver(body)
  let result = try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async {
      continuation.resume(with: Swift.Result { HandedOver(try body.content()) })
    }
  }
  return result.content
}

private struct HandedOver<Content>: @unchecked Sendable {
  // Unchecked: one thread uses it, and then another.
  let content: Content
  init(_ content: Content) { self.content = content }
}
