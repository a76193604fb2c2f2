#if Tools
  import ArgumentParser
  import DataConnectModel
  import FirebaseDataConnect
  import Foundation
  import Hearth
  import HearthDataConnect
  import HearthTerminal
  import HearthText

  struct DataConnectExecuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "execute",
      abstract: "Run an operation of a connector, or the operations of a file, on a database.",
      discussion: """
          hearth dataconnect execute films.hearth ListMovies
          hearth dataconnect execute films.hearth GetMovie --variables '{"id": "0f7c…"}' --auth-uid ada
          hearth dataconnect execute films.hearth --file dataconnect/seed_data.gql

        Prints the result as JSON. With --file the database is created if it does not exist. The operations of a file need no names, and run one after another. \
        Ends with status 1 if an operation fails: the errors are on standard error, what was not \
        affected is in the result.
        """)

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The name of the operation; not with --file.") var operation: String?
    @OptionGroup var project: DataConnectProjectOptions
    @Option(help: "The connector that has the operation, if several have one of its name.")
    var connector: String?
    @Option(
      name: .customLong("file"), help: "A file with operations for the schema of the project.",
      completion: .file())
    var seed: String?
    @Option(help: "The variables as JSON, or @ and the name of a file with them.")
    var variables: String?
    @Option(
      help: """
        The id of the user for whom it runs, who has signed in with a custom provider unless --auth-token \
        names another.
        """)
    var authUid: String?
    @Option(
      help: """
        The claims of the user as JSON, such as {"email_verified": true, "firebase": {"sign_in_provider": \
        "password"}}.
        """)
    var authToken: String?

    func validate() throws {
      if (operation == nil) == (seed == nil) {
        throw ValidationError("Name an operation, or a file with --file.")
      }
      if authToken != nil, authUid == nil {
        throw ValidationError("--auth-token is of the user that --auth-uid names.")
      }
      if authUid?.isEmpty == true { throw ValidationError("--auth-uid is not empty.") }
    }

    func run() async throws {
      let (compiled, names) = try compile()
      let variables = try object(
        self.variables.map { text in
          guard text.hasPrefix("@") else { return text }
          return try TextFile.read(String(text.dropFirst()))
        }, "--variables")
      let token = Self.withProvider(try object(authToken, "--auth-token"))
      let auth = authUid.map { DataConnectAuth(uid: $0, token: token) }
      try await file.database.open(seed == nil ? .writing : .making) { db in
        let dataConnect = try DataConnect(compiled, on: db)
        try await DataConnect.withAuth(auth) {
          for name in names {
            try await execute(name, variables, in: compiled, dataConnect)
          }
        }
      }
    }

    private func execute(
      _ name: String, _ variables: DataObject, in compiled: CompiledConnector,
      _ dataConnect: DataConnect
    ) async throws {
      let variables = Dictionary(
        variables.members.map { ($0, $1) }, uniquingKeysWith: { first, _ in first })
      do {
        let result: DataValue
        if compiled.operation(named: name)?.kind == .query {
          let reference = dataConnect.query(
            name: name, variables: variables, resultsDataType: DataValue.self)
          result = try await reference.execute(fetchPolicy: .serverOnly).data
        } else {
          let reference = dataConnect.mutation(
            name: name, variables: variables, resultsDataType: DataValue.self)
          result = try await reference.execute().data
        }
        try Terminal.print("\(result.json)")
      } catch let error as DataConnectOperationError {
        if let response = error.response { try Terminal.print("\(lines: response.rawJsonData)") }
        Terminal.printAside("\(lines: error.message)")
        explainRefusal(error, of: compiled.operation(named: name))
        throw ExitCode.failure
      }
    }

    /// `@auth(level: USER)` reads the provider, which every user who has signed in has.
    private static func withProvider(_ token: DataObject) -> DataObject {
      guard token["firebase"] == nil else { return token }
      var token = token
      token["firebase"] = .object(["sign_in_provider": "custom"])
      return token
    }

    /// Says what an operation that refuses the user asks for.
    private func explainRefusal(
      _ error: DataConnectOperationError, of operation: DataConnectModel.Operation?
    ) {
      guard error.message.contains("permission denied"), let auth = operation?.auth else { return }
      Terminal.printAside("\(lines: "It needs: \(auth.expression)")")
      Terminal.printAside("Give the user with --auth-uid, and claims with --auth-token.")
    }

    private func object(_ json: String?, _ option: String) throws -> DataObject {
      guard let json else { return [:] }
      guard let object = try? DataValue(json: json).fields else {
        throw ValidationError("\(option) is a JSON object.")
      }
      return object
    }

    /// The connector, and the names of the operations to run.
    private func compile() throws -> (CompiledConnector, [String]) {
      let folders = try DataConnectProject.find(
        in: project.config, workingDirectory: FileManager.default.currentDirectoryPath)
      let compiler = DataConnectCompiler()
      var found: [(CompiledConnector, [String])] = []
      for folder in folders {
        let project = try DataConnectProject(
          folder: folder, workingDirectory: FileManager.default.currentDirectoryPath)
        for candidate in project.connectors
        where connector == nil || candidate.configuration.connectorID == connector {
          let input = try project.input(for: candidate)
          let result: CompilerResult
          if let seed {
            let source = SourceFile(
              path: seed, text: try TextFile.read(seed))
            result = compiler.compile(seed: [source], for: input)
          } else {
            result = compiler.compile(input)
          }
          guard let compiled = result.connector else {
            Diagnostic.show(result.diagnostics)
            throw ExitCode.failure
          }
          guard let operation else { return (compiled, compiled.operations.map(\.name)) }
          if compiled.operation(named: operation) != nil { found.append((compiled, [operation])) }
        }
      }
      guard let first = found.first else {
        throw ValidationError("No connector has an operation \(operation ?? "").")
      }
      guard found.count == 1 else {
        throw ValidationError(
          "Several connectors have an operation \(operation ?? ""): name one with --connector.")
      }
      return first
    }
  }
#endif
