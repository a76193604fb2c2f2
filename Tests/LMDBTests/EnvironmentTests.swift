import Testing

@testable import LMDB

struct EnvironmentTests {
  @Test func `what was committed is read, also after closing and opening`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    try environment.write { try $0.put(table, "a", "1") }
    #expect(try environment.text("t", "a") == "1")
    #expect(try environment.text("t", "b") == nil)
    environment.close()
    let again = try file.open()
    #expect(try again.text("t", "a") == "1")
  }
}
