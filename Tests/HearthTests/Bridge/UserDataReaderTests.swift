import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// What cannot be written, and the sentence that says so.
///
/// The sentences are those of Firestore's own validation tests.
struct UserDataReaderTests {
  private let home = DatabaseIdentity(project: "home")

  private enum Write: CaseIterable {
    case set, merge, mergeFields, update
  }

  private func parse(_ data: [String: Any], _ write: Write) throws -> ParsedWrite {
    switch write {
    case .set: try ParsedWrite(set: data, database: home)
    case .merge: try ParsedWrite(set: data, merge: .all, database: home)
    case .mergeFields:
      try ParsedWrite(set: data, merge: .fields(Array(data.keys)), database: home)
    case .update: try ParsedWrite(update: data, database: home)
    }
  }

  /// Every kind of write refuses the data with the same sentence.
  private func expect(
    _ data: [String: Any], refusedWith sentence: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for write in Write.allCases {
      #expect(
        refusal { try parse(data, write) } == sentence, "\(write)", sourceLocation: sourceLocation)
    }
  }

  @Test func `arrays directly in arrays`() {
    expect(["nested": [1, [2]] as [Any]], refusedWith: "Nested arrays are not supported")
    expect(["nested": [[1]]], refusedWith: "Nested arrays are not supported")
    expect(["nested": [[1]] as [[Any]]], refusedWith: "Nested arrays are not supported")
    expect(["a": [["b": [[1]]]]], refusedWith: "Nested arrays are not supported")
    expect(
      ["a": FieldValue.arrayUnion([1, [2]])], refusedWith: "Nested arrays are not supported")
    expect(
      ["a": FieldValue.arrayRemove([1, [2]])], refusedWith: "Nested arrays are not supported")
  }

  @Test func `an array in a map in an array is fine`() throws {
    let data = ["a": [["b": [1]]]]
    for write in Write.allCases {
      #expect(
        try parse(data, write).fields["a"]
          == .array([.map(MapValue([("b", .array([.integer(1)]))]))]))
    }
  }

  @Test func `types that cannot be stored`() throws {
    let url = try #require(URL(string: "http://example.org"))
    expect(["foo": url], refusedWith: "Unsupported type: URL (found in field foo)")
    expect(
      ["foo": ["bar": Unsupported()]],
      refusedWith: "Unsupported type: Unsupported (found in field foo.bar)")
    expect(
      ["foo": ["a.b": Unsupported()]],
      refusedWith: "Unsupported type: Unsupported (found in field foo.`a.b`)")
    expect(["foo": [Unsupported()]], refusedWith: "Unsupported type: Unsupported")
    expect(["foo": [["bar": Unsupported()]]], refusedWith: "Unsupported type: Unsupported")
  }

  @Test func `numbers beyond Int64`() {
    expect(
      ["num": UInt64(1) << 63],
      refusedWith: "NSNumber (9223372036854775808) is too large (found in field num)")
    expect(
      ["a": ["num": NSNumber(value: UInt64.max)]],
      refusedWith: "NSNumber (18446744073709551615) is too large (found in field a.num)")
  }

  @Test func `references into another database`() {
    let foreign = Reference("books/dune", in: DatabaseIdentity(project: "away"))
    let sentence =
      "Document Reference is for database away/(default) "
      + "but should be for database home/(default)"
    expect(["foo": foreign], refusedWith: sentence + " (found in field foo)")
    expect(["foo": ["bar": foreign]], refusedWith: sentence + " (found in field foo.bar)")
    expect(["foo": [foreign]], refusedWith: sentence)
    expect(
      ["foo": FieldValue.arrayUnion([foreign])], refusedWith: sentence + " (found in field foo)")
  }

  @Test func `reserved names`() {
    let sentence = "Invalid data. Document fields cannot begin and end with \"__\""
    expect(["__baz__": 1], refusedWith: sentence + " (found in field __baz__)")
    expect(["foo": ["__baz__": 1]], refusedWith: sentence + " (found in field foo.__baz__)")
    expect(
      ["__baz__": ["foo": 1]], refusedWith: sentence + " (found in field __baz__)")
    expect(["__": 1], refusedWith: sentence + " (found in field __)")
    expect(["foo": [["__baz__": 1]]], refusedWith: sentence)
    expect(["foo": FieldValue.arrayUnion([["__baz__": 1]])], refusedWith: sentence)
    expect(
      ["foo": ["__x__": FieldValue.increment(1)]],
      refusedWith: sentence + " (found in field foo.__x__)")
    #expect(
      refusal { try ParsedWrite(update: ["foo.__baz__": 1], database: home) }
        == sentence + " (found in field foo.__baz__)")
    #expect(
      refusal { try ParsedWrite(update: ["__baz__.foo": 1], database: home) }
        == sentence + " (found in field __baz__.foo)")
    #expect(
      refusal { try ParsedWrite(update: [FieldPath.documentID(): 1], database: home) }
        == sentence + " (found in field __name__)")
  }

  @Test func `empty names`() {
    let sentence = "Invalid data. Document fields must not be empty"
    for write in [Write.set, .merge] {
      #expect(refusal { try parse(["": 1], write) } == sentence + " (found in field ``)")
    }
    expect(["foo": ["": 1]], refusedWith: sentence + " (found in field foo.``)")
    expect(["foo": [["": 1]]], refusedWith: sentence)
  }

  @Test func `names with one pair of underscores are fine`() throws {
    for name in ["__a", "a__", "_", "_a_"] {
      for write in Write.allCases {
        #expect(try parse([name: 1], write).fields[name] == .integer(1))
      }
    }
  }

  @Test(arguments: [
    FieldValue.serverTimestamp(), .increment(1), .minimum(1), .maximum(1), .arrayUnion([1]),
    .arrayRemove([1]), .delete(),
  ])
  func `sentinels inside arrays`(sentinel: FieldValue) {
    let sentence = "\(sentinel.transform.methodName) is not currently supported inside arrays"
    expect(["array": [sentinel]], refusedWith: sentence)
    expect(["array": [1, ["a": sentinel]] as [Any]], refusedWith: sentence)
    expect(["map": ["array": NSArray(array: [sentinel])]], refusedWith: sentence)
  }

  @Test func `delete() where nothing is there to delete`() {
    let sentence =
      "FieldValue.delete() can only be used with updateData() and setData() with merge:true"
    #expect(
      refusal { try parse(["foo": FieldValue.delete()], .set) }
        == sentence + " (found in field foo)")
    #expect(
      refusal { try parse(["foo": ["bar": FieldValue.delete()]], .set) }
        == sentence + " (found in field foo.bar)")
  }

  @Test func `delete() below the top level of an update`() {
    let sentence = "FieldValue.delete() can only appear at the top level of your update data"
    #expect(
      refusal { try parse(["foo": ["bar": FieldValue.delete()]], .update) }
        == sentence + " (found in field foo.bar)")
    #expect(
      refusal { try parse(["foo.bar": ["baz": FieldValue.delete()]], .update) }
        == sentence + " (found in field foo.bar.baz)")
  }

  @Test func `sentinels with faulty elements`() {
    expect(
      ["a": FieldValue.arrayUnion([Unsupported()])], refusedWith: "Unsupported type: Unsupported")
    expect(
      ["a": FieldValue.arrayUnion([FieldValue.delete()])],
      refusedWith: "FieldValue.delete() can only be used with updateData() and setData()")
  }

  @Test func `faulty values`() {
    expect(
      ["a": GeoPoint(latitude: 0, longitude: 181)],
      refusedWith:
        "GeoPoint requires a longitude value in the range of [-180, 180], but was 181")
    expect(
      ["a": Timestamp(seconds: .max, nanoseconds: 0)],
      refusedWith: "Timestamp seconds out of range: 9223372036854775807")
    expect(
      ["a": Reference("a", fault: .invalidArgument("Document path cannot be empty."))],
      refusedWith: "Document path cannot be empty.")
  }

  @Test func `keys of maps that are no strings`() {
    expect(
      ["foo": [1: 2]],
      refusedWith: "Invalid data. Keys of a map must be strings, but one is of type: Int "
        + "(found in field foo)")
  }

  @Test func `maps and arrays nest 20 levels deep`() throws {
    func maps(_ count: Int) -> Any {
      (0..<count).reduce(1 as Any) { inner, _ in ["a": inner] }
    }
    let sentence =
      "Property a contains an invalid nested entity. Maps and arrays may be nested 20 levels deep."
    for write in Write.allCases { _ = try parse(["a": maps(20)], write) }
    expect(["a": maps(21)], refusedWith: sentence)
    for write in Write.allCases { _ = try parse(["a": [maps(19)]], write) }
    expect(["a": [maps(20)]], refusedWith: sentence)
    expect(["a": maps(1000)], refusedWith: sentence)
    let array = (0..<20).reduce([1] as Any) { inner, _ in ["a": inner] }
    expect(["a": array], refusedWith: sentence)

    let names = Array(repeating: "a", count: 22)
    _ = try ParsedWrite(update: [FieldPath(Array(names.dropLast())): 1], database: home)
    #expect(refusal { try ParsedWrite(update: [FieldPath(names): 1], database: home) } == sentence)
    #expect(
      refusal {
        try ParsedWrite(
          update: [FieldPath(Array(repeating: "a", count: 100_000)): FieldValue.delete()],
          database: home)
      } == sentence)
    #expect(
      refusal { try ParsedWrite(update: ["a.a": maps(20)], database: home) } == sentence)
  }

  @Test func `keys of an update that name no field`() {
    let keys = "Dictionary keys in updateData: must be NSStrings or FIRFieldPaths."
    #expect(refusal { try ParsedWrite(update: [1: 2], database: home) } == keys)
    #expect(
      refusal { try ParsedWrite(update: ["foo..baz": 2], database: home) }
        == "Invalid field path (foo..baz). Paths must not be empty, begin with '.', "
        + "end with '.', or contain '..'")
    #expect(
      refusal { try ParsedWrite(update: ["": 2], database: home) }
        == "Invalid field path (). Paths must not be empty, begin with '.', "
        + "end with '.', or contain '..'")
    #expect(
      refusal { try ParsedWrite(update: ["foo~bar": 2], database: home) }
        == "Invalid field path (foo~bar). Paths must not contain '~', '*', '/', '[', or ']'")
    #expect(
      refusal { try ParsedWrite(update: [FieldPath([]): 2], database: home) }
        == "Invalid field path. Provided names must not be empty.")
    #expect(
      refusal { try ParsedWrite(update: [FieldPath(["foo", ""]): 2], database: home) }
        == "Invalid field name at index 1. Field names must not be empty.")
  }

  @Test func `fields of a merge that name no field of the data`() {
    func merge(_ fields: [Any]) throws -> ParsedWrite {
      try ParsedWrite(
        set: ["foo": ["bar": 1], "empty": [:] as [String: Any]], merge: .fields(fields),
        database: home)
    }
    let missing = " is specified in your field mask but missing from your input data."
    #expect(refusal { try merge(["baz"]) } == "Field 'baz'" + missing)
    #expect(refusal { try merge(["foo", "foo.baz"]) } == "Field 'foo.baz'" + missing)
    #expect(refusal { try merge([FieldPath(["foo.bar"])]) } == "Field '`foo.bar`'" + missing)
    #expect(refusal { try merge(["empty.a"]) } == "Field 'empty.a'" + missing)
    let elements = "All elements in mergeFields: must be NSStrings or FIRFieldPaths."
    #expect(refusal { try merge([1]) } == elements)
    #expect(refusal { try merge([["foo"]]) } == elements)
    #expect(
      refusal { try merge(["foo*"]) }
        == "Invalid field path (foo*). Paths must not contain '~', '*', '/', '[', or ']'")
    #expect(
      refusal { try merge([FieldPath([])]) }
        == "Invalid field path. Provided names must not be empty.")
  }

  @Test func `an update that says two things about one field`() {
    #expect(
      refusal { try ParsedWrite(update: ["a": 1, "a.b": 2], database: home) }
        == "Field 'a.b' in your update data is inside field 'a', which is specified too.")
    #expect(
      refusal {
        try ParsedWrite(
          update: ["a.b": FieldValue.delete(), "a.b.c": FieldValue.increment(1)], database: home)
      } == "Field 'a.b.c' in your update data is inside field 'a.b', which is specified too.")
    #expect(
      refusal { try ParsedWrite(update: ["a.b": 1, FieldPath(["a", "b"]): 2], database: home) }
        == "Field 'a.b' is specified more than once in your update data.")
  }
}
