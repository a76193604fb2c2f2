import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Documents are damaged behind a checksum that is right, and decoded into models: errors, never a trap.
/// Ten million of them, with address sanitizer; of leaks it only knows some of XCTest's own:
///
///     ASAN_OPTIONS=detect_leaks=0 HEARTH_SOAK=1 swift test -c release --sanitize=address \
///       -Xswiftc -enable-testing --filter DecoderDamageTests
struct DecoderDamageTests {
  private static let seeds = 4
  private static let damageCount = (Soak.isOn ? 10_000_000 : 52_000) / seeds

  private let firestore = Firestore(path: "unopened.hearth", app: .hearthDefault)
  private let key = Array("books/dune".utf8)

  /// How far the documents come.
  struct Reach {
    /// Past header and checksum.
    var opened = 0
    /// To the value of at least one field, and with it to that field's decoder.
    var field = 0
    var decoded = 0
    /// The bytes were sound, and not what the model asks for.
    var mismatched = 0
    /// The bytes were damaged.
    var refused = 0
  }

  /// A model's documents, and how they are decoded.
  private struct Target {
    let name: String
    let records: [[UInt8]]
    /// Bodies whose names a name table has, and records of them.
    let unnamed: [(body: BodyWithoutNames, record: [UInt8])]
    let decode: (StoredBody, FirebaseDataDecoder, DocumentDecoder.Context) throws -> Void
  }

  private func target<Model: RandomModel>(
    _ type: Model.Type, _ generator: inout ModelGenerator
  ) throws -> Target {
    try target((0..<24).map { _ in Model.make(&generator) })
  }

  private func target<Model: Codable>(_ models: [Model]) throws -> Target {
    let bodies = try models.map { try Firestore.Encoder().encodeDocument($0).body }
    func record(_ bytes: [UInt8]) -> [UInt8] {
      encodeRecord(
        sequence: 7, updateTime: .earliest, createTime: .earliest, path: nil,
        body: DocumentBody(canonical: bytes), key: key)
    }
    return Target(
      name: "\(Model.self)", records: bodies.map { record($0.bytes) },
      unnamed: try bodies.compactMap { try BodyWithoutNames($0) }.map { ($0, record($0.bytes)) },
      decode: { body, decoder, context in
        _ = try decoder.decodeDocument(
          Model.self, from: body, named: context.document, of: context.owner)
      })
  }

  private func targets(_ seed: UInt64) throws -> [Target] {
    var generator = ModelGenerator(random: FormatGenerator(seed: seed), firestore: firestore)
    return [
      try target([CodableBook.guide]), try target(Integers.self, &generator),
      try target(Scalars.self, &generator), try target(Foundations.self, &generator),
      try target(DataLists.self, &generator), try target(Kinds.self, &generator),
      try target(Dictionaries.self, &generator), try target(Dog.self, &generator),
      try target(Branch.self, &generator), try target(Generics.self, &generator),
      try target(Flattened.self, &generator), try target(Offices.self, &generator),
      try target([["a": ["b": [1, nil, 3]], "c": [:]] as [String: [String: [Int?]]]]),
    ]
  }

  @Test(arguments: 1...UInt64(seeds))
  func `damaged documents decode as some value, or throw`(seed: UInt64) throws {
    let targets = try targets(seed)
    let others = RoundTripsTests.Strategies(
      dates: .iso8601, bytes: .deferred, keys: .snakeCase, writesInfinities: true)
    let decoders = [Firestore.Decoder(), Firestore.Decoder(), Firestore.Decoder(), others.decoder]
    let context = DocumentDecoder.Context(
      document: .path(ResourcePath(["books", "dune"])), owner: firestore)
    var random = FormatGenerator(seed: seed)
    var reach = Reach()
    for _ in 0..<Self.damageCount {
      let target = targets[random.below(targets.count)]
      // Half of them without their names.
      let unnamed =
        target.unnamed.isEmpty || random.below(2) == 0 ? nil : random.one(of: target.unnamed)
      let record = damage(
        unnamed?.record ?? random.one(of: target.records), &random, other: random.one(of: targets))
      let decoder = random.one(of: decoders)
      record.withUnsafeBytes { record in
        do {
          _ = try key.withUnsafeBytes { try RecordFrame.payload(of: record, key: $0) }
          let bytes = try DocumentRecord(parsing: record).storedBody
          reach.opened += 1
          if let unnamed {
            try unnamed.body.with(bytes) { try decode($0, target, decoder, context, &reach) }
          } else {
            try decode(StoredBody(bytes), target, decoder, context, &reach)
          }
          reach.decoded += 1
        } catch let error as Status {
          reach.refused += 1
          if error.code != .dataLoss && error.code != .failedPrecondition {
            Issue.record("seed \(seed), \(target.name): \(error)")
          }
        } catch is DecodingError {
          reach.mismatched += 1
        } catch {
          Issue.record("seed \(seed), \(target.name): \(error)")
        }
      }
    }
    if Soak.isOn { print("seed \(seed), of \(Self.damageCount): \(reach)") }
    // Damage that never comes to a field would prove nothing about fields.
    #expect(Double(reach.field) / Double(Self.damageCount) > 0.3, "seed \(seed): \(reach)")
    #expect(reach.mismatched > Self.damageCount / 10, "seed \(seed): \(reach)")
    #expect(reach.refused > Self.damageCount / 100, "seed \(seed): \(reach)")
  }

  private func decode(
    _ body: StoredBody, _ target: Target, _ decoder: FirebaseDataDecoder,
    _ context: DocumentDecoder.Context, _ reach: inout Reach
  ) throws {
    if Self.reachesField(body) { reach.field += 1 }
    try target.decode(body, decoder, context)
  }

  /// Counts the fields whose decoder is asked.
  private struct Fields: Decodable {
    struct Field: Decodable {
      init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer() }
    }
    var count = 0

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: TextKey.self)
      for key in container.allKeys {
        if (try? container.decode(Field.self, forKey: key)) != nil { count += 1 }
      }
    }
  }

  private static func reachesField(_ body: StoredBody) -> Bool {
    let fields = try? Firestore.Decoder().decodeDocument(Fields.self, from: body)
    return (fields?.count ?? 0) > 0
  }

  /// Behind the frame; half of it where it hurts, at a tag or an end.
  private func damage(
    _ whole: [UInt8], _ random: inout FormatGenerator, other: Target
  ) -> [UInt8] {
    var bytes = whole
    for _ in 0...random.below(3) {
      guard bytes.count > RecordFrame.byteCount else { break }
      let place = RecordFrame.byteCount + random.below(bytes.count - RecordFrame.byteCount)
      switch random.below(12) {
      case 0, 1: bytes[place] ^= 1 << UInt8(random.below(8))
      case 2: bytes[place] = UInt8(random.below(256))
      case 3: bytes[place] = random.one(of: [0, 1, 2, 0x10, 0x18, 0x20, 0x22, 0x38, 0x7F, 0x80])
      case 4: bytes[place] = random.one(of: [0x81, 0x82, 0x83, 0x84, 0x85, 0x90, 0x95, 0x9A, 0xFF])
      case 5: bytes[place] &+= 1
      case 6: bytes[place] &-= 1
      case 7: bytes.removeSubrange(place..<min(bytes.count, place + random.below(9)))
      case 8, 9:
        let donor = random.one(of: other.records)
        let start = random.below(donor.count)
        let part = donor[start...].prefix(1 + random.below(16))
        bytes.replaceSubrange(place..<min(bytes.count, place + part.count), with: part)
      case 10: bytes.insert(contentsOf: bytes[place...].prefix(random.below(9)), at: place)
      default: if random.below(4) == 0 { bytes.removeSubrange(place...) }
      }
    }
    RecordFrame.seal(&bytes, key: key)
    return bytes
  }
}
