/// Wakes a task that waits for events.
final class AsyncSignal: Sendable {
  private struct State {
    /// True from `set` until a `wait` returns.
    var isSet = false
    var isCancelled = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Guarded(State())

  private var isCancelled: Bool { state.withLock(\.isCancelled) }

  /// Wakes the waiting task; if none waits, the next `wait` returns at once.
  func set() { set(cancelling: false) }

  private func cancel() { set(cancelling: true) }

  private func set(cancelling: Bool) {
    let waiting = state.withLock { state in
      state.isSet = true
      if cancelling { state.isCancelled = true }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }

  /// Returns after `set` or `cancel`. At most one task may wait.
  private func wait() async {
    await withCheckedContinuation { continuation in
      let isSet = state.withLock { state in
        if !state.isSet { state.waiting = continuation }
        return state.isSet
      }
      if isSet { continuation.resume() }
    }
    state.withLock { $0.isSet = false }
  }

  /// The result of one attempt to take an element.
  enum Attempt<Element> {
    case element(Element)
    case end
    /// Nothing yet: another attempt follows after `set`.
    case nothing
  }

  /// Attempts until there is an element, and waits for the signal in between. Nil at the end, and when
  /// the task is cancelled.
  func next<Element>(
    _ attempt: () async throws -> Attempt<Element>
  ) async throws -> Element? {
    try await withTaskCancellationHandler {
      while !isCancelled {
        switch try await attempt() {
        case .element(let element): return element
        case .end: return nil
        case .nothing: await wait()
        }
      }
      return nil
    } onCancel: {
      cancel()
    }
  }
}
