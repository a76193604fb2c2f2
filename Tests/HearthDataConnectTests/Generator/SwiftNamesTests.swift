import Testing

@testable import HearthDataConnect

@Suite struct SwiftNamesTests {
  @Test(arguments: [
    ("movies", "Movies"), ("friendly-flix", "FriendlyFlix"), ("kitchen_sink", "KitchenSink"),
    ("default", "Default"), ("movieApp", "MovieApp"), ("3d.films", "_3dFilms"), ("--", "Default"),
  ])
  func `an id becomes a name of a type`(id: String, name: String) {
    #expect(SwiftNames.upperCamel(id) == name)
  }

  @Test func `keywords are in backticks, and labels only if they have to be`() {
    #expect(SwiftNames.quoted("default") == "`default`")
    #expect(SwiftNames.quoted("title") == "title")
    #expect(SwiftNames.label("default") == "default")
    #expect(SwiftNames.label("inout") == "`inout`")
  }

  @Test func `a literal keeps every character`() {
    #expect(SwiftNames.literal("a\"b\\c\n\u{1}é") == #""a\"b\\c\n\u{1}é""#)
  }

  @Test func `a name is given once`() {
    var scope = NameScope(reserving: ["Data"])
    #expect(scope.add("Data") == "Data_")
    #expect(scope.add("Data") == "Data__")
    #expect(scope.add("_") == "__")
    // The storage of `limit` is `_limit`.
    #expect(scope.addWrapped("limit") == "limit")
    #expect(scope.addWrapped("_limit") == "_limit_")
    #expect(scope.add("_size") == "_size")
    #expect(scope.addWrapped("size") == "size_")
  }
}
