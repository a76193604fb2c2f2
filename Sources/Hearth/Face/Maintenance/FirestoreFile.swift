import Foundation

/// A database file that no process has open: check, compact, repair, restore, and import into a new file.
///
///     let file = FirestoreFile(at: "books.hearth")
///     let report = try await file.check()
///
/// For an open database, see `Firestore.maintenance`. Making this value touches no file.
public struct FirestoreFile: Sendable {
  /// The path as it was given.
  public let path: String

  /// The result of a repair.
  public typealias RepairReport = HearthEngine.RepairReport

  /// The file at a path, which is relative to the working directory or absolute. It need not exist yet.
  public init(at path: String) { self.path = path }

  /// A file URL. Other URLs name no file: each method throws `notFound`.
  public init(at url: URL) { path = url.path }

  private var canonical: String { OpenDatabases.canonical(path) }

  /// For files that nobody opens as a database.
  private var maintenance: EmbeddedBackend.FileMaintenance {
    EmbeddedBackend.FileMaintenance(FirestoreSettings().embedded)
  }

  /// Verifies every page, every record's checksum, and that the records agree.
  ///
  ///     let report = try await FirestoreFile(at: "books.hearth").check()
  ///     guard report.isIntact else { print(report.problems.joined(separator: "\n")); return }
  ///
  /// The file is read without being mapped, so that a corrupt file cannot end the process; a process that opens it
  /// meanwhile waits. A file that another process has open is checked as an open database. Faults are in the report,
  /// not thrown. Throws `notFound`, `unavailable` if the system refuses, `failedPrecondition` if this process has the
  /// file open (use `db.maintenance.check()`) or a newer Hearth wrote it, `CancellationError`.
  public func check(
    progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> FirestoreMaintenance.CheckReport {
    try await reporting { try await maintenance.check(at: path, progress) }
  }

  /// Rewrites the file without free pages. Returns its size in bytes before and after.
  ///
  /// The new file is checked, flushed, and then replaces the old one atomically: a crash leaves one or the other. Needs
  /// disk space for both. Throws `failedPrecondition` if any process has the file open, `dataLoss` if it is damaged,
  /// `notFound`, `resourceExhausted`, `CancellationError`.
  @discardableResult
  public func compact(
    progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> (bytesBefore: Int, bytesAfter: Int) {
    try await reporting { try await maintenance.compact(at: canonical, progress) }
  }

  /// Builds a new file at `target` from everything that can be read of this one, which is left as it is.
  ///
  ///     let report = try await FirestoreFile(at: "books.hearth").repair(to: "repaired.hearth")
  ///
  /// Documents keep their times, and TTL policies stay. Counts and declared indexes are rebuilt; the change log starts
  /// again. Throws `alreadyExists` if there is a file at `target`, `failedPrecondition` if this file is open,
  /// `notFound`, `resourceExhausted`, `CancellationError`.
  public func repair(
    to target: String, progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> RepairReport {
    try await reporting {
      try await maintenance.repair(at: canonical, to: OpenDatabases.canonical(target), progress)
    }
  }

  /// Corrects times that a clock has set which was ahead, in place. Returns the number of documents with other times.
  ///
  ///     let count = try await FirestoreFile(at: "books.hearth").repairTimes()
  ///
  /// Set the clock first. Create and update times after now, and the time of the newest commit, are moved back: the
  /// newest becomes now, and what was created or updated later still was. Fields keep their values, server timestamps
  /// included. If a time was changed, the change log begins again: tokens from before throw `outOfRange`, and listeners
  /// that resume get their full result. Without a time after now, the file is not changed.
  ///
  /// The new file is checked, flushed, and then replaces the old one atomically. Needs disk space for both. Throws
  /// `failedPrecondition` if any process has the file open, `dataLoss` if it is damaged, `notFound`,
  /// `resourceExhausted`, `CancellationError`.
  @discardableResult
  public func repairTimes(
    progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> Int {
    try await reporting { try await maintenance.repairTimes(at: canonical, progress) }
  }

  /// Replaces this file by a copy of a backup, or creates it.
  ///
  ///     try await FirestoreFile(at: "books.hearth").restore(from: "backups/monday.hearth")
  ///
  /// The copy is checked, flushed, and then replaces the file atomically: a crash leaves the old file or the restored
  /// one. A process that opens the file meanwhile waits. Do not copy or move a backup over a database file by other
  /// means: processes that have it open can then no longer write, and its change tokens would name changes that the
  /// backup does not have. Tokens from before a restore throw `outOfRange`.
  ///
  /// Needs disk space for both. Throws `failedPrecondition` if any process has one of the files open, `dataLoss` if the
  /// backup is damaged, `notFound`, `resourceExhausted`, `CancellationError`.
  @discardableResult
  public func restore(
    from backup: String, progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> FirestoreMaintenance.CheckReport {
    try await reporting {
      try await maintenance.restore(OpenDatabases.canonical(backup), to: canonical, progress)
    }
  }

  /// Creates this file from an export, with the create and update times of its lines; see <doc:ExportFormat>.
  ///
  /// The file appears when it is complete and checked. Throws `alreadyExists` if there is one, and as
  /// `FirestoreMaintenance.import(from:)`.
  ///
  /// - Parameters:
  ///   - export: The path of the export.
  ///   - keepingTimes: If false, the documents' times are that of the import.
  ///   - skippingInvalidLines: Reports lines that are invalid, and goes on. If false, the first one is
  ///     thrown and no file appears.
  ///   - progress: Called from time to time, on a thread of the import.
  @discardableResult
  public func `import`(
    from export: String, keepingTimes: Bool = true, skippingInvalidLines: Bool = false,
    progress: FirestoreMaintenance.ProgressHandler? = nil
  ) async throws -> FirestoreMaintenance.ImportReport {
    try await reporting {
      try await maintenance.importDocuments(
        from: export, toNew: canonical, keepingTimes: keepingTimes,
        skippingInvalidLines: skippingInvalidLines, progress)
    }
  }
}
