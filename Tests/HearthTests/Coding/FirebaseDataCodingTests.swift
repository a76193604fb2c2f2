import FirebaseSharedSwift
import Testing

// As an app sees them: without looking inside.

/// `FirebaseDataEncoder` and `FirebaseDataDecoder`, for any value and with no rules of Firestore's.
struct FirebaseDataCodingTests {
  private let encoder = FirebaseDataEncoder()
  private let decoder = FirebaseDataDecoder()

  private struct Event: Codable, Equatable {
    var name: String
    var counts: [[Int]]
    var price: Decimal
    var isPublic: Bool
    var note: String?
    var parts: [String: Double]

    static let launch = Event(
      name: "launch", counts: [[1], [], [2, 3]], price: Decimal(string: "19.99") ?? 0,
      isPublic: true, note: nil, parts: ["__a__": 0.5, "": 1])
  }

  @Test func `a type is a dictionary and comes back`() throws {
    let structure = try encoder.encode(Event.launch)
    let fields = try #require(structure as? [String: Any])
    #expect(fields.count == 5)
    #expect(fields["name"] as? String == "launch")
    #expect(fields["isPublic"] as? Bool == true)
    #expect((fields["counts"] as? [Any])?.last as? [Int] == [2, 3])
    #expect(fields["price"] as? NSDecimalNumber == NSDecimalNumber(string: "19.99"))
    #expect(try decoder.decode(Event.self, from: structure) == .launch)
  }

  @Test func `the top is any value`() throws {
    func expectRoundTrip<T: Codable & Equatable, Plain: Equatable>(_ value: T, as plain: Plain)
      throws
    {
      let structure = try encoder.encode(value)
      #expect(structure as? Plain == plain)
      #expect(try decoder.decode(T.self, from: structure) == value)
    }
    try expectRoundTrip(5, as: 5)
    try expectRoundTrip(UInt64.max, as: UInt64.max)
    try expectRoundTrip(-0.5, as: -0.5)
    try expectRoundTrip(true, as: true)
    try expectRoundTrip("text", as: "text")
    try expectRoundTrip([1, 2], as: [1, 2])
    try expectRoundTrip(["a": 1], as: ["a": 1])
    try expectRoundTrip(Int?.none, as: NSNull())
    try expectRoundTrip(URL(string: "https://a.b"), as: "https://a.b")
    try expectRoundTrip(Data([1, 2]), as: "AQI=")
    let date = Date(timeIntervalSinceReferenceDate: 1.5)
    try expectRoundTrip(date, as: 1.5)
    #expect(try (encoder.encode([Event.launch]) as? [Any])?.count == 1)
  }

  @Test
  func `a type that encodes nothing is refused at the top, and is an empty dictionary inside`()
    throws
  {
    struct Nothing: Encodable { func encode(to encoder: any Encoder) throws {} }
    let error = #expect(throws: EncodingError.self) { try encoder.encode(Nothing()) }
    guard case .invalidValue(_, let context)? = error else { return }
    #expect(context.debugDescription == "Top-level Nothing did not encode any values.")
    let list = try #require(try encoder.encode([Nothing()]) as? [Any])
    #expect((list[0] as? [String: Any])?.isEmpty == true)
  }

  @Test func `a strategy that encodes nothing gives an empty dictionary, at the top too`() throws {
    encoder.dateEncodingStrategy = .custom { _, _ in }
    encoder.dataEncodingStrategy = .custom { _, _ in }
    #expect((try encoder.encode(Date()) as? [String: Any])?.isEmpty == true)
    #expect((try encoder.encode(Data()) as? [String: Any])?.isEmpty == true)
    #expect((try encoder.encode([Date()]) as? [[String: Any]])?.first?.isEmpty == true)
  }

  @Test func `dates and data go by every strategy`() throws {
    struct Model: Codable, Equatable {
      var at: Date
      var bytes: Data
      var maybe: Date?
    }
    let date = Date(timeIntervalSince1970: 1_600_000_000)
    let model = Model(at: date, bytes: Data([0, 255]), maybe: date)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy/MM/dd HH:mm:ss"
    typealias Dates = (
      FirebaseDataEncoder.DateEncodingStrategy, FirebaseDataDecoder.DateDecodingStrategy, NSObject?
    )
    let dates: [Dates] = [
      (.deferredToDate, .deferredToDate, NSNumber(value: date.timeIntervalSinceReferenceDate)),
      (.secondsSince1970, .secondsSince1970, NSNumber(value: 1_600_000_000.0)),
      (.millisecondsSince1970, .millisecondsSince1970, NSNumber(value: 1_600_000_000_000.0)),
      (.iso8601, .iso8601, NSString("2020-09-13T12:26:40Z")),
      (.formatted(formatter), .formatted(formatter), NSString("2020/09/13 12:26:40")),
      // Without passthrough types, a timestamp is the dictionary of its parts.
      (.timestamp, .timestamp, nil),
    ]
    for (encoding, decoding, expected) in dates {
      encoder.dateEncodingStrategy = encoding
      decoder.dateDecodingStrategy = decoding
      let fields = try #require(try encoder.encode(model) as? [String: Any])
      switch expected {
      case let number as NSNumber: #expect(fields["at"] as? NSNumber == number)
      case let string as NSString: #expect(fields["at"] as? String == "\(string)")
      default:
        #expect((fields["at"] as? [String: Any])?["seconds"] as? Int == 1_600_000_000)
      }
      #expect(try decoder.decode(Model.self, from: fields) == model)
    }
    typealias Bytes = (
      FirebaseDataEncoder.DataEncodingStrategy, FirebaseDataDecoder.DataDecodingStrategy
    )
    let bytes: [Bytes] = [(.deferredToData, .deferredToData), (.base64, .base64), (.blob, .blob)]
    for (encoding, decoding) in bytes {
      encoder.dataEncodingStrategy = encoding
      decoder.dataDecodingStrategy = decoding
      #expect(try decoder.decode(Model.self, from: encoder.encode(model)) == model)
    }
    encoder.dataEncodingStrategy = .blob
    #expect(try encoder.encode(Data([7])) as? Data == Data([7]))
  }

  @Test func `infinities are refused, or the strings asked for`() throws {
    #expect(throws: EncodingError.self) { try encoder.encode(Double.infinity) }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    let structure = try encoder.encode([Double.infinity, -.infinity])
    #expect(structure as? [String] == ["+", "-"])
    #expect(try decoder.decode([Double].self, from: structure) == [.infinity, -.infinity])
    #expect(try decoder.decode(Float.self, from: encoder.encode(Float.nan)).isNaN)
  }

  @Test func `keys and user info go by the options`() throws {
    struct Model: Codable, Equatable {
      struct Inner: Codable, Equatable { var imageURL: String }
      var firstInner: Inner
      var byName: [String: Inner]
    }
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let model = Model(firstInner: .init(imageURL: "a"), byName: ["asItIs": .init(imageURL: "b")])
    let fields = try #require(try encoder.encode(model) as? [String: Any])
    #expect(fields.keys.sorted() == ["by_name", "first_inner"])
    #expect((fields["by_name"] as? [String: Any])?.keys.first == "asItIs")
    #expect((fields["first_inner"] as? [String: Any])?.keys.first == "image_url")
    struct Reader: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        #expect(container.allKeys.map(\.stringValue) == ["firstInner"])
        #expect(decoder.userInfo.count == 1)
      }
      enum Keys: CodingKey { case firstInner }
    }
    decoder.userInfo = [try #require(CodingUserInfoKey(rawValue: "a")): 1]
    _ = try decoder.decode(Reader.self, from: fields)
  }

  // MARK: Firestore's types

  @Test func `a timestamp is the dictionary of its parts, as are its kin`() throws {
    struct Model: Codable, Equatable {
      var time: Timestamp
      var point: GeoPoint
      var vector: VectorValue
    }
    let model = Model(
      time: Timestamp(seconds: 1, nanoseconds: 999_999_999),
      point: GeoPoint(latitude: 1, longitude: 2), vector: VectorValue([1, 2]))
    let fields = try #require(try encoder.encode(model) as? [String: Any])
    #expect((fields["time"] as? [String: Any])?["nanoseconds"] as? Int == 999_999_999)
    #expect((fields["point"] as? [String: Any])?["longitude"] as? Double == 2)
    #expect((fields["vector"] as? [String: Any])?["array"] as? [Double] == [1, 2])
    #expect(try decoder.decode(Model.self, from: fields) == model)
    let objects: [String: Any] = ["time": model.time, "point": model.point, "vector": model.vector]
    #expect(throws: DecodingError.self) { try decoder.decode(Model.self, from: objects) }
    #expect(try Firestore.Decoder().decode(Model.self, from: objects) == model)
  }

  @Test func `sentinels and references are refused, an id is left out`() throws {
    struct Sentinel: Encodable { @ServerTimestamp var at: Date? }
    struct Identified: Codable {
      @DocumentID var id: String?
      var title = "Dune"
    }
    #expect(throws: FirestoreEncodingError.self) { try encoder.encode(Sentinel()) }
    #expect(throws: FirestoreEncodingError.self) { try encoder.encode([FieldValue.delete()]) }
    #expect(throws: FirestoreDecodingError.self) {
      try decoder.decode(DocumentReference.self, from: "a/b")
    }
    #expect((try encoder.encode(Identified()) as? [String: Any])?.keys.sorted() == ["title"])
    #expect(throws: FirestoreDecodingError.self) {
      try decoder.decode(Identified.self, from: ["title": "Dune"])
    }
  }

  private final class Icon: Codable, Sendable {}

  private struct Icons: StructureCodingPassthroughTypeResolver {
    static func isPassthroughType<T>(_ t: T) -> Bool { t is Icon }
  }

  @Test func `what the passthrough types name stays the same object`() throws {
    struct Model: Codable {
      var icon: Icon
      var more: [Icon?]
    }
    encoder.passthroughTypeResolver = Icons.self
    decoder.passthroughTypeResolver = Icons.self
    let model = Model(icon: Icon(), more: [nil, Icon()])
    let fields = try #require(try encoder.encode(model) as? [String: Any])
    #expect(fields["icon"] as? Icon === model.icon)
    #expect((fields["more"] as? [Any])?.last as? Icon === model.more[1])
    let read = try decoder.decode(Model.self, from: fields)
    #expect(read.icon === model.icon)
    #expect(read.more[1] === model.more[1])
    #expect(try encoder.encode(model.icon) as? Icon === model.icon)
  }

  @Test func `Firestore's encoder is one of these that takes only dictionaries`() throws {
    let firestore: FirebaseDataEncoder = Firestore.Encoder()
    let time = Timestamp(seconds: 1, nanoseconds: 1)
    let fields: Any = try firestore.encode(["at": time])
    #expect((fields as? [String: Any])?["at"] as? Timestamp === time)
    #expect(throws: EncodingError.self) { try firestore.encode([1]) }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode([1]) as Any }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(time) }
    let typed = try Firestore.Encoder().encode(["a": 1])
    #expect(typed["a"] as? Int == 1)
  }

  @Test func `errors have the path and the sentence of Firebase's`() throws {
    struct Outer: Codable {
      struct Inner: Codable { var number: Int }
      var list: [Inner]
    }
    func failure(_ structure: Any) -> String {
      let error = #expect(throws: DecodingError.self) {
        try decoder.decode(Outer.self, from: structure)
      }
      switch error {
      case .typeMismatch(_, let context)?, .keyNotFound(_, let context)?,
        .valueNotFound(_, let context)?, .dataCorrupted(let context)?:
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return "\(path): \(context.debugDescription)"
      default: return ""
      }
    }
    #expect(
      failure(["list": [["number": "x"]]])
        == "list.Index 0.number: Expected to decode Int but found a string/data instead.")
    #expect(
      failure(["list": [["number": 45.5]]])
        == "list.Index 0.number: Parsed JSON number <45.5> does not fit in Int.")
    #expect(
      failure(["list": [[String: Int]()]])
        == "list.Index 0: No value associated with key "
        + "CodingKeys(stringValue: \"number\", intValue: nil) (\"number\").")
    #expect(
      failure(["list": NSNull()])
        == "list: Cannot get unkeyed decoding container -- found null value instead.")
    #expect(
      failure([1])
        == ": Expected to decode Dictionary<String, Any> but found an array instead.")
    #expect(
      failure(true) == ": Expected to decode Dictionary<String, Any> but found a number instead.")
  }
}
