#if Tools && Server
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthServer

  struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "serve",
      abstract: "Serve databases to Firestore's clients.",
      discussion: """
        Speaks google.firestore.v1 over gRPC. Google's clients find the server by an environment variable:

          hearth serve data --create --port 8080
          FIRESTORE_EMULATOR_HOST=127.0.0.1:8080 python3 app.py

        A file is the default database of every project. A folder has a file for each database: \
        <project>/<database>.hearth. Other processes may have the files open.
        """)

    @Argument(
      help: "The database file, or a folder of them.",
      completion: .file(extensions: ["hearth"]))
    var path: String
    @Option(help: "The port; 0 for any free one.")
    var port = 8080
    @Option(help: "An address of the loopback interface.")
    var host = "127.0.0.1"
    @Flag(help: "Create the databases that clients name.")
    var create = false
    @Flag(help: "Behave like Google's emulator. Implies --create.")
    var emulator = false
    @Flag(help: "Refuse writes.")
    var readOnly = false

    func run() async throws {
      let server = try FirestoreServer(
        at: path, host: host, port: port, createsDatabases: create || emulator,
        isReadOnly: readOnly)
      // The first signal ends the server gracefully.
      try await Interruption.cancelling { [host] in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await server.run() }
          group.addTask {
            try Terminal.print("Listening on \(host):\(try await server.port)")
          }
          try await group.waitForAll()
        }
      }
    }
  }
#endif
