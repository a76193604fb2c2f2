#if Tools
  import ArgumentParser
  import DataConnectModel
  import Foundation
  import HearthDataConnect
  import HearthTerminal

  struct DataConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dataconnect",
      abstract: "Queries and mutations in GraphQL, as Swift packages: set up, compile, generate.",
      discussion: """
        A project is a folder with dataconnect.yaml. Commands take the one in --config; without it, the \
        nearest upwards: a folder with dataconnect.yaml, with a firebase.json that names one, or with a \
        folder dataconnect.

          hearth dataconnect init
          hearth dataconnect init sdk
          hearth dataconnect sdk generate --watch
          hearth dataconnect compile
          hearth dataconnect execute films.hearth ListMovies
          hearth dataconnect emulator
          hearth dataconnect migrate films.hearth

        The spellings of Firebase's command line, such as hearth dataconnect:sdk:generate and hearth init \
        dataconnect:sdk, are the same commands.
        """,
      subcommands: [
        DataConnectInitCommand.self, DataConnectSDKCommand.self, DataConnectCompileCommand.self,
        DataConnectExecuteCommand.self, DataConnectEmulatorCommand.self,
        DataConnectDiffCommand.self, DataConnectMigrateCommand.self,
      ])
  }

  /// The project that a command is about.
  struct DataConnectProjectOptions: ParsableArguments {
    @Option(
      help: "The folder of the project; without it, the nearest one upwards.",
      completion: .directory)
    var config: String?
  }

  extension CompiledConnector {
    /// `movies: 2 tables, 2 queries, 2 mutations`
    var summary: String {
      let queries = operations.filter { $0.kind == .query }.count
      return "\(connectorID): \(schema.tables.count) tables, \(queries) queries, "
        + "\(operations.count - queries) mutations"
    }
  }

  extension Diagnostic {
    /// Prints errors, warnings and, if asked to, notes to standard error.
    static func show(_ diagnostics: [Diagnostic], withNotes: Bool = false) {
      for diagnostic in diagnostics where withNotes || diagnostic.severity != .note {
        Terminal.printAside("\(lines: diagnostic.description)")
      }
    }
  }
#endif
