import Testing

@testable import Hearth
@testable import HearthEngine

struct FieldSegmentsTextTests {
  @Test func `dotted text is split at its dots and at nothing else`() throws {
    #expect(try FieldSegments(dotted: "a").names == ["a"])
    #expect(try FieldSegments(dotted: "a.b c.`d`.\\").names == ["a", "b c", "`d`", "\\"])
    #expect(try FieldSegments(dotted: "é.e\u{301}").names[1].unicodeScalars.count == 2)
    #expect(try FieldSegments(dotted: "__name__").isDocumentID)
  }

  @Test func `wrong dotted text is refused in Firebase's words`() {
    func refusal(_ text: String) -> String {
      message { () throws(Status) in _ = try FieldSegments(dotted: text) }
    }
    for text in ["", ".", "foo.", ".foo", "foo..baz"] {
      #expect(
        refusal(text)
          == "Invalid field path (\(text)). Paths must not be empty, begin with '.', end with '.', "
          + "or contain '..'")
    }
    for text in ["foo~bar", "foo*bar", "foo/bar", "foo[1", "foo]1", "foo[1]", "..~"] {
      #expect(
        refusal(text)
          == "Invalid field path (\(text)). Paths must not contain '~', '*', '/', '[', or ']'")
    }
  }

  @Test func `given names may hold anything, but are there and not empty`() throws {
    #expect(try FieldSegments(checkingNames: ["a.b", "~"]).names == ["a.b", "~"])
    func refusal(_ names: [String]) -> String {
      message { () throws(Status) in _ = try FieldSegments(checkingNames: names) }
    }
    #expect(refusal([]) == "Invalid field path. Provided names must not be empty.")
    #expect(
      refusal(["foo", ""]) == "Invalid field name at index 1. Field names must not be empty.")
  }

  @Test(arguments: [
    (["a"], "a"), (["a", "b"], "a.b"), (["_a1", "Z"], "_a1.Z"), (["1a"], "`1a`"),
    (["a.b", "c"], "`a.b`.c"), (["x&y"], "`x&y`"), (["bak`tik"], "`bak\\`tik`"),
    (["back\\slash"], "`back\\\\slash`"), (["é"], "`é`"), ([""], "``"), (["__name__"], "__name__"),
  ])
  func `names that are not simple stand in backticks`(names: [String], text: String) {
    #expect(FieldSegments(names).canonicalText == text)
  }

  @Test func `the canonical text gives back the path`() throws {
    for seed in 1...2000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let names = (0...random.generator.below(3)).map { _ in
        random.fieldName() + random.generator.pick(["", "`", "\\", ".", "``", "\\`"])
      }
      let path = FieldSegments(names)
      #expect(try FieldSegments(wireText: path.canonicalText) == path, "seed \(seed)")
    }
  }

  @Test func `quoting without need and escaping anything is read`() throws {
    #expect(try FieldSegments(wireText: "`a`.b").names == ["a", "b"])
    #expect(try FieldSegments(wireText: "`\\a\\é`").names == ["aé"])
  }

  @Test(arguments: [
    "*", ".", "..", ".a", "1a", "`", "``", "`a", "`a``b`", "a b", "a-b", "a.", "a..b", "a.1",
    "a.``", "a[0]", "a`b", "é", "`a`.", "`a\\", "`a\\`", "`a`b",
  ])
  func `what the server cannot read is refused in its words`(text: String) {
    let refusal = message { () throws(Status) in _ = try FieldSegments(wireText: text) }
    #expect(
      refusal
        == "Invalid property path \"\(text)\". Unquoted property paths must match regex "
        + "([a-zA-Z_][a-zA-Z_0-9]*), and quoted property paths must match regex "
        + "(`(?:[^`\\\\]|(?:\\\\.))+`)")
  }

  @Test func `empty wire text is refused`() {
    let refusal = message { () throws(Status) in _ = try FieldSegments(wireText: "") }
    #expect(refusal == "Invalid empty property path string.")
  }

  @Test func `the server refuses field names that are empty, too long or reserved`() throws {
    let long = String(repeating: "x", count: 1500)
    for name in ["__", "____", "__a", "a__", ".", "é", "__x_", long] {
      try FieldSegments([name]).checkNames()
    }
    func refusal(_ names: [String]) -> String {
      message { () throws(Status) in try FieldSegments(names).checkNames() }
    }
    #expect(refusal(["a", ""]) == "The property.name is the empty string.")
    #expect(refusal([long + "x"]) == "The property.name is longer than 1500 bytes.")
    #expect(refusal([long, "x"]) == "The property path is longer than 1500 bytes.")
    for name in ["_____", "__x__", "__name__", "__id7__"] {
      #expect(refusal(["a", name]) == "field name '\(name)' is reserved.")
    }
  }
}
