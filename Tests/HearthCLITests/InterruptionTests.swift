#if Tools
  import Foundation
  import TestSupport
  import Testing

  /// A signal ends a command that makes files once these are gone.
  @Suite(.serialized, .ownThreads) struct InterruptionTests {
    let hearth = HearthProcess()

    @Test(arguments: [SIGINT, SIGTERM])
    func `a command that is interrupted leaves no files`(signal: Int32) throws {
      let text = String(repeating: "x", count: 300)
      let lines = (0..<20_000).map {
        #"{"name":"books/\#($0)","fields":{"text":{"stringValue":"\#(text)"}}}"#
      }
      let source = URL(fileURLWithPath: hearth.folder.path + "/lines.jsonl")
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: source)
      #expect(try hearth("import", "lines.jsonl", "a.hearth").status == 0)
      let before = hearth.files
      let commands = [
        ["import", "lines.jsonl", "b.hearth"],
        ["import", "lines.jsonl", "b.hearth", "--keep-times"],
        ["backup", "a.hearth", "b.hearth"], ["backup", "a.hearth", "b.hearth", "--compact"],
        ["export", "a.hearth", "b.jsonl"], ["compact", "a.hearth"],
        ["repair", "a.hearth", "b.hearth"],
      ]
      var interrupted = 0
      // On a busy machine all may be done before the signal.
      for (number, command) in (0..<10).flatMap({ _ in commands }).enumerated() {
        if number >= commands.count, interrupted > 0 { break }
        let running = try hearth.start(command)
        // Until it has begun to make its file.
        try blockUntil { !running.process.isRunning || !hearth.unfinished.isEmpty }
        kill(running.process.processIdentifier, signal)
        let result = running.finish()
        #expect(running.process.terminationReason == .exit, "\(command)")
        // It may have been quicker.
        #expect([128 + signal, 0].contains(result.status), "\(command): \(result.error)")
        if result.status == 0 {
          for name in ["b.hearth", "b.hearth-lock", "b.hearth-presence", "b.jsonl"] {
            try? FileManager.default.removeItem(atPath: hearth.folder.path + "/" + name)
          }
        } else {
          interrupted += 1
          #expect(result.error == "", "\(command)")
        }
        #expect(
          hearth.files.subtracting(["a.hearth-lock", "a.hearth-presence"])
            == before.subtracting(
              ["a.hearth-lock", "a.hearth-presence"]), "\(command)")
      }
      #expect(interrupted > 0)
      #expect(try hearth("check", "a.hearth").status == 0)
    }

    @Test func `a command that makes no files ends at once`() async throws {
      _ = try hearth("set", "a.hearth", "books/dune", #"{"n": 1}"#)
      let running = try hearth.start(["watch", "a.hearth", "books/dune"])
      #expect(try await running.reaches(lines: 1))
      kill(running.process.processIdentifier, SIGINT)
      #expect(running.finish().status == 130)
    }
  }
#endif
