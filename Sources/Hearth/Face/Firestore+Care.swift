import Foundation

/// The care of the file: looking whether it is whole, copying it, making it small again.
extension Firestore {
  /// What a check looked at, and what it found wrong.
  public typealias CheckReport = HearthEngine.CheckReport

  /// Is told from time to time how far the work is, on a thread of the work's.
  public typealias ProgressHandler = @Sendable (MaintenanceProgress) -> Void

  /// Looks at everything in a file: each page, each record's checksum, and whether the records agree.
  ///
  ///     let report = try await Firestore.check(at: "books.hearth")
  ///     guard report.isWhole else { print(report.problems.joined(separator: "\n")); return }
  ///
  /// A file that nobody has open is read without being mapped, so that even one that would end the
  /// process can be looked at; who opens it meanwhile waits. One that another process has open is
  /// looked at like an open database. What is wrong is in the report. Throws `notFound`, `unavailable` if
  /// the system refuses, `failedPrecondition` if this process has the file open (use `check` on the
  /// database) or a newer Hearth wrote it, `CancellationError`.
  public static func check(
    at path: String, progress: ProgressHandler? = nil
  ) async throws -> CheckReport {
    try await reporting {
      try await EmbeddedBackend.FileMaintenance.usual.check(at: path, progress)
    }
  }

  /// Looks at everything in the open database, as of one commit.
  ///
  /// Reads and writes go on. It keeps one state for as long as it takes, so that pages which commits free
  /// meanwhile are used again only afterwards. Throws like any read, and `CancellationError`.
  public func check(progress: ProgressHandler? = nil) async throws -> CheckReport {
    try await reporting { try await file().check(progress) }
  }

  /// Copies the database as of one commit into a new file, checks the copy, and flushes it.
  ///
  ///     try await db.backup(to: "backups/monday.hearth") { print($0.done, "of", $0.total) }
  ///
  /// With every write whose call has returned before. Reads and writes go on; the file may grow meanwhile, because
  /// pages that commits free are used again only afterwards. The copy is a database like any other, and
  /// is at its path only once it is whole. Throws `alreadyExists` if there is a file and `replacing` is
  /// false, `failedPrecondition` if that file is open or another backup goes there, `dataLoss` if this
  /// database is damaged or the copy came out so, `resourceExhausted` if the disk is full,
  /// `CancellationError`.
  ///
  /// - Parameters:
  ///   - compacting: Leaves out free pages and fills the others, which takes longer.
  @discardableResult
  public func backup(
    to path: String, compacting: Bool = false, replacing: Bool = false,
    progress: ProgressHandler? = nil
  ) async throws -> CheckReport {
    try await reporting {
      try await file().backup(
        to: OpenDatabases.canonical(path), compacting: compacting, replacing: replacing, progress)
    }
  }

  /// Puts a copy of a backup in the place of a database file that no process has open, or where none is.
  ///
  ///     try await Firestore.restore("backups/monday.hearth", to: "books.hearth")
  ///
  /// The copy is checked and flushed first and takes its place in one moment: a crash leaves the old file or the
  /// restored one. A process that opens the file meanwhile waits. Do not copy or move a backup over a file by
  /// other means: processes that have it open cannot write any more, and its change tokens would name changes that
  /// the backup does not have. Tokens from before a restore throw `outOfRange`.
  ///
  /// Needs room on the disk for both. Throws `failedPrecondition` if any process has one of the files open,
  /// `dataLoss` if the backup is damaged, `notFound`, `resourceExhausted`, `CancellationError`.
  @discardableResult
  public static func restore(
    _ backup: String, to path: String, progress: ProgressHandler? = nil
  ) async throws -> CheckReport {
    try await reporting {
      try await EmbeddedBackend.FileMaintenance.usual.restore(
        OpenDatabases.canonical(backup), to: OpenDatabases.canonical(path), progress)
    }
  }

  /// Makes a file that nobody has open as small as it can be. Returns its size before and after.
  ///
  /// The new file takes the old one's place in one moment, once it is checked and flushed: a crash leaves
  /// one or the other. Needs room on the disk for both. Throws `failedPrecondition` if any process has
  /// the file open, `dataLoss` if it is damaged, `notFound`, `resourceExhausted`, `CancellationError`.
  @discardableResult
  public static func compact(
    at path: String, progress: ProgressHandler? = nil
  ) async throws -> (bytesBefore: Int, bytesAfter: Int) {
    try await reporting {
      try await EmbeddedBackend.FileMaintenance.usual.compact(
        at: OpenDatabases.canonical(path), progress)
    }
  }
}

extension Firestore {
  // MARK: Repair

  /// What could be read of a damaged file.
  public typealias RepairReport = HearthEngine.RepairReport

  /// Builds a new file from everything that can be read of a damaged one, which is left as it is.
  ///
  ///     let report = try await Firestore.repair(at: "books.hearth", to: "repaired.hearth")
  ///
  /// Documents keep their times, expiry its rules. Counts and declared indexes are made anew; the change
  /// log begins anew. Throws `alreadyExists` if there is a file at `target`,
  /// `failedPrecondition` if the damaged one is open, `notFound`, `resourceExhausted`, `CancellationError`.
  public static func repair(
    at path: String, to target: String, progress: ProgressHandler? = nil
  ) async throws -> RepairReport {
    try await reporting {
      try await EmbeddedBackend.FileMaintenance.usual.repair(
        at: OpenDatabases.canonical(path), to: OpenDatabases.canonical(target), progress)
    }
  }

  // MARK: Export and import

  /// Writes every document as a line of JSON; see <doc:ExportFormat>. Returns their number.
  ///
  /// Declared indexes and rules of expiry are in the first line. As of one commit, with every write whose call has
  /// returned before, and with its times. Each document's checksum is verified. Keeps one state for as long as it
  /// takes, as `backup` does. Throws `alreadyExists` if there is a file and `replacing` is false, `dataLoss` for a
  /// damaged document, `resourceExhausted`, `CancellationError`.
  @discardableResult
  public func export(
    to path: String, replacing: Bool = false, progress: ProgressHandler? = nil
  ) async throws -> Int {
    try await reporting {
      try await file().export(to: OpenDatabases.canonical(path), replacing: replacing, progress)
    }
  }

  /// As `export(to:)`, for the command line: hands the lines to `write`, in portions.
  package func export(
    progress: ProgressHandler? = nil, _ write: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> Int {
    try await reporting { try await file().export(progress, write) }
  }

  /// What an import did.
  public typealias ImportReport = HearthEngine.ImportReport

  /// Writes the documents of an export into this database; see <doc:ExportFormat>.
  ///
  /// Each document becomes what its line says. Documents that are there and not in the export stay, and so
  /// do indexes and rules of expiry; those of the export are added. The
  /// times are those of the import. In portions: an import that ended early is done again from
  /// the beginning, and what is already there is not written twice. Throws `invalidArgument` with the
  /// number of the first line that cannot be taken, unless these are skipped, and for a file without any
  /// document that is no export; `notFound`; what writing throws; `CancellationError`.
  @discardableResult
  public func importDocuments(
    from path: String, skippingFaults: Bool = false, progress: ProgressHandler? = nil
  ) async throws -> ImportReport {
    try await reporting {
      try await file().importDocuments(
        from: path, skippingFaults: skippingFaults, progress)
    }
  }

  /// Makes a new database of an export, with the create and update times of its lines.
  ///
  /// The file is at `target` once it is whole and checked. Throws `alreadyExists` if there is one, and as
  /// `importDocuments`.
  ///
  /// - Parameter keepingTimes: If false, the documents' times are that of the import.
  @discardableResult
  public static func importDocuments(
    from path: String, toNew target: String, keepingTimes: Bool = true,
    skippingFaults: Bool = false, progress: ProgressHandler? = nil
  ) async throws -> ImportReport {
    try await reporting {
      try await EmbeddedBackend.FileMaintenance.usual.importDocuments(
        from: path, toNew: OpenDatabases.canonical(target), keepingTimes: keepingTimes,
        skippingFaults: skippingFaults, progress)
    }
  }
}

extension EmbeddedBackend.FileMaintenance {
  /// For files that nobody opens as a database.
  fileprivate static var usual: EmbeddedBackend.FileMaintenance {
    EmbeddedBackend.FileMaintenance(FirestoreSettings().embedded)
  }
}
