/// Signals to running work that its result is no longer wanted.
final class CancellationSignal: Sendable {
  private struct State {
    var isCancelled = false
    var handler: (@Sendable () -> Void)?
  }

  private let state = Guarded(State())

  package init() {}

  package var isCancelled: Bool { state.withLock(\.isCancelled) }

  package func cancel() {
    let handler = state.withLock { state in
      state.isCancelled = true
      return state.handler.take()
    }
    handler?()
  }

  /// Calls `body` on cancellation, or at once if it has been cancelled. Replaces the previous
  /// handler. Does nothing if `isWanted` returns false.
  func onCancel(while isWanted: () -> Bool = { true }, _ body: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled, isWanted() { state.handler = body }
      return state.isCancelled
    }
    if isCancelled { body() }
  }
}
