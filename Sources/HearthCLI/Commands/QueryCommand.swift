#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import HearthText

  struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "query",
      abstract: "Find documents, count them, add them up.",
      discussion: """
        A query is one line of text; values in it are JSON.

          books where genre == "sf" and pages > 100 order by title desc limit 20
          books where author.name in ["Herbert", "Le Guin"] or tags contains "classic"
          books order by year start after 1965 limit 10 select title, year
          all reviews where stars >= 4 count, average(stars)

        Conditions: == != < <= > >= in [..] not in [..] contains, contains any [..], is [not] null, \
        is [not] nan; and, or, ( ). Also: order by, start at, start after, end at, end before, limit, \
        limit last, offset, select, count, sum(field), average(field). "all" asks every collection with \
        that id; __name__ is the document's name.
        """)

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The query, in quotes.") var query: String
    @Flag(help: "Say also how the answer was found and what it took.") var explain = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await file.database.open(.reading) { db in
        let answer = try QueryText.read(query, in: db)
        switch answer {
        case .documents(let query):
          let found = try await query.getDocuments().documents
          if output.json {
            for document in found { try Terminal.print("\(try document.jsonLine ?? "")") }
          } else {
            for line in try DocumentTable(found).lines(width: Terminal.width) {
              try Terminal.print(line)
            }
            try Terminal.print(Terminal.faint("(\(Figure.count(found.count, "document")))"))
          }
        case .numbers(let query, let fields):
          let numbers = try await query.getAggregation(source: .server)
          let results = fields.map { ($0.description, Value(aggregate: numbers.get($0))) }
          if output.json {
            try Terminal.print(JSON.object(results.map { JSON.Member($0, $1.json) }))
          } else {
            for (name, value) in results { try Terminal.print("\(name.legible): \(value.brief)") }
          }
        }
        guard explain else { return }
        let explanation = try await answer.explanation(analyze: true)
        Terminal.printAside("\(lines: explanation.description)")
      }
    }
  }

  struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Say how a query is answered, and which index would help.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The query, as hearth query takes it.") var query: String
    @Flag(help: "Answer it, too, and say what that took.") var analyze = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try await file.database.open(.reading) { db in
        let explanation = try await QueryText.read(query, in: db).explanation(analyze: analyze)
        if output.json { return try Terminal.print(explanation.json) }
        try Terminal.print("\(lines: explanation.description)")
      }
    }
  }

  extension QueryText.Answer {
    fileprivate func explanation(analyze: Bool) async throws -> QueryExplanation {
      switch self {
      case .documents(let query): try await query.explain(analyze: analyze)
      case .numbers(let query, _): try await query.explain(analyze: analyze)
      }
    }
  }

  extension QueryExplanation {
    fileprivate var json: JSON {
      var members = [
        JSON.Member("plan", .string(plan)),
        JSON.Member("indexes", .array(indexes.map(JSON.string))),
        JSON.Member("isServed", .boolean(isServed)),
        JSON.Member(
          "missingIndexes", .array(missingIndexes.map { (try? JSONReader.read($0)) ?? .string($0) })
        ),
      ]
      if let execution {
        members += [
          .init("resultsReturned", execution.resultsReturned),
          .init("indexEntriesRead", execution.indexEntriesRead),
          .init("documentsRead", execution.documentsRead),
          .init("keysRead", execution.keysRead),
          .init("microseconds", Int(execution.duration / .microseconds(1))),
        ]
      }
      return .object(members)
    }
  }

  /// Documents in rows, fields in columns: as many as fit.
  struct DocumentTable {
    private let columns: [String]
    private let rows: [[String]]

    init(_ documents: [QueryDocumentSnapshot]) throws {
      let fields = try documents.map { try $0.fieldValues?.fields ?? [] }
      var names: [String] = []
      var known: Set<String> = []
      for field in fields.joined() where known.insert(field.name).inserted {
        names.append(field.name)
      }
      columns = [""] + names.map(\.legible)
      let parents = Set(documents.map { $0.reference.parent.path })
      rows = zip(documents, fields).map { document, fields in
        [(parents.count > 1 ? document.reference.path : document.documentID).legible]
          + names.map { name in fields.first { $0.name == name }?.value.brief ?? "" }
      }
    }

    private static let widest = 32

    func lines(width: Int) -> [TerminalText] {
      guard !rows.isEmpty else { return [] }
      var widths: [Int] = []
      var total = 0
      for column in columns.indices {
        let longest = ([columns[column]] + rows.map { $0[column] }).map(\.count).max() ?? 0
        let own = min(longest, DocumentTable.widest)
        guard widths.isEmpty || total + own <= width else { break }
        widths.append(own)
        total += own + 2
      }
      func line(_ cells: [String]) -> TerminalText {
        let padded = zip(cells, widths).map { cell, width in
          cell.count > width ? cell.clipped(to: width).padded(to: width) : cell.padded(to: width)
        }
        let text = padded.joined(separator: "  ")
        return "\(text)\(widths.count < columns.count ? "  …" : "")"
      }
      return [Terminal.bold(line(columns))] + rows.map(line)
    }
  }
#endif
