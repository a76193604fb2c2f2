import Foundation
internal import HearthText

/// The result of an import.
public struct ImportReport: Sendable, Hashable {
  /// Number of documents that were imported, including those that were there already.
  public var documents = 0
  /// The first 100 lines that were skipped.
  public var invalidLines: [InvalidLine] = []
  /// Number of lines that were skipped.
  public var invalidLineCount = 0

  /// A line that could not be imported.
  public struct InvalidLine: Sendable, Hashable {
    /// Number of the line, starting at 1.
    public var line: Int
    /// Why the line could not be imported, as a sentence: `The file ends early: an export's last line
    /// counts its documents.`
    public var problem: String
  }
}

/// Imports the documents of an export.
///
///     lines ─▶ batches of about a megabyte ─▶ the writer, several at once
///
/// Each line replaces the whole document. An import that was interrupted can be repeated from the
/// beginning: documents that are there already do not change, and their listeners are not called.
final class DocumentImport {
  /// The report, with the TTL policies, indexes and commit time of the export's header.
  typealias Outcome = (
    report: ImportReport, definitions: ExportedDefinitions, commitTime: Instant?
  )

  static let batchBytes = 1 << 20
  static let batchesUnderWay = 8

  private let writer: Writer
  private let underWay = UnderWay()
  private var batch: [Mutation] = []
  private var batchBytes = 0

  /// Outcomes of the batches, reported by the writer's thread.
  private final class UnderWay: Sendable {
    let room = DispatchSemaphore(value: DocumentImport.batchesUnderWay)
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

  /// Blocks. The first line that cannot be imported ends it with `invalidArgument`; with
  /// `skippingInvalidLines` the line is reported and skipped. Lines before it stay imported.
  static func run(
    from path: String, into writer: Writer, skippingInvalidLines: Bool,
    progress: MaintenanceReporter = .silent
  ) throws -> Outcome {
    let work = DocumentImport(writer)
    defer { work.drain() }
    let outcome = try readLines(of: path, skippingInvalidLines, progress) { line in
      try work.add(line)
      try work.underWay.throwFailure()
    }
    try work.send()
    work.drain()
    try work.underWay.throwFailure()
    return outcome
  }

  /// Builds a new file, which appears at `target` once it is complete. Documents get the times of
  /// their lines, or the current time.
  static func build(
    from path: String, to target: String, _ configuration: StoreConfiguration,
    keepingTimes: Bool = true, skippingInvalidLines: Bool, progress: MaintenanceReporter = .silent
  ) throws -> ImportReport {
    try FileCopy.beside(target, replacing: false) { file in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      let bytes = (attributes?[.size] as? NSNumber)?.intValue ?? 0
      let builder = try StoreBuilder(path: file.path, expectedBytes: bytes, configuration)
      let now = configuration.now()
      guard now <= .latest else { throw Status.commitTime(now, after: .latest) }
      // Another machine's clock may be ahead, by up to a day.
      let latest = keepingTimes ? Instant(microseconds: now.microseconds &+ 86_400_000_000) : nil
      let (report, definitions, commitTime) = try readLines(
        of: path, latestTime: latest, skippingInvalidLines, progress
      ) { line in
        var line = line
        if !keepingTimes { (line.createTime, line.updateTime) = (nil, nil) }
        try builder.put(line, now: now)
      }
      var state = StoreState()
      if keepingTimes { state.lastCommitTime = commitTime ?? state.lastCommitTime }
      try builder.complete(state)
      if !definitions.expiry.rules.isEmpty {
        try builder.put(
          builder.store.tables.meta, TTLPolicies.key, definitions.expiry.encoded())
      }
      try builder.finish()
      try IndexManager.build(builder.store, adopting: definitions.indexes)
      try builder.finish()
      builder.close()
      _ = try FileCopy.verified(file.path, configuration, progress)
      return report
    }
  }

  private static func readLines(
    of path: String, latestTime: Instant? = nil, _ skippingInvalidLines: Bool,
    _ progress: MaintenanceReporter, _ body: (DocumentJSON.Line) throws -> Void
  ) throws -> Outcome {
    var report = ImportReport()
    var lines = try ExportedLines(path: path, latestTime: latestTime)
    while true {
      do {
        guard let line = try lines.next() else { break }
        try body(line)
        report.documents += 1
        if report.documents % 256 == 0 { try lines.report(progress) }
      } catch let error as ExportedLines.InvalidLineError {
        guard skippingInvalidLines else {
          throw Status.invalidArgument(
            "Line \(error.invalidLine.line): \(error.invalidLine.problem)")
        }
        report.invalidLineCount += 1
        if report.invalidLines.count < CheckReport.problemLimit {
          report.invalidLines.append(error.invalidLine)
        }
      }
    }
    guard report.documents > 0 || lines.isWholeExport else {
      let first = report.invalidLines.first.map { " Line \($0.line): \($0.problem)" } ?? ""
      throw Status.invalidArgument("\(path.legible) has no document, and is not an export.\(first)")
    }
    try lines.report(progress)
    return (report, lines.definitions, lines.commitTime)
  }

  // MARK: Batches

  private func add(_ line: DocumentJSON.Line) throws {
    let mutation = Mutation(
      path: line.path,
      operation: .set(try DocumentBody(encoding: line.fields)))
    batchBytes += mutation.byteCount
    batch.append(mutation)
    if batchBytes >= Self.batchBytes { try send() }
  }

  private func send() throws {
    guard !batch.isEmpty else { return }
    let mutations = batch
    batch = []
    batchBytes = 0
    underWay.room.wait()
    writer.commit(
      CommitRequest(mutations, isAwaited: false, isCounted: false, completesAfterListeners: false)
    ) { [underWay] in underWay.end($0) }
  }

  /// Waits until all submitted batches are done.
  private func drain() {
    for _ in 0..<Self.batchesUnderWay { underWay.room.wait() }
    for _ in 0..<Self.batchesUnderWay { underWay.room.signal() }
  }
}
