import Synchronization

/// Runs a closure again at each signal, until it is cancelled. Signals during a run are one more run
/// after it.
final class Refresher: Sendable {
  private let body: @Sendable () async -> Void
  private let onCancel: @Sendable () -> Void

  private enum Phase {
    /// Next: `running`, `cancelled`.
    case idle
    /// Next: `idle`, or `running` again if a signal came. `cancelled`.
    case running(isDue: Bool)
    /// Final.
    case cancelled
  }

  private let phase = Mutex(Phase.idle)
  /// Timers and listeners; nil once it is cancelled.
  private let stops = Mutex<[@Sendable () -> Void]?>([])

  /// - Parameter intervals: In milliseconds. Each is a timer that signals.
  init(
    every intervals: [Int64] = [], _ body: @escaping @Sendable () async -> Void,
    onCancel: @escaping @Sendable () -> Void
  ) {
    self.body = body
    self.onCancel = onCancel
    for milliseconds in intervals where milliseconds > 0 {
      let timer = Task { [weak self] in
        while (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil {
          guard let self else { return }
          self.refresh()
        }
      }
      add { timer.cancel() }
    }
  }

  /// Something that signals; `stop` is called when this is cancelled.
  func add(_ stop: @escaping @Sendable () -> Void) {
    let isAdded = stops.withLock { stops in
      stops?.append(stop)
      return stops != nil
    }
    if !isAdded { stop() }
  }

  /// Runs the closure, soon; after the run that is under way.
  func refresh() {
    let begins = phase.withLock { phase in
      switch phase {
      case .idle:
        phase = .running(isDue: false)
        return true
      case .running:
        phase = .running(isDue: true)
        return false
      case .cancelled: return false
      }
    }
    guard begins else { return }
    Task { await run() }
  }

  private func run() async {
    var isDue = true
    while isDue {
      await body()
      isDue = phase.withLock { phase in
        guard case .running(let isDue) = phase else { return false }
        phase = isDue ? .running(isDue: false) : .idle
        return isDue
      }
    }
  }

  func cancel() {
    phase.withLock { $0 = .cancelled }
    let all = stops.withLock { stops in
      defer { stops = nil }
      return stops
    }
    for stop in all ?? [] { stop() }
    onCancel()
  }
}
