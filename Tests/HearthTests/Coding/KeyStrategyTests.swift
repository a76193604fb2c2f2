import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct KeyStrategyTests {
  private static let names = [
    "simpleOneTwo", "myURL", "singleCharacterAtEndX", "thisIsAnXMLProperty", "single",
    "a", "aA", "version4Thing", "partCAPS", "partCAPSLowerAGAIN", "manyWordsInThisThing",
    "asdfĆqer", "already_snake_case", "dataPoint22", "dataPoint22Word", "_oneTwoThree",
    "oneTwoThree_", "__oneTwoThree", "_oneTwoThree_", "😀oneTwo", "URLString", "ALLCAPS", "_",
    "__", "___", "m.dottedName", "x1Y2Z3", "oneTwoThree__", "__oneTwoThree__", "_test", "_test_",
    "__test", "test__", "m\u{349}y\u{326}G\u{34D}reatU\u{347}RL", "🐧🐟", "🐧_🐟", "ALL_CAPS",
    "snake_case", "one_two_three", "one_2_three", "one2_three", "snake_Ćase", "snake_ćase",
    "alreadyCamelCase", "__this_and_that", "_this_and_that", "this__and__that", "this_and_that__",
    "this_aNd_that",
  ]

  private struct Named: Codable, Equatable {
    var name: String
    init(_ name: String) { self.name = name }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode(1, forKey: TextKey(stringValue: name))
    }
    init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: TextKey.self).allKeys.first?.stringValue ?? "none"
    }
  }

  @Test(arguments: names)
  func `snake case is as JSONEncoder and JSONDecoder make it`(name: String) throws {
    let json = JSONEncoder()
    json.keyEncodingStrategy = .convertToSnakeCase
    let data = try json.encode(Named(name))
    let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Int])
    let expected = try #require(object.keys.first)
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(try fields(of: Named(name), encoder).fields.first?.name == expected)

    let jsonDecoder = JSONDecoder()
    jsonDecoder.keyDecodingStrategy = .convertFromSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    for stored in [name, expected] {
      let data = try JSONSerialization.data(withJSONObject: [stored: 1])
      #expect(
        try decode(Named.self, from: [stored: .integer(1)], decoder)
          == jsonDecoder.decode(Named.self, from: data))
    }
  }

  @Test func `keys of dictionaries stay as they are`() throws {
    struct Outer: Codable, Equatable {
      var someNames = ["camelCase": ["innerCase": 1]]
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    try expectRoundTrip(
      Outer(),
      as: [
        "some_names": .map(map(["camelCase": .map(map(["innerCase": .integer(1)]))]))
      ], encoder: encoder, decoder: decoder)
    try expectRoundTrip(
      ["camelCase": 1], as: ["camelCase": .integer(1)], encoder: encoder, decoder: decoder)
  }

  @Test func `a custom strategy is asked once per key, with the path in Swift's names`() throws {
    struct Outer: Codable {
      struct Inner: Codable { var leaf = 1 }
      var inner = Inner()
    }
    nonisolated(unsafe) var asked: [String] = []
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .custom { path in
      asked.append(path.map(\.stringValue).joined(separator: "."))
      return TextKey(stringValue: "Q" + (path.last?.stringValue ?? ""))
    }
    #expect(
      try fields(of: Outer(), encoder)
        == map(["Qinner": .map(map(["Qleaf": .integer(1)]))]))
    #expect(asked == ["inner", "inner.leaf"])
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .custom { path in
      TextKey(stringValue: String((path.last?.stringValue ?? "").dropFirst()))
    }
    let outer = try decode(
      Outer.self, from: ["Qinner": .map(map(["Qleaf": .integer(7)]))], decoder)
    #expect(outer.inner.leaf == 7)
  }

  @Test func `keys that become the same leave one field`() throws {
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .custom { _ in TextKey(stringValue: "same") }
    struct Two: Codable {
      var a = 1
      var b = 2
    }
    #expect(try fields(of: Two(), encoder) == map(["same": .integer(2)]))
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let both: [String: Value] = ["one_two": .integer(1), "oneTwo": .integer(2)]
    struct One: Codable { var oneTwo: Int }
    #expect([1, 2].contains(try decode(One.self, from: both, decoder).oneTwo))
  }

  @Test func `a missing converted key says what it was looked for as`() throws {
    struct One: Codable { var oneTwo: Int }
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let error = #expect(throws: DecodingError.self) { try decode(One.self, from: [:], decoder) }
    #expect(sentence(error)?.hasSuffix("converted to one_two.") == true)
  }
}
