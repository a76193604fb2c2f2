import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

@Suite struct RoundTripTests {
  private func difference(
    _ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) async -> RoundTripDifference? {
    await #expect(throws: RoundTripDifference.self, sourceLocation: sourceLocation) {
      try await body()
    }
  }

  struct Chapter: Codable, Equatable {
    @DocumentID var book: String?
    var title: String
    @ExplicitNull var note: String?
  }

  struct Book: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var chapters: [Chapter] = []
    var prices: [String: Double] = [:]
    var author: DocumentReference?
    var covers: Set<String> = []
    @ServerTimestamp var created: Timestamp?
  }

  @Test func `a whole model comes back`() async throws {
    let database = try TemporaryDatabase()
    let created = Timestamp(seconds: 1_600_000_000, nanoseconds: 5_000)
    let book = Book(
      title: "Dune", chapters: [Chapter(title: "I"), Chapter(title: "II", note: "long")],
      prices: ["USD": 9.5], author: database.firestore.document("people/frank"),
      covers: ["a", "b"], created: created)
    try await expectRoundTrip(book, in: database)
    try await expectRoundTrip(book, in: database)
    try await expectRoundTrips([Book(id: "own", title: "", created: created), book], in: database)
    try await expectRoundTrips([Book](), in: database)
  }

  @Test func `an id is the document's, as a reference too`() async throws {
    struct Person: Codable, Equatable {
      @DocumentID var ref: DocumentReference?
      var name: String
    }
    let database = try TemporaryDatabase()
    try await expectRoundTrip(Person(name: "Ada"), in: database)
    try await expectRoundTrip(
      Person(ref: database.firestore.document("people/ada"), name: "Ada"), in: database)
    let other = await difference {
      try await expectRoundTrip(
        Book(
          id: "one", title: "", chapters: [Chapter(book: "two", title: "")],
          created: Timestamp(seconds: 0, nanoseconds: 0)))
    }
    #expect(other?.fields.map(\.path) == ["chapters[0].book"])
    #expect(other?.fields.first?.hint == "An id is that of the document, in nested values too.")
  }

  @Test func `a server timestamp that is nil is told, unless ignored`() async throws {
    let told = await difference { try await expectRoundTrip(Book(title: "Dune")) }
    #expect(told?.fields.map(\.path) == ["created"])
    #expect(told?.fields.first?.written == "nil")
    #expect(told?.fields.first?.hint?.contains("ignore \"created\"") == true)
    try await expectRoundTrip(Book(title: "Dune"), ignoring: ["created"])
  }

  @Test func `what is lost is told, field by field`() async throws {
    struct Lossy: Codable, Equatable {
      struct Inner: Codable, Equatable {
        var kept = 1
        var lost = 2
        enum CodingKeys: CodingKey { case kept }
      }
      var inner = [Inner(), Inner(kept: 1, lost: 5)]
      var byName = ["a": Inner(kept: 3, lost: 4)]
      var forgotten: String? = "text"
      var title = "Dune"
      enum CodingKeys: CodingKey { case inner, byName, title }
      init() {}
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        inner = Array(try container.decode([Inner].self, forKey: .inner).dropLast())
        byName = try container.decode([String: Inner].self, forKey: .byName)
        forgotten = nil
        title = try container.decode(String.self, forKey: .title)
      }
    }
    let told = try #require(await difference { try await expectRoundTrip(Lossy()) })
    #expect(told.type == "Lossy")
    #expect(told.way == "getDocument(as:)")
    #expect(told.fields.map(\.path) == ["inner[1]", "byName[\"a\"].lost", "forgotten"])
    #expect(told.fields.map(\.read) == ["nothing", "2", "nil"])
    #expect(
      told.description.hasPrefix(
        "Lossy came back changed by getDocument(as:), at HearthTestingTests/RoundTripTests.swift:"))
    #expect(told.description.contains("\n  forgotten: \"text\" became nil\n"))
    #expect(told.description.contains("\nStored: byName: "))
    try await expectRoundTrip(Lossy(), ignoring: ["inner", "byName.lost", "forgotten"])
  }

  @Test func `known traps are named`() async throws {
    struct Traps: Codable, Equatable {
      var date: Date
      var price: Decimal
    }
    let price = try #require(Decimal(string: "0.1234567890123456789012345"))
    let told = await difference {
      try await expectRoundTrip(
        Traps(date: Date(timeIntervalSince1970: 1_700_000_000.123_456_4), price: price))
    }
    #expect(
      told?.fields.map(\.hint)
        == ["Times are stored in microseconds.", "A Decimal is stored as a Double."])

    struct Forgetful: Codable, Equatable {
      @DocumentID var id: String?
      var title: String
      enum CodingKeys: CodingKey { case title }
    }
    let forgotten = await difference { try await expectRoundTrip(Forgetful(title: "Dune")) }
    #expect(forgotten?.fields.map(\.path) == ["id"])
    #expect(forgotten?.fields.first?.hint?.contains("CodingKeys") == true)
    try await expectRoundTrip(Forgetful(title: "Dune"), ignoring: ["id"])
  }

  @Test func `a difference that only == sees is the model's own`() async throws {
    final class Odd: Codable, Equatable {
      var number = 1
      static func == (lhs: Odd, rhs: Odd) -> Bool { lhs === rhs }
    }
    let told = await difference { try await expectRoundTrip(Odd()) }
    #expect(told?.fields.map(\.path) == ["self"])
    class Base: Codable, Equatable {
      var base = 1
      static func == (lhs: Base, rhs: Base) -> Bool { lhs.base == rhs.base }
      required init() {}
      required init(from decoder: any Decoder) throws { base = 7 }
    }
    final class Derived: Base {}
    #expect(
      await difference { try await expectRoundTrip(Derived()) }?.fields.map(\.path) == ["base"])
    enum Choice: Codable, Equatable {
      case first(number: Int)
      case second
      init(from decoder: any Decoder) throws { self = .second }
      static let one = Choice.first(number: 1)
    }
    let chosen = await difference { try await expectRoundTrip(["a": Choice.one]) }
    #expect(chosen?.fields.map(\.path) == ["[\"a\"]"])
    #expect(chosen?.fields.first?.read == "second")
  }

  @Test func `what cannot be stored is thrown as it is`() async throws {
    await #expect(throws: EncodingError.self) { try await expectRoundTrip(["n": UInt64.max]) }
    await #expect(throws: NSError.self) { try await expectRoundTrip(["n": [[1]]]) }
    struct Strict: Codable, Equatable {
      var number = 1
      enum Keys: CodingKey { case other }
      init() {}
      init(from decoder: any Decoder) throws {
        number = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .other)
      }
    }
    await #expect(throws: DecodingError.self) { try await expectRoundTrip(Strict()) }
  }

  // MARK: Types that are coded directly

  /// A conformance by hand, with the mistake that a test asks for.
  struct Card: DocumentCodable, Equatable {
    enum Mistake: Int, Codable { case none, swappedNames, forgottenField, otherKind, forgottenTime }

    var front: String
    var back: String?
    var mistake = Mistake.none
    @ServerTimestamp var made: Timestamp? = Timestamp(seconds: 5, nanoseconds: 0)

    static let documentFields = DocumentFields<Card>("back", "front", "made", "mistake")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      let isSwapped = mistake == .swappedNames
      if mistake != .forgottenField { try fields.write(back, at: isSwapped ? 1 : 0) }
      try fields.write(front, at: isSwapped ? 0 : 1)
      if mistake != .forgottenTime { try fields.write(wrapper: _made, at: 2) }
      if mistake == .otherKind {
        try fields.write(Double(mistake.rawValue), at: 3)
      } else {
        try fields.write(mistake.rawValue, at: 3)
      }
    }
  }

  private struct Deck: Codable, Equatable {
    var cards: [Card]
    var byName: [String: Card]
  }

  @Test func `a right conformance by hand passes`() async throws {
    try await expectRoundTrips([Card(front: "f", back: "b"), Card(front: "f")])
    try await expectRoundTrip(
      Deck(cards: [Card(front: "f")], byName: ["a": Card(front: "f", back: "b")]))
    try await expectRoundTrip(Card(front: "f", made: nil), ignoring: ["made"])
  }

  @Test func `a conformance that swaps the names of fields is reported`() async throws {
    let card = Card(front: "f", back: "b", mistake: .swappedNames)
    let told = try #require(await difference { try await expectRoundTrip(card) })
    #expect(told.type == "Card" && told.way == "the bytes written directly")
    #expect(told.fields.map(\.path) == ["back", "front"])
    #expect(told.fields.map(\.written) == ["\"b\"", "\"f\""])
    #expect(told.fields.map(\.read) == ["\"f\"", "\"b\""])
    #expect(told.description.contains("DocumentCodable must write what Codable writes."))
    #expect(told.description.contains("\nStored: back: \"f\", front: \"b\""))
    let inside = await difference {
      try await expectRoundTrip(Deck(cards: [Card(front: "f"), card], byName: ["a": card]))
    }
    #expect(
      inside?.fields.map(\.path)
        == ["byName.a.back", "byName.a.front", "cards[1].back", "cards[1].front"])
  }

  @Test func `a conformance that forgets a field is reported`() async throws {
    let told = await difference {
      try await expectRoundTrip(Card(front: "f", back: "b", mistake: .forgottenField))
    }
    #expect(told?.way == "the bytes written directly")
    #expect(told?.fields.map(\.path) == ["back"])
    #expect(told?.fields.map(\.read) == ["nothing"])
    let time = await difference {
      try await expectRoundTrip(Card(front: "f", mistake: .forgottenTime, made: nil))
    }
    #expect(time?.fields.map(\.path) == ["made"])
    #expect(time?.fields.map(\.written) == ["serverTimestamp"])
  }

  @Test func `a conformance that writes a value of another kind is reported`() async throws {
    let told = await difference {
      try await expectRoundTrip(Card(front: "f", mistake: .otherKind))
    }
    #expect(told?.fields.map(\.path) == ["mistake"])
    #expect(told?.fields.map(\.written) == ["3"])
    #expect(told?.fields.map(\.read) == ["3.0"])
  }

  @Test func `a type that writes something else each time is not reported`() async throws {
    struct Stamped: Codable, Equatable {
      var title: String

      enum CodingKeys: CodingKey { case title, written }

      init(title: String) { self.title = title }

      init(from decoder: any Decoder) throws {
        title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(title, forKey: .title)
        try container.encode(UUID(), forKey: .written)
      }
    }
    try await expectRoundTrip(Stamped(title: "Dune"))
  }

  @Test @MainActor func `models need not be Sendable, nor tests leave their actor`() async throws {
    final class Box: Codable, Equatable {
      var text = "x"
      static func == (lhs: Box, rhs: Box) -> Bool { lhs.text == rhs.text }
    }
    let box = Box()
    try await expectRoundTrip(box)
    box.text = "y"
    try await expectRoundTrip(box)
  }
}

extension RoundTripTests.Card {
  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let mistake: Mistake = try fields.read(at: 3)
    let isSwapped = mistake == .swappedNames
    back = try fields.read(at: isSwapped ? 1 : 0)
    front = try fields.read(at: isSwapped ? 0 : 1)
    self.mistake = mistake
    _made = try fields.read(wrapperAt: 2)
  }
}
