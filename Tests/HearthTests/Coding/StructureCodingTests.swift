import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// `Firestore.Encoder` and `Firestore.Decoder` to and from dictionaries, which hold a value as it is. Storing
/// has rules of its own.
struct StructureCodingTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  // MARK: Replacement

  @Test func `what replaces a value is encoded in its place, in documents and in structures`()
    throws
  {
    struct Degrees: Codable, Hashable { var celsius: Double }
    struct Day: Encodable {
      var high: Degrees
      var lows: [Degrees?]
      var none: Degrees?
      var byPlace: [String: [Degrees]]
      var place: GeoPoint
      var name: String
    }
    let encoder = Firestore.Encoder()
    encoder.replacement = { ($0 as? Degrees)?.celsius }
    let point = GeoPoint(latitude: 1, longitude: 2)
    let day = Day(
      high: Degrees(celsius: 30), lows: [Degrees(celsius: 1.5), nil], none: nil,
      byPlace: ["Linz": [Degrees(celsius: 2)]], place: point, name: "Monday")
    let body = try encoder.encodeDocument(day).body
    #expect(
      try body.map()
        == MapValue([
          ("high", .double(30)), ("lows", .array([.double(1.5), .null])),
          ("byPlace", .map(MapValue([("Linz", .array([.double(2)]))]))),
          ("place", .geoPoint(Coordinate(latitude: 1, longitude: 2))), ("name", .string("Monday")),
        ]))
    #expect(try TreeEncoder.encode(day, options: encoder).body == body)
    let structure = try encoder.encode(day)
    #expect(structure["high"] as? Double == 30 && structure["place"] as? GeoPoint === point)
    #expect(structure["byPlace"] as? [String: [Double]] == ["Linz": [2]])
    // An error is that of the encoding.
    struct Refusal: Error {}
    encoder.replacement = { if $0 is Degrees { throw Refusal() } else { nil } }
    #expect(throws: Refusal.self) { try encoder.encodeDocument(day) }
    #expect(throws: Refusal.self) { try encoder.encode(day) as [String: Any] }
  }

  // MARK: Exactness

  struct Everything: Codable, Equatable {
    struct Inner: Codable, Equatable {
      var time: Timestamp
      @ServerTimestamp var seen: Date?
      @ExplicitNull var price: Decimal?
    }
    var times: [Timestamp]
    var named: [String: [String: Timestamp?]]
    var dates: [Date]
    var decimals: [String: Decimal]
    var matrix: [[[Int]]]
    var ranges: [Range<Double>]
    var large: [UInt64]
    var bytes: [[Data]]
    var point: GeoPoint?
    var vectors: [VectorValue]
    var inner: [[Inner]]
    var links: [String: URL]
  }

  /// Moments to the nanosecond, decimals to the thirty-eighth digit, any name.
  private struct Generator {
    var random: FormatGenerator

    mutating func timestamp() -> Timestamp {
      Timestamp(
        seconds: Int64(random.below(253_402_300_800 + 62_135_596_800)) - 62_135_596_800,
        nanoseconds: Int32(random.below(1_000_000_000)))
    }

    /// Of our days, with all the digits that a date has.
    mutating func date() -> Date {
      Date(timeIntervalSince1970: Double(random.below(4_000_000_000_000_000_000)) / 1e9)
    }

    mutating func decimal() throws -> Decimal {
      let digits = (0..<1 + random.below(38)).map { _ in "\(random.below(10))" }.joined()
      let sign = random.below(2) == 0 ? "-" : ""
      return try #require(Decimal(string: "\(sign)\(digits)e\(random.below(180) - 100)"))
    }

    mutating func name() -> String {
      let names = ["", "__x__", "__", "a.b", "`", "~*/[]", "é", "camelCase", "snake_case"]
      return random.below(2) == 0 ? random.one(of: names) : random.text(upTo: 8)
    }

    mutating func list<T>(_ make: (inout Generator) throws -> T) rethrows -> [T] {
      try (0..<random.below(4)).map { _ in try make(&self) }
    }

    mutating func named<T>(_ make: (inout Generator) throws -> T) rethrows -> [String: T] {
      var named: [String: T] = [:]
      for _ in 0..<random.below(4) { named[name()] = try make(&self) }
      return named
    }

    mutating func everything() throws -> Everything {
      Everything(
        times: list { $0.timestamp() },
        named: named { $0.named { $0.random.below(3) == 0 ? nil : $0.timestamp() } },
        dates: list { $0.date() }, decimals: try named { try $0.decimal() },
        matrix: list { $0.list { $0.list { $0.random.below(1000) } } },
        ranges: list { 0..<Double($0.random.below(100)) },
        large: list { $0.random.next() },
        bytes: list { $0.list { Data((0..<$0.random.below(5)).map { UInt8($0) }) } },
        point: random.below(2) == 0 ? nil : GeoPoint(latitude: 1.5, longitude: -2),
        vectors: list { VectorValue([Double($0.random.below(100)) / 7]) },
        inner: try list {
          try $0.list {
            Everything.Inner(
              time: $0.timestamp(), seen: $0.date(),
              price: $0.random.below(2) == 0 ? nil : try $0.decimal())
          }
        },
        links: try named {
          try #require(URL(string: "https://example.org/\($0.random.below(9))"))
        })
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a value goes to a dictionary and comes back exactly`(seed: UInt64) throws {
    var generator = Generator(random: FormatGenerator(seed: seed))
    for _ in 0..<400 {
      let value = try generator.everything()
      let fields = try encoder.encode(value)
      let read = try decoder.decode(Everything.self, from: fields)
      guard read == value,
        read.decimals.mapValues(\.description) == value.decimals.mapValues(\.description)
      else {
        Issue.record("seed \(seed): \(value) became \(read)")
        return
      }
    }
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `a value comes back exactly under key strategies, and through Foundation's collections`(
    seed: UInt64
  ) throws {
    encoder.keyEncodingStrategy = .custom {
      AnyCodingKey(stringValue: "k." + ($0.last?.stringValue ?? ""))
    }
    decoder.keyDecodingStrategy = .custom {
      AnyCodingKey(stringValue: String(($0.last?.stringValue ?? "").dropFirst(2)))
    }
    var generator = Generator(random: FormatGenerator(seed: seed))
    for _ in 0..<200 {
      let value = try generator.everything()
      let fields = NSDictionary(dictionary: try encoder.encode(value))
      #expect(try decoder.decode(Everything.self, from: fields) == value, "seed \(seed)")
    }
  }

  @Test func `a timestamp keeps its nanoseconds in the dictionary`() throws {
    let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789)
    let fields = try encoder.encode(["at": [time], "never": []])
    let list = try #require(fields["at"] as? [Any])
    #expect(list.first as? Timestamp == time)
  }

  @Test func `a date is a timestamp to the nanosecond`() throws {
    struct Visit: Codable, Equatable {
      var began: Date
      @ServerTimestamp var ended: Date?
    }
    let date = Date(timeIntervalSince1970: 1_700_000_000.123_456_7)
    let visit = Visit(began: date, ended: date)
    let fields = try encoder.encode(visit)
    let time = try #require(fields["began"] as? Timestamp)
    #expect(time == Timestamp(date: date))
    #expect(time.nanoseconds % 1000 != 0)
    #expect(fields["ended"] as? Timestamp == time)
    #expect(try decoder.decode(Visit.self, from: fields) == visit)
    #expect(try decoder.decode([String: Date].self, from: ["a": date]) == ["a": date])
    #expect(try decoder.decode([String: Timestamp].self, from: ["a": date]) == ["a": time])
  }

  @Test func `a date beyond the years of timestamps is refused`() {
    for seconds in [1e12, -1e12, .infinity, .nan] {
      let date = Date(timeIntervalSince1970: seconds)
      let error = #expect(throws: NSError.self) { try encoder.encode(["a": date]) }
      #expect(error?.code == Status.Code.invalidArgument.rawValue)
    }
  }

  @Test func `a decimal is an NSDecimalNumber with all its digits`() throws {
    let text = "-12345678901234567890123456789012345.678"
    let decimal = try #require(Decimal(string: text))
    let fields = try encoder.encode(["price": decimal])
    #expect((fields["price"] as? NSDecimalNumber)?.decimalValue == decimal)
    #expect(fields["price"] as? Decimal == decimal)
    #expect(try decoder.decode([String: Decimal].self, from: fields)["price"]?.description == text)
    #expect(try decoder.decode([Decimal].self, from: [decimal]) == [decimal])
    let large = try #require(Decimal(string: "18446744073709551615"))
    #expect(try decoder.decode([Decimal].self, from: [UInt64.max]) == [large])
    #expect(try decoder.decode([UInt64].self, from: [large]) == [.max])
    #expect(try decoder.decode([Int].self, from: [Decimal(string: "5.0")]) == [5])
    #expect(try decoder.decode([Double].self, from: [Decimal(string: "0.1")]) == [0.1])
    let error = #expect(throws: DecodingError.self) {
      try decoder.decode([Int].self, from: [Decimal(string: "4.5")])
    }
    #expect(sentence(error) == "Parsed JSON number <4.5> does not fit in Int.")
  }

  @Test func `unsigned integers beyond Int64 come back, larger ones are refused`() throws {
    let fields = try encoder.encode(["n": UInt64.max])
    #expect(fields["n"] as? UInt64 == .max)
    #expect(try decoder.decode([String: UInt64].self, from: fields) == ["n": .max])
    #expect(try decoder.decode([String: UInt128].self, from: fields) == ["n": UInt128(UInt64.max)])
    #expect(try decoder.decode([String: Double].self, from: fields) == ["n": 0x1p64])
    #expect(throws: DecodingError.self) { try decoder.decode([String: Int64].self, from: fields) }
    let error = #expect(throws: EncodingError.self) {
      try encoder.encode(["n": [UInt128(UInt64.max) + 1]])
    }
    #expect(path(error) == "n.Index 0")
    #expect(throws: EncodingError.self) { try encoder.encode(["n": Int128.min]) }
  }

  @Test func `any name and arrays in arrays are fine in a dictionary`() throws {
    let value = ["": [[1, 2], []], "__x__": [[3]], "a.b": [], "__": [[]]]
    let fields = try encoder.encode(value)
    #expect(fields.keys.sorted() == ["", "__", "__x__", "a.b"])
    #expect((fields[""] as? [Any])?.first as? [Int] == [1, 2])
    #expect(try decoder.decode([String: [[Int]]].self, from: fields) == value)
  }

  @Test func `a name is found by any form of its characters, as in any dictionary`() throws {
    struct Place: Codable, Equatable { var é: Int }
    #expect(try decoder.decode(Place.self, from: ["e\u{301}": 1]) == Place(é: 1))
  }

  @Test func `two names that a dictionary takes for one are refused, none is lost`() throws {
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      var map = container.nestedContainer(keyedBy: TextKey.self, forKey: "m")
      try map.encode(1, forKey: "caf\u{E9}")
      try map.encode(2, forKey: "cafe\u{301}")
    }
    let error = #expect(throws: NSError.self) { try encoder.encode(value) }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error?.localizedDescription.contains("Two names of a map are one String") == true)
  }

  // MARK: Objects

  struct Objects: Codable {
    var time: Timestamp
    var point: GeoPoint
    var vector: VectorValue
    var reference: DocumentReference
    var list: [Timestamp?]
  }

  @Test func `Firestore's values are the same objects in the dictionary and in what is decoded`()
    throws
  {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/objects.hearth")
    for (time, reference) in [
      (Timestamp(seconds: 1, nanoseconds: 1), db.document("a/b")),
      // What cannot be stored is refused where it is stored.
      (Timestamp(seconds: .max, nanoseconds: -1), db.document("no document")),
    ] {
      let value = Objects(
        time: time, point: GeoPoint(latitude: 1, longitude: 2), vector: VectorValue([1]),
        reference: reference, list: [nil, time])
      let fields = try encoder.encode(value)
      #expect(fields["time"] as? Timestamp === time)
      #expect(fields["point"] as? GeoPoint === value.point)
      #expect(fields["vector"] as? VectorValue === value.vector)
      #expect(fields["reference"] as? DocumentReference === reference)
      let list = try #require(fields["list"] as? [Any])
      #expect(list[0] is NSNull)
      #expect(list[1] as? Timestamp === time)
      let read = try decoder.decode(Objects.self, from: fields)
      #expect(read.time === time)
      #expect(read.point === value.point)
      #expect(read.vector === value.vector)
      #expect(read.reference === reference)
      #expect(read.list == [nil, time])
    }
  }

  @Test func `a sentinel comes out of the encoder as the same object`() throws {
    struct Change: Encodable {
      var gone = FieldValue.delete()
      var touched = FieldValue.serverTimestamp()
      @ServerTimestamp var seen: Date?
      @ServerTimestamp var read: Timestamp?
      var tags = FieldValue.arrayUnion(["a"])
      var unread = FieldValue.increment(Int64(1))
      // Storing refuses both.
      var faulty = FieldValue.arrayUnion([[1]])
      var list = [FieldValue.arrayRemove([1])]
      var inner = ["a": FieldValue.delete()]
    }
    let change = Change()
    let fields = try encoder.encode(change)
    #expect(fields["gone"] as? FieldValue == FieldValue.delete())
    #expect(fields["touched"] as? FieldValue == FieldValue.serverTimestamp())
    #expect(fields["seen"] as? FieldValue == FieldValue.serverTimestamp())
    #expect(fields["read"] as? FieldValue == FieldValue.serverTimestamp())
    #expect(fields["tags"] as? FieldValue === change.tags)
    #expect(fields["unread"] as? FieldValue === change.unread)
    #expect(fields["faulty"] as? FieldValue === change.faulty)
    #expect((fields["list"] as? [Any])?.first as? FieldValue === change.list[0])
    #expect((fields["inner"] as? [String: Any])?["a"] as? FieldValue === FieldValue.delete())
  }

  @Test func `a value that encodes itself by hand is the same object too`() throws {
    let sentinel = FieldValue.increment(2.5)
    let time = Timestamp(seconds: 1, nanoseconds: 1)
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      try sentinel.encode(to: container.superEncoder(forKey: "a"))
      try time.encode(to: container.superEncoder(forKey: "b"))
    }
    let fields = try encoder.encode(value)
    #expect(fields["a"] as? FieldValue === sentinel)
    #expect(fields["b"] as? Timestamp === time)
  }

  // MARK: Storing

  @Test
  func `storing the dictionary cuts times, makes doubles of decimals, and does the sentinels`()
    async throws
  {
    struct Model: Encodable {
      var time = Timestamp(seconds: 5, nanoseconds: 123_456_789)
      var price = Decimal(string: "1.2345678901234567890123")
      @ServerTimestamp var seen: Timestamp?
      var count = FieldValue.increment(Int64(2))
    }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/storing.hearth")
    let document = db.document("a/b")
    try await document.setData(encoder.encode(Model()))
    let stored = try await document.getDocument()
    #expect(stored["time"] as? Timestamp == Timestamp(seconds: 5, nanoseconds: 123_456_000))
    #expect(stored["price"] as? Double == 1.2345678901234567890123)
    #expect(stored["seen"] is Timestamp)
    #expect(stored["count"] as? Int == 2)
    try await db.terminate()
  }

  @Test func `storing the dictionary refuses what documents cannot hold`() async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/storing.hearth")
    let refused: [(any Encodable, String)] = [
      (["a": [[1]]], "Nested arrays are not supported"),
      (["__x__": 1], "Document fields cannot begin and end with"),
      (["": 1], "Document fields must not be empty"),
      (["a": UInt64.max], "is too large"),
      (["a": Timestamp(seconds: .max, nanoseconds: 0)], "Timestamp seconds out of range"),
      (["a": [FieldValue.delete()]], "is not currently supported inside arrays"),
      (["a": FieldValue.arrayUnion([[1]])], "Nested arrays are not supported"),
      (["a": ["b": db.document("a")]], "a"),
    ]
    for (value, sentence) in refused {
      let fields = try encoder.encode(value)
      let error = await #expect(throws: NSError.self) {
        try await db.document("a/b").setData(fields)
      }
      #expect(error?.code == Status.Code.invalidArgument.rawValue)
      #expect(
        error?.localizedDescription.contains(sentence) == true, "\(String(describing: error))")
    }
    try await db.terminate()
  }

  @Test func `a date that is read, encoded and stored again does not move`() throws {
    var random = FormatGenerator(seed: 21)
    for _ in 0..<20_000 {
      let stored = Instant(microseconds: Int64(random.below(4_000_000_000_000_000)))
      let fields = try encoder.encode(["at": stored.date])
      let again = try ParsedWrite(set: fields, database: nil).fields
      #expect(again == map(["at": .timestamp(stored)]))
      #expect(Timestamp(date: stored.date).dateValue() == stored.date)
    }
  }

  @Test func `a date stored by setData(from:) is the nearest microsecond, in a wrapper too`() throws
  {
    struct Visit: Encodable {
      var began: Date
      @ServerTimestamp var ended: Date?
    }
    var random = FormatGenerator(seed: 22)
    for _ in 0..<1_000 {
      let date = Date(timeIntervalSince1970: Double(random.below(4_000_000_000_000_000_000)) / 1e9)
      let expected = Value.timestamp(try #require(Instant(date)))
      let visit = Visit(began: date, ended: date)
      #expect(try fields(of: visit) == map(["began": expected, "ended": expected]))
      let tree = try TreeEncoder.encode(visit, options: encoder)
      #expect(try tree.body.map() == map(["began": expected, "ended": expected]))
    }
  }

  // MARK: Limits

  private indirect enum Deep: Codable, Equatable {
    case end
    case map(Deep)
    case list(Deep)

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .end:
        var container = encoder.singleValueContainer()
        try container.encodeNil()
      case .map(let inner):
        var container = encoder.container(keyedBy: TextKey.self)
        try container.encode(inner, forKey: "m")
      case .list(let inner):
        var container = encoder.unkeyedContainer()
        try container.encode(inner)
      }
    }

    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: TextKey.self) {
        self = .map(try container.decode(Deep.self, forKey: "m"))
      } else if var container = try? decoder.unkeyedContainer() {
        self = .list(try container.decode(Deep.self))
      } else {
        guard try decoder.singleValueContainer().decodeNil() else { throw CancellationError() }
        self = .end
      }
    }

    static func nested(_ count: Int) -> Deep {
      (0..<count).reduce(.end) { inner, level in level % 2 == 0 ? .map(inner) : .list(inner) }
    }
  }

  @Test func `512 levels are encoded and decoded, one more is refused`() throws {
    let deepest = Deep.nested(511)
    let fields = try encoder.encode(deepest)
    #expect(try decoder.decode(Deep.self, from: fields) == deepest)
    let error = #expect(throws: EncodingError.self) { try encoder.encode(Deep.nested(513)) }
    #expect(sentence(error)?.contains("512 levels") == true)
  }

  @Test func `a structure without end is refused where it is decoded`() throws {
    struct Endless: Decodable {
      var next: [Endless]
      init(from decoder: any Decoder) throws {
        next = try decoder.singleValueContainer().decode([Endless].self)
      }
    }
    var list: [Any] = []
    for _ in 0..<20_000 { list = [list] }
    let error = #expect(throws: DecodingError.self) { try decoder.decode(Endless.self, from: list) }
    #expect(sentence(error)?.contains("512 levels") == true)
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: list) }
    #expect(throws: DecodingError.self) { try decoder.decode(Timestamp.self, from: list) }
    // Freed from the outside in: that takes no stack.
    while let inner = list.first as? [Any] { list = inner }
  }

  @Test func `containers in containers without end are refused`() {
    for value in EncodingClosure.containersWithoutEnd {
      let error = #expect(throws: EncodingError.self) { try encoder.encode(value) }
      #expect(sentence(error)?.contains("512 levels") == true)
    }
  }

  @Test func `a wide map is encoded without searching its names again and again`() throws {
    let wide = Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("name\($0)", $0) })
    let fields = try encoder.encode(["wide": wide])
    #expect(try decoder.decode([String: [String: Int]].self, from: fields) == ["wide": wide])
  }

  @Test func `a field that is encoded again replaces the first, in narrow maps and in wide ones`()
    throws
  {
    for width in [3, 15, 16, 17, 40] {
      let value = EncodingClosure { encoder in
        var container = encoder.container(keyedBy: TextKey.self)
        for number in 0..<width {
          try container.encode(number, forKey: TextKey(stringValue: "f\(number)"))
        }
        for number in 0..<width {
          try container.encode(-number, forKey: TextKey(stringValue: "f\(number)"))
        }
      }
      let fields = try encoder.encode(value)
      #expect(fields.count == width)
      #expect(fields["f2"] as? Int == -2)
      #expect(fields["f\(width - 1)"] as? Int == 1 - width)
    }
  }

  // MARK: Agreement

  /// What came of decoding, in words.
  private func outcome<T: Decodable>(_ decode: () throws -> T) -> String {
    do {
      return "\(try decode())"
    } catch {
      return "\(path(error) ?? ""): \(sentence(error) ?? "\(error)")"
    }
  }

  /// With one field in each map: a dictionary has no order, and the first that fails makes the error.
  private func alone(_ map: MapValue) -> MapValue {
    MapValue(map.fields.prefix(1).map { ($0.name, alone($0.value)) })
  }

  private func alone(_ value: Value) -> Value {
    switch value {
    case .map(let map): .map(alone(map))
    case .array(let elements): .array(elements.map(alone))
    // One NaN of the many, as documents have.
    case .vector(let components): .vector(components.map { $0.isNaN ? .nan : $0 })
    case .double(let number) where number.isNaN: .double(.nan)
    default: value
    }
  }

  @Test(arguments: [31, 32] as [UInt64])
  func `a dictionary is decoded as the document of it, errors too`(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/agreement.hearth")
    var random = FormatGenerator(seed: seed)
    func expectSame<T: Decodable>(_ type: T.Type, _ body: MapValue, _ fields: [String: Any]) throws
    {
      let stored = outcome { () throws -> T in
        try DocumentBody(body).withBytes { try decoder.decodeDocument(type, from: StoredBody($0)) }
      }
      let plain = outcome { try decoder.decode(type, from: fields) }
      #expect(plain == stored, "seed \(seed), \(type)")
    }
    for _ in 0..<1_500 {
      let body = alone(MapValue(random.fields(upTo: 2)))
      let fields = AnyBridge.dictionary(body) { DocumentReference(db, $0) }
      try expectSame([String: Int].self, body, fields)
      try expectSame([String: UInt8].self, body, fields)
      try expectSame([String: Bool?].self, body, fields)
      try expectSame([String: String?].self, body, fields)
      try expectSame([String: Double].self, body, fields)
      try expectSame([String: Float].self, body, fields)
      try expectSame([String: Decimal].self, body, fields)
      try expectSame([String: [Int?]].self, body, fields)
      try expectSame([String: Date].self, body, fields)
      try expectSame([String: Data?].self, body, fields)
      try expectSame([String: URL].self, body, fields)
      try expectSame([String: Timestamp].self, body, fields)
      try expectSame([String: [String: GeoPoint]].self, body, fields)
      try expectSame([String: VectorValue].self, body, fields)
      try expectSame([Int].self, body, fields)
      try expectSame(String?.self, body, fields)
    }
  }

  @Test func `whatever is in a structure is decoded, or refused by an error of decoding`() throws {
    struct Custom {}
    final class Object {}
    let inputs: [Any] = [
      NSNull(), Int8(1), UInt16(2), Float(0.5), NSNumber(value: true), "text", "text".dropFirst(1),
      NSString("text"), Date(), NSDate(), Data([1]), NSData(), Decimal(1),
      NSDecimalNumber.notANumber,
      UInt64.max, Int128.max, URL(filePath: "/"), UUID(), Custom(), Object(), Custom.self, 1..<2,
      Set([1]), [1: 2], [AnyHashable(1): 2], ["a": 1], [AnyHashable("a"): 1], NSDictionary(),
      NSArray(),
      NSSet(), [Any](), [Int?.none], Int?.none as Any, Int??.some(.none) as Any, AnyHashable("a"),
      Timestamp(seconds: .min, nanoseconds: -1), GeoPoint(latitude: 900, longitude: .nan),
      VectorValue([]), FieldValue.delete(), FieldPath(["a"]), { 1 } as () -> Int, Double.nan,
      (1, 2),
    ]
    func tryDecoding<T: Decodable>(_ type: T.Type) {
      for input in inputs {
        for structure in [input, [input], ["a": input]] as [Any] {
          do {
            _ = try decoder.decode(type, from: structure)
          } catch {
            #expect(error is DecodingError || error is FirestoreDecodingError)
          }
        }
      }
    }
    tryDecoding(Int.self)
    tryDecoding(UInt64?.self)
    tryDecoding([Int128].self)
    tryDecoding([String: Bool].self)
    tryDecoding(String.self)
    tryDecoding(Float.self)
    tryDecoding([String: Double].self)
    tryDecoding([Date].self)
    tryDecoding([String: Date?].self)
    tryDecoding(Data.self)
    tryDecoding(URL.self)
    tryDecoding([Decimal].self)
    tryDecoding([Timestamp].self)
    tryDecoding([String: GeoPoint].self)
    tryDecoding([VectorValue].self)
    tryDecoding([DocumentReference].self)
    tryDecoding([UUID].self)
    tryDecoding([Int: Int].self)
    tryDecoding(Range<Int>.self)
    tryDecoding([String: [String: [String]]].self)
    let keys = #expect(throws: DecodingError.self) {
      try decoder.decode([String: [String: Int]].self, from: ["a": [1: 2]])
    }
    #expect(sentence(keys) == "Keys must be strings, but one is of type: Int.")
    #expect(path(keys) == "a")
  }

  @Test func `a reference is what the dictionary has, of whatever database`() throws {
    struct Model: Codable, Equatable {
      @DocumentID var id: String?
      var author: DocumentReference
      var editor: DocumentReference?
    }
    let folder = TemporaryFolder()
    let one = try Firestore.open(at: folder.path + "/one.hearth")
    let two = try Firestore.open(at: folder.path + "/two.hearth")
    let model = Model(author: one.document("a/b"), editor: two.document("c/d"))
    let read = try decoder.decode(
      Model.self, from: encoder.encode(model), in: two.document("books/dune"))
    #expect(read.id == "dune")
    #expect(read.author.firestore === one)
    #expect(read.editor?.firestore === two)
  }
}
