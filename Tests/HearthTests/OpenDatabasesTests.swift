import Testing

@testable import Hearth

@Suite struct OpenDatabasesTests {
  @Test func `each name of a database has a file of its own inside the folder`() {
    let names = [
      "(default)", "orders", "a/b", "a_b", "a%2Fb", "a%b", "", "%", "_", ".", "..", "%2E",
      ".hidden",
      "_.hidden", "../up", "nul\0byte", "nul%00byte", "é", "e\u{301}", "🐟",
    ]
    let files = names.map(DefaultLocation.fileName)
    #expect(files[0] == "(default)")
    #expect(files[2] == "a%2Fb")
    #expect(Set(files.map { Array($0.utf8) }).count == names.count)
    for file in files {
      #expect(!file.isEmpty && !file.hasPrefix(".") && !file.contains("/") && !file.contains("\0"))
    }
  }
}
