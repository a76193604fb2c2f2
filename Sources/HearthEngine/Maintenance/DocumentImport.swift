import Foundation
internal import LMDB

/// What an import did.
public struct ImportReport: Sendable, Hashable {
  /// Taken; those that were there already, too.
  public var documents: Int
  /// The first hundred lines that were skipped.
  public var faults: [InvalidLine]
  public var faultCount: Int

  public struct InvalidLine: Sendable, Hashable {
    /// From one.
    public var line: Int
    public var problem: String
  }
}

/// Writes the documents of an export.
///
///     lines ─▶ portions of up to a megabyte ─▶ the writer, several under way at once
///
/// Documents become what the lines say, whole. So an import that was interrupted is done again from
/// the beginning: what is there already is not changed, and wakes nobody.
final class DocumentImport {
  struct Report: Sendable, Equatable {
    /// Taken; those that were there already, too.
    var documents = 0
    /// What the export asks for besides.
    var definitions = ExportedDefinitions()
    /// Of the export, if it says so.
    var commitTime: Instant?
    /// The first hundred lines that could not be taken.
    var faults: [ExportedLines.InvalidLine] = []
    var faultCount = 0

    /// As users read it.
    var told: ImportReport {
      ImportReport(
        documents: documents,
        faults: faults.map { ImportReport.InvalidLine(line: $0.line, problem: $0.problem) },
        faultCount: faultCount)
    }
  }

  static let portionBytes = 1 << 20
  static let portionsUnderWay = 8

  private let writer: Writer
  private let underWay = UnderWay()
  private var portion: [Mutation] = []
  private var portionBytes = 0

  /// What the writer's thread tells.
  private final class UnderWay: Sendable {
    let room = DispatchSemaphore(value: DocumentImport.portionsUnderWay)
    private let first = Guarded<Status?>(nil)

    func end(_ outcome: Writer.Outcome) {
      if case .failure(let status) = outcome { first.withLock { $0 = $0 ?? status } }
      room.signal()
    }

    func throwFailure() throws {
      if let failure = first.withLock({ $0 }) { throw failure }
    }
  }

  private init(_ writer: Writer) {
    self.writer = writer
  }

  /// Blocks. Ends at the first line that cannot be taken with `invalidArgument`, or with
  /// `skippingFaults` goes on and reports it. What was before it is imported.
  static func run(
    from path: String, into writer: Writer, skippingFaults: Bool,
    progress: MaintenanceReporter = .silent
  ) throws -> Report {
    let work = DocumentImport(writer)
    defer { work.drain() }
    var report = Report()
    try readLines(of: path, skippingFaults, &report, progress) { line in
      try work.add(line)
      try work.underWay.throwFailure()
    }
    try work.send()
    work.drain()
    try work.underWay.throwFailure()
    return report
  }

  /// Fills a new file, which is there once it is whole, with the times that the lines have, or with now.
  static func build(
    from path: String, to target: String, _ configuration: StoreConfiguration,
    keepingTimes: Bool = true, skippingFaults: Bool, progress: MaintenanceReporter = .silent
  ) throws -> Report {
    try FileCopy.beside(target, replacing: false) { file in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      let bytes = (attributes?[.size] as? NSNumber)?.intValue ?? 0
      let builder = try StoreBuilder(path: file.path, expectedBytes: bytes, configuration)
      var report = Report()
      let now = configuration.now()
      // Another machine's clock may be ahead.
      let latest = keepingTimes ? Instant(microseconds: now.microseconds &+ 86_400_000_000) : nil
      try readLines(of: path, latestTime: latest, skippingFaults, &report, progress) { line in
        var line = line
        if !keepingTimes { (line.createTime, line.updateTime) = (nil, nil) }
        try builder.put(line, now: now)
      }
      var state = StoreState()
      if keepingTimes { state.lastCommitTime = report.commitTime ?? state.lastCommitTime }
      try builder.complete(state)
      let expiry = report.definitions.expiry
      if !expiry.rules.isEmpty {
        try builder.put(builder.store.tables.meta, TTLPolicies.key, expiry.encoded())
      }
      try builder.finish()
      try IndexManager.build(builder.store, adopting: report.definitions.indexes)
      try builder.finish()
      builder.close()
      _ = try FileCopy.verified(file.path, configuration, progress)
      return report
    }
  }

  private static func readLines(
    of path: String, latestTime: Instant? = nil, _ skippingFaults: Bool, _ report: inout Report,
    _ progress: MaintenanceReporter,
    _ body: (DocumentJSON.Line) throws -> Void
  ) throws {
    var lines = try ExportedLines(path: path, latestTime: latestTime)
    while true {
      do {
        guard let line = try lines.next() else { break }
        try body(line)
        report.documents += 1
        if report.documents % 256 == 0 { try lines.tell(progress) }
      } catch let error as ExportedLines.InvalidLineError {
        guard skippingFaults else {
          throw Status.invalidArgument("Line \(error.fault.line): \(error.fault.problem)")
        }
        report.faultCount += 1
        if report.faults.count < CheckReport.problemLimit { report.faults.append(error.fault) }
      }
    }
    guard report.documents > 0 || lines.isWholeExport else {
      let first = report.faults.first.map { " Line \($0.line): \($0.problem)" } ?? ""
      throw Status.invalidArgument("\(path) has no document, and is no export.\(first)")
    }
    try lines.tell(progress)
    report.definitions = lines.definitions
    report.commitTime = lines.commitTime
  }

  // MARK: Portions

  private func add(_ line: DocumentJSON.Line) throws {
    let mutation = Mutation(
      path: line.path,
      operation: .set(try DocumentBody(encoding: line.fields)))
    portionBytes += mutation.byteCount
    portion.append(mutation)
    if portionBytes >= Self.portionBytes { try send() }
  }

  private func send() throws {
    guard !portion.isEmpty else { return }
    let mutations = portion
    portion = []
    portionBytes = 0
    underWay.room.wait()
    writer.submit(mutations, isCounted: false) { [underWay] in underWay.end($0) }
  }

  /// Waits for the portions that are under way.
  private func drain() {
    for _ in 0..<Self.portionsUnderWay { underWay.room.wait() }
    for _ in 0..<Self.portionsUnderWay { underWay.room.signal() }
  }
}
