#if Tools
  import ArgumentParser
  import HearthDataConnect
  import HearthTerminal

  struct DataConnectCompileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compile",
      abstract: "Check the schema and the operations, and write the schema for editors.",
      discussion: """
        Errors have the form file:line:column: error: sentence. The files for editors are in \
        .dataconnect/schema. Ends with status 1 after an error.
        """)

    @OptionGroup var project: DataConnectProjectOptions
    @Flag(help: "Operations without @auth, and data variables without @allow, are errors.")
    var strict = false

    func run() async throws {
      let compiler = DataConnectCompiler(options: CompilerOptions(isStrict: strict))
      let report = try ProjectCompilation(folder: project.config, compiler: compiler).run()
      Diagnostic.show(report.diagnostics, withNotes: true)
      for connector in report.connectors { try Terminal.print("\(connector.summary)") }
      if report.hasErrors { throw ExitCode.failure }
    }
  }
#endif
