#if Tools
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthDataConnect

  private final class Reports: Sendable {
    let all = Mutex<[SDKGeneration.Report]>([])
  }

  /// Projects on disk, from YAML to packages.
  @Suite struct SDKGenerationTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = TemporaryFolder()
      try folder.write(
        "serviceId: films\nlocation: local\nconnectorDirs: [./movies]\n",
        to: "dataconnect/dataconnect.yaml")
      try folder.write(
        "type Movie @table { title: String! }\n", to: "dataconnect/schema/schema.gql")
      try folder.write(Self.connector(), to: "dataconnect/movies/connector.yaml")
      try folder.write(Self.query("ListMovies"), to: "dataconnect/movies/queries.gql")
    }

    private static func connector(
      _ id: String = "movies", _ sdk: String = "{outputDir: ../../generated, package: Movies}"
    ) -> String {
      "connectorId: \(id)\ngenerate:\n  swiftSdk: \(sdk)\n"
    }

    private static func query(_ name: String) -> String {
      "query \(name) @auth(level: PUBLIC) { movies { id title } }\n"
    }

    private func generation(
      _ config: String? = nil, connectorID: String? = nil, from workingDirectory: String = ""
    ) -> SDKGeneration {
      SDKGeneration(
        folder: config, connectorID: connectorID,
        workingDirectory: "\(folder.path)/\(workingDirectory)")
    }

    private func findings(_ report: SDKGeneration.Report) -> [String] {
      report.diagnostics.filter { $0.severity == .error }.map(\.description)
    }

    private var operations: String {
      folder.text(of: "generated/Movies/Sources/MoviesOperations.swift") ?? ""
    }

    // MARK: Runs

    @Test func `a package is generated, and then it is current`() throws {
      let check = generation().run(.check)
      #expect(!check.isCurrent && !check.hasErrors)
      #expect(check.packages.first?.differences.allSatisfy { $0.kind == .missing } == true)
      #expect(!folder.files.contains { $0.hasPrefix("generated") })

      let report = generation().run()
      #expect(findings(report).isEmpty)
      let package = try #require(report.packages.first)
      #expect(package.connectorID == "movies" && package.folder == "generated/Movies")
      #expect(package.report.written.count == 6)
      #expect(operations.contains("public final class ListMoviesQuery"))
      // By default the runtime is in a folder beside the one with the project.
      #expect(
        folder.text(of: "generated/Movies/Package.swift")?
          .contains(#".package(path: "../../../hearth")"#) == true)

      #expect(generation().run(.check).isCurrent)
      #expect(generation().run().packages.first?.report.isEmpty == true)

      try folder.write(Self.query("Other"), to: "dataconnect/movies/queries.gql")
      let stale = generation().run(.check)
      #expect(!stale.isCurrent)
      #expect(stale.packages.first?.differences.contains { $0.kind == .different } == true)
    }

    @Test func `without outputDir the package is in the folder of the connector`() throws {
      try folder.write(
        Self.connector("movies", "{package: Movies}"), to: "dataconnect/movies/connector.yaml")
      #expect(generation().run().packages.first?.folder == "dataconnect/movies/Movies")
    }

    @Test func `an error of the sources has its place, and leaves the package as it was`() throws {
      _ = generation().run()
      let before = operations
      try folder.write(
        "query Broken @auth(level: PUBLIC) {\n  movies { ttle }\n}\n",
        to: "dataconnect/movies/a.graphql")
      let report = generation().run()
      #expect(findings(report).count == 1)
      #expect(findings(report)[0].hasPrefix("dataconnect/movies/a.graphql:2:12: error: "))
      #expect(report.packages.isEmpty && operations == before)
    }

    @Test func `an error of the YAML has its place`() throws {
      try folder.write("connectorId: [\n", to: "dataconnect/movies/connector.yaml")
      let report = generation().run()
      #expect(findings(report).count == 1)
      #expect(
        findings(report)[0].hasPrefix("dataconnect/movies/connector.yaml:2:1: error: The YAML"))
    }

    @Test func `the error of one connector does not stop another`() throws {
      try folder.write(
        "serviceId: films\nconnectorDirs: [./movies, ./admin]\n", to: "dataconnect/dataconnect.yaml"
      )
      try folder.write("query x", to: "dataconnect/movies/queries.gql")
      try folder.write(
        Self.connector("admin", "{outputDir: ../../generated, package: Admin}"),
        to: "dataconnect/admin/connector.yaml")
      try folder.write(Self.query("All"), to: "dataconnect/admin/queries.gql")
      let report = generation().run()
      #expect(report.hasErrors && report.packages.map(\.name) == ["Admin"])

      let only = generation(connectorID: "admin").run()
      #expect(!only.hasErrors)
      #expect(
        findings(generation(connectorID: "none").run()) == [
          ".:1:1: error: There is no connector \"none\"."
        ])
    }

    @Test func `two connectors cannot have one package`() throws {
      try folder.write(
        "serviceId: films\nconnectorDirs: [./movies, ./admin]\n", to: "dataconnect/dataconnect.yaml"
      )
      try folder.write(Self.connector("admin"), to: "dataconnect/admin/connector.yaml")
      try folder.write(Self.query("All"), to: "dataconnect/admin/queries.gql")
      let report = generation().run()
      #expect(report.packages.count == 1)
      #expect(
        findings(report) == [
          "dataconnect/admin/connector.yaml:3:13: error: The package of the connector \"movies\" "
            + "is in the same folder: choose another outputDir or package."
        ])
    }

    @Test func `a file of somebody else is an error`() throws {
      try folder.write("// mine\n", to: "generated/Movies/Package.swift")
      let report = generation().run()
      #expect(findings(report).count == 1)
      #expect(findings(report)[0].hasPrefix("dataconnect/movies/connector.yaml:3:13: error: "))
      #expect(report.packages.isEmpty)
    }

    // MARK: Finding

    @Test func `a project is found from inside, from above and by its folder`() throws {
      for (config, from) in [
        (nil, ""), (nil, "dataconnect"), (nil, "dataconnect/movies"), ("dataconnect", ""),
        (".", ""), ("../dataconnect", "generated"), (folder.path, "x"),
      ] {
        let found = try DataConnectProject.find(
          in: config, workingDirectory: "\(folder.path)/\(from)")
        #expect(found == ["\(folder.path)/dataconnect"], "\(config ?? "") \(from)")
      }
    }

    @Test func `firebase.json names the folders of projects`() throws {
      try folder.write("serviceId: b\n", to: "other/dataconnect.yaml")
      try folder.write(#"{"dataconnect": {"source": "other"}}"#, to: "firebase.json")
      let find = { try DataConnectProject.find(in: nil, workingDirectory: folder.path) }
      #expect(try find() == ["\(folder.path)/other"])
      try folder.write(
        #"{"dataconnect": [{"source": "dataconnect"}, {"source": "./other"}]}"#, to: "firebase.json"
      )
      #expect(try find() == ["\(folder.path)/dataconnect", "\(folder.path)/other"])
      // Of other products only.
      try folder.write(#"{"hosting": {}}"#, to: "firebase.json")
      #expect(try find() == ["\(folder.path)/dataconnect"])
      try folder.write("{\n  \"dataconnect\": {\"source\": \"none\"}\n}", to: "firebase.json")
      let error = try #require(throws: ProjectError.self) { try find() }
      #expect(
        error.description == "firebase.json:2:29: error: There is no dataconnect.yaml in none.")
    }

    @Test func `a folder without a project is an error`() throws {
      #expect(throws: ProjectError.self) {
        try DataConnectProject.find(in: "dataconnect/schema", workingDirectory: folder.path)
      }
      #expect(throws: ProjectError.self) {
        try DataConnectProject.find(in: nil, workingDirectory: "/")
      }
    }

    @Test func `sources are all files of both endings, by path, without hidden folders`() throws {
      for name in ["b/z.gql", "a.graphql", "B.gql", ".dataconnect/x.gql", "notes.txt"] {
        try folder.write("# x\n", to: "dataconnect/schema/\(name)")
      }
      let project = try DataConnectProject(
        folder: "dataconnect", workingDirectory: folder.path)
      let input = try project.input(for: try #require(project.connectors.first))
      #expect(
        input.schema.map(\.path)
          == ["B.gql", "a.graphql", "b/z.gql", "schema.gql"].map {
            "dataconnect/schema/\($0)"
          })
      #expect(input.serviceID == "films" && input.connectorID == "movies")
    }

    @Test func `a source that is not UTF-8, and a folder that is missing, are errors`() throws {
      try Data([0x23, 0xFF]).write(to: URL(filePath: "\(folder.path)/dataconnect/movies/bad.gql"))
      #expect(
        findings(generation().run()) == [
          "dataconnect/movies/bad.gql:1:1: error: The file is not UTF-8."
        ])
      try folder.remove("dataconnect/schema")
      #expect(
        findings(generation().run()) == [
          "dataconnect/schema:1:1: error: There is no such folder."
        ])
    }

    // MARK: Watching

    @Test(.timeLimit(patience))
    func `a change is generated soon, and an error does not end it`() async throws {
      let reports = Reports()
      let generation = generation()
      let task = Task {
        try await generation.watch { report in reports.all.withLock { $0.append(report) } }
      }
      func wait(for count: Int) async throws -> SDKGeneration.Report {
        try await eventually { reports.all.withLock { $0.count >= count } }
        return reports.all.withLock { $0[count - 1] }
      }
      #expect(try await wait(for: 1).packages.first?.report.written.count == 6)

      try folder.write(Self.query("Second"), to: "dataconnect/movies/more.gql")
      #expect(try await wait(for: 2).packages.first?.report.written.isEmpty == false)
      #expect(operations.contains("SecondQuery"))

      try folder.write("generate: {", to: "dataconnect/movies/connector.yaml")
      #expect(try await wait(for: 3).hasErrors)
      try folder.write(Self.connector() + "# again\n", to: "dataconnect/movies/connector.yaml")
      #expect(try await !wait(for: 4).hasErrors)

      try folder.remove("dataconnect/movies/more.gql")
      _ = try await wait(for: 5)
      #expect(!operations.contains("SecondQuery"))
      task.cancel()
      try await task.value
      #expect(reports.all.withLock(\.count) == 5)
    }

    /// From the write of a source to the report of the packages that were generated from it. On a busy machine all takes
    /// longer: then it is less than three times what a pause of the interval and a generation take.
    @Test(.timeLimit(patience))
    func `a change is noticed and its packages are written within 200 ms`() async throws {
      let generation = generation()
      let (reports, continuation) = AsyncStream.makeStream(of: SDKGeneration.Report.self)
      let task = Task {
        try await generation.watch { report in continuation.yield(report) }
      }
      defer { task.cancel() }
      var next = reports.makeAsyncIterator()
      _ = await next.next()
      // Other tests run at the same time: one round without them is enough.
      var medians: [(time: Duration, usual: Duration)] = []
      func isFast(_ round: (time: Duration, usual: Duration)) -> Bool {
        round.time < max(.milliseconds(200), round.usual * 3)
      }
      repeat {
        var times: [Duration] = []
        var usual: [Duration] = []
        for number in 0..<5 {
          // At any moment of the interval.
          try await Task.sleep(for: .milliseconds(number * 13))
          let began = ContinuousClock.now
          let name = "Change\(medians.count)x\(number)"
          try folder.write(Self.query(name), to: "dataconnect/movies/more.gql")
          let report = await next.next()
          times.append(ContinuousClock.now - began)
          #expect(report?.packages.first?.report.written.isEmpty == false)
          #expect(operations.contains("\(name)Query"))
          let noticed = ContinuousClock.now
          try await Task.sleep(for: .milliseconds(50))
          _ = generation.run(.check)
          usual.append(ContinuousClock.now - noticed)
        }
        medians.append((times.sorted()[2], usual.sorted()[2]))
      } while medians.count < 40 && !medians.contains(where: isFast)
      #expect(medians.contains(where: isFast), "\(medians)")
    }

    // MARK: Setting up

    @Test func `a new project compiles, and its packages are set up for the apps`() throws {
      let new = TemporaryFolder()
      for file in ProjectTemplate.files(serviceID: "films", connectorID: "default") {
        try new.write(file.text, to: "dataconnect/\(file.path)")
      }
      let compilation = try ProjectCompilation(workingDirectory: new.path).run()
      #expect(compilation.diagnostics.filter { $0.severity != .note }.isEmpty)
      #expect(compilation.connectors.first?.operations.count == 4)
      #expect(new.files.contains("dataconnect/.dataconnect/schema/main/query.gql"))

      let initialization = SDKInitialization(workingDirectory: new.path)
      #expect(throws: ProjectError.self) { try initialization.run() }
      try new.write(
        #"let package = Package(name: "App", dependencies: [.package(path: "../../hearth")])"#,
        to: "app/Package.swift")
      try new.write("let package = Package(name: \"Part\")", to: "app/Part/Package.swift")
      let report = try initialization.run()
      #expect(report.changed == ["dataconnect/connector/connector.yaml"])
      #expect(
        report.dependencies == [
          .init(
            manifest: "app/Package.swift",
            package: #".package(path: "FirebaseDataConnectGenerated/DataConnectGenerated")"#,
            product: #".product(name: "DataConnectGenerated", package: "DataConnectGenerated")"#)
        ])
      let generated = SDKGeneration(workingDirectory: new.path).run()
      #expect(!generated.hasErrors)
      let package = "app/FirebaseDataConnectGenerated/DataConnectGenerated"
      #expect(generated.packages.map(\.folder) == [package])
      #expect(
        new.text(of: "\(package)/Package.swift")?
          .contains(#".package(path: "../../../../hearth")"#) == true)
      // Again: nothing to add, and the generated package is no app.
      let again = try initialization.run()
      #expect(again.changed.isEmpty && again.dependencies == report.dependencies)
    }

    @Test func `an app is given by its folder, and its package by its name`() throws {
      try folder.write("connectorId: movies\n", to: "dataconnect/movies/connector.yaml")
      try folder.write(
        #".package(url: "https://example.com/hearth.git", from: "1.0.0")"#, to: "app/Package.swift")
      let report = try SDKInitialization(
        appFolder: "app", packageName: "Films", workingDirectory: folder.path
      ).run()
      #expect(report.changed == ["dataconnect/movies/connector.yaml"])
      #expect(
        folder.text(of: "dataconnect/movies/connector.yaml") == """
          connectorId: movies
          generate:
            swiftSdk:
              outputDir: "../../app/FirebaseDataConnectGenerated"
              package: "Films"
              coreSdkPackageLocation: "https://example.com/hearth.git"

          """)
      #expect(throws: ProjectError.self) {
        try SDKInitialization(appFolder: "none", workingDirectory: folder.path).run()
      }
    }
  }
#endif
