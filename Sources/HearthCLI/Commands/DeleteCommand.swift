#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import HearthText

  struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete",
      abstract: "Delete a document. Collections below it stay.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The document's path, such as books/dune.") var path: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try Position.mustBeDocument(
        path,
        instead:
          "Delete its documents one by one: hearth list \(file.database.name) \(path) names them.")
      try await file.database.open(.writing) { db in
        let document = db.document(path)
        guard try await document.getDocument().exists else {
          throw Failure("There is no document \(path.legible) in \(file.database.name).")
        }
        try await document.delete()
        guard output.json else { return }
        try Terminal.print(
          JSON.object([.init("path", .string(document.path)), .init("deleted", .boolean(true))]))
      }
    }
  }
#endif
