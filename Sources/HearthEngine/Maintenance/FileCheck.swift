internal import LMDB

/// The check of a whole file, whether it is open or not.
///
///     pages ─▶ checksum of every record and key ─▶ intact? ─ yes ─▶ open ─▶ tables compared
///              with `pread`, nothing is mapped       └── no ──▶ report
enum FileCheck {
  /// Checks a file that this process does not have open. If no process has it open, its pages are
  /// checked before any of them is mapped, and no process can open it during that check.
  ///
  /// Throws `notFound`, `unavailable` if the system refuses access, `failedPrecondition` if this
  /// process has the file open or a newer Hearth wrote it. Damage is in the report.
  static func run(
    at path: String, _ configuration: StoreConfiguration, progress: MaintenanceReporter = .silent
  ) throws -> CheckReport {
    do {
      let hadLocks = try Environment.hasLocks(beside: path)
      // The check removes the lock files that it created.
      defer { if !hadLocks { try? Environment.removeLocks(beside: path) } }
      return try look(at: path, configuration, progress)
    } catch let error as LMDBError {
      throw Status(opening: path, error)
    }
  }

  private static func look(
    at path: String, _ configuration: StoreConfiguration, _ progress: MaintenanceReporter
  ) throws -> CheckReport {
    var report = CheckReport()
    let wasClosed = try Environment.whileClosed(path) {
      try checkPages(at: path, transactionID: nil, &report, progress)
      return true
    }
    guard wasClosed == nil || report.problemCount == 0 else { return report }
    var configuration = configuration
    configuration.isReadOnly = true
    let store = try Store(path: path, configuration: configuration)
    defer { store.close() }
    // Its pages were checked above, unless another process has it open.
    return try store.check(includingPages: report.pages == 0, report, progress: progress)
  }

  /// Checks the pages, and the checksum of each record.
  static func checkPages(
    at path: String, openIn environment: Environment? = nil, transactionID: Int?,
    _ report: inout CheckReport, _ progress: MaintenanceReporter
  ) throws {
    var faults = CheckReport()
    var format: UInt8?
    let pages = try PageWalk.check(
      path, openIn: environment, transactionID: transactionID,
      visit: { name, key, value in
        let table = KeyLayout.Table(rawValue: name)
        if table == .meta, key.elementsEqual(FileFormat.key) {
          format = value.first.map { $0 & 0x0F }
        }
        if let fault = table?.fault(key, value) { faults.add(fault) }
      },
      progress: { try progress(.pages, $0, of: $1) })
    report.note(pages)
    report.add(contentsOf: pages.problems, count: pages.problemCount)
    report.add(contentsOf: faults.problems, count: faults.problemCount)
    guard pages.problemCount == 0 else { return }
    guard pages.fileSizeBytes > 0 else {
      return report.add(CheckReport.emptyFile)
    }
    if format == nil { report.add("meta: the file has no format, and is not one of Hearth's") }
    for table in KeyLayout.Table.allCases
    where pages.entries[table.rawValue] == nil && table.firstFormat <= format ?? .max {
      report.add("\(table): the table is not there")
    }
    for name in pages.entries.keys.sorted() where KeyLayout.Table(rawValue: name) == nil {
      report.add("\(name): the table is not one of Hearth's")
    }
  }
}

extension KeyLayout.Table {
  /// Why a record cannot be read; nil if its checksum, which also covers its key, is correct. Entries have
  /// no checksum: they are checked against the documents they were made from.
  func fault(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> String? {
    if self == .entries { return nil }
    do throws(Status) {
      try RecordFrame.verify(value, key: key)
      return nil
    } catch {
      return "\(rawValue) \(CheckReport.hex(key)): \(error.message)"
    }
  }
}
