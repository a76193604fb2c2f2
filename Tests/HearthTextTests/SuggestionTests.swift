import Testing

@testable import HearthText

@Suite struct `Suggestions` {
  @Test(
    arguments: [
      ("titel", ["title", "tile", "id"], "title"), ("movies", ["Movies", "movie"], "Movies"),
      ("eq", ["ne", "in"], nil), ("x", ["y"], "y"), ("genres", ["genre", "general"], "genre"),
      ("abcdef", ["uvwxyz"], nil), ("", ["a"], "a"), ("", [], nil),
    ] as [(String, [String], String?)])
  func `the closest name is suggested`(name: String, candidates: [String], expected: String?) {
    #expect(Suggestion.closest(to: name, among: candidates) == expected)
  }

  @Test func `a swap of neighbours is one edit`() {
    #expect(Suggestion.distance(Array("abcd".utf8), Array("abdc".utf8)) == 1)
    #expect(Suggestion.distance(Array("abc".utf8), Array("".utf8)) == 3)
    #expect(Suggestion.distance(Array("kitten".utf8), Array("sitting".utf8)) == 3)
  }
}
