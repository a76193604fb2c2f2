#if Tools
  import Foundation
  import Hearth
  import TestSupport
  import Testing

  /// Maintenance commands, run from outside.
  @Suite(.ownThreads) struct MaintenanceCommandTests {
    let hearth = HearthProcess()

    private func fill() throws {
      for id in ["dune", "emma"] {
        _ = try hearth("set", "a.hearth", "books/\(id)", CommandTests.everyType)
      }
    }

    @Test func `a file is checked, copied, made small, exported and imported`() throws {
      try fill()
      let check = try hearth("check", "a.hearth")
      #expect(check.status == 0)
      #expect(check.output.hasPrefix("whole: 2 documents in 1 collection, 2 changes, "))
      let backup = try hearth("backup", "a.hearth", "b.hearth", "--json")
      #expect(backup.status == 0 && backup.output.hasPrefix(#"{"documents":2,"#))
      #expect(try hearth("backup", "a.hearth", "b.hearth").error.contains("is there already"))
      #expect(try hearth("backup", "a.hearth", "b.hearth", "--replace", "--compact").status == 0)
      let compact = try hearth("compact", "a.hearth", "--json")
      #expect(compact.status == 0 && compact.output.hasPrefix(#"{"bytesBefore":"#))
      let export = try hearth("export", "a.hearth", "a.jsonl")
      #expect(export.output == "2 documents\n", "\(export.error)")
      let imported = try hearth("import", "a.jsonl", "c.hearth", "--json")
      #expect(imported.output == #"{"documents":2,"invalidLineCount":0,"faults":[]}"# + "\n")
      #expect(try hearth("import", "a.jsonl", "d.hearth", "--keep-times").status == 0)
      let documents = try ["a.hearth", "b.hearth", "d.hearth"].map {
        try hearth("list", $0, "books", "--json").output
      }
      #expect(documents[0].contains("dune") && Set(documents).count == 1)
      let got = try hearth("get", "c.hearth", "books/emma", "--json").output
      #expect(got.contains(CommandTests.everyType))
    }

    @Test func `a backup is restored, and not over a database that is open`() async throws {
      try fill()
      #expect(try hearth("backup", "a.hearth", "b.hearth").status == 0)
      _ = try hearth("set", "a.hearth", "books/later", "{}")
      let watch = try hearth.start(["watch", "a.hearth", "books", "--json"])
      #expect(try await watch.reaches(lines: 3))
      let refused = try hearth("restore", "b.hearth", "a.hearth")
      #expect(refused.status == 1 && refused.error.contains("is open"), "\(refused.error)")
      watch.process.terminate()
      _ = watch.finish()
      let restored = try hearth("restore", "b.hearth", "a.hearth", "--json")
      #expect(restored.status == 0 && restored.output.hasPrefix(#"{"documents":2,"#))
      #expect(try hearth("list", "a.hearth", "books", "--json").lines.count == 2)
      #expect(try hearth("restore", "missing", "a.hearth").error.contains("no backup at missing"))
    }

    @Test func `a damaged file is told and repaired, not changed`() throws {
      try fill()
      let url = URL(fileURLWithPath: hearth.folder.path + "/a.hearth")
      var bytes = try Data(contentsOf: url)
      let place = try #require(bytes.range(of: Data("Dune".utf8)))
      bytes[place.lowerBound] ^= 0x20
      // Every stale copy, too.
      try bytes.write(to: url)
      let check = try hearth("check", "a.hearth", "--json")
      let isStale = check.status == 0
      let repair = try hearth("repair", "a.hearth", "new.hearth", "--json")
      #expect(repair.status == 0, "\(repair.error)")
      #expect(try Data(contentsOf: url) == bytes)
      if !isStale {
        #expect(check.output.hasPrefix(#"{"whole":false,"#))
        #expect(repair.output.contains(#""collection":"books","documents":1,"lost":1"#))
      }
      #expect(try hearth("check", "new.hearth").status == 0)
      #expect(try hearth("repair", "a.hearth", "new.hearth").error.contains("is there already"))
    }

    @Test func `times that are ahead are corrected in place`() async throws {
      let path = hearth.folder.path + "/a.hearth"
      let settings = FirestoreSettings()
      settings.clock = { Timestamp(seconds: 16_725_225_600, nanoseconds: 0) }
      let db = try Firestore.open(at: path, settings: settings)
      try await db.document("books/dune").setData(["n": 1])
      try await db.terminate()
      _ = try hearth("set", "a.hearth", "books/emma", #"{"n": 2}"#)
      #expect(try hearth("get", "a.hearth", "books/emma", "--json").output.contains("2500-01-01"))
      #expect(try hearth("repair", "a.hearth").error.contains("hearth repair a.hearth <target>"))
      #expect(try hearth("repair", "--times", "a.hearth", "b.hearth").status != 0)
      let repaired = try hearth("repair", "--times", "a.hearth", "--json")
      #expect(repaired.output == #"{"documents":2}"# + "\n", "\(repaired)")
      #expect(hearth.files.allSatisfy { $0.hasPrefix("a.hearth") && !$0.hasSuffix("unfinished") })
      #expect(try hearth("check", "a.hearth").status == 0)
      _ = try hearth("set", "a.hearth", "books/new", #"{"n": 3}"#)
      for id in ["dune", "emma", "new"] {
        let got = try hearth("get", "a.hearth", "books/\(id)", "--json")
        #expect(got.status == 0 && !got.output.contains("2500"), "\(got)")
      }
      #expect(
        try hearth("repair", "--times", "a.hearth").output == "the times of 0 documents corrected\n"
      )
      #expect(try hearth("repair", "--times", "missing").error.contains("no database at missing"))
    }

    @Test func `an import that fails leaves no database`() throws {
      func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: hearth.folder.path + "/" + name))
      }
      try write("no document\nnor here\n", to: "garbage")
      try write("", to: "empty")
      try write("{\"name\":\"a/b\",\"fields\":{}}\nno document\n", to: "partly")
      let before = hearth.files
      for arguments in [
        ["garbage", "n.hearth"], ["garbage", "n.hearth", "--skip-invalid-lines"],
        ["garbage", "n.hearth", "--skip-invalid-lines", "--keep-times"],
        ["empty", "n.hearth"], ["empty", "n.hearth", "--skip-invalid-lines"],
        ["partly", "n.hearth"],
      ] {
        let result = try hearth.start(["import"] + arguments).finish()
        #expect(result.status == 1, "\(arguments)")
        #expect(result.error.hasPrefix("Error: "), "\(arguments): \(result.error)")
        #expect(hearth.files == before, "\(arguments)")
      }
      let skipped = try hearth("import", "garbage", "n.hearth", "--skip-invalid-lines")
      #expect(
        skipped.error.hasPrefix("Error: garbage has no document, and is not an export. Line 1: "),
        "\(skipped.error)")
      #expect(try hearth("import", "partly", "n.hearth", "--skip-invalid-lines").status == 0)
      // A database that was there stays, with what it has.
      try fill()
      for name in ["garbage", "empty", "partly"] {
        #expect(try hearth("import", name, "a.hearth").status == 1)
      }
      #expect(try hearth("import", "garbage", "a.hearth", "--skip-invalid-lines").status == 1)
      #expect(try hearth("list", "a.hearth", "books", "--json").lines.count == 2)
      #expect(try hearth("check", "a.hearth").status == 0)
    }

    @Test func `a deletion is told as JSON`() throws {
      try fill()
      let deleted = try hearth("delete", "a.hearth", "books/dune", "--json")
      #expect(deleted.status == 0)
      #expect(deleted.output == #"{"path":"books/dune","deleted":true}"# + "\n")
    }

    // A sanitizer reserves more than the limit of this test.
    @Test(.enabled(if: dlsym(nil, "__tsan_init") == nil && dlsym(nil, "__asan_init") == nil))
    func `the size of the map is an option, and named where it does not fit`() throws {
      try fill()
      // Not in kilobytes of data: the process itself needs some.
      let refused = try hearth.shell("ulimit -v 4000000; hearth get a.hearth books/dune")
      #expect(refused.status == 1)
      #expect(
        refused.error.contains("up to 68719476736 bytes were to be reserved. Lower mapSizeBytes")
          && refused.error.contains("ulimit -v"), "\(refused.error)")
      for size in ["512MB", "512MiB", "1g", "100000000"] {
        let got = try hearth.shell(
          "ulimit -v 4000000; hearth get a.hearth books/dune --map-size \(size)")
        #expect(got.status == 0, "\(size): \(got.error)")
      }
      for size in ["0", "MB", "-1", "1XB", "9999999999TB"] {
        #expect(try hearth("get", "a.hearth", "books/dune", "--map-size=\(size)").status == 64)
      }
    }

    @Test func `what this user may not use is named`() throws {
      try fill()
      let folder = hearth.folder.path
      for name in hearth.files { chmod("\(folder)/\(name)", 0o666) }
      chmod(folder, 0o777)
      // Root may use everything: another user tries, where root can become one.
      func denied(_ command: String) throws -> String {
        try hearth.shell(
          getuid() == 0
            ? "hearth() { setpriv --reuid=65534 --clear-groups \(hearth.path) \"$@\"; }; \(command)"
            : command
        ).error
      }
      guard try denied("hearth get a.hearth books/dune") == "" else { return }
      for name in ["a.hearth-lock", "a.hearth-presence"] {
        chmod("\(folder)/\(name)", 0)
        let error = try denied("hearth set a.hearth books/dune '{}'")
        #expect(error.contains("Permission denied for") && error.contains("\(name)."), "\(error)")
        chmod("\(folder)/\(name)", 0o666)
      }
      chmod("\(folder)/a.hearth", 0)
      let error = try denied("hearth get a.hearth books/dune")
      #expect(
        error.contains("Permission denied for") && error.contains("a.hearth. Let"), "\(error)")
    }

    @Test func `what cannot be done is said in a sentence`() throws {
      try fill()
      #expect(try hearth("check", "none.hearth").error.contains("There is no database"))
      #expect(try hearth("import", "none.jsonl", "a.hearth").error.contains("There is no file"))
      let lines = URL(fileURLWithPath: hearth.folder.path + "/bad.jsonl")
      try Data("{\"name\":\"a/b\",\"fields\":{}}\n{\"name\":\"a\"}\n".utf8).write(to: lines)
      let refused = try hearth("import", "bad.jsonl", "a.hearth")
      #expect(refused.status != 0 && refused.error.contains("Line 2: "), "\(refused.error)")
      let skipped = try hearth("import", "bad.jsonl", "a.hearth", "--skip-invalid-lines")
      #expect(skipped.status == 0 && skipped.output.hasSuffix("1 document, 1 line skipped\n"))
      try Data("not a database".utf8).write(
        to: URL(fileURLWithPath: hearth.folder.path + "/bad.hearth"))
      let check = try hearth("check", "bad.hearth")
      #expect(check.status == 1 && check.output.contains("not an LMDB database"))
    }
  }
#endif
