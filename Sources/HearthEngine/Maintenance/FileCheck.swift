internal import LMDB

/// The check of a whole file, open or not.
///
///     pages ─▶ checksum of every record under its key ─▶ whole? ─ yes ─▶ open ─▶ tables against each other
///              with `pread`, nothing is mapped              └── no ──▶ report
enum FileCheck {
  /// Looks at a file that this process has not open. One that nobody has open is looked at before
  /// anything of it is mapped, and nobody can open it meanwhile.
  ///
  /// Throws `notFound`, `unavailable` if the system refuses, `failedPrecondition` if this process has
  /// the file open or a newer Hearth wrote it. Whatever is wrong with the file is in the report.
  static func run(
    at path: String, _ configuration: StoreConfiguration, progress: MaintenanceReporter = .silent
  ) throws -> CheckReport {
    do {
      let hadLocks = try Environment.hasLocks(beside: path)
      // A file that is only looked at stays alone.
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
    // Its pages were looked at, unless somebody else has it open.
    return try store.check(includingPages: report.pages == 0, report, progress: progress)
  }

  /// The pages, and of each record the checksum.
  static func checkPages(
    at path: String, openIn environment: Environment? = nil, transactionID: Int?,
    _ report: inout CheckReport, _ progress: MaintenanceReporter
  ) throws {
    var faults: [String] = []
    var faultCount = 0
    var format: UInt8?
    let pages = try PageWalk.check(
      path, openIn: environment, transactionID: transactionID,
      visit: { name, key, value in
        let table = KeyLayout.Table(rawValue: name)
        if table == .meta, key.elementsEqual(FileFormat.key) {
          format = value.first.map { $0 & 0x0F }
        }
        guard table?.hasFramedRecords ?? false else { return }
        do throws(Status) {
          try RecordFrame.verify(value, key: key)
        } catch {
          faultCount += 1
          if faults.count < CheckReport.problemLimit {
            faults.append("\(name) \(CheckReport.hex(key)): \(error.message)")
          }
        }
      },
      progress: { try progress(.pages, $0, of: $1) })
    report.pages = pages.usedPages
    report.freePages = pages.freePages
    report.fileBytes = pages.fileSizeBytes
    report.add(contentsOf: pages.problems, count: pages.problemCount)
    report.add(contentsOf: faults, count: faultCount)
    guard pages.problemCount == 0 else { return }
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
  /// Each value begins with a `RecordFrame`, whose checksum covers the key, too.
  var hasFramedRecords: Bool {
    switch self {
    case .documents, .collections, .changes, .tombstones, .due, .indexes, .shapes, .logIndex, .meta:
      true
    // Looked at against the documents they were made from.
    case .entries: false
    }
  }
}
