#if Tools
  import Foundation
  import Testing

  @testable import HearthDataConnect

  /// `dataconnect.yaml` and `connector.yaml`, with the places of errors.
  @Suite struct ConfigurationTests {
    private func service(_ text: String) throws -> (ServiceConfiguration, [String]) {
      var reader = YAMLReader(path: "d.yaml")
      let value = ServiceConfiguration(
        try YAMLNode.parse(text, path: "d.yaml"), reader: &reader)
      return (value, reader.diagnostics.map(\.description))
    }

    private func connector(_ text: String) throws -> (ConnectorConfiguration, [String]) {
      var reader = YAMLReader(path: "c.yaml")
      let value = ConnectorConfiguration(
        try YAMLNode.parse(text, path: "c.yaml"), reader: &reader)
      return (value, reader.diagnostics.map(\.description))
    }

    @Test func `a package has a name that programs can import`() throws {
      for name in [
        "Movies", "movies", "movies-sdk", "_Movies", "M1", "a_b", "DataConnectGenerated",
      ] {
        #expect(ConnectorConfiguration.problem(ofPackage: name) == nil, "\(name)")
      }
      for name in ["1x", "-", "_", "-1", "1", "class", "import", "Self", "Any", "self"] {
        let problem = ConnectorConfiguration.problem(ofPackage: name) ?? ""
        #expect(problem.hasPrefix("No program can import a package named \(name)"), "\(problem)")
      }
      for name in ["Swift", "Foundation", "foundation", "FirebaseDataConnect", "Hearth", "LMDB"] {
        let problem = ConnectorConfiguration.problem(ofPackage: name) ?? ""
        #expect(problem.contains("is the name of a module"), "\(name): \(problem)")
      }
      for name in ["", "a b", "a/b", "é", "a\n"] {
        let problem = ConnectorConfiguration.problem(ofPackage: name) ?? ""
        #expect(problem.hasPrefix("package has letters"), "\(name): \(problem)")
      }
      let (_, findings) = try connector(
        "connectorId: m\ngenerate:\n  swiftSdk:\n    package: class")
      #expect(findings.count == 1 && findings[0].hasPrefix("c.yaml:4:14: error: No program can"))
    }

    @Test func `the package's own modules are names that no generated package may have`() throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
      let library = manifest.prefix(
        upTo: try #require(manifest.range(of: ".testTarget(")).lowerBound)
      let helpers = [
        "CReferenceStart", "CStorageSpy", "CompilerCheck", "GrowthRoutes", "HearthReference",
        "InstructionCounting", "PostgresTestServer", "ProcessorTime", "TestSupport",
      ]
      let kinds = [".target", ".executableTarget", ".systemLibrary", ".macro", ".plugin"]
      let modules = Set(
        kinds.flatMap { library.components(separatedBy: $0 + "(").dropFirst() }.compactMap { text in
          let words = text.components(separatedBy: "\"")
          let isName = words[0].trimmingCharacters(in: .whitespacesAndNewlines) == "name:"
          return isName && !words[1].contains("-") ? words[1] : nil
        }
      ).subtracting(helpers)
      #expect(modules.count >= 20)
      for module in modules {
        #expect(ConnectorConfiguration.problem(ofPackage: module) != nil, "\(module)")
      }
    }

    @Test func `the documentation's connector is read`() throws {
      let (connector, findings) = try connector(
        """
        connectorId: "movies"
        generate:
          swiftSdk:
            outputDir: "../movies-generated"
            package: "Movies"
        """)
      #expect(findings.isEmpty)
      #expect(connector.connectorID == "movies")
      let sdk = try #require(connector.swiftSDKs.first)
      #expect(sdk.outputFolder == "../movies-generated" && sdk.package == "Movies")
      #expect(sdk.observablePublisher == .observableMacro && sdk.clientCache == nil)
      #expect(sdk.line == 4 && sdk.column == 5)
    }

    @Test func `blocks of other languages and of other tools have no effect`() throws {
      let (connector, findings) = try connector(
        """
        connectorId: movies
        authMode: PUBLIC
        generate:
          kotlinSdk: {outputDir: ../k, package: com.example}
          javascriptSdk:
            - {outputDir: ../js, packageJsonDir: .., react: true}
          swiftSdk:
            - {outputDir: ../a, package: A, packageJsonDir: ..}
            - package: B
              observablePublisher: observableObject
              coreSdkPackageLocation: ../../hearth
          llmTools: []
          adminNodeSdk:
        """)
      #expect(findings.isEmpty)
      #expect(connector.swiftSDKs.map(\.package) == ["A", "B"])
      // The folder of the connector.
      #expect(connector.swiftSDKs.map(\.outputFolder) == ["../a", "."])
      #expect(connector.swiftSDKs[1].observablePublisher == .observableObject)
      #expect(connector.swiftSDKs[1].runtimeLocation == "../../hearth")
    }

    @Test(arguments: [
      (
        "{maxAge: 5s, storage: memory}",
        SwiftSDKSettings.ClientCache(storage: .memory, maxAgeSeconds: 5)
      ),
      ("{maxAge: 5m}", .init(maxAgeSeconds: 300)), ("{maxAge: 1h}", .init(maxAgeSeconds: 3600)),
      ("{maxAge: 500ms}", .init(maxAgeSeconds: 0.5)), ("{maxAge: 2}", .init(maxAgeSeconds: 2)),
      ("{maxSize: 10MB, storage: persistent}", .init()), ("{}", .init()), ("", .init()),
    ])
    func `a cache has an age and a storage`(text: String, cache: SwiftSDKSettings.ClientCache)
      throws
    {
      let (connector, findings) = try connector(
        "connectorId: m\ngenerate:\n  swiftSdk:\n    clientCache: \(text)\n")
      #expect(findings.isEmpty)
      #expect(connector.swiftSDKs.first?.clientCache == cache)
    }

    @Test(arguments: [
      (
        "generate: {swiftSdk: {observablePublisher: observableMakro}}\nconnectorId: m",
        "c.yaml:1:44: error: observablePublisher is observableMacro or observableObject, "
          + "not \"observableMakro\". Did you mean \"observableMacro\"?"
      ),
      ("generate:\n", "c.yaml:1:1: error: connectorId is missing: add connectorId: …"),
      (
        "connectorId: \"a\\nb\"",
        "c.yaml:1:14: error: connectorId has letters, digits, - and _ only, and at least one letter."
      ),
      ("connectorId: [a]", "c.yaml:1:14: error: connectorId has to be a text."),
      (
        "connectorId: m\ngenerate:\n  swiftSdk:\n    clientCache:\n      maxAge: soon",
        "c.yaml:5:15: error: maxAge is a duration such as 5s, 5m or 1h, not \"soon\"."
      ),
      (
        "connectorId: m\ngenerate:\n  swiftSdk:\n    clientCache: {storage: disk}",
        "c.yaml:4:28: error: storage is persistent or memory, not \"disk\"."
      ),
      (
        "connectorId: m\ngenerate:\n  swiftSdk:\n    package: ../Movies",
        "c.yaml:4:14: error: package has letters, digits, - and _ only. Its folder is given by outputDir."
      ),
      (
        "connectorId: m\ngenerate:\n  swiftSdk: yes",
        "c.yaml:3:13: error: swiftSdk has to be a mapping."
      ),
      (
        "connectorId: m\ngenerate:\n  swiftSdk:\n    outputdir: ..",
        "c.yaml:4:5: warning: outputdir is not known and has no effect. Did you mean \"outputDir\"?"
      ),
    ])
    func `a finding has its place`(text: String, finding: String) throws {
      #expect(try connector(text).1 == [finding])
    }

    @Test(arguments: [
      ("connectorId: \"m", 1), ("a: 1\n\tb: 2", 2), ("connectorId: m\nconnectorId: n", 2),
      ("a: [1, 2", 2),
    ])
    func `an error of syntax has its place`(text: String, line: Int) throws {
      let error = try #require(throws: ProjectError.self) {
        _ = try YAMLNode.parse(text, path: "c.yaml")
      }
      let diagnostic = try #require(error.diagnostics.first)
      #expect(diagnostic.message.hasPrefix("The YAML is not valid: "), "\(diagnostic)")
      #expect(diagnostic.path == "c.yaml" && diagnostic.line == line, "\(diagnostic)")
    }

    @Test func `a service is read, and PostgreSQL has no effect`() throws {
      let (service, findings) = try service(
        """
        specVersion: "v1beta"
        serviceId: films
        location: us-central1
        schema:
          source: ./tables
          datasource:
            postgresql: {database: fdcdb, cloudSql: {instanceId: a, schemaValidation: STRICT}}
        connectorDirs: ["./one", "../two"]
        """)
      #expect(findings.isEmpty)
      #expect(service.serviceID == "films" && service.location == "us-central1")
      #expect(service.schemaSources == ["./tables"] && service.embedded == nil)
      #expect(service.connectorFolders == ["./one", "../two"])
    }

    @Test func `a service has defaults, and a database in a file`() throws {
      let (short, none) = try service("serviceId: s")
      #expect(none.isEmpty)
      #expect(short.location == "local" && short.schemaSources == ["./schema"])
      #expect(short.connectorFolders == ["./connector"])

      let (embedded, findings) = try service(
        """
        serviceId: s
        schemas:
          - source: ./a
            datasource: {embedded: {path: ./films, mapSize: 1GB}}
          - source: ./b
        connectorDirs: ./only
        """)
      #expect(findings.isEmpty)
      #expect(embedded.schemaSources == ["./a", "./b"])
      #expect(embedded.embedded == .init(path: "./films", mapSizeBytes: 1_000_000_000))
      #expect(embedded.connectorFolders == ["./only"])
    }

    @Test(arguments: [
      ("location: x", "d.yaml:1:1: error: serviceId is missing: add serviceId: …"),
      (
        "serviceId: s\nspecVersion: v9",
        "d.yaml:2:14: error: specVersion is v1 or v1beta, not \"v9\"."
      ),
      (
        "serviceId: s\nschema: {datasource: {embedded: {mapSize: big}}}",
        "d.yaml:2:43: error: mapSize is a size such as 512MB or 8GiB, not \"big\"."
      ),
      (
        "serviceId: s\nconnectorDirs: [{a: b}]",
        "d.yaml:2:17: error: connectorDirs has to be a list of texts."
      ),
      ("- a", "d.yaml:1:1: error: dataconnect.yaml has to be a mapping."),
    ])
    func `an error of a service has its place`(text: String, finding: String) throws {
      #expect(try service(text).1 == [finding])
    }

    // MARK: Editing

    private let sdk = ConnectorConfiguration.NewSDK(outputFolder: "../out", package: "Movies")

    private func edited(_ text: String, _ sdks: [ConnectorConfiguration.NewSDK]? = nil) throws
      -> String
    {
      try ConnectorConfiguration.text(text, path: "c.yaml", adding: sdks ?? [sdk])
    }

    @Test func `a block is added below the others, and comments stay`() throws {
      #expect(
        try edited("# mine\nconnectorId: m # id\n") == """
          # mine
          connectorId: m # id
          generate:
            swiftSdk:
              outputDir: "../out"
              package: "Movies"

          """)
      #expect(
        try edited(
          "connectorId: m\ngenerate:\n    # web\n    javascriptSdk: {a: b}\nauthMode: PUBLIC\n")
            == """
            connectorId: m
            generate:
                # web
                swiftSdk:
                  outputDir: "../out"
                  package: "Movies"
                javascriptSdk: {a: b}
            authMode: PUBLIC

            """)
      #expect(
        try edited("connectorId: m\ngenerate:\n").contains("generate:\n  swiftSdk:\n    output"))
    }

    @Test func `several apps have a list`() throws {
      var other = sdk
      other.package = "Other"
      other.runtimeLocation = "../hearth"
      #expect(
        try edited("connectorId: m", [sdk, other]) == """
          connectorId: m
          generate:
            swiftSdk:
              - outputDir: "../out"
                package: "Movies"
              - outputDir: "../out"
                package: "Other"
                coreSdkPackageLocation: "../hearth"

          """)
    }

    @Test func `a block in braces is not edited`() {
      #expect(throws: ProjectError.self) { try edited("connectorId: m\ngenerate: {dartSdk: {}}") }
      #expect(throws: ProjectError.self) { try edited("connectorId: m\ngenerate: {}") }
    }
  }
#endif
