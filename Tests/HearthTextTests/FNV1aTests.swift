import Testing

@testable import HearthText

@Suite struct FNV1aTests {
  @Test func `the hash is FNV-1a`() {
    #expect(FNV1a.digits("") == "cbf29ce484222325")
    #expect(FNV1a.digits("a") == "af63dc4c8601ec8c")
    #expect(FNV1a.digits("foobar") == "85944171f73967e8")
    #expect(FNV1a.longDigits("") == "cbf29ce48422232584222325cbf29ce4")
  }
}
