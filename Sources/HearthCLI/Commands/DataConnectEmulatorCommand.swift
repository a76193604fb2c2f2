#if Tools
  import ArgumentParser
  import DataConnectModel
  import FirebaseDataConnect
  import Foundation
  import Hearth
  import HearthDataConnect
  import HearthTerminal

  struct DataConnectEmulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "emulator",
      abstract: "Execute the operations of a project for programs that call useEmulator.",
      discussion: """
        Compiles the project again whenever one of its files changes; data stays. Rows get the form of a new \
        schema if that loses no value: for other changes, migrate the database with hearth dataconnect \
        migrate. After an error, the last connectors without errors are used. Ends with ^C.

          hearth dataconnect emulator --data .dataconnect/data
          hearth dataconnect emulator --import seed --export seed

        Without --data, the database is a temporary one. Other processes may open the database of --data, \
        DIR/dataconnect.hearth, at the same time. An export is DIR/dataconnect.jsonl, in the form of hearth \
        export. Programs on other machines cannot connect.
        """)

    @OptionGroup var project: DataConnectProjectOptions
    @Option(help: "The port; 0 for a free one.") var port = DataConnect.EmulatorDefaults.port
    @Option(help: "An address of this machine alone.") var host = DataConnect.EmulatorDefaults.host
    @Option(help: "The folder of a database that stays.", completion: .directory)
    var data: String?
    @Option(
      name: .customLong("import"), help: "A folder whose export is imported at the beginning.",
      completion: .directory)
    var source: String?
    @Option(
      name: .customLong("export"), help: "A folder for an export at the end.",
      completion: .directory)
    var target: String?
    @Flag(help: "Refuse operations without @auth to every program, as in the cloud.")
    var strict = false
    @Flag(name: .customLong("sdk"), help: "Generate the Swift packages, too, after each change.")
    var generatesSDKs = false

    private static let exportName = "dataconnect.jsonl"

    func validate() throws {
      guard (0...65535).contains(port) else {
        throw ValidationError("A port is a number from 0 to 65535.")
      }
    }

    func run() async throws {
      let temporary = FileManager.default.temporaryDirectory
        .appending(path: "hearth-emulator-\(UUID().uuidString)").path
      let folder = data ?? temporary
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: temporary) }
      let settings = FirestoreSettings()
      if data == nil { settings.durability = .lastCommitMayBeLost }
      let db = try Firestore.open(at: "\(folder)/dataconnect.hearth", settings: settings)
      try await db.closed { try await serve(db) }
    }

    private func serve(_ db: Firestore) async throws {
      if let source {
        try await db.maintenance.import(from: "\(source)/\(Self.exportName)")
      }
      let server = try EmulatorServer(db, host: host, port: port, isStrict: strict)
      defer { server.stop() }
      try Terminal.print("Listening on \(host):\(server.port), with \(db.path)")
      try await Interruption.cancelling { [project, generatesSDKs] in
        var served: [CompiledConnector] = []
        try await ProjectWatch(folder: project.config).run {
          let report = try ProjectCompilation(folder: project.config).run()
          Diagnostic.show(report.diagnostics)
          // Of a connector with errors, the last one without.
          let names = report.connectors.map(\.connectorID)
          let others = report.hasErrors ? served.filter { !names.contains($0.connectorID) } : []
          served = report.connectors + others
          if !report.hasErrors { try await Self.migrate(server, served) }
          try server.serve(served)
          for connector in report.connectors { try Terminal.print("\(connector.summary)") }
          guard generatesSDKs, !report.hasErrors else { return }
          try? DataConnectGenerateCommand.show(SDKGeneration(folder: project.config).run())
        }
      }
      server.stop()
      guard let target else { return }
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      let count = try await db.maintenance.export(
        to: "\(target)/\(Self.exportName)", replacing: true)
      try Terminal.print("\(Figure.count(count, "document")) in \(target)/\(Self.exportName)")
    }

    /// The rows stay as they are if the change would lose values: operations then meet rows of the
    /// older schema.
    private static func migrate(
      _ server: EmulatorServer, _ connectors: [CompiledConnector]
    ) async throws {
      for migration in try await server.migrate(connectors) {
        guard let refusal = migration.refusal else {
          for change in migration.changes { try Terminal.print("migrated: \(change)") }
          continue
        }
        Terminal.printAside(
          "The rows keep the form of the older schema. \(String(describing: refusal))")
      }
    }
  }
#endif
