#if Tools
  import ArgumentParser
  import Foundation
  import Hearth

  struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Write a document, and the database file if it is not there.")

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The document's path, such as books/dune.") var path: String
    @Argument(help: "Its fields as a JSON object; - reads them from standard input.")
    var fields: String
    @Flag(help: "Keep the fields that are not mentioned.") var merge = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let json = try JSONReader.read(fields == "-" ? SetCommand.standardInput() : fields)
      try await file.open(.making) { db in
        let document = db.document(path)
        try await document.setData(try json.fields(in: db), merge: merge)
        if output.json { try Terminal.print(try await document.getDocument().json.text) }
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
