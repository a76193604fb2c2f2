import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct EncoderTests {
  @Test func `a nested book goes there and back`() throws {
    try expectRoundTrip(CodableBook.guide, as: CodableBook.guideFields)
  }

  @Test func `every scalar type goes there and back`() throws {
    struct Scalars: Codable, Equatable {
      var bool = true
      var int = -5
      var int8: Int8 = .min
      var int16: Int16 = .max
      var int32: Int32 = .min
      var int64: Int64 = .max
      var uint: UInt = 7
      var uint8: UInt8 = .max
      var uint16: UInt16 = .max
      var uint32: UInt32 = .max
      var uint64 = UInt64(Int64.max)
      var float: Float = 0.1
      var double = 0.1
      var string = "zażółć"
      var data = Data([0, 1, 255])
      var url = URL(filePath: "/a b")
      var decimal = Decimal(12.5)
      var some: Int? = 3
      var none: Int?
      var strings = ["a", ""]
      var ints = [1, -1]
      var doubles = [0.5, 1]
      var optionals: [Int?] = [1, nil]
      var byName = ["x": 1, "y": 2]
      var byNumber = [3: "c"]
      var set: Set<Int> = [9]
    }
    let value = Scalars()
    try expectRoundTrip(
      value,
      as: [
        "bool": .boolean(true), "int": .integer(-5), "int8": .integer(-128),
        "int16": .integer(32_767), "int32": .integer(-2_147_483_648), "int64": .integer(.max),
        "uint": .integer(7), "uint8": .integer(255), "uint16": .integer(65_535),
        "uint32": .integer(4_294_967_295), "uint64": .integer(.max),
        "float": .double(Double(Float(0.1))), "double": .double(0.1),
        "string": .string("zażółć"), "data": .bytes([0, 1, 255]),
        "url": .string(value.url.absoluteString), "decimal": .double(12.5), "some": .integer(3),
        "strings": .array([.string("a"), .string("")]),
        "ints": .array([.integer(1), .integer(-1)]),
        "doubles": .array([.double(0.5), .double(1)]),
        "optionals": .array([.integer(1), .null]),
        "byName": .map(map(["x": .integer(1), "y": .integer(2)])),
        "byNumber": .map(map(["3": .string("c")])), "set": .array([.integer(9)]),
      ])
  }

  @Test func `a number beyond Int64 is refused with its path`() throws {
    struct Large: Encodable {
      var inner = ["n": [UInt64.max]]
    }
    let error = #expect(throws: EncodingError.self) { try fields(of: Large()) }
    #expect(path(error) == "inner.n.Index 0")
    #expect(sentence(error) == "NSNumber (18446744073709551615) is too large")
  }

  @Test func `infinity and NaN are refused, or written as the strings asked for`() throws {
    struct Numbers: Codable, Equatable {
      var a = [Double.infinity, -.infinity]
      var f = Float.infinity
    }
    let error = #expect(throws: EncodingError.self) { try fields(of: Numbers()) }
    #expect(path(error) == "a.Index 0")
    let single = #expect(throws: EncodingError.self) { try fields(of: ["x": Float.nan]) }
    #expect(path(single) == "x")
    #expect(throws: EncodingError.self) { try fields(of: ["x": Double.nan]) }
    let encoder = Firestore.Encoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    let decoder = Firestore.Decoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    try expectRoundTrip(
      Numbers(), as: ["a": .array([.string("+"), .string("-")]), "f": .string("+")],
      encoder: encoder, decoder: decoder)
    #expect(try fields(of: ["x": Double.nan], encoder) == map(["x": .string("?")]))
    #expect(
      try decode([String: Double].self, from: ["x": .string("?")], decoder)["x"]?.isNaN == true)
  }

  @Test func `a document is a map, and nothing else`() throws {
    func refusal(_ value: some Encodable) -> String? {
      sentence(#expect(throws: EncodingError.self) { try fields(of: value) })
    }
    #expect(refusal([1, 2]) == "Top-level Array<Int> is not allowed.")
    #expect(refusal("x") == "Top-level String is not allowed.")
    #expect(refusal(Date()) == "Top-level Date is not allowed.")
    #expect(refusal(nil as CodableBook?) == "Top-level Optional<CodableBook> is not allowed.")
    #expect(refusal(FieldValue.delete()) == "Top-level FieldValue is not allowed.")
    #expect(refusal(Timestamp(seconds: 0, nanoseconds: 0)) == "Top-level Timestamp is not allowed.")
    #expect(
      refusal(EncodingClosure { _ in }) == "Top-level EncodingClosure did not encode any values.")
    struct Empty: Encodable {}
    #expect(try fields(of: Empty()) == MapValue())
    #expect(try fields(of: ["a": 1]) == map(["a": .integer(1)]))
    #expect(try fields(of: [String: Int]()) == MapValue())
  }

  @Test func `dates are encoded and decoded by every strategy`() throws {
    let date = Date(timeIntervalSince1970: 1_553_674_530)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy/MM/dd HH:mm:ss"
    typealias Strategy = (
      FirebaseDataEncoder.DateEncodingStrategy, FirebaseDataDecoder.DateDecodingStrategy, Value
    )
    let strategies: [Strategy] = [
      (.timestamp, .timestamp, .timestamp(Instant(microseconds: 1_553_674_530_000_000))),
      (.deferredToDate, .deferredToDate, .double(date.timeIntervalSinceReferenceDate)),
      (.secondsSince1970, .secondsSince1970, .double(1_553_674_530)),
      (.millisecondsSince1970, .millisecondsSince1970, .double(1_553_674_530_000)),
      (.iso8601, .iso8601, .string("2019-03-27T08:15:30Z")),
      (.formatted(formatter), .formatted(formatter), .string("2019/03/27 08:15:30")),
      (
        .custom { date, encoder in
          var container = encoder.singleValueContainer()
          try container.encode(Int(date.timeIntervalSince1970))
        },
        .custom { decoder in
          Date(timeIntervalSince1970: Double(try decoder.singleValueContainer().decode(Int.self)))
        }, .integer(1_553_674_530)
      ),
    ]
    for (encoding, decoding, expected) in strategies {
      let encoder = Firestore.Encoder()
      encoder.dateEncodingStrategy = encoding
      let decoder = Firestore.Decoder()
      decoder.dateDecodingStrategy = decoding
      try expectRoundTrip(["d": date], as: ["d": expected], encoder: encoder, decoder: decoder)
      try expectRoundTrip(
        ["d": [date]], as: ["d": .array([expected])], encoder: encoder, decoder: decoder)
      let optional: [String: Date?] = ["d": date, "n": nil]
      try expectRoundTrip(
        optional, as: ["d": expected, "n": .null], encoder: encoder, decoder: decoder)
    }
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .custom { _, _ in }
    #expect(try fields(of: ["d": date], encoder) == map(["d": .map(MapValue())]))
  }

  @Test func `a stored time stays the same when a model is read and written again`() throws {
    var random = FormatGenerator(seed: 9)
    for _ in 0..<2_000 {
      // From 1902 to 2038, where a Date is fine enough.
      let micros = Int64(bitPattern: random.next()) % 2_147_483_648_000_000
      let stored: [String: Value] = ["d": .timestamp(Instant(microseconds: micros))]
      let model = try decode([String: Date].self, from: stored)
      #expect(try fields(of: model) == map(stored))
    }
  }

  @Test func `a date outside the years 0001 to 9999 is refused`() throws {
    for date in [Date.distantFuture.addingTimeInterval(1e12), Date(timeIntervalSince1970: .nan)] {
      let error = #expect(throws: Status.self) { try fields(of: ["d": date]) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test func `data is encoded and decoded by every strategy`() throws {
    let data = Data([1, 2, 254])
    typealias Strategy = (
      FirebaseDataEncoder.DataEncodingStrategy, FirebaseDataDecoder.DataDecodingStrategy, Value
    )
    let strategies: [Strategy] = [
      (.blob, .blob, .bytes([1, 2, 254])),
      (.base64, .base64, .string("AQL+")),
      (.base64, .blob, .string("AQL+")),
      (.deferredToData, .deferredToData, .array([.integer(1), .integer(2), .integer(254)])),
      (
        .custom { data, encoder in
          var container = encoder.unkeyedContainer()
          try container.encode(data.count)
        },
        .custom { decoder in
          var container = try decoder.unkeyedContainer()
          _ = try container.decode(Int.self)
          return Data([1, 2, 254])
        }, .array([.integer(3)])
      ),
    ]
    for (encoding, decoding, expected) in strategies {
      let encoder = Firestore.Encoder()
      encoder.dataEncodingStrategy = encoding
      let decoder = Firestore.Decoder()
      decoder.dataDecodingStrategy = decoding
      try expectRoundTrip(["d": data], as: ["d": expected], encoder: encoder, decoder: decoder)
    }
    try expectRoundTrip(["d": Data()], as: ["d": .bytes([])])
    let encoder = Firestore.Encoder()
    encoder.dataEncodingStrategy = .custom { _, _ in }
    #expect(try fields(of: ["d": data], encoder) == map(["d": .map(MapValue())]))
  }

  @Test func `user info reaches nested types`() throws {
    let key = try #require(CodingUserInfoKey(rawValue: "unit"))
    let encoder = Firestore.Encoder()
    encoder.userInfo = [key: "cm"]
    let value = [
      "a": [
        EncodingClosure { encoder in
          var container = encoder.singleValueContainer()
          try container.encode(encoder.userInfo[key] as? String)
        }
      ]
    ]
    #expect(try fields(of: value, encoder) == map(["a": .array([.string("cm")])]))
  }

  @Test func `a value that fails leaves nothing behind, and encoding can go on`() throws {
    struct Failing: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        try container.encode(1, forKey: "begun")
        var nested = container.nestedUnkeyedContainer(forKey: "nested")
        try nested.encode(2)
        throw CancellationError()
      }
    }
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode("a", forKey: "a")
      #expect(throws: CancellationError.self) { try container.encode(Failing(), forKey: "b") }
      var list = container.nestedUnkeyedContainer(forKey: "list")
      try list.encode(1)
      #expect(throws: CancellationError.self) { try list.encode(Failing()) }
      #expect(list.count == 1)
      try list.encode(2)
      try container.encode("c", forKey: "c")
    }
    #expect(
      try fields(of: value)
        == map([
          "a": .string("a"), "c": .string("c"), "list": .array([.integer(1), .integer(2)]),
        ]))
  }

  @Test func `what cannot be stored is told, with Firebase's sentences`() throws {
    func fault(_ value: some Encodable) throws -> String? {
      let document = try Firestore.Encoder().encodeDocument(value)
      let tree = try TreeEncoder.encode(value, options: Firestore.Encoder())
      #expect(document.validationError?.message == tree.validationError?.message)
      return document.validationError?.message
    }
    #expect(try fault(["a": [[1], [2]]]) == "Nested arrays are not supported")
    #expect(try fault(["a": [["b"]]]) == "Nested arrays are not supported")
    #expect(try fault(["a": [["b": [1]]]]) == nil)
    #expect(
      try fault(["foo": ["__baz__": 1]])
        == "Invalid data. Document fields cannot begin and end with \"__\" (found in field foo.__baz__)"
    )
    #expect(
      try fault(["": 1]) == "Invalid data. Document fields must not be empty (found in field ``)")
    #expect(
      try fault(["a": ["b c": ["": 1]]])
        == "Invalid data. Document fields must not be empty (found in field a.`b c`.``)")
    #expect(try fault(["a": [["": 1]]]) == "Invalid data. Document fields must not be empty")
    #expect(
      try fault(["a": [FieldValue.serverTimestamp()]])
        == "FieldValue.serverTimestamp() is not currently supported inside arrays")
    struct Deep: Encodable {
      var levels: Int
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        if levels > 0 { try container.encode(Deep(levels: levels - 1), forKey: "d") }
      }
    }
    #expect(try fault(Deep(levels: 20)) == nil)
    #expect(
      try fault(Deep(levels: 21)) == "Maps and arrays are nested deeper than 20 levels.")
  }
}
