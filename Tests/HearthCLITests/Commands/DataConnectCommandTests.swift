#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// `hearth dataconnect` from outside: arguments, output, status.
  @Suite(.ownThreads) struct DataConnectCommandTests {
    let hearth = HearthProcess()

    private func write(_ text: String, to file: String) throws {
      let url = URL(fileURLWithPath: "\(hearth.folder.path)/\(file)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url, options: .atomic)
    }

    private func begin() throws {
      try write("let package = Package(name: \"App\")\n", to: "Package.swift")
      #expect(try hearth("dataconnect", "init", "--connector", "movies").status == 0)
    }

    @Test func `a project is written, set up, generated and checked`() throws {
      try begin()
      let again = try hearth("dataconnect", "init", "--connector", "movies")
      #expect(again.lines.first == "dataconnect/dataconnect.yaml is there already")

      let sdk = try hearth("init", "dataconnect:sdk", "--package", "Movies")
      #expect(sdk.status == 0 && sdk.error.isEmpty, "\(sdk.error)")
      #expect(
        sdk.lines == [
          "Added swiftSdk to dataconnect/connector/connector.yaml",
          "movies: FirebaseDataConnectGenerated/Movies: 6 written",
          "In Package.swift:",
          "  .package(path: \"FirebaseDataConnectGenerated/Movies\"),",
          "  .product(name: \"Movies\", package: \"Movies\"),",
        ])

      let generated = try hearth("dataconnect:sdk:generate", "--config", "dataconnect")
      #expect(generated.lines == ["movies: FirebaseDataConnectGenerated/Movies: current"])
      let check = try hearth("dataconnect", "sdk", "generate", "--check")
      #expect(check.status == 0 && check.output.isEmpty)

      let keys = "FirebaseDataConnectGenerated/Movies/Sources/MoviesKeys.swift"
      try write("// edited\n", to: keys)
      let stale = try hearth("dataconnect", "sdk", "generate", "--check")
      #expect(stale.status == 1 && stale.lines == ["\(keys) is different"])
      let mended = try hearth("dataconnect", "sdk", "generate")
      #expect(mended.lines == ["movies: FirebaseDataConnectGenerated/Movies: 1 written"])
    }

    @Test func `a user of --auth-uid has signed in, and a refusal says what is needed`() throws {
      try begin()
      let levels = ["PUBLIC", "USER_ANON", "USER", "USER_EMAIL_VERIFIED", "NO_ACCESS"]
      try write(
        levels.map { "query Q\($0) @auth(level: \($0)) { movies { title } }\n" }.joined(),
        to: "dataconnect/connector/levels.gql")
      _ = try hearth("dataconnect", "execute", "f.hearth", "--file", "dataconnect/seed_data.gql")
      let run = { (level: String, words: [String]) in
        try hearth.start(["dataconnect", "execute", "f.hearth", "Q\(level)"] + words).finish()
      }
      for level in ["PUBLIC", "USER_ANON", "USER"] {
        let result = try run(level, ["--auth-uid", "ada"])
        #expect(result.status == 0 && result.output.contains("Metropolis"), "\(level): \(result)")
      }
      let anonymous = #"{"firebase": {"sign_in_provider": "anonymous"}}"#
      for (level, words, need) in [
        ("USER", [], "sign_in_provider"),
        ("USER", ["--auth-uid", "ada", "--auth-token", anonymous], "sign_in_provider"),
        ("USER_EMAIL_VERIFIED", ["--auth-uid", "ada"], "auth.token.email_verified"),
      ] {
        let result = try run(level, words)
        #expect(result.status == 1 && result.error.contains("permission denied"), "\(result)")
        #expect(result.error.contains("It needs: ") && result.error.contains(need), "\(result)")
        #expect(result.error.contains("--auth-token"), "\(result)")
      }
      let verified = try run(
        "USER_EMAIL_VERIFIED", ["--auth-uid", "ada", "--auth-token", #"{"email_verified": true}"#])
      #expect(verified.status == 0, "\(verified)")
    }

    @Test func `files that an execution cannot read are named, with its own usage`() throws {
      try begin()
      _ = try hearth("set", "a.hearth", "a/b", "{}")
      for (words, status, part) in [
        (
          ["ListMovies", "--variables", "@missing"], Int32(1), "missing cannot be read. There is no"
        ),
        (["ListMovies", "--variables", "@dataconnect"], 1, "It is a folder, not a file."),
        (["--file", "missing"], 1, "missing cannot be read. There is no such file."),
        (["--file", "dataconnect"], 1, "dataconnect cannot be read. It is a folder"),
        (["ListMovies", "--variables", "["], 64, "Usage: hearth dataconnect execute"),
        (["Nope"], 64, "See 'hearth dataconnect execute --help'"),
        (["ListMovies", "--connector", "nope"], 64, "Usage: hearth dataconnect execute"),
        (["ListMovies", "--auth-uid", ""], 64, "--auth-uid is not empty."),
      ] {
        let result = try hearth.start(["dataconnect", "execute", "a.hearth"] + words).finish()
        #expect(result.status == status && result.error.contains(part), "\(words): \(result)")
        for raw in WrongArgumentTests.raw { #expect(!result.error.contains(raw), "\(result)") }
      }
    }

    @Test func `compiling prints errors with their places, and writes the schema for editors`()
      throws
    {
      try begin()
      let compiled = try hearth("dataconnect", "compile")
      #expect(compiled.status == 0)
      #expect(compiled.lines == ["movies: 2 tables, 2 queries, 2 mutations"])
      let schema = "\(hearth.folder.path)/dataconnect/.dataconnect/schema/main/query.gql"
      #expect(FileManager.default.fileExists(atPath: schema))

      try write("query A {\n  movies { ttle }\n}\n", to: "dataconnect/connector/a.gql")
      let broken = try hearth("dataconnect:compile")
      #expect(broken.status == 1 && broken.output.isEmpty)
      #expect(broken.error.contains("dataconnect/connector/a.gql:2:12: error: "), "\(broken.error)")
      // The same of generation, which writes nothing.
      let generated = try hearth("dataconnect", "sdk", "generate")
      #expect(generated.status == 1 && generated.output.isEmpty)
      #expect(generated.error.contains("a.gql:2:12: error: "))
    }

    @Test func `operations run on a database, for a user, and print their results as JSON`() throws
    {
      try begin()
      let none = try hearth("dataconnect", "execute", "films.hearth", "ListMovies")
      #expect(none.status == 1 && none.error.contains("There is no database at films.hearth"))
      let seeded = try hearth(
        "dataconnect", "execute", "films.hearth", "--file", "dataconnect/seed_data.gql")
      #expect(seeded.status == 0 && seeded.output.hasPrefix("{\"movie_insertMany\":[{\"id\":\""))
      let listed = try hearth(
        "dataconnect:execute", "films.hearth", "ListMovies", "--variables",
        "{\"genre\": \"Sci-Fi\"}")
      #expect(listed.status == 0 && listed.output.contains("\"title\":\"Metropolis\""))
      #expect(!listed.output.contains("General"))
      let denied = try hearth(
        "dataconnect", "execute", "films.hearth", "CreateMovie", "--variables", "{\"title\": \"M\"}"
      )
      #expect(denied.status == 1 && denied.error.contains("permission denied"))
      #expect(denied.lines == ["{\"movie_insert\":null}"])
      try write("{\"title\": \"M\"}", to: "variables.json")
      let created = try hearth(
        "dataconnect", "execute", "films.hearth", "CreateMovie", "--variables", "@variables.json",
        "--auth-uid", "ada", "--auth-token", "{\"firebase\": {\"sign_in_provider\": \"password\"}}")
      #expect(created.status == 0 && created.lines.count == 1, "\(created.error)")
      for arguments in [
        ["ListMovie"], ["ListMovies", "--variables", "[]"], ["ListMovies", "--auth-token", "{}"],
        [],
      ] {
        let wrong = try hearth.start(["dataconnect", "execute", "films.hearth"] + arguments)
          .finish()
        #expect(wrong.status == EX_USAGE && !wrong.error.isEmpty, "\(arguments)")
      }
    }

    @Test func `a schema is compared with that of a database, and migrated`() throws {
      try begin()
      #expect(
        try hearth(
          "dataconnect", "execute", "films.hearth", "--file", "dataconnect/seed_data.gql"
        ).status == 0)
      #expect(try hearth("dataconnect", "diff", "films.hearth").output.isEmpty)
      let schema = "dataconnect/schema/schema.gql"
      let text = try String(contentsOfFile: "\(hearth.folder.path)/\(schema)", encoding: .utf8)
      func change(_ line: String) throws {
        try write(
          text.replacing("type Movie @table {", with: "type Movie @table {\n\(line)"), to: schema)
      }
      try change("stars: Int! @default(value: 3)")
      let diff = try hearth("dataconnect", "diff", "films.hearth")
      #expect(diff.lines == ["additive: Movie.stars is a new column: rows get its default"])
      let migrated = try hearth("dataconnect", "migrate", "films.hearth")
      #expect(migrated.status == 0, "\(migrated.error)")
      #expect(migrated.lines == diff.lines)
      let found = try hearth("query", "films.hearth", "movie where stars == 3", "--json")
      #expect(found.output.contains("Metropolis"), "\(found)")
      try write(text, to: schema)
      let kept = try hearth("dataconnect", "migrate", "films.hearth")
      #expect(kept.status == 1 && kept.error.contains("destructive: Movie.stars is removed"))
      let removed = try hearth("dataconnect", "migrate", "films.hearth", "--allow-destructive")
      #expect(removed.status == 0 && removed.lines.count == 1)
    }

    @Test func `a project or a package that is missing is an error with its remedy`() throws {
      let none = try hearth("dataconnect", "sdk", "generate", "--config", ".")
      #expect(none.status == 1)
      #expect(
        none.error == ".:1:1: error: There is no dataconnect.yaml in the folder, "
          + "and no firebase.json.\n")
      try begin()
      let idle = try hearth("dataconnect", "sdk", "generate")
      #expect(idle.status == 0 && idle.output.isEmpty)
      #expect(idle.error.contains("hearth dataconnect init sdk"))
      let both = try hearth("dataconnect", "sdk", "generate", "--watch", "--check")
      #expect(both.status == EX_USAGE)
    }

    @Test(.timeLimit(patience))
    func `watching generates again after a change, and goes on after an error`() async throws {
      try begin()
      _ = try hearth("dataconnect", "init", "sdk")
      let running = try hearth.start(["dataconnect", "sdk", "generate", "--watch"])
      #expect(try await running.reaches(lines: 1))
      try write("query Broken", to: "dataconnect/connector/more.gql")
      try await eventually { running.error.contains("more.gql:1:") }
      try write(
        "query More @auth(level: PUBLIC) { movies { id } }\n", to: "dataconnect/connector/more.gql")
      #expect(try await running.reaches(lines: 2))
      #expect(running.output.split(separator: "\n").last?.hasSuffix("written") == true)
      running.process.terminate()
      _ = running.finish()
    }
  }
#endif
