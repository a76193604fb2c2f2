#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import HearthText

  struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get", abstract: "Show a document.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The document's path, such as books/dune.") var path: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try Position.mustBeDocument(
        path, instead: "List its documents with: hearth list \(file.database.name) \(path)")
      try await file.database.open(.reading) { db in
        let snapshot = try await db.document(path).getDocument()
        guard let line = try snapshot.jsonLine, let fields = try snapshot.fieldValues else {
          throw Failure("There is no document \(path.legible) in \(file.database.name).")
        }
        if output.json { return try Terminal.print("\(line)") }
        try Terminal.print(Terminal.bold("\(snapshot.reference.path.legible)"))
        for line in fields.lines(width: Terminal.width - 2) { try Terminal.print("  \(line)") }
        if let createTime = snapshot.createTime, let updateTime = snapshot.updateTime {
          let changed = createTime == updateTime ? "" : ", updated \(Instant(updateTime).text)"
          try Terminal.print(Terminal.faint("  (created \(Instant(createTime).text)\(changed))"))
        }
      }
    }
  }
#endif
