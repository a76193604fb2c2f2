#if Tools && Server
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthServer
  import HearthTerminal
  import HearthText
  import Logging

  struct ServeCommand: AsyncParsableCommand, LoggingCommand {
    static let configuration = CommandConfiguration(
      commandName: "serve",
      abstract: "Serve databases to Firestore's clients.",
      discussion: """
        Speaks google.firestore.v1 over gRPC, and REST on the same port. Google's clients find the server by an \
        environment variable:

          hearth serve data --create --port 8080
          FIRESTORE_EMULATOR_HOST=127.0.0.1:8080 python3 app.py

        A file is the default database of every project. A folder has a file for each database: \
        <project>/<database>.hearth. Other processes may have the files open.

        On SIGHUP the server reads the token file, the service accounts and the certificate again, and keeps its \
        connections. A file that cannot be used is logged, and the former content stays.

        With the trait Postgres, the URL of a PostgreSQL server's database is the default database of every \
        project. Several servers may serve it:

          hearth serve postgresql://books@db.internal/books --port 8080
        """)

    @Argument(
      help: "The database file, a folder of them, or the URL of a database on a server.",
      completion: .file(extensions: ["hearth"]))
    var path: String
    @Option(help: "The port; 0 for any free one.")
    var port = 8080
    @Option(
      help: "The address. Other than loopback, it needs TLS, and a token file or a service account."
    )
    var host = "127.0.0.1"
    @Flag(help: "Create the databases that clients write to.")
    var create = false
    @Flag(help: "Behave like Google's emulator. Implies --create.")
    var emulator = false
    @Option(
      name: .customLong("indexes"),
      help:
        "A firestore.indexes.json: replaces the declared indexes of the databases, also when it changes.",
      completion: .file(extensions: ["json"]))
    var indexFile: String?
    @Flag(help: "Refuse queries that need an index in Cloud Firestore and have none.")
    var strict = false
    @Option(help: "Accept at most so many connections.")
    var maxConnections: Int?
    @Option(help: "Create no more databases in a folder that has so many.")
    var maxDatabases: Int?
    @Option(help: "Accept at most so many connections of one address.")
    var maxConnectionsPerAddress: Int?
    @Option(help: "Keep at most so many bytes of results that clients have not read.")
    var maxAnswerBytes: Int?
    @Flag(help: "Refuse writes.")
    var readOnly = false
    @Option(
      name: .customLong("tls-certificate"), help: "A PEM file with the server's certificate chain.",
      completion: .file())
    var certificate: String?
    @Option(
      name: .customLong("tls-key"), help: "A PEM file with the certificate's private key.",
      completion: .file())
    var key: String?
    @Option(
      help:
        "Read the certificate and its key, the token file and the service accounts again every so many seconds, as on SIGHUP."
    )
    var tlsRefreshSeconds = 600
    @Option(
      help: "A file with service keys, one a line: clients send one as their bearer token.",
      completion: .file())
    var tokenFile: String?
    @Option(
      name: .customLong("service-account"),
      help: "The server's part of a service account, from hearth service-account. May be repeated.",
      completion: .file(extensions: ["json"]))
    var serviceAccounts: [String] = []
    @Flag(help: "Allow an address that others reach without TLS or without keys.")
    var insecure = false
    @Option(
      help:
        "Keep past changes for so many seconds; stored in the files. On a PostgreSQL server, for this process."
    )
    var retentionSeconds: Int?
    @Option(help: "Keep about so many bytes of past changes; stored in the files.")
    var retentionBytes: Int?

    @Option(help: "Log this and what is graver, to standard error.")
    var logLevel = Logger.Level.info

    func validate() throws {
      guard (certificate == nil) == (key == nil) else {
        throw ValidationError("--tls-certificate and --tls-key belong together.")
      }
      guard (0...65535).contains(port) else {
        throw ValidationError("A port is a number from 0 to 65535.")
      }
      guard tlsRefreshSeconds > 0 else {
        throw ValidationError("--tls-refresh-seconds is greater than zero.")
      }
      guard (retentionSeconds == nil) == (retentionBytes == nil) else {
        throw ValidationError("--retention-seconds and --retention-bytes belong together.")
      }
    }

    private var options: FirestoreServer.Options {
      get throws {
        var options = FirestoreServer.Options()
        options.host = host
        options.port = port
        options.createsDatabases = create || emulator
        options.isReadOnly = readOnly
        options.isEmulator = emulator
        options.isInsecure = insecure
        options.servesMetrics = true
        options.indexes = try indexFile.map(TextFile.read)
        options.requiresIndexes = strict
        if let maxConnections { options.limits.connections = maxConnections }
        if let maxDatabases { options.limits.databases = maxDatabases }
        if let maxConnectionsPerAddress {
          options.limits.connectionsPerAddress = maxConnectionsPerAddress
        }
        if let maxAnswerBytes { options.limits.answerBytes = maxAnswerBytes }
        if let certificate, let key {
          options.tls = .init(certificatePath: certificate, keyPath: key)
          options.tls?.refreshInterval = .seconds(tlsRefreshSeconds)
        }
        (options.serviceKeys, options.serviceAccounts) = try accessFiles.read()
        if let retentionSeconds, let retentionBytes {
          options.retention = ChangeLogRetention(
            age: .seconds(retentionSeconds), limitBytes: retentionBytes)
        }
        return options
      }
    }

    private var accessFiles: AccessFiles {
      AccessFiles(tokenFile: tokenFile, serviceAccounts: serviceAccounts)
    }

    /// Calls `body` with the content of a file whenever it has changed, until the task is cancelled.
    /// Looks every second.
    private static func watch(_ path: String, _ body: (String) throws -> Void) async {
      var known = try? TextFile.read(path)
      while true {
        do { try await Task.sleep(for: .seconds(1)) } catch { return }
        // A file that is being replaced is read the next time.
        guard let content = try? TextFile.read(path), content != known
        else { continue }
        known = content
        do {
          try body(content)
        } catch {
          Terminal.writeAside("\(path.legible): \(error.localizedDescription)\n")
        }
      }
    }

    /// Gives the memory of large answers back when it is free: otherwise glibc keeps up to 32 MiB pieces
    /// of it for each of its arenas, several times what is in use.
    private static func returnFreeMemory() {
      // Looked up, because no module of Swift has it, and another C library does not.
      guard let symbol = dlsym(nil, "mallopt") else { return }
      let set = unsafeBitCast(symbol, to: (@convention(c) (CInt, CInt) -> CInt).self)
      let (trimThreshold, mapThreshold): (CInt, CInt) = (-1, -3)
      _ = set(mapThreshold, 256 << 10)
      _ = set(trimThreshold, 1 << 20)
    }

    func run() async throws {
      Self.returnFreeMemory()
      let hangups = Interruption.hangups()
      let logger = Logger(label: "hearth.serve")
      accessFiles.warnOfOthers(logger)
      let server = try FirestoreServer(at: path, options)
      if insecure {
        Terminal.writeAside(
          "Everybody who reaches this address can read and write everything.\n")
      }
      if host != "127.0.0.1", host != "::1", host != "localhost" {
        Terminal.writeAside(
          "Service keys and accounts have full access. There are no security rules: tokens of users are refused.\n"
        )
      }
      // The first signal ends the server gracefully.
      try await Interruption.cancelling { [host, accessFiles, tlsRefreshSeconds] in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            try Terminal.print("Listening on \(host):\(try await server.port)")
          }
          group.addTask {
            for await _ in hangups {
              logger.notice("SIGHUP: the keys, accounts and the certificate are read again.")
              accessFiles.warnOfOthers(logger)
              accessFiles.reload(into: server, logger)
              // The server logs why a certificate is not taken.
              try? server.reloadCertificate()
            }
          }
          if !accessFiles.isEmpty {
            group.addTask {
              while true {
                try await Task.sleep(for: .seconds(tlsRefreshSeconds))
                accessFiles.reload(into: server, logger)
              }
            }
          }
          if let indexFile {
            group.addTask { await Self.watch(indexFile) { try server.replaceIndexes(json: $0) } }
          }
          try await server.run()
          group.cancelAll()
        }
      }
    }
  }

  extension Logger.Level: @retroactive ExpressibleByArgument {}
#endif
