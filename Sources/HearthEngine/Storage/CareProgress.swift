/// How far a long piece of care for a file is: a check, a backup, an export.
public struct CareProgress: Sendable, Hashable {
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

/// Told from time to time by long work; stops it by throwing.
package struct CareReporter: Sendable {
  private let tell: @Sendable (CareProgress) throws -> Void

  package init(_ tell: @escaping @Sendable (CareProgress) throws -> Void) { self.tell = tell }

  static let silent = CareReporter { _ in }

  func callAsFunction(_ step: CareProgress.Step, _ done: Int, of total: Int) throws {
    try tell(CareProgress(step: step, done: min(done, max(total, 1)), total: max(total, 1)))
  }
}
