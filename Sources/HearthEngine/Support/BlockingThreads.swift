import DequeModule

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Threads for work that may block for as long as it likes: users' blocks, closing, checking a file.
///
///     BlockingThreads.shared.run { … }
///
/// Each piece of work has a thread of its own, so that none waits for another, however many block. A thread
/// that is done serves the next piece of work, or ends after some seconds.
///
/// Dispatch's global queues give a process 64 threads: blocks that wait for each other use them up.
final class BlockingThreads: Sendable {
  package typealias Work = @Sendable () -> Void

  package static let shared = BlockingThreads()

  private struct State {
    var threadCount = 0
    /// Threads that wait for work, and are not woken yet.
    var idleCount = 0
    /// Work for threads that are woken, or for whichever is done first where no more could be made.
    var waiting: Deque<Work> = []
  }

  private let state = Guarded(State())
  private let wake = WakeUp()

  private static let idleSeconds = 5

  /// Runs `work` on a thread that does nothing else meanwhile. Never blocks.
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
    // The system gives no more threads: one that is done goes on with it.
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
      // Nobody has woken this thread, unless just now.
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

  /// How many there are. For tests.
  var count: Int { state.withLock(\.threadCount) }
}

/// A counting semaphore of the system's.
private final class WakeUp: @unchecked Sendable {
  // Unchecked: the semaphore is the system's own, made for many threads.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  /// False if nobody signalled in time.
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

/// Runs `body`, which may block, on a thread of its own and not on one of the few that async code runs on.
package func onBlockingThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    BlockingThreads.shared.run {
      continuation.resume(with: Swift.Result { try body() })
    }
  }
}
