import Dispatch

/// The lock on all writes that an exclusive transaction holds, for at most a second.
///
///     the writer comes ─▶ begun ─▶ the transaction reads ─▶ its commit, or nil ─▶ written
final class RemoteHold: @unchecked Sendable {
  // Unchecked: `begun` is set before the hold is handed to the writer.

  var begun: (Result<Void, Status>) -> Void = { _ in }
  private let state = Guarded<(isOver: Bool, job: RemoteWriter.Job?)>((false, nil))
  private let ended = DispatchSemaphore(value: 0)

  /// On the writer's thread: returns what is to be written, if it came in time.
  func wait() -> RemoteWriter.Job? {
    _ = ended.wait(timeout: .now() + .seconds(1))
    return state.withLock { state in
      state.isOver = true
      return state.job
    }
  }

  /// Returns false if it has ended already, or has waited for too long.
  func end(_ job: RemoteWriter.Job?) -> Bool {
    defer { ended.signal() }
    return state.withLock { state in
      guard !state.isOver else { return false }
      state.isOver = true
      state.job = job
      return true
    }
  }
}
