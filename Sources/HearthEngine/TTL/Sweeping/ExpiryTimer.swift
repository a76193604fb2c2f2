import Dispatch
import Foundation
import Logging
import Synchronization

/// Sweeps a database from time to time, and logs the outcome.
final class ExpiryTimer: @unchecked Sendable {
  // Unchecked: `timer` changes in `start` only, before other threads have a reference.
  private let logger: Logger
  private let queue = DispatchQueue(label: "hearth.expiry", qos: .utility)
  private var timer: (any DispatchSourceTimer)?
  private let closed = Atomic<Bool>(false)

  /// A timer counts nanoseconds in 64 bits, and traps on overflow.
  private static let longestSeconds = 365.0 * 86_400

  init(logger: Logger) { self.logger = logger }

  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// Sweeps soon, and then every `interval`. Call it once.
  ///
  /// - Parameters:
  ///   - jitter: A factor of the time until the first sweep.
  ///   - sweep: Returns the number of deleted documents.
  func start(
    every interval: Duration, jitter: Double = 1, _ sweep: @escaping @Sendable () throws -> Int
  ) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let seconds = min(max(interval / .seconds(1), 0.001), Self.longestSeconds)
    timer.schedule(
      deadline: .now() + min(seconds, 1) * jitter, repeating: seconds, leeway: .milliseconds(100))
    timer.setEventHandler { [weak self] in self?.run(sweep) }
    timer.resume()
    self.timer = timer
  }

  /// Waits for the sweep that is running.
  func close() {
    closed.store(true, ordering: .relaxed)
    timer?.cancel()
    queue.sync {}
  }

  private func run(_ sweep: () throws -> Int) {
    do {
      let count = try sweep()
      if count > 0 {
        logger.debug("Expired documents are deleted.", metadata: ["count": "\(count)"])
      }
    } catch {
      guard !isClosed else { return }
      logger.error("Expired documents could not be deleted.", metadata: ["error": "\(error)"])
    }
  }
}
