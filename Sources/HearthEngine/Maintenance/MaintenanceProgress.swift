/// The progress of a long maintenance operation: a check, a backup, an export.
public struct MaintenanceProgress: Sendable, Hashable {
  /// A kind of work that an operation does.
  public enum Step: String, Sendable {
    /// Checks the file's pages, and the checksums of the records in them.
    case pages
    /// Checks the records of all tables against each other.
    case records
    /// Copies the file.
    case copying
    /// Reads a damaged file.
    case salvaging
    /// Writes documents as JSON lines.
    case exporting
    /// Reads documents from JSON lines.
    case importing
  }

  /// The current step.
  public var step: Step
  /// Completed part of `total`: pages, records, documents or bytes, depending on the step.
  public var done: Int
  /// At least 1. Approximate.
  public var total: Int
}

/// Called from time to time with the progress, on a thread of the operation.
package typealias MaintenanceHandler = @Sendable (MaintenanceProgress) -> Void

/// Called from time to time by long operations. Throws to stop the operation.
struct MaintenanceReporter: Sendable {
  private let report: @Sendable (MaintenanceProgress) throws -> Void

  init(_ report: @escaping @Sendable (MaintenanceProgress) throws -> Void) { self.report = report }

  static let silent = MaintenanceReporter { _ in }

  func callAsFunction(_ step: MaintenanceProgress.Step, _ done: Int, of total: Int) throws {
    try report(
      MaintenanceProgress(step: step, done: min(done, max(total, 1)), total: max(total, 1)))
  }

  /// Runs long, blocking work on a thread of its own, not on one of the few threads of async code.
  /// Throws `CancellationError` when the task is cancelled.
  static func run<Result: Sendable>(
    _ handler: MaintenanceHandler?,
    _ body: @escaping @Sendable (MaintenanceReporter) throws -> Result
  ) async throws -> Result {
    let cancellation = CancellationSignal()
    let progress = MaintenanceReporter { progress in
      if cancellation.isCancelled { throw CancellationError() }
      handler?(progress)
    }
    return try await withTaskCancellationHandler {
      try await onBlockingThread { try body(progress) }
    } onCancel: {
      cancellation.cancel()
    }
  }
}
