import Testing

@testable import Hearth
@testable import HearthEngine

/// What `body` throws, as text; empty if nothing.
func message(_ body: () throws(Status) -> Void) -> String {
  do throws(Status) {
    try body()
    return ""
  } catch {
    #expect(error.code == .invalidArgument)
    return error.message
  }
}

struct ResourcePathCheckingTests {
  private let odd =
    "Invalid collection reference. Collection references must have an odd number of segments, but "
  private let even =
    "Invalid document reference. Document references must have an even number of segments, but "

  @Test(arguments: [
    ("books", "books"), ("/books", "books"), ("books/", "books"),
    ("/books/dune/pages/", "books/dune/pages"),
  ])
  func `collection paths are taken with or without a slash at the ends`(text: String, path: String)
    throws
  {
    #expect(try ResourcePath(checkingCollection: text).text == path)
  }

  @Test func `paths continue where they start from`() throws {
    let dune = try ResourcePath(checkingDocument: "/books/dune/")
    #expect(dune.text == "books/dune")
    let pages = try ResourcePath(checkingCollection: "pages", relativeTo: dune)
    #expect(pages.text == "books/dune/pages")
    #expect(try ResourcePath(checkingDocument: "7", relativeTo: pages).text == "books/dune/pages/7")
  }

  @Test func `a slash divides, also before what joins it to one character`() throws {
    let path = try ResourcePath(checkingDocument: "books/\u{301}dune")
    #expect(path.segments.map { $0.unicodeScalars.count } == [5, 5])
    #expect(ResourcePath(relative: path.text).segments.count == 2)
    #expect(throws: Status.self) { try ResourcePath(checkingDocument: "books/dune/\u{200D}") }
  }

  @Test func `wrong collection paths are refused in Firebase's words`() throws {
    let dune = ResourcePath(relative: "books/dune")
    func refusal(_ text: String, below base: ResourcePath = .root) -> String {
      message { () throws(Status) in
        _ = try ResourcePath(checkingCollection: text, relativeTo: base)
      }
    }
    #expect(refusal("") == "Collection path cannot be empty.")
    #expect(refusal("", below: dune) == "Collection path cannot be empty.")
    #expect(refusal("foo/bar/baz/quu") == odd + "foo/bar/baz/quu has 4")
    #expect(refusal("/foo/bar/") == odd + "foo/bar has 2")
    #expect(refusal("/") == odd + " has 0")
    #expect(refusal("a/b", below: dune) == odd + "books/dune/a/b has 4")
    for path in ["foo//bar/baz", "//foo", "foo//", "//"] {
      #expect(refusal(path) == "Invalid path (\(path)). Paths must not contain // in them.")
    }
  }

  @Test func `wrong document paths are refused in Firebase's words`() {
    let books = ResourcePath(relative: "books")
    func refusal(_ text: String, below base: ResourcePath = .root) -> String {
      message { () throws(Status) in
        _ = try ResourcePath(checkingDocument: text, relativeTo: base)
      }
    }
    #expect(refusal("") == "Document path cannot be empty.")
    #expect(refusal("/") == "Document path cannot be empty.")
    #expect(refusal("foo/bar/baz") == even + "foo/bar/baz has 3")
    #expect(refusal("bar/baz", below: books) == even + "books/bar/baz has 3")
    #expect(refusal("/", below: books) == even + "books has 1")
    #expect(refusal("foo//bar") == "Invalid path (foo//bar). Paths must not contain // in them.")
  }

  @Test func `collection group ids have no slashes`() throws {
    try ResourcePath.check(collectionGroupID: "books")
    func refusal(_ id: String) -> String {
      message { () throws(Status) in try ResourcePath.check(collectionGroupID: id) }
    }
    #expect(refusal("") == "Collection ID cannot be empty.")
    #expect(
      refusal("a/b") == "Invalid collection ID (a/b). Collection IDs must not contain / in them.")
    #expect(refusal("/") == "Invalid collection ID (/). Collection IDs must not contain / in them.")
  }

  @Test(arguments: [
    "____", "__foo_", "_bar__", ".a.", "a..", "...", "`", "\\", "🦔", " ", "\0", "__id7__",
    "__id-7__", "__id-9223372036854775808__", "__id9223372036854775807__",
    String(repeating: "x", count: 1500),
  ])
  func `the server takes unusual ids`(id: String) throws {
    try ResourcePath(["things", id]).checkNames()
    try ResourcePath([id, "x"]).checkNames()
  }

  @Test(arguments: [
    "_____", "__x__", "__badpath__", ".", "..", "__id0__", "__id07__", "__id__", "__id+7__",
    "__id9223372036854775808__", "__id-0__", "__id7___",
  ])
  func `the server refuses reserved ids`(id: String) {
    let document = message { () throws(Status) in try ResourcePath(["things", id]).checkNames() }
    #expect(document == "Resource id \"\(id)\" is invalid because it is reserved.")
    let collection = message { () throws(Status) in try ResourcePath([id]).checkNames() }
    #expect(collection == "Collection id \"\(id)\" is invalid because it is reserved.")
  }

  @Test func `the server refuses ids and names that are too long or too deep`() throws {
    func refusal(_ segments: [String]) -> String {
      message { () throws(Status) in try ResourcePath(segments).checkNames() }
    }
    let long = String(repeating: "é", count: 750)
    #expect(refusal(["things", long + "x"]) == "Resource id is longer than 1500 bytes.")
    #expect(refusal(["things", ""]) == "Resource id cannot be empty.")
    #expect(refusal(["a/b"]) == "Collection id \"a/b\" is invalid because it contains \"/\".")

    let deepest = [String](repeating: "a", count: 200)
    #expect(refusal(deepest) == "")
    #expect(refusal(deepest + ["a"]).hasPrefix("The path is deeper than 100 collections"))

    // Four ids of 1,501, one of 124, and 16.
    let longest = [long, long, long, long, String(repeating: "x", count: 123)]
    #expect(Limits.size(ofName: ResourcePath(longest)) == Limits.documentName)
    #expect(refusal(longest) == "")
    let longer = [long, long, long, long, String(repeating: "x", count: 124)]
    #expect(refusal(longer).hasPrefix("The name is longer than 6144 bytes"))

    for tooLong in [["things", long + "x"], deepest + ["a"], longer] {
      try ResourcePath(tooLong).checkNames(forWriting: false)
    }
    #expect(throws: Status.self) {
      try ResourcePath(["things", "__x__"]).checkNames(forWriting: false)
    }
  }

  @Test func `numeric ids are whole numbers but zero, as a number is written`() {
    #expect(ResourcePath.numericID("__id7__") == 7)
    #expect(ResourcePath.numericID("__id-10__") == -10)
    #expect(ResourcePath.numericID("__id9223372036854775807__") == .max)
    #expect(ResourcePath.numericID("__id-9223372036854775808__") == .min)
    for id in [
      "__id0__", "__id-0__", "__id07__", "__id+7__", "__id__", "__id-__", "__id7_", "_id7__",
      "__ix7__", "__id7a__", "__id9223372036854775808__", "__id-9223372036854775809__",
      "__id99999999999999999999__", "7", "", "__id7__\u{301}", "__id7__ ",
    ] {
      #expect(ResourcePath.numericID(id) == nil)
    }
  }
}
