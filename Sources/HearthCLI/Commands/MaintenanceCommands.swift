#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract:
        "Look whether a file is whole: every page, every checksum, every count, every index.",
      discussion: "Ends with status 1 if it is not.")

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.database.mustBeFile("check")
      try file.database.mustExist()
      let report = try await withProgress(file.database.asFile.check)
      if output.json {
        try Terminal.print(
          JSON.object([
            .init("whole", .boolean(report.isIntact)), .init("problemCount", report.problemCount),
            .init("problems", .array(report.problems.map(JSON.string))),
            .init("fileBytes", report.fileBytes), .init("pages", report.pages),
            .init("freePages", report.freePages), .init("documents", report.documents),
            .init("collections", report.collections), .init("changes", report.changes),
            .init("expiringDocuments", report.expiringDocuments),
            .init("indexEntries", report.indexEntries),
          ]))
      } else {
        for problem in report.problems { try Terminal.print("\(problem)") }
        let more = report.problemCount - report.problems.count
        if more > 0 { try Terminal.print("and \(Figure.count(more, "more problem"))") }
        if report.isIntact {
          try Terminal.print(
            "whole: \(Figure.count(report.documents, "document")) in "
              + "\(Figure.count(report.collections, "collection")), "
              + "\(Figure.count(report.changes, "change")), "
              + "\(Figure.count(report.pages, "page")) of \(Figure.bytes(report.fileBytes))")
        }
      }
      if !report.isIntact { throw ExitCode.failure }
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
      try file.database.mustBeFile("backup")
      try await file.database.open(.reading) { db in
        let report = try await withProgress { [target, compact, replace] in
          try await db.maintenance.backup(
            to: target, compacting: compact, replacing: replace, progress: $0)
        }
        try output.show(report)
      }
    }
  }

  struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore",
      abstract: "Replace a database that no process has open by a copy of a backup.",
      discussion: """
        The backup is checked first, and the database is replaced in one moment. Do not copy or move a backup over \
        a database by other means.
        """)

    @Argument(help: "The backup.", completion: .file()) var backup: String
    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.database.mustBeFile("restore")
      guard FileManager.default.fileExists(atPath: backup) else {
        throw Failure("There is no backup at \(backup.legible).")
      }
      let report = try await withProgress { [backup, file = file.database.asFile] in
        try await file.restore(from: backup, progress: $0)
      }
      try output.show(report)
    }
  }

  struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compact",
      abstract: "Rewrite a file that no process has open without free pages.",
      discussion: "For one that is in use, see backup --compact.")

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.database.mustBeFile("compact")
      try file.database.mustExist()
      let (before, after) = try await withProgress(file.database.asFile.compact)
      if output.json {
        try Terminal.print(
          JSON.object([.init("bytesBefore", before), .init("bytesAfter", after)]))
      } else {
        try Terminal.print("\(Figure.bytes(before)) are \(Figure.bytes(after)) now")
      }
    }
  }

  struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair",
      abstract:
        "Build a new file from all that can be read of a damaged one, or correct times that are ahead.",
      discussion: """
        The damaged file is left as it is. Indexes are rebuilt.

        With --times no file is damaged: a clock was ahead. Set the clock of this machine first. Create and update \
        times after now are moved back, in place, and the change log begins again. No process may have the file open; \
        a database on a server may be in use.
        """)

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "Where the new file goes.", completion: .file()) var target: String?
    @Flag(help: "Correct the times of documents and commits that are after now, in place.")
    var times = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
      if times, target != nil {
        throw ValidationError("--times corrects the database in place, and takes no other file.")
      }
    }

    func run() async throws {
      if times { return try await repairTimes() }
      try file.database.mustBeFile("repair")
      guard let target else {
        throw ValidationError(
          "Say where the new file goes: hearth repair \(file.database.text) <target>.")
      }
      try file.database.mustExist()
      let report = try await withProgress { [file = file.database.asFile] in
        try await file.repair(to: target, progress: $0)
      }
      if output.json { return try Terminal.print(json(report)) }
      for problem in report.problems { try Terminal.print(Terminal.faint("\(problem)")) }
      try Terminal.print("\(Figure.count(report.documents, "document")) in \(target)")
      if report.recoveredDocuments > 0 {
        try Terminal.print("  \(Figure.count(report.recoveredDocuments)) of them from lost pages")
      }
      if report.possiblyStaleDocuments > 0 {
        try Terminal.print(
          "  \(Figure.count(report.possiblyStaleDocuments)) of them may have been changed or deleted since"
        )
      }
      if report.unreadableDocuments > 0 {
        try Terminal.print(
          "  \(Figure.count(report.unreadableDocuments, "document")) cannot be read")
      }
      for loss in report.losses {
        try Terminal.print(
          "  \(loss.collection.legible): \(Figure.count(loss.lost)) of "
            + "\(Figure.count(loss.documents + loss.lost, "document")) lost")
      }
    }

    private func repairTimes() async throws {
      try file.database.mustExist()
      var count = 0
      if file.database.isServer {
        try await file.database.open(.writing) { db in
          count = try await db.maintenance.repairTimes()
        }
      } else {
        count = try await withProgress(file.database.asFile.repairTimes)
      }
      if output.json { return try Terminal.print(JSON.object([.init("documents", count)])) }
      try Terminal.print("the times of \(Figure.count(count, "document")) corrected")
    }

    private func json(_ report: FirestoreFile.RepairReport) -> JSON {
      .object([
        .init("documents", report.documents),
        .init("recoveredDocuments", report.recoveredDocuments),
        .init("possiblyStaleDocuments", report.possiblyStaleDocuments),
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
      try file.database.mustBeFile("export")
      // All pages are validated first, so that background work uses only checked ones, too.
      try await file.database.open(.validating) { db in
        let toOutput = target == "-"
        let count = try await withProgress { [target, replace] progress in
          toOutput
            ? try await db.maintenance.export(progress: progress) { try Terminal.write(lines: $0) }
            : try await db.maintenance.export(to: target, replacing: replace, progress: progress)
        }
        let text =
          output.json
          ? JSON.object([.init("documents", count)]).text : Figure.count(count, "document")
        if toOutput { Terminal.printAside("\(text)") } else { try Terminal.print("\(text)") }
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

        With --skip-invalid-lines the status is 0 if any document was imported; the lines that were skipped are \
        printed. Without any document, or an export's first line, the import fails.
        """)

    @Argument(help: "The lines; - is standard input.", completion: .file()) var source: String
    @OptionGroup var file: DatabaseArgument
    @Flag(help: "Keep create and update times. The database must not be there yet.")
    var keepTimes = false
    @Flag(help: "Skip invalid lines, and list them.") var skipInvalidLines = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.database.mustBeFile("import")
      let source = source == "-" ? "/dev/stdin" : source
      guard FileManager.default.fileExists(atPath: source) else {
        throw Failure("There is no file \(source.legible).")
      }
      // A pipe would lose what is read of it here.
      if source != "/dev/stdin", DatabaseFile.isDatabase(at: source) {
        throw ValidationError(
          "\(source) is a database. The lines come first, then the database: "
            + "hearth import \(file.database.text) \(source)")
      }
      if keepTimes || !FileManager.default.fileExists(atPath: file.database.text) {
        let report = try await withProgress {
          [file = file.database.asFile, skipInvalidLines, keepTimes] in
          try await file.import(
            from: source, keepingTimes: keepTimes, skippingInvalidLines: skipInvalidLines,
            progress: $0)
        }
        return try show(report)
      }
      try await file.database.open(.writing) { db in
        let report = try await withProgress { [skipInvalidLines] in
          try await db.maintenance.import(
            from: source, skippingInvalidLines: skipInvalidLines, progress: $0)
        }
        try show(report)
      }
    }

    private func show(_ report: FirestoreMaintenance.ImportReport) throws {
      if output.json {
        let faults = report.invalidLines.map {
          JSON.object([.init("line", $0.line), .init("problem", .string($0.problem))])
        }
        return try Terminal.print(
          JSON.object([
            .init("documents", report.documents),
            .init("invalidLineCount", report.invalidLineCount),
            .init("faults", .array(faults)),
          ]))
      }
      for fault in report.invalidLines {
        try Terminal.print("line \(fault.line): \(fault.problem)")
      }
      let skipped =
        report.invalidLineCount == 0
        ? "" : ", \(Figure.count(report.invalidLineCount, "line")) skipped"
      try Terminal.print("\(Figure.count(report.documents, "document"))\(skipped)")
    }
  }

  extension OutputOptions {
    /// Prints what was copied, by a backup or a restore.
    fileprivate func show(_ copy: FirestoreMaintenance.CheckReport) throws {
      if json {
        return try Terminal.print(
          JSON.object([.init("documents", copy.documents), .init("fileBytes", copy.fileBytes)]))
      }
      try Terminal.print(
        "\(Figure.count(copy.documents, "document")) in \(Figure.bytes(copy.fileBytes)), "
          + "checked and flushed")
    }
  }
#endif
