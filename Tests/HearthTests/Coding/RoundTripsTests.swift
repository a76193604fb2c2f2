import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A catalogue of types goes through real storage and back, under every combination of strategies.
struct RoundTripsTests {
  // MARK: Strategies

  enum Dates: CaseIterable {
    case timestamp, deferred, seconds, milliseconds, iso8601, formatted, custom
  }
  enum Bytes: CaseIterable { case blob, base64, deferred, custom }
  enum Keys: CaseIterable { case asTheyAre, snakeCase, custom }

  struct Strategies: CustomStringConvertible {
    var dates = Dates.timestamp
    var bytes = Bytes.blob
    var keys = Keys.asTheyAre
    var writesInfinities = false

    static let all: [Strategies] = Dates.allCases.flatMap { dates in
      Bytes.allCases.flatMap { bytes in
        Keys.allCases.flatMap { keys in
          [false, true].map {
            Strategies(dates: dates, bytes: bytes, keys: keys, writesInfinities: $0)
          }
        }
      }
    }

    var description: String { "dates \(dates), data \(bytes), keys \(keys), \(writesInfinities)" }

    private static let formatter: DateFormatter = {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.dateFormat = "yyyy/MM/dd HH:mm:ss"
      return formatter
    }()

    var encoder: Firestore.Encoder {
      let encoder = Firestore.Encoder()
      encoder.dateEncodingStrategy =
        switch dates {
        case .timestamp: .timestamp
        case .deferred: .deferredToDate
        case .seconds: .secondsSince1970
        case .milliseconds: .millisecondsSince1970
        case .iso8601: .iso8601
        case .formatted: .formatted(Self.formatter)
        case .custom:
          .custom { date, encoder in
            var container = encoder.container(keyedBy: TextKey.self)
            try container.encode(Int(date.timeIntervalSince1970), forKey: "wholeSeconds")
          }
        }
      encoder.dataEncodingStrategy =
        switch bytes {
        case .blob: .blob
        case .base64: .base64
        case .deferred: .deferredToData
        case .custom:
          .custom { data, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(data.map { String($0, radix: 16) }.joined(separator: " "))
          }
        }
      encoder.keyEncodingStrategy =
        switch keys {
        case .asTheyAre: .useDefaultKeys
        case .snakeCase: .convertToSnakeCase
        case .custom: .custom { AnyCodingKey(stringValue: "k." + ($0.last?.stringValue ?? "")) }
        }
      if writesInfinities {
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
          positiveInfinity: "+", negativeInfinity: "-", nan: "?")
      }
      return encoder
    }

    var decoder: Firestore.Decoder {
      let decoder = Firestore.Decoder()
      decoder.dateDecodingStrategy =
        switch dates {
        case .timestamp: .timestamp
        case .deferred: .deferredToDate
        case .seconds: .secondsSince1970
        case .milliseconds: .millisecondsSince1970
        case .iso8601: .iso8601
        case .formatted: .formatted(Self.formatter)
        case .custom:
          .custom { decoder in
            let container = try decoder.container(keyedBy: TextKey.self)
            return Date(
              timeIntervalSince1970: Double(try container.decode(Int.self, forKey: "wholeSeconds")))
          }
        }
      decoder.dataDecodingStrategy =
        switch bytes {
        case .blob: .blob
        case .base64: .base64
        case .deferred: .deferredToData
        case .custom:
          .custom { decoder in
            let text = try decoder.singleValueContainer().decode(String.self)
            return Data(text.split(separator: " ").compactMap { UInt8($0, radix: 16) })
          }
        }
      decoder.keyDecodingStrategy =
        switch keys {
        case .asTheyAre: .useDefaultKeys
        case .snakeCase: .convertFromSnakeCase
        case .custom:
          .custom { AnyCodingKey(stringValue: String(($0.last?.stringValue ?? "").dropFirst(2))) }
        }
      if writesInfinities {
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
          positiveInfinity: "+", negativeInfinity: "-", nan: "?")
      }
      return decoder
    }
  }

  // MARK: The catalogue

  struct Entry: CustomStringConvertible, Sendable {
    let type: any RandomModel.Type

    init(_ type: any RandomModel.Type) { self.type = type }

    var description: String { "\(type)" }
  }

  static let instanceCount = Soak.isOn ? 8 : 1

  static let catalogue: [Entry] = [
    Entry(Integers.self), Entry(Scalars.self), Entry(Foundations.self), Entry(DataLists.self),
    Entry(Kinds.self), Entry(Kinds.Shape.self), Entry(Dictionaries.self), Entry(Dog.self),
    Entry(Branch.self), Entry(Generics.self), Entry(Prefilled.self), Entry(Flattened.self),
    Entry(Offices.self),
  ]

  /// Returns how many models were tried.
  private func tryModels<Model: RandomModel>(
    _ type: Model.Type, _ strategies: Strategies, _ database: TemporaryDatabase,
    _ random: inout ModelGenerator
  ) async throws -> Int {
    let models = (0..<Self.instanceCount).map { _ in Model.make(&random) }
    try await expectRoundTrips(
      models, encoder: strategies.encoder, decoder: strategies.decoder, in: database)
    return models.count
  }

  // One after another: others need the machine too.
  @Test(.serialized, arguments: catalogue)
  func `a type is the same again under every strategy`(entry: Entry) async throws {
    let database = try TemporaryDatabase()
    var tried = 0
    for (seed, strategies) in Strategies.all.enumerated() {
      if entry.description == "DataLists", strategies.bytes == .deferred { continue }
      var random = ModelGenerator(
        random: FormatGenerator(seed: UInt64(seed)), firestore: database.firestore,
        hasInfinities: strategies.writesInfinities)
      do {
        tried += try await tryModels(entry.type, strategies, database, &random)
      } catch {
        Issue.record("seed \(seed), \(strategies): \(error)")
        return
      }
    }
    #expect(tried >= 126 * Self.instanceCount)
  }

  // MARK: What does not come back, and is known not to

  @Test func `integers beyond Int64 are refused, and never wrap`() async throws {
    func expectRefusal(_ value: some Encodable, sourceLocation: SourceLocation = #_sourceLocation) {
      for encode in [
        { try Firestore.Encoder().encodeDocument(value) },
        { try TreeEncoder.encode(value, options: Firestore.Encoder()) },
      ] {
        let error = #expect(throws: EncodingError.self, sourceLocation: sourceLocation) {
          _ = try encode()
        }
        #expect(sentence(error)?.hasSuffix("is too large") == true, sourceLocation: sourceLocation)
      }
    }
    expectRefusal(["n": UInt64.max])
    expectRefusal(["n": UInt.max])
    expectRefusal(["n": Int128.max])
    expectRefusal(["n": [Int128.min]])
    expectRefusal(["n": [UInt128.max]])
    let both = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode(Int128(Int64.max) + 1, forKey: "n")
    }
    expectRefusal(both)
    let unsigned = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode(UInt128(Int64.max) + 1, forKey: "n")
    }
    expectRefusal(unsigned)
    let stored: [String: Value] = ["n": .double(0x1p70)]
    #expect(try decode([String: Int128].self, from: stored) == ["n": Int128(1) << 70])
    #expect(throws: DecodingError.self) { try decode([String: UInt64].self, from: stored) }
    #expect(throws: DecodingError.self) {
      try decode([String: UInt128].self, from: ["n": .integer(-1)])
    }
  }

  /// Asks each kind of container for each integer type, where arrays and optionals ask for any type.
  private struct ByHand: Codable, Equatable {
    var number: Int8

    init(_ number: Int8) { self.number = number }

    func encode(to encoder: any Encoder) throws {
      var keyed = encoder.container(keyedBy: TextKey.self)
      var list = keyed.nestedUnkeyedContainer(forKey: "list")
      try list.encode(Int128(clamping: number))
      try list.encode(UInt128(clamping: number))
      try list.encode(UInt64(clamping: number))
      try list.encode(Int16(clamping: number))
      try keyed.encode(Int128(clamping: number), forKey: "int128")
      try keyed.encode(UInt128(clamping: number), forKey: "uint128")
      try keyed.encode(UInt32(clamping: number), forKey: "uint32")
      try keyed.encode(Single(number: Int128(clamping: number)), forKey: "single")
    }

    init(from decoder: any Decoder) throws {
      let keyed = try decoder.container(keyedBy: TextKey.self)
      var list = try keyed.nestedUnkeyedContainer(forKey: "list")
      let signed = try list.decode(Int128.self)
      let unsigned = try list.decode(UInt128.self)
      #expect(try list.decode(UInt64.self) == UInt64(clamping: signed))
      #expect(try list.decode(Int16.self) == Int16(clamping: signed))
      #expect(unsigned == UInt128(clamping: signed))
      #expect(try keyed.decode(Int128.self, forKey: "int128") == signed)
      #expect(try keyed.decode(UInt128.self, forKey: "uint128") == unsigned)
      #expect(try keyed.decode(UInt32.self, forKey: "uint32") == UInt32(clamping: signed))
      #expect(try keyed.decodeIfPresent(UInt128.self, forKey: "uint128") == unsigned)
      #expect(try keyed.decode(Single.self, forKey: "single").number == signed)
      number = Int8(clamping: signed)
    }

    struct Single: Codable {
      var number: Int128

      init(number: Int128) { self.number = number }

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        number = try container.decode(Int128.self)
        #expect(try container.decode(Int8.self) == Int8(clamping: number))
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
      }
    }
  }

  @Test(arguments: [0, 7, 127, -128] as [Int8])
  func `each kind of container has each integer type`(_ number: Int8) async throws {
    try await expectRoundTrip(ByHand(number))
  }

  @Test func `a nil inside an optional is read as no value`() async throws {
    struct Twice: Codable, Equatable { var number: Int?? }
    let told = await #expect(throws: RoundTripDifference.self) {
      try await expectRoundTrip(Twice(number: .some(nil)))
    }
    #expect(told?.fields.map(\.path) == ["number"])
    try await expectRoundTrip(Twice(number: nil))
    try await expectRoundTrip(Twice(number: 5))
  }

  @Test func `arrays inside arrays are refused, whatever type makes them`() async throws {
    let ranges = ["a": [1..<2]]
    let byID = ["a": [UUID(): [1]]]
    await #expect(throws: NSError.self) { try await expectRoundTrip(ranges) }
    await #expect(throws: NSError.self) { try await expectRoundTrip(byID) }
  }
}
