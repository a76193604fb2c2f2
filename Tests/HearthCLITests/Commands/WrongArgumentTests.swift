#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// Wrong arguments of every command: what is printed is for people.
  @Suite(.ownThreads) struct WrongArgumentTests {
    let hearth = HearthProcess()

    /// What Swift and the system print of errors that nobody has put into words.
    static let raw = [
      "Error Domain", "NSCocoaErrorDomain", "NSPOSIXErrorDomain", "errno", "UserInfo", "(null)",
      "The operation could not be completed", "transportError", "Swift.DecodingError",
      "Fatal error",
      "Bad file descriptor",
    ]

    struct Wrong: CustomTestStringConvertible {
      var words: [String]
      var status: Int32
      /// Parts of what is printed.
      var parts: [String]
      var testDescription: String { words.joined(separator: " ") }

      init(_ words: String..., status: Int32 = 1, says parts: [String]) {
        self.words = words
        self.status = status
        self.parts = parts
      }
    }

    static let all: [Wrong] = [
      // Files
      Wrong("get", "empty", "a/b", says: ["empty", "The file is empty"]),
      Wrong("stat", "empty", says: ["The file is empty"]),
      Wrong("get", "text", "a/b", says: ["not an LMDB database"]),
      Wrong("get", "missing", "a/b", says: ["There is no database at missing."]),
      Wrong("check", "folder", says: ["It is a folder, not a file."]),
      Wrong("repair", "folder", "new", says: ["folder. It is a folder, not a file."]),
      Wrong("restore", "folder", "new", says: ["It is a folder, not a file."]),
      Wrong("restore", "missing", "new", says: ["There is no backup at missing."]),
      Wrong("backup", "a.hearth", "missing/b", says: ["Its folder does not exist."]),
      Wrong("export", "a.hearth", "missing/b", says: ["Its folder does not exist."]),
      Wrong("repair", "a.hearth", "missing/b", says: ["Its folder does not exist."]),
      Wrong("import", "missing", "a.hearth", says: ["There is no file missing."]),
      Wrong("import", "folder", "new", says: ["It is a folder, not a file."]),
      // Arguments the wrong way round
      Wrong(
        "import", "a.hearth", "lines", status: 64,
        says: ["a.hearth is a database", "hearth import lines a.hearth", "Usage: hearth import"]),
      Wrong(
        "import", "a.hearth", "new", status: 64, says: ["hearth import new a.hearth"]),
      // Paths
      Wrong("get", "a.hearth", "a", says: ["a is a collection", "hearth list a.hearth a"]),
      Wrong("get", "a.hearth", "a/b/c", says: ["hearth list a.hearth a/b/c"]),
      Wrong("list", "a.hearth", "a/b", says: ["a/b is a document", "hearth get a.hearth a/b"]),
      Wrong(
        "list", "a.hearth", "a/b", "--group", status: 64, says: ["--group", "Usage: hearth list"]),
      Wrong("set", "a.hearth", "a", "{}", says: ["a is a collection", "a/ID"]),
      Wrong("delete", "a.hearth", "a", says: ["a is a collection"]),
      Wrong("query", "a.hearth", "a/b", says: ["a/b is a document", "hearth get"]),
      Wrong("explain", "a.hearth", "a/b", says: ["a/b is a document"]),
      Wrong("get", "a.hearth", "", says: ["Document path cannot be empty."]),
      Wrong("get", "a.hearth", "a//b", says: ["must not contain //"]),
      // What a command finds when it runs has its usage.
      Wrong("copy", "a.hearth", "./a.hearth", says: ["A database cannot be copied to itself."]),
      Wrong(
        "repair", "a.hearth", status: 64,
        says: ["where the new file goes", "Usage: hearth repair", "See 'hearth repair --help'"]),
      Wrong("list", "a.hearth", "a", "--limit", "0", status: 64, says: ["Usage: hearth list"]),
      Wrong("get", "a.hearth", "a/b", "--nope", status: 64, says: ["Usage: hearth get"]),
      Wrong("stat", "a.hearth", "--map-size", "x", status: 64, says: ["Usage: hearth stat"]),
      Wrong("dataconnect", "nope", status: 64, says: ["Usage: hearth dataconnect"]),
      // Projects
      Wrong("dataconnect", "compile", says: ["There is no dataconnect.yaml"]),
      Wrong("dataconnect", "execute", "a.hearth", "Q", says: ["There is no dataconnect.yaml"]),
      Wrong(
        "dataconnect", "init", "--config", "/proc/none",
        says: ["/proc/none", "There is no such file."]),
      Wrong(
        "dataconnect", "init", "--connector", "a b", status: 64,
        says: ["connectorId has letters", "Usage: hearth dataconnect init"]),
      Wrong(
        "dataconnect", "init", "sdk", "--package", "class", status: 64,
        says: ["No program can import", "Usage: hearth dataconnect init sdk"]),
      Wrong(
        "dataconnect", "emulator", "--data", "/proc/none", says: ["There is no such file."]),
      Wrong(
        "dataconnect", "emulator", "--port", "99999", status: 64,
        says: ["from 0 to 65535", "Usage: hearth dataconnect emulator"]),
    ]

    private func begin() throws {
      let files = FileManager.default
      _ = try hearth("set", "a.hearth", "a/b", #"{"n": 1}"#)
      try files.createDirectory(
        atPath: hearth.folder.path + "/folder", withIntermediateDirectories: true)
      for (name, text) in [
        ("empty", ""), ("text", "a text"), ("lines", #"{"name":"a/b","fields":{}}"#),
      ] {
        try Data(text.utf8).write(to: URL(fileURLWithPath: hearth.folder.path + "/" + name))
      }
    }

    private func check(_ wrong: Wrong) throws {
      let result = try hearth.start(wrong.words).finish()
      let text = result.error + result.output
      #expect(result.status == wrong.status, "\(wrong.testDescription): \(text)")
      for part in wrong.parts { #expect(text.contains(part), "\(wrong.testDescription): \(text)") }
      for raw in Self.raw { #expect(!text.contains(raw), "\(wrong.testDescription): \(text)") }
      #expect(!text.contains("Usage: hearth <subcommand>"), "\(wrong.testDescription): \(text)")
      #expect(result.error.hasPrefix("Error: ") || wrong.words[1] == "compile", "\(result.error)")
    }

    @Test func `a wrong argument is told in a sentence, with the usage of its own command`() throws
    {
      try begin()
      for wrong in Self.all { try check(wrong) }
      // Nothing of it wrote to the database, or made another.
      #expect(try hearth("check", "a.hearth").status == 0)
      #expect(!hearth.files.contains("new"))
      #expect(
        try String(contentsOfFile: hearth.folder.path + "/lines", encoding: .utf8).count == 26)
    }

    @Test func `every command takes no unknown option, and shows its own usage`() throws {
      let commands = try hearth("--help").output.split(separator: "\n")
        .drop { !$0.hasPrefix("SUBCOMMANDS") }
        .compactMap { line -> String? in
          guard line.hasPrefix("  "), line.dropFirst(2).first?.isLowercase == true else {
            return nil
          }
          return line.split(separator: " ").first.map(String.init)
        }
      #expect(commands.count >= 19)
      for command in commands {
        let result = try hearth(command, "--nope")
        #expect(result.status == 64, "\(command): \(result)")
        #expect(result.error.contains("Usage: hearth \(command)"), "\(command): \(result)")
      }
    }

    @Test func `the version is printed, with the format of the files that it writes`() throws {
      let version = try hearth("--version")
      #expect(version.status == 0 && version.error.isEmpty)
      #expect(version.lines.count == 1, "\(version)")
      let line = try #require(version.lines.first)
      #expect(line.wholeMatch(of: /hearth \d+\.\d+\.\d+.*; file format \d+/) != nil, "\(line)")
      _ = try hearth("set", "a.hearth", "a/b", "{}")
      let format = try #require(line.split(separator: " ").last)
      #expect(try hearth("stat", "a.hearth").lines.contains("format       version \(format)"))
    }

    @Test func `a file with a byte order mark is read as one without`() throws {
      let mark = "\u{FEFF}"
      _ = try hearth("set", "a.hearth", "a/b", #"{"n": 1}"#)
      let found = try hearth("query", "a.hearth", "\(mark)a where n == 1", "--json")
      #expect(found.lines.count == 1, "\(found)")
      #expect(try hearth("set", "a.hearth", "a/c", "-", input: "\(mark){}").status == 0)
    }

    #if Server
      @Test func `a server that cannot begin says which file or address is wrong`() throws {
        try begin()
        let busy = try hearth.start(["serve", "a.hearth", "--port", "0"])
        defer { busy.process.terminate() }
        try blockUntil { busy.output.contains("Listening on") }
        let port = try #require(
          busy.output.split(separator: ":").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        try Data([0xFF, 0xFE, 0x41, 0x00]).write(
          to: URL(fileURLWithPath: hearth.folder.path + "/wide"))
        for wrong in [
          Wrong(
            "serve", "a.hearth", "--indexes", "missing",
            says: ["missing cannot be read. There is no"]),
          Wrong("serve", "a.hearth", "--indexes", "folder", says: ["It is a folder, not a file."]),
          Wrong("serve", "a.hearth", "--indexes", "wide", says: ["wide is not UTF-8 text."]),
          Wrong("serve", "a.hearth", "--token-file", "missing", says: ["There is no such file."]),
          Wrong("serve", "a.hearth", "--token-file", "wide", says: ["wide is not UTF-8 text."]),
          Wrong(
            "serve", "a.hearth", "--service-account", "folder",
            says: ["It is a folder, not a file."]),
          Wrong(
            "serve", "a.hearth", "--port", port,
            says: ["Cannot listen at 127.0.0.1:\(port).", "Choose another port."]),
          Wrong(
            "serve", "a.hearth", "--host", "192.0.2.1", "--insecure", "--port", "0",
            says: ["Cannot listen at 192.0.2.1:0.", "does not have the address"]),
          Wrong(
            "serve", "a.hearth", "--host", "books.invalid", "--insecure", "--port", "0",
            says: ["Cannot listen at books.invalid:0.", "not an IP address"]),
          Wrong(
            "service-account", "x", "missing/x.json", "--project", "p",
            says: ["missing/x.json is not created. There is no such file."]),
          Wrong("service-account", "x", "text", "--project", "p", says: ["text exists."]),
        ] {
          let result = try hearth.start(wrong.words).finish()
          let text = result.error + result.output
          #expect(result.status == wrong.status, "\(wrong.testDescription): \(text)")
          for part in wrong.parts {
            #expect(text.contains(part), "\(wrong.testDescription): \(text)")
          }
          for raw in Self.raw { #expect(!text.contains(raw), "\(wrong.testDescription): \(text)") }
        }
      }

      @Test func `a token file with a byte order mark has the key that is in it`() async throws {
        try begin()
        let key = String(repeating: "k", count: 40)
        let path = hearth.folder.path + "/tokens"
        try Data("\u{FEFF}\(key)\n".utf8).write(to: URL(fileURLWithPath: path))
        let server = try hearth.start([
          "serve", "a.hearth", "--port", "0", "--token-file", "tokens",
        ])
        defer { server.process.terminate() }
        #expect(try await server.reaches(lines: 1))
        let port = try #require(
          server.output.split(separator: ":").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        let url = "http://127.0.0.1:\(port)/v1/projects/p/databases/%28default%29/documents/a/b"
        let read = try hearth.shell("curl -s -H 'Authorization: Bearer \(key)' '\(url)'")
        #expect(read.output.contains("documents/a/b"), "\(read)")
      }
    #endif
  }
#endif
