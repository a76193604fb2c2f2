#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// What `hearth` reads from standard input, and what becomes of output that cannot be written.
  @Suite(.ownThreads) struct StreamTests {
    let hearth = HearthProcess()

    private func fill() throws {
      for id in ["dune", "emma"] {
        _ = try hearth("set", "a.hearth", "books/\(id)", CommandTests.everyType)
      }
    }

    @Test(arguments: ["get a.hearth books/dune", "list a.hearth books --json", "stat a.hearth"])
    func `output that cannot be written ends with a sentence`(command: String) throws {
      try fill()
      let full = try hearth.shell("hearth \(command) > /dev/full")
      #expect(full.status == 1)
      #expect(full.error == "Error: Cannot write to standard output: No space left on device.\n")
      let closed = try hearth.shell("hearth \(command) >&-")
      #expect(closed.status == 1)
      #expect(closed.error == "Error: Cannot write to standard output: Bad file descriptor.\n")
      #expect(try hearth("check", "a.hearth").status == 0)
    }

    @Test func `a pipe that nobody reads ends quietly`() throws {
      try fill()
      let broken = try hearth.shell(
        """
        trap '' PIPE
        {
          while [ ! -e closed ]; do sleep 0.05; done
          hearth get a.hearth books/dune
          echo $? > status
        } | { exec <&-; : > closed; }
        cat status
        """)
      #expect(broken.output == "141\n")
      #expect(broken.error == "")
    }

    @Test func `closed streams do no harm to the database`() throws {
      let set = try hearth.shell(#"hearth set a.hearth a/1 '{"fields": {}}' --json <&- >&- 2>&-"#)
      #expect(set.status == 1)
      #expect(try hearth("check", "a.hearth").status == 0)
      #expect(try hearth("get", "a.hearth", "a/1", "--json").status == 0)
      #expect(try hearth.shell("hearth get a.hearth a/2 2>/dev/full").status == 1)
    }

    @Test func `an export goes through a pipe into another database`() throws {
      try fill()
      let piped = try hearth.shell(
        "hearth export a.hearth - | hearth import - b.hearth --keep-times")
      #expect(piped.status == 0 && piped.output == "2 documents\n", "\(piped.error)")
      #expect(piped.error == "2 documents\n")
      let lists = try ["a.hearth", "b.hearth"].map {
        try hearth("list", $0, "books", "--json").output
      }
      #expect(lists[0].contains("dune") && lists[0] == lists[1])
      let lines = try hearth.shell("hearth export a.hearth - --json 2> counted; cat counted >&2")
      #expect(lines.error == #"{"documents":2}"# + "\n")
      #expect(lines.lines.count == 4 && lines.lines[0].hasPrefix(#"{"hearthExport":1,"#))
      let again = try hearth.shell(
        "hearth export a.hearth - 2> /dev/null | hearth import - a.hearth")
      #expect(again.status == 0 && again.output == "2 documents\n")
      let full = try hearth.shell("hearth export a.hearth - > /dev/full")
      #expect(full.status == 1 && full.error.contains("No space left on device"), "\(full.error)")
      #expect(!hearth.files.contains("-"))
    }

    @Test func `an argument that is not UTF-8 is refused`() throws {
      try fill()
      let refused = try hearth.shell(#"hearth get "$(printf 'a\377.hearth')" books/dune"#)
      #expect(refused.status == 64)
      #expect(refused.error.hasPrefix("Error: Argument 2 is not UTF-8: "))
    }
  }
#endif
