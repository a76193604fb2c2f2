#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal

  struct HearthTool: AsyncParsableCommand {
    /// Commands that need further traits.
    private static var optionalCommands: [any ParsableCommand.Type] {
      #if Server
        [ServeCommand.self, ServiceAccountCommand.self]
      #else
        []
      #endif
    }

    static let configuration = CommandConfiguration(
      commandName: "hearth",
      abstract: "Firestore at home: look into a database, change it, watch it.",
      discussion: """
        A database is a file, such as books.hearth, or on a PostgreSQL server, with a URL such as \
        postgresql://books@db.internal/books. Documents and collections are named by their paths, \
        such as books/dune and books. Several processes, this one too, may have a database open at once.

          hearth set books.hearth books/dune '{"title": "Dune", "pages": 412}'
          hearth get books.hearth books/dune
          hearth watch books.hearth books
          hearth query books.hearth 'books where pages > 300 order by title limit 20'
          hearth export books.hearth - | gzip > books.jsonl.gz
          hearth copy books.hearth postgresql://books@db.internal/books --follow

        The first ^C ends a command that makes files once it has removed them; the second ends it at once.

        With --json every document is one line of JSON in the form of Firestore's REST interface, as in an \
        export, such as {"name":"books/dune","fields":{"pages":{"integerValue":"412"}}}; set --json takes \
        what get --json prints. Without --json, set and queries take plain JSON; for types that JSON lacks \
        they take typed values: {"timestampValue": "1965-08-01T00:00:00Z"}, {"bytesValue": "base64"}, \
        {"referenceValue": "books/dune"}, {"geoPointValue": {"latitude": 59.91, "longitude": 10.75}}, \
        {"doubleValue": "NaN"}.

        Names that a terminal would act on, or hide a part of, are printed as JSON strings, and what else comes \
        from a database or a file has escapes for such characters. Nothing is bold or faint if the environment \
        has a NO_COLOR that is not empty; with TERM=dumb there is no progress bar either.
        """,
      version:
        "hearth \(Release.version), before its first release; file format \(Release.fileFormat)",
      subcommands: [
        GetCommand.self, SetCommand.self, ListCommand.self, QueryCommand.self, ExplainCommand.self,
        WatchCommand.self, StatCommand.self, SchemaCommand.self, DeleteCommand.self,
        CheckCommand.self, BackupCommand.self, RestoreCommand.self,
        CompactCommand.self, RepairCommand.self,
        ExportCommand.self, ImportCommand.self, CopyCommand.self, DataConnectCommand.self,
      ] + optionalCommands)
  }

  @main enum Main {
    static func main() async {
      Terminal.secureStreams()
      Interruption.begin()
      var command: any ParsableCommand
      do {
        guard let arguments = Terminal.arguments() else { throw ExitCode(EX_USAGE) }
        command = try HearthTool.parseAsRoot(CommandAliases.rewrite(arguments))
      } catch {
        end(error)
      }
      do {
        TerminalLog.begin(for: command)
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          try command.run()
        }
      } catch {
        // A command that succeeds despite the signal ends normally. A failed one ends with the
        // signal's status.
        end(
          Interruption.status.map { ExitCode($0) }
            ?? CommandError.readable(error, of: type(of: command)))
      }
    }

    /// Ends the process as `HearthTool.exit(withError:)` does. Errors name what strangers have named.
    private static func end(_ error: any Error) -> Never {
      let code = error is UsageError ? .validationFailure : HearthTool.exitCode(for: error)
      let message = HearthTool.fullMessage(for: error)
      if !message.isEmpty {
        let text: TerminalText = "\(lines: message)"
        if code.isSuccess { try? Terminal.print(text) } else { Terminal.printAside(text) }
      }
      exit(code.rawValue)
    }
  }
#endif
