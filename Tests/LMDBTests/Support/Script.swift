import Synchronization

@testable import LMDB

/// Which storage calls fail: the n-th of its kind, counted from one.
final class Script: Sendable {
  private struct State {
    var failing: [StorageCall: Int]
    var seen: [StorageCall: Int] = [:]
  }

  private let state: Mutex<State>

  init(_ failing: [StorageCall: Int]) { state = Mutex(State(failing: failing)) }

  func code(for call: StorageCall, _ code: Int32) -> Int32 {
    state.withLock { state in
      state.seen[call, default: 0] += 1
      return state.failing[call] == state.seen[call] ? code : 0
    }
  }
}
