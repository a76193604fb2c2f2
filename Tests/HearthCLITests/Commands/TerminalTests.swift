#if Tools
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText
  import TestSupport
  import Testing

  /// Names and values of strangers, as `hearth` prints them.
  @Suite(.ownThreads) struct TerminalTests {
    let hearth = HearthProcess()

    static let collection = "c\u{1B}[2J"
    static let id = "a\u{7}\u{9B}1mb\u{202E}"
    static let field = "f\u{1B}]0;title\u{7}\nnext\u{2066}"
    static let value = "v\u{1B}[31m\u{7F}\u{85}\u{200F}"

    private var path: String { "\(Self.collection)/\(Self.id)" }

    private func make() throws {
      let fields = JSON.object([.init(Self.field, .string(Self.value)), .init("n", .integer(1))])
      let set = try hearth("set", "a.hearth", path, fields.text)
      #expect(set.status == 0, "\(set.error)")
    }

    /// Only newlines and tabs act on a terminal.
    private static func expectSafe(_ result: HearthProcess.Result, _ note: Comment) {
      for text in [result.output, result.error] {
        #expect(
          text.unicodeScalars.allSatisfy { !$0.isHidden || $0 == "\n" || $0 == "\t" },
          "\(note): \(text.debugDescription)")
      }
    }

    @Test(arguments: [
      ["get", "a.hearth", "PATH"], ["get", "a.hearth", "PATH", "--json"],
      ["get", "a.hearth", "PATH/missing"], ["get", "a.hearth", "PATH/none/none"],
      ["get", "\u{1B}none.hearth", "PATH"], ["get", "a.hearth", "PATH", "--\u{1B}[2J"],
      ["delete", "a.hearth", "PATH/none/none"], ["delete", "a.hearth", "PATH", "--json"],
      ["list", "a.hearth", "COLLECTION"], ["list", "a.hearth", "COLLECTION", "--json"],
      ["list", "a.hearth", "COLLECTION", "--group"], ["list", "a.hearth", "PATH"],
      ["query", "a.hearth", "all d where n > 0", "--explain"],
      ["query", "a.hearth", "d where `FIELD` > 0 order by n"],
      ["query", "a.hearth", "d count, sum(`FIELD`)"],
      ["query", "a.hearth", "d count, sum(`FIELD`)", "--json"],
      ["query", "a.hearth", "d where \u{1B}[2J"], ["explain", "a.hearth", "d where `FIELD` > 0"],
      ["explain", "a.hearth", "d where `FIELD` > 0 and n > 0 order by n", "--json"],
      ["watch", "a.hearth", "d", "--count", "1"], ["watch", "a.hearth", "PATH", "--count", "1"],
      ["watch", "a.hearth", "PATH", "--count", "1", "--json"],
      ["stat", "a.hearth"], ["stat", "a.hearth", "--json"], ["schema", "a.hearth"],
      ["check", "a.hearth"], ["copy", "a.hearth", "b\u{1B}.hearth"],
      ["export", "a.hearth", "e\u{1B}.jsonl"], ["set", "a.hearth", "PATH/e", "{}"],
      ["set", "a.hearth", "PATH", "{\"a\":\"\u{1B}\"}"],
      ["set", "a.hearth", "PATH", "{\"a\":{\"integerValue\":\"\\u001b\u{9B}\"}}"],
    ])
    func `no name or value acts on the terminal`(arguments: [String]) throws {
      try make()
      _ = try hearth(
        "set", "a.hearth", "d/\(Self.id)",
        JSON.object([.init(Self.field, .string(Self.value)), .init("n", .integer(2))]).text)
      let all = arguments.map {
        $0.replacing("PATH", with: path).replacing("COLLECTION", with: Self.collection)
          .replacing("FIELD", with: Self.field)
      }
      let result = try hearth.start(all).finish()
      #expect(!result.output.isEmpty || !result.error.isEmpty || arguments[0] == "set")
      Self.expectSafe(result, "\(arguments)")
    }

    @Test func `faults of an import name what is in the file, with escapes`() throws {
      let lines = [
        "{\"name\":\"a/b\u{9B}\",\"fields\":{\"x\":{\"integerValue\":\"\u{202E}\"}}}",
        "{\"name\":\"a/b\",\"f\u{85}\":1}", "{\"name\":\"a\u{200F}\"}",
        "{\"a\u{9B}\":1,\"a\u{9B}\":1}",
        "{\"name\":\"a/b\"}",
      ]
      let skipping = try hearth(
        "import", "-", "i.hearth", "--skip-invalid-lines", input: lines.joined(separator: "\n"))
      #expect(skipping.status == 0 && skipping.lines.count == 5, "\(skipping)")
      #expect(skipping.lines.first?.contains(#"integerValue cannot be "\u202e""#) == true)
      Self.expectSafe(skipping, "skipping")
      for line in lines.dropLast() {
        let refused = try hearth("import", "-", "j.hearth", input: line)
        #expect(refused.status == 1)
        Self.expectSafe(refused, "\(line.debugDescription)")
      }
    }

    @Test func `names that are printed can be read back`() throws {
      try make()
      let lines = try hearth("get", "a.hearth", path).lines
      #expect(try JSONReader.read(lines[0]) == .string(path))
      let parts = try #require(lines[1].firstRange(of: ": "))
      #expect(try JSONReader.read(String(lines[1][..<parts.lowerBound])) == .string(Self.field))
      #expect(try JSONReader.read(String(lines[1][parts.upperBound...])) == .string(Self.value))
      #expect(lines[2] == "  n: 1")
      let json = try hearth("get", "a.hearth", path, "--json")
      let read = try JSONReader.read(json.output)
      #expect(read["name"] == .string(path))
      #expect(read["fields"]?[Self.field]?["stringValue"] == .string(Self.value))
      // What get prints, set takes.
      let again = try hearth("set", "a.hearth", "copy/a", "-", "--json", input: json.output)
      #expect(again.status == 0)
      #expect(
        try JSONReader.read(again.output)["fields"] == read["fields"])
    }

    @Test func `ordinary names of all languages stay as they are`() throws {
      for (path, field) in [("bücher/沙丘", "título"), ("книги/Дюна", "سنة"), ("a b/🏜️", "é x")] {
        _ = try hearth("set", "a.hearth", path, JSON.object([.init(field, .integer(1))]).text)
        let lines = try hearth("get", "a.hearth", path).lines
        #expect(lines[0] == path && lines[1] == "  \(field): 1")
      }
    }

    // MARK: Styles

    @Test func `styles and progress depend on the terminal and the environment`() {
      for (isTerminal, term, color, styles, progress) in [
        (true, "xterm", nil, true, true), (false, "xterm", nil, false, false),
        (true, "dumb", nil, false, false), (true, nil, nil, false, false),
        (true, "", nil, false, false), (true, "xterm", "", true, true),
        (true, "xterm", "1", false, true), (true, "xterm", "0", false, true),
        (false, "xterm", "1", false, false), (true, "dumb", "", false, false),
      ] as [(Bool, String?, String?, Bool, Bool)] {
        var environment: [String: String] = [:]
        environment["TERM"] = term
        environment["NO_COLOR"] = color
        #expect(Terminal.hasStyles(isTerminal, environment) == styles)
        #expect(Terminal.movesCursor(isTerminal, environment) == progress)
      }
    }

    /// Runs a command on a terminal.
    private func onTerminal(_ environment: String, _ command: String) throws -> String {
      let result = try hearth.shell(
        "env -u NO_COLOR \(environment) script -qec \"'\(hearth.path)' \(command)\" /dev/null")
      #expect(result.status == 0, "\(result)")
      return result.output
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
    func `a terminal shows styles, but not a dumb one, and not with NO_COLOR`() throws {
      _ = try hearth("set", "a.hearth", "books/dune", "{}")
      let get = "get a.hearth books/dune"
      #expect(try onTerminal("TERM=xterm", get).contains("\u{1B}[1mbooks/dune\u{1B}[0m"))
      #expect(try onTerminal("TERM=xterm NO_COLOR=", get).contains("\u{1B}[1mbooks/dune"))
      #expect(try !onTerminal("TERM=xterm NO_COLOR=1", get).contains("\u{1B}"))
      #expect(try !onTerminal("TERM=dumb", get).contains("\u{1B}"))
      // Progress clears its line.
      #expect(try onTerminal("TERM=xterm NO_COLOR=1", "check a.hearth").contains("\u{1B}[K"))
      #expect(try !onTerminal("TERM=dumb", "check a.hearth").contains("\u{1B}"))
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
    func `an export has escapes on a terminal, and is exact in a file`() throws {
      _ = try hearth("set", "a.hearth", "a/b", "{\"f\": \"\u{9B}31m\u{202E}\"}")
      #expect(
        try onTerminal("TERM=xterm NO_COLOR=1", "export a.hearth -")
          .contains(#"{"stringValue":"\u009b31m\u202e"}"#))
      #expect(
        try hearth.shell("hearth export a.hearth - | cat").output
          .contains("{\"stringValue\":\"\u{9B}31m\u{202E}\"}"))
    }

    @Test func `the log of a server escapes what clients name`() {
      let line: TerminalText = "\(lines: "error: \u{1B}[2J of \u{202E}x\n")"
      #expect(line.text == "error: \\u001b[2J of \\u202ex\n")
    }

    @Test func `only literals and styles act`() {
      let name = "\u{1B}[2J\n"
      #expect(("a\t\(name)\u{1B}" as TerminalText).text == "a\t\\u001b[2J\\u000a\u{1B}")
      let styled = ("\(name)" as TerminalText).styled(1)
      #expect(("\(styled) \(5)" as TerminalText).text == "\u{1B}[1m\\u001b[2J\\u000a\u{1B}[0m 5")
    }
  }
#endif
