import DataConnectModel

/// Compiles the schema and the operations of a connector.
///
///     let compiler = DataConnectCompiler()
///     let result = compiler.compile(
///       CompilerInput(
///         serviceID: "films", location: "local", connectorID: "movies",
///         schema: [SourceFile(path: "schema/schema.gql", text: schema)],
///         connector: [SourceFile(path: "connector/queries.gql", text: queries)]))
///     for diagnostic in result.diagnostics { print(diagnostic) }
///     guard let connector = result.connector else { return }
///
/// Reports the errors of all files in one run: one syntax error per definition, and every error of
/// names and types. Never traps, and ends in time that is proportional to the sources.
public struct DataConnectCompiler: Sendable {
  /// The settings of every compilation.
  public let options: CompilerOptions

  /// Creates a compiler. It has no state: one value serves any number of compilations.
  public init(options: CompilerOptions = CompilerOptions()) {
    self.options = options
  }

  /// Compiles a connector. The result has no connector if a diagnostic is an error.
  public func compile(_ input: CompilerInput) -> CompilerResult {
    run(input, isSeed: false)
  }

  /// Compiles the operations of data files for the schema of a connector, whose own operations are
  /// ignored.
  ///
  /// Operations without a name get the names `seed 1`, `seed 2` … in the order of the files'
  /// paths. They need no `@auth`.
  public func compile(seed files: [SourceFile], for input: CompilerInput) -> CompilerResult {
    var input = input
    input.connector = files
    return run(input, isSeed: true)
  }

  /// The schema as GraphQL for editors, at paths below `.dataconnect/schema`:
  /// `prelude.gql` and `main/{implicit,relation,query,mutation,input}.gql`.
  ///
  /// Empty if the schema has errors.
  public func schemaFiles(for schema: [SourceFile]) -> [SourceFile] {
    let input = CompilerInput(
      serviceID: "", location: "", connectorID: "", schema: schema, connector: [])
    guard let connector = compile(input).connector else { return [] }
    return schemaFiles(for: connector.schema)
  }

  /// The same, of a compiled schema.
  public func schemaFiles(for schema: Schema) -> [SourceFile] {
    SchemaFiles(schema: schema).files
  }

  // MARK: - Run

  private func run(_ input: CompilerInput, isSeed: Bool) -> CompilerResult {
    let schemaFiles = input.schema.sorted { $0.path < $1.path }
    let connectorFiles = input.connector.sorted { $0.path < $1.path }
    let session = CompilerSession(
      options: options, paths: (schemaFiles + connectorFiles).map(\.path))
    func parse(_ files: [SourceFile], from first: Int) -> [DocumentSyntax] {
      files.enumerated().map { index, file in
        Parser.parse(file.text, file: first + index, in: session)
      }
    }
    let schemaDocuments = parse(schemaFiles, from: 0)
    // Definitions with a syntax error are missing, and so is what operations would find in them.
    let isSchemaComplete = !session.hasErrors
    let documents = parse(connectorFiles, from: schemaFiles.count)
    session.isConnectorComplete = isSchemaComplete && !session.hasErrors
    reportMisplaced(schemaDocuments, documents, session)

    var builder = SchemaBuilder(session: session)
    let schema = builder.build(schemaDocuments)
    var operations: [DataConnectModel.Operation] = []
    if isSchemaComplete {
      operations = lower(documents, connectorID: input.connectorID, session, isSeed: isSeed)
    }
    guard !session.hasErrors else {
      return CompilerResult(connector: nil, diagnostics: session.diagnostics)
    }
    let connector = CompiledConnector(
      serviceID: input.serviceID, location: input.location, connectorID: input.connectorID,
      schema: schema, operations: operations)
    return CompilerResult(connector: connector, diagnostics: session.diagnostics)
  }

  private func reportMisplaced(
    _ schema: [DocumentSyntax], _ connector: [DocumentSyntax], _ session: CompilerSession
  ) {
    for document in schema {
      for operation in document.operations {
        session.error(
          "Operations are not part of the schema: move this \(operation.kind.rawValue) to the "
            + "directory of a connector.", at: operation.position)
      }
      for fragment in document.fragments {
        session.error(
          "Fragments are not part of the schema: move \(fragment.name.text) to the directory of a "
            + "connector.", at: fragment.name.position)
      }
    }
    for type in connector.flatMap(\.types) {
      session.error(
        "Types are not part of a connector: move \(type.name.text) to the directory of the schema.",
        at: type.name.position)
    }
  }

  private func lower(
    _ documents: [DocumentSyntax], connectorID: String, _ session: CompilerSession, isSeed: Bool
  ) -> [DataConnectModel.Operation] {
    var fragments: [String: FragmentSyntax] = [:]
    for fragment in documents.flatMap(\.fragments) {
      let name = fragment.name
      if fragments[name.text] != nil {
        session.error(
          "There are two fragments \(name.text): give one of them another name.", at: name.position)
      } else {
        fragments[name.text] = fragment
      }
    }

    let named = named(documents.flatMap(\.operations), session, isSeed: isSeed)
    var signatures: [String: OperationLowering.Signature] = [:]
    for (name, syntax) in named {
      signatures[name] = session.signature(of: syntax)
    }
    var lowering = OperationLowering(
      session: session, connectorID: connectorID, fragments: fragments, signatures: signatures,
      isSeed: isSeed)
    var operations: [DataConnectModel.Operation] = []
    var used: [Set<String>] = []
    for (name, syntax) in named {
      guard let signature = signatures[name] else { continue }
      operations.append(lowering.lower(syntax, name: name, signature: signature))
      used.append(session.usedVariables)
    }
    // Uses in parts with an error are not known.
    guard !session.hasErrors else { return operations }
    for (index, operation) in named.enumerated() where index < used.count {
      session.reportUnusedVariables(of: operation.syntax, used: used[index])
    }
    for (name, fragment) in fragments where !lowering.usedFragments.contains(name) {
      session.warning("The fragment \(name) is not used: remove it.", at: fragment.name.position)
    }
    return operations
  }

  /// The operations with their names, without those whose name is an error.
  private func named(
    _ operations: [OperationSyntax], _ session: CompilerSession, isSeed: Bool
  ) -> [(name: String, syntax: OperationSyntax)] {
    var result: [(name: String, syntax: OperationSyntax)] = []
    /// By the name with its first letter in lower case.
    var seen: [String: Name] = [:]
    var unnamedCount = 0
    for operation in operations {
      if operation.kind == .subscription {
        session.error(
          "There are no subscriptions: every query can be subscribed to. Write query, and add "
            + "@refresh.", at: operation.position)
        continue
      }
      guard let name = operation.name else {
        if isSeed {
          unnamedCount += 1
          result.append(("seed \(unnamedCount)", operation))
        } else {
          session.error(
            "The operations of a connector have names: write \(operation.kind.rawValue) and a name "
              + "before `{`.", at: operation.position)
        }
        continue
      }
      if let other = seen[Naming.lowerFirst(name.text)] {
        session.error(
          other.text == name.text
            ? "There are two operations \(name.text): give one of them another name."
            : "\(other.text) and \(name.text) differ only in the case of the first letter, and "
              + "have the same name in generated code: give one of them another name.",
          at: name.position)
        continue
      }
      seen[Naming.lowerFirst(name.text)] = name
      result.append((name.text, operation))
    }
    return result
  }
}
