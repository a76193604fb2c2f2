internal import HearthText
internal import LMDB

/// Copies of a whole file: written beside their destination, checked, flushed, and moved there. A
/// crash at any moment leaves the previous file, or the complete copy.
enum FileCopy {
  /// Copies the newest state of an open store, which can be read and written meanwhile.
  ///
  /// Uses one read transaction: until it ends, pages that commits free are not reused, and the file
  /// may grow by as much as is written. Throws `alreadyExists` if there is a file and `replacing`
  /// is false, `failedPrecondition` if that file is an open database, `dataLoss` if the store or
  /// the copy is damaged; no copy is left then.
  static func backup(
    _ store: Store, to path: String, compacting: Bool, replacing: Bool,
    progress: MaintenanceReporter = .silent
  ) throws -> CheckReport {
    try beside(path, replacing: replacing) { file in
      try retrying {
        try store.environment.read { snapshot in
          guard compacting else {
            return try store.environment.copy(snapshot, to: file.path) {
              try progress(.copying, $0, of: $1)
            }
          }
          var report = CheckReport()
          try rebuild(
            from: store.path, openIn: store.environment, transactionID: snapshot.transactionID,
            to: file.path, store.configuration, &report, progress)
        }
      }
      return try verified(file.path, store.configuration, progress)
    }
  }

  /// Replaces a file that no process has open by one without free pages.
  ///
  /// Throws `failedPrecondition` if the file is open, `dataLoss` if it is damaged; it is then
  /// unchanged.
  static func compact(
    at path: String, _ configuration: StoreConfiguration, progress: MaintenanceReporter = .silent
  ) throws -> (before: CheckReport, after: CheckReport) {
    var before = CheckReport()
    var after = CheckReport()
    _ = try replacing(path) { file in
      try rebuild(from: path, transactionID: nil, to: file.path, configuration, &before, progress)
      after = try verified(file.path, configuration, progress)
      return true
    }
    return (before, after)
  }

  /// Puts a copy of a backup at `path`, in place of a file that no process has open, or of none.
  ///
  /// The copy is checked first, and gets a history of its own: changes that tokens of the old file
  /// refer to may not exist in it. Throws `failedPrecondition` if either file is open, `dataLoss`
  /// if the backup is damaged; the file at `path` is then unchanged.
  static func restore(
    _ backup: String, to path: String, _ configuration: StoreConfiguration,
    progress: MaintenanceReporter = .silent
  ) throws -> CheckReport {
    try beside(path, replacing: true) { file in
      let hadLocks: Bool
      do throws(LMDBError) { hadLocks = try Environment.hasLocks(beside: backup) } catch {
        throw Status(opening: backup, error)
      }
      defer { if !hadLocks { try? Environment.removeLocks(beside: backup) } }
      guard try PageWalk.byteCount(backup) > 0 else { throw Status(opening: backup, .emptyFile) }
      guard
        try Environment.whileClosed(
          backup,
          {
            try Environment.copyFile(at: backup, to: file.path) {
              try progress(.copying, $0, of: $1)
            }
          }) != nil
      else { throw Status.isOpen(backup) }
      _ = try verified(file.path, configuration, progress)
      try beginHistory(at: file.path, configuration)
      return try verified(file.path, configuration, progress)
    }
  }

  private static func beginHistory(at path: String, _ configuration: StoreConfiguration) throws {
    var configuration = configuration
    configuration.isReadOnly = false
    configuration.durability = .unsafeWithoutFlushing
    let store = try Store(path: path, configuration: configuration)
    defer { store.close() }
    try store.write { try History.begin(&$0, in: store) }
    try store.environment.sync()
  }

  // MARK: Steps

  /// Calls `body` to write a file that takes the place of one that no process has open. Without a
  /// result of `body`, that one stays.
  static func replacing<Result>(
    _ path: String, _ body: (NewFile) throws -> Result?
  ) throws -> Result? {
    do {
      let result: Result?? = try Environment.whileClosed(path) {
        let file = try NewFile(for: path, replacing: true)
        let result = try body(file)
        if result != nil { try file.takePlace() }
        return result
      }
      guard let result else { throw Status.isOpen(path) }
      return result
    } catch let error as LMDBError {
      throw Status(copying: path, error)
    }
  }

  /// Calls `body` to write a file, and moves the file to `path`.
  static func beside<R>(
    _ path: String, replacing: Bool, _ body: (NewFile) throws -> R
  ) throws -> R {
    do {
      let file = try NewFile(for: path, replacing: replacing)
      let result = try body(file)
      if replacing {
        let hadLocks = (try? Environment.hasLocks(beside: path)) ?? false
        defer { if !hadLocks { try? Environment.removeLocks(beside: path) } }
        // A database that a process has open is not replaced.
        guard try Environment.whileUnused(path, { try file.takePlace() }) != nil else {
          throw Status.isOpen(path)
        }
      } else {
        try file.takePlace()
      }
      return result
    } catch let error as LMDBError {
      throw Status(copying: path, error)
    }
  }

  /// Runs `body` again if two commits overtook its transaction before it read the file's header.
  static func retrying<Result>(_ body: () throws -> Result) throws -> Result {
    for _ in 0..<1000 {
      do { return try body() } catch {
        let cause = (error as? Status)?.cause ?? error
        guard cause as? LMDBError == .tryAgain else { throw error }
      }
    }
    return try body()
  }

  /// How an entry is copied.
  enum CopiedEntry {
    case same
    case omitted
    /// Under the same key.
    case replaced([UInt8])
  }

  /// Reads every entry with `pread`, table by table in the order of keys, and fills pages with
  /// them.
  ///
  /// - Parameter change: Called with each entry, after its checksum was verified.
  static func rebuild(
    from source: String, openIn environment: Environment? = nil, transactionID: Int?,
    to path: String, _ configuration: StoreConfiguration, _ report: inout CheckReport,
    _ progress: MaintenanceReporter,
    changing change:
      @escaping (
        KeyLayout.Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
      ) throws -> CopiedEntry = { _, _, _ in .same }
  ) throws {
    var builder: StoreBuilder?
    var fault: String?
    let pages = try PageWalk.check(
      source, openIn: environment, transactionID: transactionID,
      visit: { name, key, value in
        guard let table = KeyLayout.Table(rawValue: name) else { return }
        if let found = table.fault(key, value) {
          fault = fault ?? found
          return
        }
        let target: StoreBuilder
        if let builder {
          target = builder
        } else {
          target = try StoreBuilder(
            path: path, expectedBytes: try PageWalk.byteCount(source), configuration)
          builder = target
        }
        let position = target.store.environment.table(name)
        // A new file has its own format record, which this replaces.
        let appends = table != .meta
        switch try change(table, key, value) {
        case .same: try target.put(position, key, value, append: appends)
        case .omitted: break
        case .replaced(let value):
          try value.withUnsafeBytes { try target.put(position, key, $0, append: appends) }
        }
      }, progress: { try progress(.copying, $0, of: $1) })
    report.note(pages)
    if let problem = pages.problems.first ?? fault { throw Status.damaged(source, problem) }
    guard let builder else {
      if pages.fileSizeBytes == 0 { throw Status(opening: source, .emptyFile) }
      throw Status.dataLoss("\(source.legible) is not one of Hearth's files.")
    }
    try builder.finish()
    builder.close()
  }

  /// Checks the file again, read from the disk as far as the system allows.
  static func verified(
    _ path: String, _ configuration: StoreConfiguration, _ progress: MaintenanceReporter
  ) throws -> CheckReport {
    try PageWalk.forgetCached(path)
    let report = try FileCheck.run(at: path, configuration, progress: progress)
    guard report.problemCount == 0 else {
      throw Status.dataLoss(
        "The copy is not whole and was removed. \(report.problems.first ?? "").")
    }
    return report
  }
}

extension Status {
  init(copying path: String, _ error: LMDBError) {
    switch error {
    case .alreadyThere:
      self.init(
        .alreadyExists,
        "\(path.legible) is there already. Name a new file, or let it be replaced.", cause: error)
    case .alreadyOpen:
      self.init(.failedPrecondition, "Another is being written to \(path.legible).", cause: error)
    case .noSpace, .fileTooLarge, .quotaExceeded, .inputOutput:
      self.init(.resourceExhausted, "Cannot write \(path.legible). \(error.message)", cause: error)
    // The call names the place of a new file, so this is not about something that was asked for.
    case .noFolder:
      self.init(.failedPrecondition, "Cannot write \(path.legible). \(error.message)", cause: error)
    default: self.init(opening: path, error)
    }
  }

  static func damaged(_ path: String, _ problem: String) -> Status {
    .dataLoss("\(path.legible) is damaged. \(problem).")
  }

  static func isOpen(_ path: String) -> Status {
    Status(.failedPrecondition, "\(path.legible) is open. Close it in every process first.")
  }
}
