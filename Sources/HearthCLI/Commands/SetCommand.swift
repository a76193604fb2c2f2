#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Write a document, and the database file if it is not there.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The document's path, such as books/dune.") var path: String
    @Argument(
      help: """
        Its fields as a JSON object, such as {"title": "Dune"}; with --json the document as get --json \
        prints it. - reads standard input.
        """)
    var fields: String
    @Flag(help: "Keep the fields that are not mentioned.") var merge = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      try Position.mustBeDocument(path, instead: "Add the id of a document: \(path)/ID.")
      let json = try JSONReader.read(
        fields == "-" ? SetCommand.standardInput() : fields, roundingLongIntegers: output.json)
      try await file.database.open(.making) { db in
        let document = db.document(path)
        let fields = try output.json ? json.fields(ofDocumentIn: db) : json.fields(in: db)
        try await document.setData(fields, merge: merge)
        guard output.json, let line = try await document.getDocument().jsonLine else { return }
        try Terminal.print("\(line)")
      }
    }

    private static func standardInput() throws -> String {
      let data = try FileHandle.standardInput.readToEnd() ?? Data()
      guard let text = String(data: data, encoding: .utf8) else {
        throw Failure("Standard input is not UTF-8.")
      }
      return text
    }
  }
#endif
