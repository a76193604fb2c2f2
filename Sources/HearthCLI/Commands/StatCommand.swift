#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import HearthText

  struct StatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "stat",
      abstract: "Count a database: collections, documents, bytes, changes.",
      discussion: "Reads every document once.")

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try file.database.mustBeFile("stat")
      try await file.database.open(.reading) { db in
        let statistics = try await db.statistics()
        if output.json {
          try Terminal.print(StatCommand.json(statistics))
        } else {
          for line in table(statistics) { try Terminal.print(line) }
        }
      }
    }

    private func table(_ statistics: Firestore.Statistics) -> [TerminalText] {
      let collections = statistics.collections.map {
        [
          $0.path.legible, Figure.count($0.documents), Figure.bytes($0.bytes),
          Figure.bytes($0.average),
        ]
      }
      let rows = [["collection", "documents", "stored", "each"]] + collections
      let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
      var lines = rows.enumerated().map { index, row in
        let numbers = zip(row, widths).dropFirst().map { $0.leftPadded(to: $1) }
        let cells = [row[0].padded(to: widths[0])] + numbers
        let line: TerminalText = "\(cells.joined(separator: "  "))"
        return index == 0 ? Terminal.bold(line) : line
      }
      if collections.isEmpty { lines = ["No documents yet."] }
      return lines + [
        "",
        "file         \(Figure.bytes(statistics.fileBytes)), of it \(Figure.bytes(statistics.freeBytes)) free for reuse",
        "change log   \(Figure.count(statistics.changesLogged, "change")) in \(Figure.bytes(statistics.changeLogBytes))",
        "readable     \(Self.readable(statistics))",
        "history      \(Figure.count(statistics.changes, "change")) in \(Figure.count(statistics.commits, "commit"))",
        "format       version \(statistics.formatVersion)",
      ]
    }

    /// `since 2026-09-01T12:00:00Z; changes are kept for 1 h, in at most 64.0 MiB`
    private static func readable(_ statistics: Firestore.Statistics) -> String {
      let retention = statistics.retention
      let age = Figure.duration(retention.age)
      let kept =
        "changes are kept for \(age), in at most \(Figure.bytes(retention.limitBytes))"
        + (statistics.isRetentionStored ? "" : ", unless a process is set otherwise")
      guard let oldest = statistics.oldestReadableTime else { return "at any past time; \(kept)" }
      let end =
        switch statistics.retentionEnd {
        case .size: " (the log is full)"
        case .age, nil: ""
        }
      return "since \(Instant(oldest).text)\(end); \(kept)"
    }

    private static func json(_ statistics: Firestore.Statistics) -> JSON {
      let collections = statistics.collections.map { collection in
        JSON.object([
          JSON.Member("path", .string(collection.path)),
          .init("documents", collection.documents), .init("bytes", collection.bytes),
        ])
      }
      return .object([
        JSON.Member("collections", .array(collections)),
        .init("documents", statistics.documents),
        .init("documentBytes", statistics.documentBytes),
        .init("fileBytes", statistics.fileBytes), .init("freeBytes", statistics.freeBytes),
        .init("changeLogBytes", statistics.changeLogBytes),
        .init("changesLogged", statistics.changesLogged),
        .init("changes", statistics.changes), .init("commits", statistics.commits),
        .init("retentionSeconds", Int(clamping: statistics.retention.age.components.seconds)),
        .init("retentionBytes", statistics.retention.limitBytes),
        JSON.Member("isRetentionStored", .boolean(statistics.isRetentionStored)),
        JSON.Member(
          "oldestReadableTime",
          statistics.oldestReadableTime.map { .string(Instant($0).text) } ?? .null),
        JSON.Member(
          "retentionEnd", statistics.retentionEnd.map { .string($0.rawValue) } ?? .null),
        .init("formatVersion", statistics.formatVersion),
      ])
    }
  }

  extension Firestore.Statistics.Collection {
    fileprivate var average: Int { documents == 0 ? 0 : bytes / documents }
  }
#endif
