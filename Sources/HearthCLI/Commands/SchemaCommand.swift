#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import ParseSwift

  struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Show the classes of Parse objects: their columns, pointers and relations.",
      discussion: "The types are those of the stored values, in the first objects of each class.")

    @OptionGroup var file: DatabaseArgument
    @Option(help: "The number of objects of a class to look at.") var sample = 1000

    func validate() throws {
      if sample < 1 { throw ValidationError("--sample is 1 or more.") }
    }

    func run() async throws {
      try await file.database.open(.reading) { db in
        let schemas = try await ParseSwift.withFirestore(db) {
          try await ParseSwift.schemas(sample: sample)
        }
        for schema in schemas { try Terminal.print("\(lines: schema.description)") }
      }
    }
  }
#endif
