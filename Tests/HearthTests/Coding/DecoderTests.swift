import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct DecoderTests {
  private func failure<T: Decodable>(
    _ type: T.Type, _ fields: [String: Value],
    _ decoder: FirebaseDataDecoder = Firestore.Decoder()
  ) -> DecodingError? {
    #expect(throws: DecodingError.self) { try decode(type, from: fields, decoder) }
  }

  @Test func `numbers and booleans are not taken for each other`() throws {
    for value in [Value.integer(1), .integer(0), .double(1), .string("true"), .null] {
      #expect(failure([String: Bool].self, ["a": value]) != nil)
    }
    for value in [Value.boolean(true), .string("1"), .timestamp(.earliest)] {
      #expect(failure([String: Int].self, ["a": value]) != nil)
      #expect(failure([String: Double].self, ["a": value]) != nil)
      #expect(failure([String: UInt8].self, ["a": value]) != nil)
    }
    let error = failure([String: Int].self, ["a": .boolean(true)])
    guard case .typeMismatch(let type, _)? = error else { throw CancellationError() }
    #expect(ObjectIdentifier(type) == ObjectIdentifier(Int.self))
    #expect(path(error) == "a")
    #expect(sentence(error) == "Expected to decode Int but found a number instead.")
    #expect(
      sentence(failure([String: String].self, ["a": .map(MapValue())]))
        == "Expected to decode String but found a dictionary instead.")
  }

  @Test func `integers are read from numbers that are whole and in range`() throws {
    #expect(try decode([String: Int].self, from: ["a": .double(2)]) == ["a": 2])
    #expect(try decode([String: UInt8].self, from: ["a": .integer(255)]) == ["a": 255])
    #expect(
      sentence(failure([String: Int].self, ["a": .double(45.55)]))
        == "Parsed JSON number <45.55> does not fit in Int.")
    #expect(
      sentence(failure([String: Int8].self, ["a": .integer(12_345)]))
        == "Parsed JSON number <12345> does not fit in Int8.")
    for number in [Double.nan, .infinity, 0x1p63, -1.5] {
      #expect(failure([String: Int64].self, ["a": .double(number)]) != nil)
    }
    #expect(failure([String: UInt].self, ["a": .integer(-1)]) != nil)
  }

  @Test func `doubles are read from any number, floats from those that fit`() throws {
    #expect(try decode([String: Double].self, from: ["a": .integer(3)]) == ["a": 3])
    #expect(
      try decode([String: Double].self, from: ["a": .integer(.max)]) == ["a": 0x1p63])
    #expect(
      try decode([String: Double].self, from: ["a": .double(.infinity)]) == ["a": .infinity])
    #expect(try decode([String: Float].self, from: ["a": .double(0.1)]) == ["a": 0.1])
    #expect(failure([String: Float].self, ["a": .double(1e300)]) != nil)
  }

  @Test func `what is no date, no data and no URL is told, with its path`() throws {
    let decoder = Firestore.Decoder()
    func expectFailure<T: Decodable>(
      _ type: T.Type, _ value: Value, _ expected: String,
      sourceLocation: SourceLocation = #_sourceLocation
    ) {
      let error = failure([String: T].self, ["a": value], decoder)
      #expect(sentence(error) == expected, sourceLocation: sourceLocation)
      #expect(path(error) == "a", sourceLocation: sourceLocation)
      let listed = failure([String: [T]].self, ["a": .array([value])], decoder)
      #expect(path(listed) == "a.Index 0", sourceLocation: sourceLocation)
    }
    for value in [Value.double(5), .string("2019-03-27T08:15:30Z"), .boolean(true)] {
      let error = failure([String: Date].self, ["a": value])
      guard case .typeMismatch? = error else { throw CancellationError() }
      #expect(path(error) == "a")
    }
    expectFailure(Date.self, .null, "Expected Date value but found null instead.")
    expectFailure(Data.self, .null, "Expected Data value but found null instead.")
    expectFailure(Data.self, .string("no base 64"), "Encountered Data is not valid Base64.")
    expectFailure(
      Data.self, .integer(1), "Expected to decode Data but found a number instead.")
    expectFailure(URL.self, .string(""), "Invalid URL string.")
    decoder.dateDecodingStrategy = .iso8601
    expectFailure(Date.self, .string("soon"), "Expected date string to be ISO8601-formatted.")
    decoder.dateDecodingStrategy = .formatted(DateFormatter())
    expectFailure(
      Date.self, .string("soon"), "Date string does not match format expected by formatter.")
    decoder.dateDecodingStrategy = .secondsSince1970
    expectFailure(
      Date.self, .string("5"), "Expected to decode Double but found a string/data instead.")
  }

  @Test func `a missing field, a null and a wrong kind each have their error and path`() throws {
    struct Outer: Decodable {
      struct Inner: Decodable { var value: Int }
      var inner: [Inner]
    }
    let inner: (MapValue) -> [String: Value] = { ["inner": .array([.map($0)])] }
    let missing = failure(Outer.self, inner(MapValue()))
    guard case .keyNotFound(let key, _)? = missing else { throw CancellationError() }
    #expect(key.stringValue == "value")
    #expect(path(missing) == "inner.Index 0")
    #expect(
      sentence(missing)?.hasPrefix("No value associated with key CodingKeys(stringValue: \"value\"")
        == true)
    let null = failure(Outer.self, inner(map(["value": .null])))
    guard case .valueNotFound(let type, _)? = null else { throw CancellationError() }
    #expect(ObjectIdentifier(type) == ObjectIdentifier(Int.self))
    #expect(path(null) == "inner.Index 0.value")
    #expect(sentence(null) == "Expected Int value but found null instead.")
    #expect(path(failure(Outer.self, inner(map(["value": .string("")])))) == "inner.Index 0.value")
    #expect(path(failure(Outer.self, ["inner": .array([.integer(1)])])) == "inner.Index 0")
    #expect(path(failure(Outer.self, ["inner": .integer(1)])) == "inner")
    #expect(
      path(failure([String: [String]].self, ["a": .array([.string(""), .null])])) == "a.Index 1")
    #expect(path(failure([String: [Int]].self, ["a": .array([.string("")])])) == "a.Index 0")
  }

  @Test func `a document that does not exist is nil, or a missing value`() throws {
    let decoder = Firestore.Decoder()
    #expect(
      try decoder.decodeDocument(CodableBook?.self, from: nil) == nil)
    let error = #expect(throws: DecodingError.self) {
      try decoder.decodeDocument(CodableBook.self, from: nil)
    }
    guard case .valueNotFound? = error else { throw CancellationError() }
    #expect(
      sentence(error) == "Cannot get keyed decoding container -- found null value instead.")
    #expect(throws: DecodingError.self) {
      try decoder.decodeDocument(Date.self, from: nil)
    }
    #expect(try decode(CodableBook?.self, from: CodableBook.guideFields) == CodableBook.guide)
  }

  @Test func `fields are found whatever the order and the company`() throws {
    // Documents of other shapes before and after, so that every guess is wrong at times.
    struct Wide: Codable, Equatable {
      var z: Int
      var a: Int?
      var m: Int
      var b: Int?
    }
    var random = FormatGenerator(seed: 4)
    for _ in 0..<500 {
      var fields: [String: Value] = ["z": .integer(1), "m": .integer(2)]
      if random.below(2) == 0 { fields["a"] = .integer(3) }
      if random.below(2) == 0 { fields["b"] = .integer(4) }
      for _ in 0..<random.below(6) { fields["x\(random.below(9))"] = .null }
      let value = try decode(Wide.self, from: fields)
      #expect(
        value
          == Wide(z: 1, a: fields["a"] == nil ? nil : 3, m: 2, b: fields["b"] == nil ? nil : 4))
    }
  }

  @Test func `all keys, containment and nil are told`() throws {
    struct Probe: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        #expect(Set(container.allKeys.map(\.stringValue)) == ["a", "b"])
        #expect(container.contains("a"))
        #expect(!container.contains("c"))
        #expect(try container.decodeNil(forKey: "a"))
        #expect(try !container.decodeNil(forKey: "b"))
        #expect(throws: DecodingError.self) { try container.decodeNil(forKey: "c") }
        #expect(try container.decodeIfPresent(Int.self, forKey: "a") == nil)
        #expect(try container.decodeIfPresent(Int.self, forKey: "c") == nil)
        #expect(try container.decodeIfPresent(Int.self, forKey: "b") == 1)
        #expect(try container.decodeIfPresent([Int].self, forKey: "a") == nil)
        #expect(container.codingPath.isEmpty)
      }
    }
    _ = try decode(Probe.self, from: ["a": .null, "b": .integer(1)])
  }

  @Test func `an unkeyed container stays where it is when an element does not fit`() throws {
    struct Probe: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.container(keyedBy: TextKey.self).nestedUnkeyedContainer(forKey: "l")
        #expect(list.count == 4)
        #expect(throws: DecodingError.self) { try list.decode(Int.self) }
        #expect(list.currentIndex == 0)
        #expect(try list.decode(String.self) == "s")
        #expect(try !list.decodeNil())
        var copy = list
        #expect(try copy.decode(Int.self) == 1)
        #expect(try list.decode(Int.self) == 1)
        #expect(try list.decodeNil())
        var nested = try list.nestedUnkeyedContainer()
        #expect(nested.isAtEnd)
        #expect(nested.codingPath.map(\.stringValue) == ["l", "Index 3"])
        let error = #expect(throws: DecodingError.self) { try nested.decode(Int.self) }
        #expect(sentence(error) == "Unkeyed container is at end.")
        #expect(path(error) == "l.Index 3.Index 0")
        #expect(list.isAtEnd)
      }
    }
    _ = try decode(
      Probe.self, from: ["l": .array([.string("s"), .integer(1), .null, .array([])])])
  }

  @Test func `super decoders read the super field, or null`() throws {
    class Animal: Codable {
      var legs: Int
      init(legs: Int) { self.legs = legs }
    }
    final class Dog: Animal {
      var name = "Rex"
      enum CodingKeys: CodingKey { case name }
      override init(legs: Int) { super.init(legs: legs) }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try super.init(from: container.superDecoder())
        name = try container.decode(String.self, forKey: .name)
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try super.encode(to: container.superEncoder())
        try container.encode(name, forKey: .name)
      }
    }
    let stored: [String: Value] = [
      "name": .string("Rex"), "super": .map(map(["legs": .integer(4)])),
    ]
    #expect(try fields(of: Dog(legs: 4)) == map(stored))
    #expect(try decode(Dog.self, from: stored).legs == 4)
    let error = failure(Dog.self, ["name": .string("Rex")])
    #expect(path(error) == "super")
    guard case .valueNotFound? = error else { throw CancellationError() }
  }

  @Test func `a decoder kept beyond its time throws`() throws {
    struct Keeper: Decodable {
      var decoder: any Decoder
      var keyed: KeyedDecodingContainer<TextKey>
      var list: any UnkeyedDecodingContainer
      init(from decoder: any Decoder) throws {
        self.decoder = decoder
        keyed = try decoder.container(keyedBy: TextKey.self)
        list = try keyed.nestedUnkeyedContainer(forKey: "l")
      }
    }
    var kept = try decode(Keeper.self, from: ["l": .array([.integer(1)])])
    #expect(throws: DecodingError.self) { try kept.decoder.container(keyedBy: TextKey.self) }
    #expect(throws: DecodingError.self) { try kept.keyed.decode(Int.self, forKey: "l") }
    #expect(throws: DecodingError.self) { try kept.list.decode(Int.self) }
    #expect(kept.decoder.codingPath.isEmpty)
    #expect(kept.decoder.userInfo.isEmpty)
    #expect(kept.keyed.allKeys.isEmpty)
    #expect(!kept.keyed.contains("l"))
    #expect(throws: DecodingError.self) {
      try kept.decoder.singleValueContainer().decode(Int.self)
    }
  }

  @Test func `an encoder kept beyond its time does nothing`() throws {
    final class Keeper: Encodable {
      nonisolated(unsafe) var encoder: (any Encoder)?
      func encode(to encoder: any Encoder) throws {
        self.encoder = encoder
        var container = encoder.container(keyedBy: TextKey.self)
        try container.encode(1, forKey: "a")
      }
    }
    let keeper = Keeper()
    #expect(try fields(of: keeper) == map(["a": .integer(1)]))
    let encoder = try #require(keeper.encoder)
    var container = encoder.container(keyedBy: TextKey.self)
    try container.encode(2, forKey: "b")
    #expect(encoder.codingPath.isEmpty)
    #expect(try fields(of: ["c": 3]) == map(["c": .integer(3)]))
  }

  @Test func `damaged documents throw while they are decoded, and never trap`() throws {
    var random = FormatGenerator(seed: 12)
    let whole = try Firestore.Encoder().encodeDocument(CodableBook.guide).body.bytes
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0...random.below(3) {
        bytes[random.below(bytes.count)] = UInt8(random.below(256))
      }
      if random.below(4) == 0 { bytes.removeLast(random.below(bytes.count)) }
      bytes.withUnsafeBytes { bytes in
        do {
          _ = try Firestore.Decoder().decodeDocument(CodableBook.self, from: StoredBody(bytes))
        } catch {
          #expect(error is Status || error is DecodingError)
        }
      }
    }
  }

  @Test func `bytes deeper than documents are do not exhaust the stack`() throws {
    struct Nest: Decodable {
      var a: [Nest]?
      var b: [String: Nest]?
    }
    func bytes(levels: Int, _ wrap: (DocumentWriter) -> (() -> Void)) throws -> [UInt8] {
      let writer = DocumentWriter()
      defer { writer.destroy() }
      var ends: [() -> Void] = []
      writer.beginMap()
      for _ in 0..<levels { ends.append(wrap(writer)) }
      for end in ends.reversed() { end() }
      writer.endMap()
      return try writer.finish().bytes
    }
    let ways: [(DocumentWriter) -> (() -> Void)] = [
      { writer in
        writer.field("a")
        writer.beginArray()
        writer.element()
        writer.beginMap()
        return {
          writer.endMap()
          writer.endArray()
        }
      },
      { writer in
        writer.field("b")
        writer.beginMap()
        writer.field("x")
        writer.beginMap()
        return {
          writer.endMap()
          writer.endMap()
        }
      },
    ]
    for wrap in ways {
      let whole = try bytes(levels: DocumentFormat.maximumDepth / 2, wrap)
      #expect(throws: Never.self) {
        try whole.withUnsafeBytes {
          _ = try Firestore.Decoder().decodeDocument(Nest.self, from: StoredBody($0))
        }
      }
      let deep = try bytes(levels: 2_000, wrap)
      let error = #expect(throws: Status.self) {
        try deep.withUnsafeBytes {
          _ = try Firestore.Decoder().decodeDocument(Nest.self, from: StoredBody($0))
        }
      }
      #expect(error?.code == .dataLoss)
    }
  }

  @Test func `random values of every kind decode as any type, or throw`() throws {
    var random = FormatGenerator(seed: 13)
    func tryDecoding<T: Decodable>(_ type: T.Type, _ body: DocumentBody) {
      do {
        _ = try body.withBytes {
          try Firestore.Decoder().decodeDocument(type, from: StoredBody($0))
        }
      } catch {
        #expect(error is DecodingError)
      }
    }
    for _ in 0..<5_000 {
      let body = DocumentBody(MapValue(random.fields(upTo: 2)))
      tryDecoding([String: Int].self, body)
      tryDecoding([String: String?].self, body)
      tryDecoding([String: Double].self, body)
      tryDecoding([String: [Int?]].self, body)
      tryDecoding([String: Date].self, body)
      tryDecoding([String: Data?].self, body)
      tryDecoding([String: Timestamp].self, body)
      tryDecoding([String: [String: GeoPoint]].self, body)
      tryDecoding([String: VectorValue].self, body)
      tryDecoding([Int].self, body)
      tryDecoding(String?.self, body)
    }
  }
}
