import Synchronization

/// How far a long piece of care for a file is: a check, a backup, an export.
public struct MaintenanceProgress: Sendable, Hashable {
  public enum Step: String, Sendable {
    /// The file's pages, and the checksums of the records in them.
    case pages
    /// The records of all tables against each other.
    case records
    case copying
    case salvaging
    case exporting
    case importing
  }

  public var step: Step
  /// Of `total`: pages, records or documents, as the step has it.
  public var done: Int
  /// At least 1, and about right.
  public var total: Int
}

/// Hears from time to time how far the work is, on a thread of the work's.
package typealias MaintenanceHandler = @Sendable (MaintenanceProgress) -> Void

/// Told from time to time by long work; stops it by throwing.
struct MaintenanceReporter: Sendable {
  private let tell: @Sendable (MaintenanceProgress) throws -> Void

  init(_ tell: @escaping @Sendable (MaintenanceProgress) throws -> Void) { self.tell = tell }

  static let silent = MaintenanceReporter { _ in }

  func callAsFunction(_ step: MaintenanceProgress.Step, _ done: Int, of total: Int) throws {
    try tell(MaintenanceProgress(step: step, done: min(done, max(total, 1)), total: max(total, 1)))
  }

  /// Runs work that takes long and blocks, on a thread of its own and not on one of the few that async code
  /// runs on. Ends early with `CancellationError` when the task is cancelled.
  static func run<Result: Sendable>(
    _ handler: MaintenanceHandler?,
    _ body: @escaping @Sendable (MaintenanceReporter) throws -> Result
  ) async throws -> Result {
    let isCancelled = Flag()
    let progress = MaintenanceReporter { progress in
      if isCancelled.isSet { throw CancellationError() }
      handler?(progress)
    }
    return try await withTaskCancellationHandler {
      try await onBlockingThread { try body(progress) }
    } onCancel: {
      isCancelled.set()
    }
  }

  private final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
  }
}
