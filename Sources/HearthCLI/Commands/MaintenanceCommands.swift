#if Tools
  import ArgumentParser
  import Foundation
  import Hearth

  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract:
        "Look whether a file is whole: every page, every checksum, every count, every index.",
      discussion: "Ends with status 1 if it is not.")

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.mustExist()
      let report = try await withProgress { [database = file.database] in
        try await Firestore.check(at: database, progress: $0)
      }
      if output.json {
        try Terminal.print(
          JSON.object([
            .init("whole", .boolean(report.isWhole)), .init("problemCount", report.problemCount),
            .init("problems", .array(report.problems.map(JSON.string))),
            .init("fileBytes", report.fileBytes), .init("pages", report.pages),
            .init("freePages", report.freePages), .init("documents", report.documents),
            .init("collections", report.collections), .init("changes", report.changes),
            .init("expiringDocuments", report.expiringDocuments),
            .init("indexEntries", report.indexEntries),
          ]).text)
      } else {
        for problem in report.problems { try Terminal.print(problem) }
        let more = report.problemCount - report.problems.count
        if more > 0 { try Terminal.print("and \(Figure.count(more, "more problem"))") }
        if report.isWhole {
          try Terminal.print(
            "whole: \(Figure.count(report.documents, "document")) in "
              + "\(Figure.count(report.collections, "collection")), "
              + "\(Figure.count(report.changes, "change")), "
              + "\(Figure.count(report.pages, "page")) of \(Figure.bytes(report.fileBytes))")
        }
      }
      if !report.isWhole { throw ExitCode.failure }
    }
  }

  struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup",
      abstract: "Copy a database, also one that is in use, and check the copy.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "Where the copy goes.", completion: .file()) var target: String
    @Flag(help: "Leave out free pages and fill the others.") var compact = false
    @Flag(help: "Replace the file that is there.") var replace = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await file.open(.reading) { db in
        let report = try await withProgress { [target, compact, replace] in
          try await db.backup(to: target, compacting: compact, replacing: replace, progress: $0)
        }
        if output.json {
          try Terminal.print(
            JSON.object([
              .init("documents", report.documents), .init("fileBytes", report.fileBytes),
            ]).text)
        } else {
          try Terminal.print(
            "\(Figure.count(report.documents, "document")) in \(Figure.bytes(report.fileBytes)), "
              + "checked and flushed")
        }
      }
    }
  }

  struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore",
      abstract: "Put a copy of a backup in the place of a database that nobody has open.",
      discussion: """
        The backup is checked first, and the database is replaced in one moment. Do not copy or move a backup over \
        a database by other means.
        """)

    @Argument(help: "The backup.", completion: .file()) var backup: String
    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      guard FileManager.default.fileExists(atPath: backup) else {
        throw Failure("There is no backup at \(backup).")
      }
      let report = try await withProgress { [backup, file] in
        try await Firestore.restore(backup, to: file.database, progress: $0)
      }
      try Terminal.print(
        output.json
          ? JSON.object([
            .init("documents", report.documents), .init("fileBytes", report.fileBytes),
          ]).text
          : "\(Figure.count(report.documents, "document")) in \(Figure.bytes(report.fileBytes)), "
            + "checked and flushed")
    }
  }

  struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compact",
      abstract: "Make a file that nobody has open as small as it can be.",
      discussion: "For one that is in use, see backup --compact.")

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.mustExist()
      let (before, after) = try await withProgress { [database = file.database] in
        try await Firestore.compact(at: database, progress: $0)
      }
      if output.json {
        try Terminal.print(
          JSON.object([.init("bytesBefore", before), .init("bytesAfter", after)]).text)
      } else {
        try Terminal.print("\(Figure.bytes(before)) are \(Figure.bytes(after)) now")
      }
    }
  }

  struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair",
      abstract: "Build a new file from all that can be read of a damaged one.",
      discussion: "The damaged file is left as it is. Indexes are built anew.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "Where the new file goes.", completion: .file()) var target: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.mustExist()
      let report = try await withProgress { [database = file.database, target] in
        try await Firestore.repair(at: database, to: target, progress: $0)
      }
      if output.json { return try Terminal.print(json(report).text) }
      for problem in report.problems { try Terminal.print(Terminal.faint(problem)) }
      try Terminal.print("\(Figure.count(report.documents, "document")) in \(target)")
      if report.documentsFoundAgain > 0 {
        try Terminal.print("  \(Figure.count(report.documentsFoundAgain)) of them from lost pages")
      }
      if report.doubtfulDocuments > 0 {
        try Terminal.print(
          "  \(Figure.count(report.doubtfulDocuments)) of them may have been changed or deleted since"
        )
      }
      if report.unreadableDocuments > 0 {
        try Terminal.print(
          "  \(Figure.count(report.unreadableDocuments, "document")) cannot be read")
      }
      for loss in report.losses {
        try Terminal.print(
          "  \(loss.collection): \(Figure.count(loss.lost)) of "
            + "\(Figure.count(loss.documents + loss.lost, "document")) lost")
      }
    }

    private func json(_ report: Firestore.RepairReport) -> JSON {
      .object([
        .init("documents", report.documents),
        .init("documentsFoundAgain", report.documentsFoundAgain),
        .init("doubtfulDocuments", report.doubtfulDocuments),
        .init("unreadableDocuments", report.unreadableDocuments),
        .init(
          "losses",
          .array(
            report.losses.map { loss in
              .object([
                .init("collection", .string(loss.collection)), .init("documents", loss.documents),
                .init("lost", loss.lost),
              ])
            })),
        .init("problemCount", report.problemCount),
        .init("problems", .array(report.problems.map(JSON.string))),
      ])
    }
  }

  struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write every document as a line of JSON, exactly.",
      discussion: "Declared indexes and rules of expiry are in the first line.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "Where the lines go; - is standard output.", completion: .file())
    var target: String
    @Flag(help: "Replace the file that is there.") var replace = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      // Also what is done in the background uses no page that was not looked at.
      try await file.open(.reading, validatingPages: true) { db in
        let toOutput = target == "-"
        let count = try await withProgress { [target, replace] progress in
          toOutput
            ? try await db.export(progress: progress) { try Terminal.write($0) }
            : try await db.export(to: target, replacing: replace, progress: progress)
        }
        let text =
          output.json
          ? JSON.object([.init("documents", count)]).text : Figure.count(count, "document")
        if toOutput { Terminal.printAside(text) } else { try Terminal.print(text) }
      }
    }
  }

  struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import",
      abstract:
        "Write the documents of an export into a database, which is made if it is not there.",
      discussion: """
        Documents become what their lines say; others stay. An import into a database that was there and that \
        ended early is done again from the beginning: what is there already is not written twice. A new \
        database is there once all of it is imported and checked, and not if the import fails. Indexes and \
        rules of expiry are added to those the database has.

        With --skip-faults the status is 0 if any document was imported; the lines that were skipped are \
        printed. Without any document, or an export's first line, the import fails.
        """)

    @Argument(help: "The lines; - is standard input.", completion: .file()) var source: String
    @OptionGroup var file: DatabaseArgument
    @Flag(help: "Keep create and update times. The database must not be there yet.")
    var keepTimes = false
    @Flag(help: "Skip lines that cannot be taken, and tell them.") var skipFaults = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let source = source == "-" ? "/dev/stdin" : source
      guard FileManager.default.fileExists(atPath: source) else {
        throw Failure("There is no file \(source).")
      }
      if keepTimes || !FileManager.default.fileExists(atPath: file.database) {
        let report = try await withProgress { [database = file.database, skipFaults, keepTimes] in
          try await Firestore.importDocuments(
            from: source, toNew: database, keepingTimes: keepTimes, skippingFaults: skipFaults,
            progress: $0)
        }
        return try tell(report)
      }
      try await file.open(.writing) { db in
        let report = try await withProgress { [skipFaults] in
          try await db.importDocuments(from: source, skippingFaults: skipFaults, progress: $0)
        }
        try tell(report)
      }
    }

    private func tell(_ report: Firestore.ImportReport) throws {
      if output.json {
        let faults = report.faults.map {
          JSON.object([.init("line", $0.line), .init("problem", .string($0.problem))])
        }
        return try Terminal.print(
          JSON.object([
            .init("documents", report.documents), .init("faultCount", report.faultCount),
            .init("faults", .array(faults)),
          ]).text)
      }
      for fault in report.faults { try Terminal.print("line \(fault.line): \(fault.problem)") }
      let skipped =
        report.faultCount == 0 ? "" : ", \(Figure.count(report.faultCount, "line")) skipped"
      try Terminal.print(Figure.count(report.documents, "document") + skipped)
    }
  }

  extension JSON.Member {
    init(_ name: String, _ number: Int) { self.init(name, .integer(Int64(number))) }
  }

  extension DatabaseArgument {
    func mustExist() throws {
      guard FileManager.default.fileExists(atPath: database) else {
        throw Failure("There is no database at \(database).")
      }
    }
  }

  /// Runs `body` under a bar on standard error.
  private func withProgress<R: Sendable>(
    _ body: @escaping @Sendable (@escaping Firestore.ProgressHandler) async throws -> R
  ) async throws -> R {
    let bar = SharedBar()
    defer { bar.finish() }
    return try await Interruption.cancelling { try await body { bar.show($0) } }
  }

  /// A bar that is drawn from another thread.
  private final class SharedBar: @unchecked Sendable {
    // Unchecked: `bar` and `step` are touched under the lock only.
    private let lock = NSLock()
    private var bar = ProgressBar(total: 1)
    private var step: MaintenanceProgress.Step?

    func show(_ progress: MaintenanceProgress) {
      lock.withLock {
        if step != progress.step {
          step = progress.step
          bar = ProgressBar(total: progress.total, name: progress.step.rawValue)
        }
        bar.advance(to: progress.done)
      }
    }

    func finish() { lock.withLock { bar.finish() } }
  }
#endif
