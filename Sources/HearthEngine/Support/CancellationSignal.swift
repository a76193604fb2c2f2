/// Tells work that is under way that nobody wants it any more.
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

  /// Calls `body` when it is cancelled, or at once if it was; in place of the one before. Nothing if `isWanted` says so.
  func onCancel(while isWanted: () -> Bool = { true }, _ body: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled, isWanted() { state.handler = body }
      return state.isCancelled
    }
    if isCancelled { body() }
  }
}
