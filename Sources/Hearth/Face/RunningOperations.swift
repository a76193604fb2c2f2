import Dispatch

/// Work of several steps that whoever closes waits for.
///
///     open ─ begin, end ─▶ open      close ─▶ begin is refused ─▶ the last end ─▶ idle
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

  /// Once for each `begin` that was true.
  func end() {
    let waiting: [DispatchSemaphore] = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for semaphore in waiting { semaphore.signal() }
  }

  /// Lets nothing more begin, and waits for what has begun. Blocks.
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
