import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What Firebase's own tests of its coder promise, where no other file here tests it. Through
/// `[String: Any]`, as its users see it.
struct UpstreamPromisesTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  private func dictionary(_ value: some Encodable) throws -> NSDictionary {
    NSDictionary(dictionary: try encoder.encode(value))
  }

  @Test func `coders begin with Firestore's strategies, their base classes with Foundation's`() {
    func strategies(_ encoder: FirebaseDataEncoder) -> String {
      "\(encoder.dateEncodingStrategy) \(encoder.dataEncodingStrategy) "
        + "\(encoder.nonConformingFloatEncodingStrategy) \(encoder.keyEncodingStrategy) "
        + "\(encoder.userInfo.count)"
    }
    func strategies(_ decoder: FirebaseDataDecoder) -> String {
      "\(decoder.dateDecodingStrategy) \(decoder.dataDecodingStrategy) "
        + "\(decoder.nonConformingFloatDecodingStrategy) \(decoder.keyDecodingStrategy) "
        + "\(decoder.userInfo.count)"
    }
    #expect(strategies(Firestore.Encoder()) == "timestamp blob throw useDefaultKeys 0")
    #expect(strategies(Firestore.Decoder()) == "timestamp blob throw useDefaultKeys 0")
    #expect(strategies(FirebaseDataEncoder()) == "deferredToDate base64 throw useDefaultKeys 0")
    #expect(strategies(FirebaseDataDecoder()) == "deferredToDate base64 throw useDefaultKeys 0")
  }

  // MARK: Values

  @Test func `numbers, strings and nothing at all go to a dictionary and back`() throws {
    struct Number: Codable, Equatable { var x: Int }
    struct Text: Codable, Equatable { var s: String }
    struct Empty: Codable, Equatable {}
    #expect(try dictionary(Number(x: 42)) == ["x": 42])
    #expect(try decoder.decode(Number.self, from: ["x": 42]) == Number(x: 42))
    #expect(try dictionary(Text(s: "abc")) == ["s": "abc"])
    #expect(try decoder.decode(Text.self, from: ["s": "abc"]) == Text(s: "abc"))
    #expect(try dictionary(Empty()) == [:])
    #expect(try decoder.decode(Empty.self, from: [String: Any]()) == Empty())
  }

  @Test func `an optional that is nil is left out, and one of another kind is refused`() throws {
    struct Model: Codable, Equatable {
      var x: Int
      var opt: Int?
    }
    #expect(try dictionary(Model(x: 42, opt: nil)) == ["x": 42])
    #expect(try dictionary(Model(x: 42, opt: 7)) == ["x": 42, "opt": 7])
    #expect(try decoder.decode(Model.self, from: ["x": 42, "opt": 7]).opt == 7)
    #expect(try decoder.decode(Model.self, from: ["x": 42, "opt": NSNull()]).opt == nil)
    #expect(try decoder.decode(Model.self, from: ["x": 42.0]).x == 42)
    let refused: [[String: Any]] = [
      ["x": 42, "opt": true], ["x": 42, "opt": "7"], ["x": 45.55, "opt": 7], ["opt": 7],
    ]
    for fields in refused {
      #expect(throws: DecodingError.self) { try decoder.decode(Model.self, from: fields) }
    }
  }

  @Test func `an enum that codes itself is stored as it says`() throws {
    enum Event: Codable, Equatable {
      case number(Int)
      case text(String)
      case at(Timestamp)
      enum CodingKeys: CodingKey { case number, text, at }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let number = try container.decodeIfPresent(Int.self, forKey: .number) {
          self = .number(number)
        } else if let text = try container.decodeIfPresent(String.self, forKey: .text) {
          self = .text(text)
        } else {
          self = .at(try container.decode(Timestamp.self, forKey: .at))
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .number(let number): try container.encode(number, forKey: .number)
        case .text(let text): try container.encode(text, forKey: .text)
        case .at(let time): try container.encode(time, forKey: .at)
        }
      }
    }
    struct Model: Codable, Equatable {
      var x: Int
      var event: Event
    }
    let time = Timestamp(seconds: 123, nanoseconds: 4_000)
    let cases: [(Event, [String: Any])] = [
      (.number(1), ["number": 1]), (.text("t"), ["text": "t"]), (.at(time), ["at": time]),
    ]
    for (event, fields) in cases {
      let model = Model(x: 42, event: event)
      #expect(try dictionary(model) == ["x": 42, "event": fields])
      #expect(try decoder.decode(Model.self, from: ["x": 42, "event": fields]) == model)
    }
  }

  @Test func `Firestore's values stay objects in the dictionary`() throws {
    struct Model: Codable, Equatable {
      var time: Timestamp
      var point: GeoPoint
      var vector: VectorValue
      var reference: DocumentReference
    }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/values.hearth")
    let model = Model(
      time: Timestamp(seconds: 1, nanoseconds: 2_000), point: GeoPoint(latitude: 1, longitude: -2),
      vector: VectorValue([1, 2]), reference: db.document("a/b"))
    let fields = try encoder.encode(model)
    #expect(fields["time"] as? Timestamp == model.time)
    #expect(fields["point"] as? GeoPoint == model.point)
    #expect(fields["vector"] as? VectorValue == model.vector)
    #expect(fields["reference"] as? DocumentReference == model.reference)
    #expect(try decoder.decode(Model.self, from: fields) == model)
  }

  @Test func `a timestamp is read as a date, and a date as a timestamp`() throws {
    let date = Date(timeIntervalSince1970: 0.5)
    let fields = try encoder.encode(["x": Timestamp(date: date)])
    #expect(try decoder.decode([String: Date].self, from: fields) == ["x": date])
    #expect(
      try decoder.decode([String: Timestamp].self, from: encoder.encode(["x": date]))
        == ["x": Timestamp(date: date)])
  }

  @Test func `arrays keep numbers and booleans apart`() throws {
    func expectRefusal<T: Decodable>(_ type: T.Type, _ elements: [Any]) {
      #expect(throws: DecodingError.self) { try decoder.decode(type, from: elements) }
    }
    expectRefusal([Bool].self, [false, 1])
    expectRefusal([Int].self, [1, true])
    expectRefusal([Int8].self, [true])
    expectRefusal([UInt64].self, [false])
    expectRefusal([Float].self, [true])
    expectRefusal([Double].self, [1.5, false])
    expectRefusal([String].self, ["a", 1])
    #expect(try decoder.decode([Bool].self, from: [false, true]) == [false, true])
    #expect(try decoder.decode([Int?].self, from: [1, NSNull()] as [Any]) == [1, nil])
  }

  @Test func `a small number fits a small type, a large one does not`() throws {
    #expect(try decoder.decode([String: CChar].self, from: ["x": 42]) == ["x": 42])
    #expect(throws: DecodingError.self) {
      try decoder.decode([String: CChar].self, from: ["x": 12_345])
    }
  }

  @Test func `a decimal beyond integers is a decimal number, stored as a double`() throws {
    let large = Decimal(sign: .plus, exponent: 127, significand: 1)
    #expect(
      try encoder.encode(["x": large])["x"] as? NSDecimalNumber == NSDecimalNumber(decimal: large))
    #expect(try fields(of: ["x": large]) == map(["x": .double(1e127)]))
    #expect(
      try ParsedWrite(set: encoder.encode(["x": large]), database: nil).fields
        == map(["x": .double(1e127)]))
    #expect(try decoder.decode([String: Decimal].self, from: ["x": 1e127]) == ["x": large])
    for number in [1e300, -1e300, Double.infinity] {
      #expect(throws: DecodingError.self) {
        try decoder.decode([String: Decimal].self, from: ["x": number])
      }
    }
    #expect(try decoder.decode([String: Decimal].self, from: ["x": Double.nan])["x"]?.isNaN == true)
    for number in [Double.leastNonzeroMagnitude, -1e-200, 0, -0.0] {
      #expect(try decoder.decode([String: Decimal].self, from: ["x": number]) == ["x": 0])
    }
  }

  @Test func `a decimal of up to fifteen digits comes back to the digit`() throws {
    var random = FormatGenerator(seed: 15)
    for _ in 0..<2_000 {
      let digits = Int64(bitPattern: random.next()) % 1_000_000_000_000_000
      let price =
        Decimal(digits) * Decimal(sign: .plus, exponent: -random.below(15), significand: 1)
      let fields = try encoder.encode(["x": price])
      #expect(try decoder.decode([String: Decimal].self, from: fields) == ["x": price])
    }
    for price in [try #require(Decimal(string: "19.99")), NSDecimalNumber(string: "19.99")] as [Any]
    {
      #expect(try UserDataReader.argument(price, database: nil) == .double(19.99))
    }
    let listed = try decoder.decode([Decimal].self, from: [19.99, 0.1, 3, -1e-7] as [Any])
    #expect(listed.map { "\($0)" } == ["19.99", "0.1", "3", "-0.0000001"])
  }

  @Test func `a URL is its text`() throws {
    let url = URL(string: "https://a.b/?c")
    #expect(try encoder.encode(["x": url])["x"] as? String == "https://a.b/?c")
    #expect(throws: DecodingError.self) {
      try decoder.decode([String: URL].self, from: ["x": ""])
    }
  }

  // MARK: Types

  @Test func `types of every make go to a dictionary and back`() throws {
    final class Empty: Codable, Equatable {
      static func == (lhs: Empty, rhs: Empty) -> Bool { true }
    }
    enum Switch: Codable, Equatable {
      case off, on
      init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().decode(Bool.self) ? .on : .off
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self == .on)
      }
    }
    /// A Boolean, or null.
    enum Answer: Codable, Equatable {
      case yes, no, unknown
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
          self = .unknown
        } else {
          self = try container.decode(Bool.self) ? .yes : .no
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .yes: try container.encode(true)
        case .no: try container.encode(false)
        case .unknown: try container.encodeNil()
        }
      }
    }
    final class Counter: Codable, Equatable {
      var count: Int
      init(_ count: Int) { self.count = count }
      init(from decoder: any Decoder) throws {
        count = try decoder.singleValueContainer().decode(Int.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(count)
      }
      static func == (lhs: Counter, rhs: Counter) -> Bool { lhs.count == rhs.count }
    }
    /// An array by its unkeyed container, a map by its single value one.
    struct Numbers: Codable, Equatable {
      var values = [1, 2]
      init() {}
      init(from decoder: any Decoder) throws {
        values = try decoder.singleValueContainer().decode([Int].self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
      }
    }
    struct Links: Codable, Equatable {
      var values = ["home": URL(string: "https://a.b")]
      init() {}
      init(from decoder: any Decoder) throws {
        values = try decoder.singleValueContainer().decode([String: URL?].self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
      }
    }
    final class Person: Codable, Equatable {
      var name = "Ada"
      var email = "ada@a.b"
      static func == (lhs: Person, rhs: Person) -> Bool {
        (lhs.name, lhs.email) == (rhs.name, rhs.email)
      }
    }
    struct Company: Codable, Equatable {
      var empty = Empty()
      var power = Switch.on
      var answers = [Answer.yes, .no, .unknown]
      var counter = Counter(3)
      var numbers = Numbers()
      var links = Links()
      var people = [Person()]
      var none: Answer?
    }
    #expect(
      try dictionary(Company()) == [
        "empty": [String: Any](), "power": true, "answers": [true, false, NSNull()] as [Any],
        "counter": 3, "numbers": [1, 2], "links": ["home": "https://a.b"],
        "people": [["name": "Ada", "email": "ada@a.b"]],
      ])
    #expect(try decoder.decode(Company.self, from: encoder.encode(Company())) == Company())
    // At the top: what is a map may be a document, whatever container made it.
    #expect(try dictionary(Links()) == ["home": "https://a.b"])
    #expect(try decoder.decode(Links.self, from: encoder.encode(Links())) == Links())
    #expect(try dictionary(Empty()) == [:])
    #expect(try dictionary(Person()) == ["name": "Ada", "email": "ada@a.b"])
    #expect(throws: EncodingError.self) { try encoder.encode(Switch.on) }
    #expect(throws: EncodingError.self) { try encoder.encode(Answer.unknown) }
    #expect(throws: EncodingError.self) { try encoder.encode(Counter(1)) }
    #expect(throws: EncodingError.self) { try encoder.encode(Numbers()) }
    #expect(try decoder.decode(Answer.self, from: NSNull()) == .unknown)
  }

  @Test func `user info reaches what is decoded, however deep`() throws {
    struct Length: Decodable {
      static let unit = CodingUserInfoKey(rawValue: "unit")
      var text: String
      init(from decoder: any Decoder) throws {
        let number = try decoder.singleValueContainer().decode(Int.self)
        text = "\(number)\(Self.unit.flatMap { decoder.userInfo[$0] } ?? "")"
      }
    }
    let decoder = Firestore.Decoder()
    decoder.userInfo = [try #require(Length.unit): "cm"]
    let fields = ["a": ["b": [1, 2]]]
    let read = try decoder.decode([String: [String: [Length]]].self, from: fields)
    #expect(read["a"]?["b"]?.map(\.text) == ["1cm", "2cm"])
  }

  @Test func `coding keys rename some fields, and leave out others`() throws {
    struct Model: Codable, Equatable {
      var s = "abc"
      var d = 123.0
      var f: Float = -4.0
      var l = Int64(1_234_567_890_123)
      var i = 7
      enum CodingKeys: String, CodingKey {
        case s, l
        case d = "renamed"
      }
    }
    let model = Model(s: "x", d: 1, f: 2, l: 3, i: 4)
    #expect(try dictionary(model) == ["s": "x", "renamed": 1.0, "l": 3])
    #expect(
      try decoder.decode(Model.self, from: encoder.encode(model))
        == Model(s: "x", d: 1, f: -4, l: 3, i: 7))
  }

  @Test func `names are told apart by case`() throws {
    struct Model: Codable, Equatable {
      var value = 1
      var Value = 2
      var VALUE = 3
    }
    #expect(try dictionary(Model()) == ["value": 1, "Value": 2, "VALUE": 3])
    #expect(try decoder.decode(Model.self, from: encoder.encode(Model())) == Model())
  }

  @Test func `a subclass asked for as its superclass is made as the subclass`() throws {
    class Person: Decodable { var name: String }
    final class Employee: Person {}
    let asked: Person.Type = Employee.self
    #expect(try decoder.decode(asked, from: ["name": "Ada"]) is Employee)
    // A keyed container asks for the type it was written with: the standard library's way.
    struct List: Decodable {
      init(from decoder: any Decoder) throws {
        let asked: Person.Type = Employee.self
        var list = try decoder.unkeyedContainer()
        #expect(try list.decode(asked) is Employee)
      }
    }
    _ = try decoder.decode(List.self, from: [["name": "Ada"]])
  }

  @Test func `super encoders have the path of their key`() throws {
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      #expect(container.superEncoder().codingPath.map(\.stringValue) == ["super"])
      #expect(container.superEncoder(forKey: "a").codingPath.map(\.stringValue) == ["a"])
      var list = container.nestedUnkeyedContainer(forKey: "l")
      #expect(list.superEncoder().codingPath.map(\.stringValue) == ["l", "Index 0"])
      var nested = list.nestedContainer(keyedBy: TextKey.self)
      #expect(nested.superEncoder().codingPath.map(\.stringValue) == ["l", "Index 1", "super"])
    }
    let written = try encoder.encode(value)
    #expect(written.keys.sorted() == ["a", "l", "super"])
    struct Reader: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        #expect(try container.superDecoder().codingPath.map(\.stringValue) == ["super"])
        #expect(try container.superDecoder(forKey: "a").codingPath.map(\.stringValue) == ["a"])
        var list = try container.nestedUnkeyedContainer(forKey: "l")
        #expect(try list.superDecoder().codingPath.map(\.stringValue) == ["l", "Index 0"])
      }
    }
    _ = try decoder.decode(Reader.self, from: written)
  }

  // MARK: Keys

  @Test func `failures under a key strategy are told in Swift's names`() throws {
    struct Outer: Codable {
      struct Middle: Codable {
        struct Inner: Codable { var innerValue: Double }
        var middleList: [Inner]
      }
      var outerValue: Middle
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let outer = Outer(outerValue: .init(middleList: [.init(innerValue: .infinity)]))
    let encoding = #expect(throws: EncodingError.self) { try encoder.encode(outer) }
    #expect(path(encoding) == "outerValue.middleList.Index 0.innerValue")
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let fields: [String: Any] = ["outer_value": ["middle_list": [["inner_value": "x"]]]]
    let decoding = #expect(throws: DecodingError.self) {
      try decoder.decode(Outer.self, from: fields)
    }
    #expect(path(decoding) == "outerValue.middleList.Index 0.innerValue")
    let shallow = #expect(throws: DecodingError.self) {
      try decoder.decode(Outer.self, from: ["outer_value": 1])
    }
    #expect(path(shallow) == "outerValue")
  }

  @Test func `a key strategy works on the names that coding keys give`() throws {
    struct Model: Codable, Equatable {
      var simpleName = 1
      var other = 2
      enum CodingKeys: String, CodingKey {
        case simpleName
        case other = "renamedField"
      }
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let fields = try encoder.encode(Model())
    #expect(NSDictionary(dictionary: fields) == ["simple_name": 1, "renamed_field": 2])
    #expect(try decoder.decode(Model.self, from: fields) == Model())
  }

  // MARK: After a failure

  @Test func `decoding goes on where it was after a part has failed`() throws {
    struct Probe: Decodable {
      struct Failing: Decodable {
        init(from decoder: any Decoder) throws {
          let container = try decoder.container(keyedBy: TextKey.self)
          _ = try container.nestedContainer(keyedBy: TextKey.self, forKey: "b")
          throw CancellationError()
        }
      }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        #expect(throws: CancellationError.self) {
          try container.decode(Failing.self, forKey: "a")
        }
        #expect(throws: DecodingError.self) { try container.decode([Date].self, forKey: "list") }
        #expect(throws: DecodingError.self) { try container.decode(Data.self, forKey: "list") }
        #expect(container.codingPath.isEmpty)
        let error = #expect(throws: DecodingError.self) {
          try container.decode([String: [Int]].self, forKey: "a")
        }
        #expect(path(error) == "a.b")
        #expect(try container.decode([Int].self, forKey: "list") == [1])
      }
    }
    _ = try decoder.decode(Probe.self, from: ["a": ["b": ["c": 1]], "list": [1]] as [String: Any])
  }

  @Test func `a date or data that fails to encode leaves nothing behind`() throws {
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .custom { _, _ in throw CancellationError() }
    encoder.dataEncodingStrategy = .custom { _, _ in throw CancellationError() }
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      #expect(throws: CancellationError.self) { try container.encode(Date(), forKey: "a") }
      #expect(throws: CancellationError.self) { try container.encode([Data()], forKey: "b") }
      try container.encode(1, forKey: "c")
    }
    #expect(NSDictionary(dictionary: try encoder.encode(value)) == ["c": 1])
  }

  @Test func `a custom date or data that fails to decode leaves its decoder where it was`() throws {
    struct Model: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        #expect(throws: CancellationError.self) { try container.decode(Date.self, forKey: "a") }
        #expect(throws: CancellationError.self) { try container.decode(Data.self, forKey: "a") }
        var list = try container.nestedUnkeyedContainer(forKey: "l")
        #expect(throws: CancellationError.self) { try list.decode(Date.self) }
        #expect(throws: CancellationError.self) { try list.decode(Data.self) }
        #expect(throws: CancellationError.self) { try list.decode([Date].self) }
        #expect(list.currentIndex == 0)
        #expect(try list.decode([Int].self) == [1])
        #expect(try container.decode([String: Int].self, forKey: "a") == ["b": 2])
      }
    }
    let decoder = Firestore.Decoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      _ = try? decoder.container(keyedBy: TextKey.self).superDecoder(forKey: "b")
      throw CancellationError()
    }
    decoder.dataDecodingStrategy = .custom { _ in throw CancellationError() }
    _ = try decoder.decode(Model.self, from: ["a": ["b": 2], "l": [[1]]] as [String: Any])
  }

  // MARK: Sentinels and wrappers

  @Test func `sentinels stand in the dictionary as they are`() throws {
    struct Model: Encodable {
      var count = FieldValue.increment(Int64(1))
      var inner = ["tags": FieldValue.arrayUnion(["a"])]
    }
    let fields = try encoder.encode(Model())
    #expect(fields["count"] is FieldValue)
    #expect((fields["inner"] as? [String: Any])?["tags"] is FieldValue)
  }

  @Test func `references and sentinels are no documents`() throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/top.hearth")
    #expect(throws: EncodingError.self) { try encoder.encode(db.document("a/b")) }
    #expect(throws: EncodingError.self) { try encoder.encode(FieldValue.serverTimestamp()) }
    #expect(throws: EncodingError.self) { try encoder.encode([1, 2]) }
    #expect(throws: EncodingError.self) { try encoder.encode(GeoPoint(latitude: 0, longitude: 0)) }
  }

  struct Day: ServerTimestampWrappable, Codable, Hashable {
    var text: String
    static func wrap(_ timestamp: Timestamp) throws -> Day { Day(text: "\(timestamp.seconds)") }
    static func unwrap(_ value: Day) throws -> Timestamp {
      guard let seconds = Int64(value.text) else {
        throw FirestoreEncodingError.encodingIsNotSupported("Not a day: \(value.text)")
      }
      return Timestamp(seconds: seconds, nanoseconds: 0)
    }
  }

  @Test func `a server timestamp can be a type of one's own`() throws {
    struct Model: Codable, Equatable { @ServerTimestamp var day: Day? }
    #expect(try encoder.encode(Model(day: nil))["day"] is FieldValue)
    let time = Timestamp(seconds: 86_400, nanoseconds: 0)
    #expect(try dictionary(Model(day: Day(text: "86400"))) == ["day": time])
    #expect(try decoder.decode(Model.self, from: ["day": time]) == Model(day: Day(text: "86400")))
    #expect(try decoder.decode(Model.self, from: ["day": NSNull()]) == Model(day: nil))
    #expect(throws: FirestoreEncodingError.self) {
      try encoder.encode(Model(day: Day(text: "never")))
    }
  }

  @Test func `an explicit null is null in the dictionary`() throws {
    struct Model: Codable, Equatable { @ExplicitNull var x: Int? }
    #expect(try encoder.encode(Model(x: nil))["x"] is NSNull)
    #expect(try decoder.decode(Model.self, from: ["x": NSNull()]) == Model(x: nil))
    #expect(try decoder.decode(Model.self, from: encoder.encode(Model(x: 1))) == Model(x: 1))
  }

  struct Slug: DocumentIDWrappable, Codable, Hashable {
    var path: String
    static func wrap(_ reference: DocumentReference) throws -> Slug { Slug(path: reference.path) }
  }

  @Test func `an id can be a type of one's own`() throws {
    struct Model: Codable, Equatable {
      @DocumentID var slug: Slug?
    }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/ids.hearth")
    let read = try decoder.decode(Model.self, from: [String: Any](), in: db.document("a/b"))
    #expect(read == Model(slug: Slug(path: "a/b")))
    #expect(try encoder.encode(read).isEmpty)
  }

  @Test func `an id whose key is left out stays nil, as does an optional one without a field`()
    throws
  {
    struct Forgetful: Codable {
      @DocumentID var id: String?
      var title: String
      enum CodingKeys: CodingKey { case title }
    }
    struct Asking: Decodable {
      var id: DocumentID<String>?
      init(from decoder: any Decoder) throws {
        id = try decoder.container(keyedBy: TextKey.self)
          .decodeIfPresent(DocumentID<String>.self, forKey: "id")
      }
    }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/ids.hearth")
    let dune = db.document("books/dune")
    #expect(try decoder.decode(Forgetful.self, from: ["title": "Dune"], in: dune).id == nil)
    #expect(try decoder.decode(Asking.self, from: [String: Any](), in: dune).id == nil)
    #expect(try decoder.decode(Asking.self, from: ["id": 1], in: dune).id?.wrappedValue == "dune")
  }

  @Test func `a decoder used again forgets the document before`() throws {
    struct Model: Codable { @DocumentID var id: String? }
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/again.hearth")
    #expect(
      try decoder.decode(Model.self, from: [String: Any](), in: db.document("books/dune")).id
        == "dune")
    #expect(throws: FirestoreDecodingError.self) {
      try decoder.decode(Model.self, from: [String: Any]())
    }
  }

  @Test func `wrapped values make equal and hashable types`() throws {
    struct Model: Hashable {
      @DocumentID var id: String?
      @ServerTimestamp var at: Timestamp?
      @ExplicitNull var note: String?
      var time: Timestamp
      var point: GeoPoint
      var vector: VectorValue
    }
    func model(_ id: String?, _ seconds: Int64) throws -> Model {
      let time = Timestamp(seconds: seconds, nanoseconds: 0)
      return Model(
        id: id, at: time, note: "n", time: try #require(time.copy() as? Timestamp),
        point: GeoPoint(latitude: 1, longitude: 2), vector: VectorValue([1]))
    }
    #expect(try model("a", 1) == model("a", 1))
    #expect(try model("a", 1).hashValue == model("a", 1).hashValue)
    #expect(try model("a", 1) != model("b", 1))
    #expect(try model("a", 1) != model(nil, 1))
    #expect(try model("a", 1) != model("a", 2))
    let places = [GeoPoint(latitude: 1, longitude: 2): "here"]
    #expect(places[GeoPoint(latitude: 1, longitude: 2)] == "here")
  }
}
