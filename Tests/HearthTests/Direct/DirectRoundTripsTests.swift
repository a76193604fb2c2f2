import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The models of the round trips are documents of the same bytes, whether they are coded directly or
/// by `Codable` alone.
///
/// With the trait `Macros` all of them are coded directly, most of them by `@Document`. One test after
/// another: they share a counter.
@Suite(.serialized) struct DirectRoundTripsTests {
  typealias Strategies = RoundTripsTests.Strategies
  typealias Entry = RoundTripsTests.Entry

  // MARK: Laws

  private func expectSame<Model: RandomModel>(
    _ type: Model.Type, _ strategies: Strategies, _ random: inout ModelGenerator, seed: Int
  ) throws {
    let model = Model.make(&random)
    let (encoder, decoder) = (strategies.encoder, strategies.decoder)
    let direct = try encoder.encodeDocument(model)
    let stream = try encoder.encodeDocument(CodableOnly(model))
    let tree = try TreeEncoder.encode(model, options: encoder)
    for codable in [stream, tree] {
      #expect(direct.body == codable.body, "\(type), seed \(seed), \(strategies)")
      #expect(direct.validationError?.message == codable.validationError?.message)
      #expect(direct.databases == codable.databases)
    }
    func decoded<Read: Decodable>(_ type: Read.Type, _ body: DocumentBody) throws -> Read {
      try body.withBytes {
        try decoder.decodeDocument(
          type, from: StoredBody($0), named: .path(ResourcePath(["a", "b"])), of: random.firestore)
      }
    }
    let read = try decoded(Model.self, stream.body)
    let readByCodable = try decoded(CodableOnly<Model>.self, direct.body).model
    #expect(read == readByCodable, "\(type), seed \(seed), \(strategies)")
    if Model.self == Offices.self {
      // Reading fills in ids, which are no fields.
      #expect(try encoder.encodeDocument(read).body == direct.body)
    } else {
      #expect(read == model, "\(type), seed \(seed), \(strategies)")
    }
  }

  @Test(arguments: RoundTripsTests.catalogue)
  func `direct bytes are those of Codable, and each is decoded by the other`(
    entry: Entry
  ) async throws {
    let database = try TemporaryDatabase()
    for (seed, strategies) in Strategies.all.enumerated() {
      var random = ModelGenerator(
        random: FormatGenerator(seed: UInt64(seed)), firestore: database.firestore,
        hasInfinities: strategies.writesInfinities)
      for _ in 0..<(Soak.isOn ? 32 : 4) {
        try expectSame(entry.type, strategies, &random, seed: seed)
      }
    }
  }

  @Test func `CodableOnly leaves the values inside of a value to Codable, too`() async throws {
    struct Holder: Codable {
      var list: [Watched<Dog>]
    }
    let database = try TemporaryDatabase()
    var random = ModelGenerator(random: FormatGenerator(seed: 7), firestore: database.firestore)
    let holder = Holder(list: (0..<3).map { _ in Watched(Dog.make(&random)) })
    let before = Self.codableCount.withLock(\.self)
    let body = try Firestore.Encoder().encodeDocument(holder).body
    _ = try body.withBytes {
      try Firestore.Decoder().decodeDocument(Holder.self, from: StoredBody($0))
    }
    #expect(Self.codableCount.withLock(\.self) == before)
    let other = try Firestore.Encoder().encodeDocument(CodableOnly(holder)).body
    #expect(Self.codableCount.withLock(\.self) == before + 3)
    _ = try body.withBytes {
      try Firestore.Decoder().decodeDocument(CodableOnly<Holder>.self, from: StoredBody($0))
    }
    #expect(Self.codableCount.withLock(\.self) == before + 6)
    #expect(other == body)
  }

  // MARK: No silent fallback

  private static let codableCount = Guarded(0)

  /// Counts how often it is coded by `Codable`, which is the way of the whole document once a value
  /// in it is refused.
  private struct Watched<Model: DocumentCodable & Equatable>: DocumentValueCodable, Equatable {
    let model: Model

    init(_ model: Model) { self.model = model }

    init(from decoder: any Decoder) throws {
      DirectRoundTripsTests.codableCount.withLock { $0 += 1 }
      model = try decoder.singleValueContainer().decode(Model.self)
    }

    func encode(to encoder: any Encoder) throws {
      DirectRoundTripsTests.codableCount.withLock { $0 += 1 }
      var container = encoder.singleValueContainer()
      try container.encode(model)
    }

    func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
      try model.write(to: writer)
    }

    init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
      model = try Model(reading: reader)
    }
  }

  /// Returns how often `Codable` coded a random model.
  private func codings<Model: RandomModel & DocumentCodable>(
    _ type: Model.Type, _ random: inout ModelGenerator
  ) throws -> Int {
    let before = Self.codableCount.withLock(\.self)
    let model = Model.make(&random)
    let body = try Firestore.Encoder().encodeDocument(Watched(model)).body
    let read = try body.withBytes {
      try Firestore.Decoder().decodeDocument(
        Watched<Model>.self, from: StoredBody($0), named: .path(ResourcePath(["a", "b"])),
        of: random.firestore)
    }
    if Model.self != Offices.self { #expect(read.model == model) }
    return Self.codableCount.withLock(\.self) - before
  }

  @Test func `no model is left to Codable with the default strategies`() async throws {
    let database = try TemporaryDatabase()
    var directCount = 0
    for entry in RoundTripsTests.catalogue {
      guard let type = entry.type as? any (RandomModel & DocumentCodable).Type else { continue }
      directCount += 1
      var random = ModelGenerator(
        random: FormatGenerator(seed: 7), firestore: database.firestore, hasUnderscores: false)
      for _ in 0..<(Soak.isOn ? 2_000 : 60) {
        #expect(try codings(type, &random) == 0, "\(type)")
      }
    }
    #if Macros
      #expect(directCount == RoundTripsTests.catalogue.count)
    #else
      // By hand.
      #expect(directCount == 2)
    #endif
  }

  #if Macros
    @Test func `a name with an underscore in front is seen to be left to Codable`() async throws {
      let database = try TemporaryDatabase()
      var random = ModelGenerator(
        random: FormatGenerator(seed: 7), firestore: database.firestore)
      var count = 0
      for _ in 0..<60 { count += try codings(Branch.self, &random) }
      #expect(count > 0)
    }

    /// The fields that `Codable` codes in models that are coded directly, and why.
    private static let leftToCodable = [
      "Foundations.urls": "a set",
      "DataLists.set": "a set",
      "Kinds.colors": "a set",
      "Kinds.tags": "a set",
      "Kinds.half": "a range",
      "Kinds.closed": "a range",
      "Dictionaries.byNumber": "the keys are no strings",
      "Dictionaries.byPlain": "the keys are no strings",
      "Dictionaries.byRepresented": "the keys are no strings",
      "Dictionaries.byCode": "the keys are no strings",
      "Dictionaries.byIdentifier": "the keys are no strings",
      "Dog.mother": "a class with subclasses",
    ]

    @Test func `only these fields are left to Codable`() async throws {
      let database = try TemporaryDatabase()
      var random = ModelGenerator(random: FormatGenerator(seed: 7), firestore: database.firestore)
      var found: Set<String> = []
      for entry in RoundTripsTests.catalogue {
        var mirror: Mirror? = Mirror(reflecting: entry.type.make(&random))
        while let one = mirror, one.displayStyle != .enum {
          for child in one.children
          where !(type(of: child.value) is any DocumentValueCodable.Type) {
            found.insert("\(entry).\((child.label ?? "").trimmingPrefix("_"))")
          }
          mirror = one.superclassMirror
        }
      }
      #expect(found == Set(Self.leftToCodable.keys))
    }
  #endif
}
