#if Tools
  import Foundation
  import TestSupport
  import Testing

  #if Postgres
    import PostgresTestServer
  #endif

  /// `hearth copy`, and databases on servers, run from outside.
  @Suite(.ownThreads, .timeLimit(patience)) struct CopyCommandTests {
    let hearth = HearthProcess()

    private func fill(_ database: String, _ count: Int) throws {
      var lines = ""
      for n in 0..<count {
        let filler = String(repeating: "x", count: n % 7 * 300)
        let path = n.isMultiple(of: 3) ? "books/\(n)/reviews/é" : "books/\(n)"
        lines += #"{"name":"\#(path)","#
        lines += #""fields":{"n":{"integerValue":"\#(n)"},"text":{"stringValue":"\#(filler)"}}}"#
        lines += "\n"
      }
      let imported = try hearth("import", "-", database, input: lines)
      try #require(imported.status == 0, "\(imported.error)")
    }

    /// Every document, with its times. Files are exported, and servers copied to one.
    private func documents(_ database: String) throws -> [String] {
      if database.contains("://") {
        let copy = "\(UUID().uuidString).hearth"
        let copied = try hearth("copy", database, copy)
        try #require(copied.status == 0, "\(copied.error)")
        return try documents(copy)
      }
      let exported = try hearth("export", database, "-")
      try #require(exported.status == 0, "\(exported.error)")
      return exported.lines.filter { $0.hasPrefix(#"{"name""#) }.sorted()
    }

    private func reaches(
      _ text: String, _ process: HearthProcess.Running
    ) async throws {
      _ = try await becomesTrue {
        process.error.contains(text) || !process.process.isRunning
      }
      try #require(process.error.contains(text), "\(process.error)")
    }

    @Test func `a file is copied, and a database with documents is not copied over`() throws {
      try fill("a.hearth", 900)
      let copied = try hearth("copy", "a.hearth", "b.hearth")
      #expect(copied.status == 0, "\(copied.error)")
      #expect(copied.lines.last == "900 documents, the same in both")
      #expect(copied.lines.count == 3 && copied.lines[0].hasPrefix("books "))
      #expect(try documents("a.hearth") == documents("b.hearth"))
      #expect(try hearth("check", "b.hearth").status == 0)
      let again = try hearth("copy", "a.hearth", "b.hearth")
      #expect(again.status == 1 && again.error.contains("a finished copy"), "\(again.error)")
      let json = try hearth("copy", "a.hearth", "c.hearth", "--json")
      #expect(
        json.output.hasPrefix(#"{"equal":true,"documents":900,"differenceCount":0,"#),
        "\(json.output)")
      let missing = try hearth("copy", "missing.hearth", "d.hearth")
      #expect(missing.status == 1 && missing.error.contains("no database at missing.hearth"))
      #expect(try hearth("copy", "a.hearth", "a.hearth").status == 1)
      #expect(try hearth("copy", "a.hearth", "d.hearth", "--until-caught-up").status == 64)
    }

    @Test func `a copy that is killed again and again goes on to the end`() async throws {
      try fill("a.hearth", Soak.isOn ? 20_000 : 6000)
      let copied = try await copyWithKills("a.hearth", "b.hearth")
      #expect(try copied == documents("b.hearth"))
      #expect(try hearth("check", "b.hearth").status == 0)
    }

    /// Kills the copy at random moments, changes the source, and starts it again. Returns the
    /// documents that the source had when the copy ended.
    private func copyWithKills(_ source: String, _ target: String) async throws -> [String] {
      var copied: [String] = []
      for round in 0..<8 {
        let before = copied
        copied = try documents(source)
        let copy = try hearth.start(["copy", source, target])
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...800)))
        if copy.process.isRunning { kill(copy.process.processIdentifier, SIGKILL) }
        let ended = copy.finish()
        if ended.status == 0 { return copied }
        // The one before was killed after its last commit.
        if ended.error.contains("a finished copy") { return before }
        #expect(ended.status == SIGKILL, "\(ended.error)")
        _ = try hearth("set", source, "books/\(round)-late", #"{"n": -1}"#)
        _ = try hearth("delete", source, "books/\(round * 3 + 1)")
      }
      let before = copied
      copied = try documents(source)
      let last = try hearth("copy", source, target)
      if last.error.contains("a finished copy") { return before }
      #expect(last.status == 0, "\(last.error)")
      return copied
    }

    @Test func `a copy follows writers, also after it was killed, until it is interrupted`()
      async throws
    {
      try fill("a.hearth", 500)
      try await follow("a.hearth", "b.hearth")
      #expect(try documents("a.hearth") == documents("b.hearth"))
    }

    /// Other processes write while the copy follows, after it was killed, and while it follows again.
    private func follow(_ source: String, _ target: String) async throws {
      func write(_ part: String) throws {
        for n in 1...8 {
          #expect(try hearth("set", source, "live/\(part)-\(n)", #"{"n": \#(n)}"#).status == 0)
          #expect(try hearth("set", source, "live/last", #"{"at": "\#(part)-\#(n)"}"#).status == 0)
        }
      }
      let first = try hearth.start(["copy", source, target, "--follow"])
      try await reaches("Nothing is missing.", first)
      try write("a")
      kill(first.process.processIdentifier, SIGKILL)
      _ = first.finish()
      try write("b")
      let copy = try hearth.start(["copy", source, target, "--follow"])
      try await reaches("Nothing is missing.", copy)
      try write("c")
      kill(copy.process.processIdentifier, SIGINT)
      let ended = copy.finish()
      #expect(ended.status == 0, "\(ended.error)")
      #expect(try hearth("get", target, "live/last", "--json").output.contains("c-8"))
      for part in ["a", "b", "c"] {
        #expect(try hearth("get", target, "live/\(part)-8").status == 0)
      }
    }

    @Test func `a copy that is to end when it has caught up does`() throws {
      try fill("a.hearth", 50)
      let copied = try hearth(
        "copy", "a.hearth", "b.hearth", "--follow", "--until-caught-up", "--verify-all", "--json")
      #expect(copied.status == 0 && copied.output.hasPrefix(#"{"equal":true,"#), "\(copied.error)")
    }

    // MARK: Servers

    @Test(arguments: [
      ["check"], ["backup", "b"], ["compact"], ["repair", "b"], ["export", "-"], ["stat"],
    ])
    func `a command for files refuses a server, and shows no password`(words: [String]) throws {
      let url = "postgresql://u:secret@127.0.0.1:1/d?password=secret"
      let refused = try hearth.start([words[0], url] + words.dropFirst()).finish()
      #expect(refused.status == 1)
      #expect(refused.error.contains("hearth \(words[0]) works on files only"), "\(refused.error)")
      #expect(!refused.error.contains("secret"))
    }

    @Test func `restoring and importing are for files, too`() throws {
      let url = "postgres://127.0.0.1:1/d"
      #expect(try hearth("restore", "b", url).error.contains("restore works on files only"))
      #expect(try hearth("import", "-", url).error.contains("import works on files only"))
      #expect(hearth.files.isEmpty)
    }

    #if !Postgres
      @Test func `without the trait, a server is refused with its name`() throws {
        let refused = try hearth("get", "postgresql://127.0.0.1:1/d", "a/b")
        #expect(refused.status == 1 && refused.error.contains("trait Postgres"))
      }
    #else
      @Test(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"))
      func `commands take the URL of a server`() async throws {
        let url = try PostgresServer.newURL()
        #expect(try hearth("set", url, "books/dune", CommandTests.everyType).status == 0)
        _ = try hearth("set", url, "books/emma", #"{"pages": 474}"#)
        #expect(
          try hearth("get", url, "books/dune", "--json").output.contains(CommandTests.everyType))
        #expect(try hearth("list", url, "books", "--json").lines.count == 2)
        #expect(
          try hearth("query", url, "books where pages > 300", "--json").lines.count == 1)
        let watch = try hearth.start(["watch", url, "books", "--json"])
        #expect(try await watch.reaches(lines: 2))
        #expect(try hearth("delete", url, "books/emma").status == 0)
        #expect(try await watch.reaches(lines: 3))
        watch.process.terminate()
        _ = watch.finish()
        #expect(try hearth("get", url, "books/emma").error.contains("no document"))
        #expect(try hearth("schema", url).status == 0)
        #expect(hearth.files.isEmpty)
      }

      @Test(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"))
      func `a file moves to a server and back, killed on the way`() async throws {
        let url = try PostgresServer.newURL()
        try fill("a.hearth", Soak.isOn ? 6000 : 3000)
        let moved = try await copyWithKills("a.hearth", url)
        #expect(try moved == documents(url))
        let returned = try await copyWithKills(url, "b.hearth")
        #expect(try returned == documents("b.hearth"))
        #expect(try hearth("check", "b.hearth").status == 0)
      }

      @Test(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"))
      func `a copy follows a file to a server`() async throws {
        let url = try PostgresServer.newURL()
        try fill("a.hearth", 300)
        try await follow("a.hearth", url)
        #expect(try hearth("copy", url, "b.hearth").status == 0)
        #expect(try documents("a.hearth") == documents("b.hearth"))
      }
    #endif

    #if Postgres && Server
      @Test(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"))
      func `a server's database is served`() async throws {
        let url = try PostgresServer.newURL()
        let server = try hearth.start(["serve", url, "--port", "0"])
        #expect(try await server.reaches(lines: 1), "\(server.error)")
        let port = try #require(
          server.output.split(separator: ":").last.flatMap {
            Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
          })
        let documents =
          "http://127.0.0.1:\(port)/v1/projects/shop/databases/%28default%29/documents"
        let made = try hearth.shell(
          "curl -s '\(documents)/books?documentId=dune' -d '{\"fields\": {\"n\": {\"integerValue\": \"1\"}}}'"
        )
        #expect(made.output.contains("books/dune"), "\(made.output)")
        #expect(try hearth("get", url, "books/dune", "--json").output.contains(#""1""#))
        #expect(try hearth("set", url, "books/emma", #"{"n": 2}"#).status == 0)
        #expect(
          try hearth.shell("curl -s '\(documents)/books/emma'").output.contains("\"2\""))
        server.process.terminate()
        #expect(server.finish().status == 0)
        let reading = try hearth.start(["serve", url, "--port", "0", "--read-only"])
        #expect(try await reading.reaches(lines: 1), "\(reading.error)")
        let readPort = try #require(
          reading.output.split(separator: ":").last.flatMap {
            Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
          })
        let read = documents.replacingOccurrences(of: ":\(port)/", with: ":\(readPort)/")
        #expect(try hearth.shell("curl -s '\(read)/books/emma'").output.contains("\"2\""))
        let refused = try hearth.shell("curl -s -X DELETE '\(read)/books/emma'")
        #expect(refused.output.contains("error"), "\(refused)")
        #expect(try hearth.shell("curl -s '\(read)/books/emma'").output.contains("\"2\""))
        reading.process.terminate()
        #expect(reading.finish().status == 0)
      }
    #endif
  }
#endif
