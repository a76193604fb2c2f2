#if Tools
  import ArgumentParser
  import DataConnectModel
  import FirebaseDataConnect
  import Foundation
  import Hearth
  import HearthDataConnect
  import HearthTerminal

  struct DataConnectDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Compare the schema of a project with the one that a database has.",
      discussion: """
        Prints a line for each change: additive, needs a default, or destructive. The first operation on a \
        new database stores its schema in it, and migrate the newer one.
        """)

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var project: DataConnectProjectOptions

    func run() async throws {
      try await file.database.open(.reading) { db in
        try await project.printChanges(on: db) { try await $0.schemaChanges() }
      }
    }
  }

  struct DataConnectMigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "migrate",
      abstract: "Give the rows of a database the form of the schema of a project.",
      discussion: """
        Rows get the defaults of new columns, or null. Ends with status 1, and changes nothing, for a change \
        that removes values without --allow-destructive, and for rows that lack a value without a default. A \
        migration that ended early goes on where it ended. Programs with the older schema may run meanwhile.
        """)

    @OptionGroup var file: DatabaseArgument
    @OptionGroup var project: DataConnectProjectOptions
    @Flag(help: "Remove columns, tables and values that the schema has no more.")
    var allowDestructive = false

    func run() async throws {
      try await file.database.open(.writing) { db in
        try await project.printChanges(on: db) {
          try await $0.migrate(allowingDestructive: allowDestructive)
        }
      }
    }
  }

  extension DataConnectProjectOptions {
    /// Prints the changes of each service's schema, by one of its connectors: all have the same.
    fileprivate func printChanges(
      on db: Firestore, _ changes: (DataConnect) async throws -> [SchemaChange]
    ) async throws {
      let report = try ProjectCompilation(folder: config).run()
      Diagnostic.show(report.diagnostics)
      if report.hasErrors { throw ExitCode.failure }
      var names: Set<String> = []
      for compiled in report.connectors where names.insert(compiled.serviceID).inserted {
        for change in try await changes(DataConnect(compiled, on: db)) {
          try Terminal.print("\(change.description)")
        }
      }
    }
  }

  extension DataConnect {
    convenience init(_ compiled: CompiledConnector, on db: Firestore) throws {
      self.init(
        connectorConfig: ConnectorConfig(
          serviceId: compiled.serviceID, location: compiled.location,
          connector: compiled.connectorID),
        compiled: String(decoding: try JSONEncoder().encode(compiled), as: UTF8.self),
        firestore: db)
    }
  }
#endif
