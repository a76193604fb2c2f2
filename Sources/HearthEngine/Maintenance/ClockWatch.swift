import Dispatch
import Logging

/// Logs an error while the newest commit is more than a minute ahead of the clock: when it is
/// noticed, and then once an hour. See `CommitTime`.
final class ClockWatch: @unchecked Sendable {
  // Unchecked: `timer` is set once, before other threads have the watch.

  /// In microseconds.
  private static let notableLead: Int64 = 60_000_000
  private static let interval: Int64 = 3_600_000_000
  /// How often it looks, in seconds.
  private static let period = 600

  private let name: String
  private let now: @Sendable () -> Instant
  private let logger: Logger
  /// The clock's time of the last log entry; nil while nothing is ahead.
  private let lastLogged = Guarded<Instant?>(nil)
  private var timer: (any DispatchSourceTimer)?

  /// - Parameter name: The database's name in logs.
  init(of name: String, now: @escaping @Sendable () -> Instant, logger: Logger) {
    self.name = name
    self.now = now
    self.logger = logger
  }

  /// Looks now and then, until it is closed.
  ///
  /// - Parameter newest: The time of the newest commit; nil if it cannot be read. May block.
  func start(_ newest: @escaping @Sendable () -> Instant?) {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue.global(qos: .utility))
    timer.schedule(
      deadline: .now() + .seconds(Self.period), repeating: .seconds(Self.period),
      leeway: .seconds(30))
    timer.setEventHandler { [weak self] in
      guard let self else { return }
      BlockingThreads.shared.run { [weak self] in
        if let time = newest() { self?.look(at: time) }
      }
    }
    timer.activate()
    self.timer = timer
  }

  func close() { timer?.cancel() }

  /// Logs if that is due.
  func look(at newest: Instant) {
    let now = now()
    let isDue = lastLogged.withLock { last in
      guard newest.microseconds &- now.microseconds > Self.notableLead else {
        last = nil
        return false
      }
      if let last, (0..<Self.interval).contains(now.microseconds &- last.microseconds) {
        return false
      }
      last = now
      return true
    }
    guard isDue else { return }
    logger.error(
      """
      The newest commit is ahead of the clock: until the clock has caught up, each commit is one \
      microsecond after the one before. If the clock is right, correct the times with \
      'hearth repair --times'.
      """,
      metadata: ["database": "\(name)", "newest": "\(newest.text)", "clock": "\(now.text)"])
  }
}
