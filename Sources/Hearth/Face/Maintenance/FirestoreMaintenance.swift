import Foundation

/// Maintenance of an open database: checks, backups, export and import.
///
///     try await db.maintenance.backup(to: "backups/monday.hearth")
///
/// For a file that no process has open, see `FirestoreFile`.
public struct FirestoreMaintenance: Sendable {
  let firestore: Firestore

  /// The result of a check: what was examined, and every fault found.
  public typealias CheckReport = HearthEngine.CheckReport

  /// The result of an import.
  public typealias ImportReport = HearthEngine.ImportReport

  /// Called from time to time with the progress, on a thread of the operation.
  public typealias ProgressHandler = @Sendable (MaintenanceProgress) -> Void

  /// Verifies every page, every record's checksum, and that the records agree, as of one commit.
  ///
  ///     let report = try await db.maintenance.check()
  ///     guard report.isIntact else { print(report.problems.joined(separator: "\n")); return }
  ///
  /// Reads and writes continue. The check keeps one state of the database: pages that commits free meanwhile are
  /// reused only after it. Faults are in the report, not thrown. Throws `unavailable` if the file cannot be read,
  /// `failedPrecondition` after `terminate()`, `CancellationError`.
  public func check(progress: ProgressHandler? = nil) async throws -> CheckReport {
    try await reporting { try await firestore.file().check(progress) }
  }

  /// Corrects times that a clock has set which was ahead, in the tables of a PostgreSQL server. Returns the number of
  /// documents with other times.
  ///
  /// For a file, which no process may have open, see `FirestoreFile.repairTimes(progress:)`, which says what is changed.
  /// Other processes may have the database open: their writes wait, and fail with `unavailable` if that takes longer
  /// than a write waits; their listeners get their full result. Set the clocks of all machines first. Throws
  /// `unimplemented` for a file, and the errors of a write.
  @discardableResult
  public func repairTimes() async throws -> Int {
    try await reporting {
      let database = try firestore.database()
      return try await database.active {
        guard let shared = database.backend as? any TimeRepairingBackend else {
          throw Status(
            .unimplemented,
            "The times of a file are repaired while it is closed: call FirestoreFile.repairTimes.")
        }
        return try await shared.repairTimes()
      }
    }
  }

  /// Copies the database as of one commit into a new file, checks the copy, and flushes it.
  ///
  ///     try await db.maintenance.backup(to: "backups/monday.hearth") { print($0.done, "of", $0.total) }
  ///
  /// The copy includes every write whose call has returned. Reads and writes continue; the file may grow meanwhile,
  /// because pages that commits free are reused only afterwards. The copy is an ordinary database. It appears at
  /// `path` only when it is complete.
  ///
  /// Throws `alreadyExists` if there is a file and `replacing` is false, `failedPrecondition` if that file is open or
  /// another backup writes to it, `dataLoss` if this database or the copy is damaged, `resourceExhausted` if the disk
  /// is full, `CancellationError`.
  ///
  /// - Parameters:
  ///   - path: Of the new file, absolute or relative to the working directory. Its folder must exist.
  ///   - compacting: Omits free pages and fills the others. Takes longer.
  ///   - replacing: Replaces a file at `path`.
  ///   - progress: Called from time to time, on the thread that copies.
  @discardableResult
  public func backup(
    to path: String, compacting: Bool = false, replacing: Bool = false,
    progress: ProgressHandler? = nil
  ) async throws -> CheckReport {
    try await reporting {
      try await firestore.file().backup(
        to: OpenDatabases.canonical(path), compacting: compacting, replacing: replacing, progress)
    }
  }

  /// Writes every document as a line of JSON; see <doc:ExportFormat>. Returns the number of documents.
  ///
  /// The first line has the declared indexes and the TTL policies. The export shows one commit, with every write whose
  /// call has returned. Each document's checksum is verified. Like `backup`, it keeps one state of the database.
  /// Throws `alreadyExists` if there is a file and `replacing` is false, `dataLoss` for a damaged document,
  /// `resourceExhausted` if the disk is full, `CancellationError`.
  @discardableResult
  public func export(
    to path: String, replacing: Bool = false, progress: ProgressHandler? = nil
  ) async throws -> Int {
    try await reporting {
      try await firestore.file().export(
        to: OpenDatabases.canonical(path), replacing: replacing, progress)
    }
  }

  /// As `export(to:)`, for the command line: passes the lines to `write`, in chunks.
  package func export(
    progress: ProgressHandler? = nil, _ write: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> Int {
    try await reporting { try await firestore.file().export(progress, write) }
  }

  /// Writes the documents of an export into this database; see <doc:ExportFormat>.
  ///
  ///     let report = try await db.maintenance.import(from: "books.jsonl")
  ///
  /// Each document is set to what its line says; its times are those of the import. Documents that are not in the
  /// export stay, and so do indexes and TTL policies; those of the export are added. The import commits in batches: if
  /// it ends early, run it again from the beginning. Documents that are already equal are not written again. A
  /// reference rule with `mustExist` refuses a batch whose documents refer to those of later batches: declare it after
  /// the import.
  ///
  /// Throws `invalidArgument` with the number of the first invalid line, unless `skippingInvalidLines`, and for a file
  /// without a document that is not an export; `notFound`; what a commit throws; `CancellationError`.
  @discardableResult
  public func `import`(
    from path: String, skippingInvalidLines: Bool = false, progress: ProgressHandler? = nil
  ) async throws -> ImportReport {
    try await reporting {
      try await firestore.file().importDocuments(
        from: path, skippingInvalidLines: skippingInvalidLines, progress)
    }
  }
}

extension Firestore {
  /// Checks, backups, export and import of this database.
  public var maintenance: FirestoreMaintenance { FirestoreMaintenance(firestore: self) }
}
