import Foundation
import Synchronization

/// Checks once a second for operations that block others, on a thread of its own: a blocked thread
/// cannot report itself.
final class Watchdog: Sendable {
  package static let shared = Watchdog()

  private struct State {
    var looks: [Int: @Sendable () -> Void] = [:]
    var lastToken = 0
    var isRunning = false
  }

  private let state = Guarded(State())
  static let interval = Duration.seconds(1)

  /// Calls `look` once a second until `remove`. It must not block.
  package func add(_ look: @escaping @Sendable () -> Void) -> Int {
    let (token, mustStart) = state.withLock { state in
      state.lastToken += 1
      state.looks[state.lastToken] = look
      defer { state.isRunning = true }
      return (state.lastToken, !state.isRunning)
    }
    if mustStart { start() }
    return token
  }

  /// A call of `look` that has begun may still be running.
  package func remove(_ token: Int) {
    state.withLock { $0.looks[token] = nil }
  }

  private func start() {
    let thread = Thread { [self] in
      while let looks = looks() {
        for look in looks { look() }
        Thread.sleep(forTimeInterval: Self.interval / .seconds(1))
      }
    }
    thread.name = "hearth-watchdog"
    thread.start()
  }

  /// Nil if there is nothing to watch; the thread then ends.
  private func looks() -> [@Sendable () -> Void]? {
    state.withLock { state in
      guard !state.looks.isEmpty else {
        state.isRunning = false
        return nil
      }
      return Array(state.looks.values)
    }
  }
}

/// One check of the watchdog, begun on first need: a database that is only read needs no thread for
/// it.
final class Watch: Sendable {
  private enum State {
    /// Next: on.
    case idle
    case on(Int)
    case over
  }

  private let state = Guarded(State.idle)
  private let isIdle = Atomic(true)

  /// Calls `look` once a second until `end`. Further calls do nothing.
  func begin(_ look: @escaping @Sendable () -> Void) {
    guard isIdle.load(ordering: .relaxed) else { return }
    state.withLock { state in
      guard case .idle = state else { return }
      state = .on(Watchdog.shared.add(look))
      isIdle.store(false, ordering: .relaxed)
    }
  }

  /// A call of `look` that has begun may still be running.
  func end() {
    state.withLock { state in
      if case .on(let token) = state { Watchdog.shared.remove(token) }
      state = .over
    }
  }

  /// Runs `body`, and `end` waits for it. Nil after `end`.
  func unlessOver<Result>(_ body: () -> Result?) -> Result? {
    state.withLock { state in
      if case .over = state { nil } else { body() }
    }
  }
}

/// When to report again that something takes long: after a second, then at four times the last
/// duration, but at least every five minutes.
struct Reminder {
  private var since: ContinuousClock.Instant?
  private var next: Duration
  private let first: Duration

  package init(after first: Duration = .seconds(1)) {
    self.first = first
    next = first
  }

  /// The duration so far, if it is to be reported now. `began` identifies the operation.
  package mutating func isDue(
    _ began: ContinuousClock.Instant?, now: ContinuousClock.Instant
  ) -> Duration? {
    if since != began {
      since = began
      next = first
    }
    guard let began, now - began >= next else { return nil }
    next = min(next * 4, next + .seconds(300))
    return now - began
  }
}
