#if Tools
  import ArgumentParser
  import HearthDataConnect
  import HearthTerminal

  struct DataConnectSDKCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "sdk",
      abstract: "The Swift packages of connectors.",
      subcommands: [DataConnectGenerateCommand.self])
  }

  struct DataConnectGenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "generate",
      abstract: "Generate the Swift packages that connector.yaml asks for.",
      discussion: """
        Writes only files that change, and removes generated ones that are not needed any more. Ends with \
        status 1 after an error; with --check also if a package is not current.
        """)

    @OptionGroup var project: DataConnectProjectOptions
    @Option(help: "Only the connector with this id.") var connector: String?
    @Flag(help: "Generate again whenever a file of the project changes. Ends with ^C.")
    var watch = false
    @Flag(help: "Write nothing; list the files that are not as they would be generated.")
    var check = false

    func validate() throws {
      if watch && check { throw ValidationError("--watch and --check exclude each other.") }
    }

    func run() async throws {
      let generation = SDKGeneration(folder: project.config, connectorID: connector)
      if check { return try Self.showDifferences(generation.run(.check)) }
      guard watch else { return try Self.show(generation.run()) }
      try await generation.watch { report in
        do {
          try Self.show(report)
        } catch is ExitCode {
          // The errors are printed. The next change can end them.
        }
      }
    }

    /// Prints the findings and the packages. Throws the exit status after an error.
    static func show(_ report: SDKGeneration.Report) throws {
      Diagnostic.show(report.diagnostics)
      for package in report.packages {
        let changes = [
          (package.report.written.count, "written"), (package.report.removed.count, "removed"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let summary = changes.isEmpty ? "current" : changes.joined(separator: ", ")
        try Terminal.print("\(package.connectorID): \(package.folder): \(summary)")
      }
      if report.hasErrors { throw ExitCode.failure }
      if report.packages.isEmpty {
        Terminal.printAside(
          "No connector.yaml has generate: swiftSdk. Add it with hearth dataconnect init sdk.")
      }
    }

    private static func showDifferences(_ report: SDKGeneration.Report) throws {
      Diagnostic.show(report.diagnostics)
      for package in report.packages {
        for difference in package.differences {
          try Terminal.print("\(package.folder)/\(difference)")
        }
      }
      guard report.isCurrent else { throw ExitCode.failure }
    }
  }
#endif
