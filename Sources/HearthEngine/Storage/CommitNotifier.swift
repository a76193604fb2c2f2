/// The sequence of the newest commit, and the observers of later ones.
///
/// Moves forward only. Called after a commit, on the writer's thread: observers must return
/// quickly.
final class CommitNotifier: Sendable {
  private struct State {
    var sequence: UInt64 = 0
    var observers: [Int: @Sendable (UInt64) -> Void] = [:]
    var nextToken = 0
  }

  private let state = Guarded(State())

  /// Advances to `sequence` and calls the observers.
  func advance(to sequence: UInt64) {
    let observers = state.withLock { state in
      state.sequence = max(state.sequence, sequence)
      return Array(state.observers.values)
    }
    for observer in observers { observer(sequence) }
  }

  /// Calls `observer` after every later commit, until `remove` or `close`.
  func observe(_ observer: @escaping @Sendable (UInt64) -> Void) -> Int {
    state.withLock { state in
      state.nextToken += 1
      state.observers[state.nextToken] = observer
      return state.nextToken
    }
  }

  func remove(_ token: Int) {
    _ = state.withLock { $0.observers.removeValue(forKey: token) }
  }

  func close() {
    state.withLock { $0.observers = [:] }
  }
}
