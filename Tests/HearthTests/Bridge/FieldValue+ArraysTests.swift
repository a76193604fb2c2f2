import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct FieldValueArraysTests {
  @Test func `elements are read when the sentinel is made`() {
    let elements: [Any] = [1, "x", ["in": ["a", "map"]], NSNull()]
    let expected: [Value] = [
      .integer(1), .string("x"),
      .map(MapValue([("in", .array([.string("a"), .string("map")]))])), .null,
    ]
    guard case .arrayUnion(let added) = FieldValue.arrayUnion(elements).transform,
      case .arrayRemove(let removed) = FieldValue.arrayRemove(elements).transform
    else {
      Issue.record("Not the transform that was asked for.")
      return
    }
    #expect(added == expected)
    #expect(removed == expected)
  }

  @Test func `an element that cannot be stored is remembered as a fault`() {
    let cases: [([Any], String)] = [
      ([1, [2]], "Nested arrays are not supported"),
      ([1, [2] as [Any]], "Nested arrays are not supported"),
      ([["a": [[1]]]], "Nested arrays are not supported"),
      (
        [FieldValue.serverTimestamp()],
        "FieldValue.serverTimestamp() can only be used with updateData() and setData()"
      ),
      ([["": 1]], "Invalid data. Document fields must not be empty"),
      (
        [["__a__": 1]],
        "Invalid data. Document fields cannot begin and end with \"__\""
      ),
      ([UInt64.max], "NSNumber (18446744073709551615) is too large"),
      ([Unsupported()], "Unsupported type: Unsupported"),
    ]
    for (elements, sentence) in cases {
      #expect(FieldValue.arrayUnion(elements).validationError?.message == sentence)
      #expect(FieldValue.arrayRemove(elements).validationError?.message == sentence)
    }
  }

  @Test func `where references point is remembered`() {
    let home = DatabaseIdentity(project: "home")
    let reference = Reference("books/dune", in: home)
    #expect(FieldValue.arrayUnion([1, reference]).database == home)
    #expect(FieldValue.arrayUnion([1]).database == nil)
    let other = Reference("books/dune", in: DatabaseIdentity(project: "away"))
    #expect(
      FieldValue.arrayUnion([reference, other]).validationError?.message
        == "Document Reference is for database away/(default) but should be for database home/(default)"
    )
  }
}
