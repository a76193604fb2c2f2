import Testing

@testable import Hearth
@testable import HearthEngine

struct FieldPathTests {
  @Test func `a path without names is remembered as a fault`() {
    #expect(
      refusal { try FieldPath([]).segments() }
        == "Invalid field path. Provided names must not be empty.")
    #expect(
      refusal { try FieldPath(["foo", ""]).segments() }
        == "Invalid field name at index 1. Field names must not be empty.")
    #expect(
      refusal { try FieldPath([""]).segments() }
        == "Invalid field name at index 0. Field names must not be empty.")
  }

  @Test func `names may hold anything`() throws {
    #expect(try FieldPath(["a.b", "*"]).segments() == FieldSegments(["a.b", "*"]))
    #expect(try FieldPath.documentID().segments().isDocumentID)
  }

  @Test func `equal paths are equal as objects, copies and keys`() {
    let one = FieldPath(["a", "b"])
    #expect(one == FieldPath(["a", "b"]))
    #expect(one.hash == FieldPath(["a", "b"]).hash)
    #expect(one.copy() as? FieldPath == one)
    #expect([one: 1][FieldPath(["a", "b"])] == 1)
    #expect(one != FieldPath(["a.b"]))
    #expect(FieldPath.documentID() == FieldPath(["__name__"]))
    #expect(!one.isEqual("a.b"))
    #expect(FieldPath(["a.b", "c"]).description == "`a.b`.c")
  }
}
