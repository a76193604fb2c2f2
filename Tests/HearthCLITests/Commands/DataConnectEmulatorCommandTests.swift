#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// `hearth dataconnect emulator` from outside: its output, its files, its end.
  @Suite(.ownThreads) struct DataConnectEmulatorCommandTests {
    let hearth = HearthProcess()

    private func write(_ text: String, to file: String) throws {
      try text.write(toFile: "\(hearth.folder.path)/\(file)", atomically: true, encoding: .utf8)
    }

    private func start(_ arguments: String...) async throws -> HearthProcess.Running {
      let running = try hearth.start(
        ["dataconnect", "emulator", "--port", "0"] + arguments)
      #expect(try await running.reaches(lines: 2), "\(running.error)")
      #expect(running.output.hasPrefix("Listening on 127.0.0.1:"))
      return running
    }

    private func begin() throws {
      #expect(try hearth("dataconnect", "init", "--connector", "movies").status == 0)
    }

    @Test(.timeLimit(patience))
    func `data stays with --data, and goes to --export and from --import`() async throws {
      try begin()
      let seeded = try hearth(
        "dataconnect", "execute", "seed.hearth", "--file", "dataconnect/seed_data.gql")
      #expect(seeded.status == 0)
      try FileManager.default.createDirectory(
        atPath: "\(hearth.folder.path)/seed", withIntermediateDirectories: true)
      #expect(try hearth("export", "seed.hearth", "seed/dataconnect.jsonl").status == 0)

      let running = try await start("--import", "seed", "--export", "end", "--data", "data")
      // Another process uses the database meanwhile.
      let listed = try hearth("dataconnect", "execute", "data/dataconnect.hearth", "ListMovies")
      #expect(listed.status == 0 && listed.output.contains("Metropolis"))
      running.process.interrupt()
      let result = running.finish()
      #expect(result.status == 0, "\(result.error)")
      #expect(result.lines.last?.hasSuffix("documents in end/dataconnect.jsonl") == true)
      let exported = try String(
        contentsOfFile: "\(hearth.folder.path)/end/dataconnect.jsonl", encoding: .utf8)
      #expect(exported.contains("Metropolis"))
      #expect(hearth.files.isSuperset(of: ["data", "end", "seed"]))
    }

    @Test(.timeLimit(patience))
    func `a broken file keeps the last connectors, and packages are generated when asked`()
      async throws
    {
      try write("let package = Package(name: \"App\")\n", to: "Package.swift")
      try begin()
      #expect(try hearth("dataconnect", "init", "sdk").status == 0)
      let running = try await start("--sdk")
      #expect(try await running.reaches(lines: 3))
      #expect(running.output.contains("movies: 2 tables, 2 queries, 2 mutations\n"))
      try write("query Broken", to: "dataconnect/connector/more.gql")
      try await eventually { running.error.contains("more.gql:1:") }
      try write(
        "query More @auth(level: PUBLIC) { movies { id } }\n", to: "dataconnect/connector/more.gql")
      #expect(try await running.reaches(lines: 5))
      #expect(running.output.contains("movies: 2 tables, 3 queries, 2 mutations\n"))
      #expect(running.output.hasSuffix("written\n"), "\(running.output)")
      running.process.terminate()
      #expect(running.finish().status == 0)
    }

    @Test(.timeLimit(patience))
    func `a schema with more columns is loaded, and the rows get them`() async throws {
      try begin()
      let schema = "\(hearth.folder.path)/dataconnect/schema/schema.gql"
      let running = try await start("--data", "data")
      let seeded = try hearth(
        "dataconnect", "execute", "data/dataconnect.hearth", "--file", "dataconnect/seed_data.gql")
      #expect(seeded.status == 0, "\(seeded.error)")
      let text = try String(contentsOfFile: schema, encoding: .utf8)
      try text.replacing(
        "rating: Float", with: "rating: Float\n  stars: Int! @default(value: 3)"
      ).write(toFile: schema, atomically: true, encoding: .utf8)
      try await eventually { running.output.contains("migrated: additive: Movie.stars") }
      let rows = try hearth("query", "data/dataconnect.hearth", "movie")
      #expect(rows.output.split(separator: "\n").count { $0.contains(" 3 ") } == 2)
      // A column that goes would take its values along.
      try text.write(toFile: schema, atomically: true, encoding: .utf8)
      try await eventually { running.error.contains("would remove values") }
      let kept = try hearth("query", "data/dataconnect.hearth", "movie")
      #expect(kept.output == rows.output)
      running.process.terminate()
      #expect(running.finish().status == 0)
    }

    @Test func `an address of other machines, or a missing folder, is an error`() throws {
      try begin()
      let open = try hearth("dataconnect", "emulator", "--host", "0.0.0.0", "--port", "0")
      #expect(open.status == 1 && open.error.contains("use 127.0.0.1"), "\(open.error)")
      let missing = try hearth("dataconnect", "emulator", "--port", "0", "--import", "nowhere")
      #expect(missing.status == 1 && missing.error.contains("nowhere"), "\(missing.error)")
    }
  }
#endif
