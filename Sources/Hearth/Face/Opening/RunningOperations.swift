import Dispatch

/// Counts operations of several steps, so that `close` can wait for them.
final class RunningOperations: Sendable {
  private struct State {
    var count = 0
    var isClosing = false
    var waiting: [DispatchSemaphore] = []
  }

  private let state = Guarded(State())

  /// False once `close` has been called.
  func begin() -> Bool {
    state.withLock { state in
      guard !state.isClosing else { return false }
      state.count += 1
      return true
    }
  }

  /// Called once for each `begin` that returned true.
  func end() {
    let waiting: [DispatchSemaphore] = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for semaphore in waiting { semaphore.signal() }
  }

  /// Refuses new operations, and blocks until those that have begun have ended.
  func close() {
    let semaphore: DispatchSemaphore? = state.withLock { state in
      state.isClosing = true
      guard state.count > 0 else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.waiting.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }

  var count: Int { state.withLock(\.count) }
}
