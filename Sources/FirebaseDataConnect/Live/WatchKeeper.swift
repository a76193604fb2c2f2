import Logging
import Synchronization

/// Keeps the listeners of a subscription: after an error of one of them, they are begun again.
///
///     begin ─▶ listening ─▶ error: all are stopped, a signal ─▶ pause ─▶ begin ─▶ a signal
///       └────▶ error ─▶ longer pause ─▶ begin
///
/// A change during a pause is covered by the signal after the listeners have begun again.
final class WatchKeeper: Sendable {
  /// Begins the listeners, and returns closures that stop them. Calls the first closure for a
  /// change, and the second one when a listener has ended with an error.
  typealias Start =
    @Sendable (
      _ changed: @escaping @Sendable () -> Void, _ failed: @escaping @Sendable (any Error) -> Void
    ) async throws -> [@Sendable () -> Void]

  private struct State {
    var isStopped = false
    /// Of the listeners: those that are begun later have a larger one.
    var round = 0
    var stops: [@Sendable () -> Void] = []
    /// The next one.
    var pause: Duration

    mutating func takeStops() -> [@Sendable () -> Void] {
      defer { stops = [] }
      return stops
    }
  }

  private let start: Start
  private let changed: @Sendable () -> Void
  private let state: Mutex<State>
  private let shortestPause: Duration
  private static let longestPause = Duration.seconds(60)

  init(
    pause: Duration = .seconds(1), _ start: @escaping Start,
    changed: @escaping @Sendable () -> Void
  ) {
    self.start = start
    self.changed = changed
    shortestPause = pause
    state = Mutex(State(pause: pause))
  }

  /// Returns when every later change is a signal, or when the listeners cannot begin: then they are
  /// begun later.
  func begin() async { _ = await isBegun() }

  private func isBegun() async -> Bool {
    let round = state.withLock { state in
      state.round += 1
      return state.round
    }
    do {
      let stops = try await start(changed) { [weak self, changed] error in
        // The query reports its own error.
        if self?.restart(after: error, round) == true { changed() }
      }
      let isLate = state.withLock { state in
        if state.isStopped || state.round != round { return true }
        state.stops = stops
        state.pause = shortestPause
        return false
      }
      if isLate { for stop in stops { stop() } }
      return !isLate
    } catch {
      restart(after: error, round)
      return false
    }
  }

  /// Returns false if the listeners are stopped already.
  @discardableResult
  private func restart(after error: any Error, _ round: Int) -> Bool {
    let (stops, pause): ([@Sendable () -> Void], Duration?) = state.withLock { state in
      guard !state.isStopped, state.round == round else { return ([], nil) }
      state.round += 1
      defer { state.pause = min(state.pause * 2, Self.longestPause) }
      return (state.takeStops(), state.pause)
    }
    for stop in stops { stop() }
    guard let pause else { return false }
    if pause == shortestPause {
      Logger(label: "hearth").warning(
        "A subscription does not follow the data until its listeners can begin again.",
        metadata: ["error": "\(error)"])
    }
    Task { [weak self] in
      try? await Task.sleep(for: pause)
      guard let self, !state.withLock(\.isStopped) else { return }
      if await isBegun() { changed() }
    }
    return true
  }

  func stop() {
    let stops = state.withLock { state in
      state.isStopped = true
      return state.takeStops()
    }
    for stop in stops { stop() }
  }
}
