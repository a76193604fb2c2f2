#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import HearthText

  struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the documents of a collection, in the order of their ids.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The collection's path, such as books or books/dune/reviews.")
    var collection: String
    @Flag(help: "All collections with this id, at any depth.") var group = false
    @Option(help: "At most so many documents.") var limit: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
      if let limit, limit < 1 { throw ValidationError("--limit is 1 or more.") }
    }

    func run() async throws {
      if group {
        guard !collection.contains("/") else {
          throw ValidationError("--group takes the id of collections, such as reviews, without /.")
        }
      } else {
        try Position.mustBeCollection(
          collection, instead: "Show it with: hearth get \(file.database.name) \(collection)")
      }
      try await file.database.open(.reading) { db in
        let query = group ? db.collectionGroup(collection) : db.collection(collection)
        let shown = try await (limit.map(query.limit(to:)) ?? query).getDocuments().documents
        if output.json {
          for document in shown { try Terminal.print("\(try document.jsonLine ?? "")") }
          return
        }
        let name = { (document: QueryDocumentSnapshot) in
          (group ? document.reference.path : document.documentID).legible
        }
        let nameWidth = min(shown.map { name($0).count }.max() ?? 0, Terminal.width / 2)
        for document in shown {
          let name = name(document).padded(to: nameWidth)
          try Terminal.print("\(name)  \(try document.line(width: Terminal.width - nameWidth - 2))")
        }
        let total = try await query.count.getAggregation(source: .server).count.intValue
        let documents = Figure.count(total, "document")
        let counted: TerminalText =
          shown.count < total
          ? "(the first \(Figure.count(shown.count)) of \(documents))" : "(\(documents))"
        try Terminal.print(Terminal.faint(counted))
      }
    }
  }
#endif
