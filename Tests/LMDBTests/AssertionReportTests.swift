import Testing

@testable import LMDB

struct AssertionReportTests {
  @Test func `what is written before LMDB ends the process names the file and the remedies`() {
    let text = AssertionReport.text(path: "/data/a.hearth", message: "mdb.c:1: Assertion 'x'")
    for part in [
      "/data/a.hearth", "hearth check /data/a.hearth", "hearth restore BACKUP /data/a.hearth",
      "hearth repair /data/a.hearth NEW", "mdb.c:1: Assertion 'x'",
    ] { #expect(text.contains(part), "\(text)") }
    #expect(!text.contains("\n"))
  }
}
