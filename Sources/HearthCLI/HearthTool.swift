#if Tools
  import ArgumentParser
  import Foundation
  import Hearth

  struct HearthTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "hearth",
      abstract: "Firestore at home: look into a database file, change it, watch it.",
      discussion: """
        A database is a file, such as books.hearth. Documents and collections are named by their paths, \
        such as books/dune and books. Several processes, this one too, may have a file open at once.

          hearth set books.hearth books/dune '{"title": "Dune", "pages": 412}'
          hearth get books.hearth books/dune
          hearth watch books.hearth books
          hearth query books.hearth 'books where pages > 300 order by title limit 20'
          hearth export books.hearth - | gzip > books.jsonl.gz

        The first ^C ends a command that makes files once it has removed them; the second ends it at once.

        With --json every document is one line of JSON. Types that JSON lacks are tagged: \
        {"$timestamp": "1965-08-01T00:00:00Z"}, {"$bytes": "base64"}, {"$ref": "books/dune"}, \
        {"$geo": [59.91, 10.75]}, {"$vector": [0.25, 0.5]}, {"$double": "NaN"} (for doubles without a \
        fraction, too), and {"$map": {…}} for a map that would look like one of these. What get prints, \
        set takes.
        """,
      subcommands: [
        DemoCommand.self, GetCommand.self, SetCommand.self, ListCommand.self, QueryCommand.self,
        ExplainCommand.self, WatchCommand.self, StatCommand.self, DeleteCommand.self,
        CheckCommand.self, BackupCommand.self, RestoreCommand.self,
        CompactCommand.self, RepairCommand.self,
        ExportCommand.self, ImportCommand.self,
      ])
  }

  @main enum Main {
    static func main() async {
      Terminal.secureStreams()
      Interruption.begin()
      do {
        try checkArguments()
        var command = try HearthTool.parseAsRoot()
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          try command.run()
        }
      } catch {
        // What is done in spite of the signal is done.
        if let status = Interruption.status { HearthTool.exit(withError: ExitCode(status)) }
        HearthTool.exit(withError: sentence(of: error))
      }
    }

    /// Swift repairs arguments that are no UTF-8: they would name another file or document.
    private static func checkArguments() throws {
      for index in 1..<max(Int(CommandLine.argc), 1) {
        guard let argument = CommandLine.unsafeArgv[index],
          String(validatingCString: argument) == nil
        else { continue }
        Terminal.printAside("Error: Argument \(index) is not UTF-8: \(String(cString: argument))")
        throw ExitCode(EX_USAGE)
      }
    }

    /// What the database reports is an `NSError`, whose sentence is its description.
    private static func sentence(of error: any Error) -> any Error {
      let report = error as NSError
      return report.domain == FirestoreErrorDomain ? Failure(report.localizedDescription) : error
    }
  }

  /// What went wrong, in one sentence.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
#endif
