import Foundation
import Testing

/// The care of a file from outside.
@Suite struct CareCommandTests {
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
    #expect(imported.output == #"{"documents":2,"faultCount":0,"faults":[]}"# + "\n")
    #expect(try hearth("import", "a.jsonl", "d.hearth", "--keep-times").status == 0)
    let documents = try ["a.hearth", "b.hearth", "d.hearth"].map {
      try hearth("list", $0, "books", "--json").output
    }
    #expect(documents[0].contains("dune") && Set(documents).count == 1)
    let got = try hearth("get", "c.hearth", "books/emma", "--json").output
    #expect(got.contains(CommandTests.everyType))
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

  @Test func `what cannot be done is said in a sentence`() throws {
    try fill()
    #expect(try hearth("check", "none.hearth").error.contains("There is no database"))
    #expect(try hearth("import", "none.jsonl", "a.hearth").error.contains("There is no file"))
    let lines = URL(fileURLWithPath: hearth.folder.path + "/bad.jsonl")
    try Data("{\"name\":\"a/b\",\"fields\":{}}\n{\"name\":\"a\"}\n".utf8).write(to: lines)
    let refused = try hearth("import", "bad.jsonl", "a.hearth")
    #expect(refused.status != 0 && refused.error.contains("Line 2: "), "\(refused.error)")
    let skipped = try hearth("import", "bad.jsonl", "a.hearth", "--skip-faults")
    #expect(skipped.status == 0 && skipped.output.hasSuffix("1 document, 1 line skipped\n"))
    try Data("not a database".utf8).write(
      to: URL(fileURLWithPath: hearth.folder.path + "/bad.hearth"))
    let check = try hearth("check", "bad.hearth")
    #expect(check.status == 1 && check.output.contains("not an LMDB database"))
  }
}
