import Dispatch

/// How long writes wait for the callbacks of listeners.
extension Acknowledgements {
  /// How long a completion waits for callbacks.
  static let patience = Duration.milliseconds(100)

  /// Starts the timeout. The callbacks are scheduled already: on one queue they run before the
  /// completions, even after the timeout.
  func startTimer(for acknowledgements: [Acknowledgement]) {
    let deadline = ContinuousClock.now + Self.patience
    let mustSet = waiting.withLock { waiting in
      for acknowledgement in acknowledgements {
        waiting.acknowledgements.append((deadline, acknowledgement))
      }
      defer { waiting.isTimerSet = true }
      return !waiting.isTimerSet
    }
    if mustSet { setTimer(Self.patience) }
  }

  private func setTimer(_ delay: Duration) {
    // Retains `self` until then: waiting writes complete even if the database is released.
    timer.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in expire() }
  }

  private func expire() {
    let now = ContinuousClock.now
    let (due, next) = waiting.withLock { waiting in
      var due: [Acknowledgement] = []
      while let first = waiting.acknowledgements.first, first.deadline <= now {
        due.append(first.1)
        waiting.acknowledgements.removeFirst()
      }
      let next = waiting.acknowledgements.first?.deadline
      waiting.isTimerSet = next != nil
      return (due, next)
    }
    var late: [any Recipient] = []
    for acknowledgement in due {
      for callbacks in acknowledgement.expire() {
        late += callbacks.becomeLate(for: acknowledgement)
      }
    }
    if !late.isEmpty { lateHandler.withLock(\.self)?(late) }
    if let next { setTimer(max(.zero, next - now)) }
  }
}
