import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Types that are coded directly give the bytes, the values and the errors of `Codable`.
@Suite struct DocumentCodableTests {
  // MARK: Models

  /// The same fields by both ways.
  protocol Twin: Codable, Equatable {
    associatedtype Plain: Codable, Equatable
    var plain: Plain { get }
  }

  struct Book: DocumentCodable, Twin {
    var title: String
    var pages: Int
    var rating: Double
    var published: Date
    var cover: Data
    var isRead: Bool
    var link: URL
    var id: UUID
    var price: Decimal
    var weight: Float
    var tags: [Tag]
    var genres: [String]
    var ratings: [String: Int]
    var chapters: [String: Tag]
    var subtitle: String?
    var next: Tag?
    var marks: [Int?]
    var edition: Edition
    var other: Plain.Other

    struct Tag: DocumentCodable, Equatable {
      var title: String
      var color: String?

      static let documentFields = DocumentFields<Tag>("color", "title")

      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(color, at: 0)
        try fields.write(title, at: 1)
      }
    }

    enum Edition: String, Codable, DocumentValueCodable {
      case first, second

      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
        try rawValue.write(to: writer)
      }

      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        guard let edition = Edition(rawValue: try String(reading: reader)) else {
          throw UseCodable()
        }
        self = edition
      }
    }

    // Not in the order of the bytes: that is right, too.
    static let documentFields = DocumentFields<Book>(
      "title", "pages", "rating", "published", "cover", "isRead", "link", "id", "price", "weight",
      "tags", "genres", "ratings", "chapters", "subtitle", "next", "marks", "edition", "other")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(title, at: 0)
      try fields.write(pages, at: 1)
      try fields.write(rating, at: 2)
      try fields.write(published, at: 3)
      try fields.write(cover, at: 4)
      try fields.write(isRead, at: 5)
      try fields.write(link, at: 6)
      try fields.write(id, at: 7)
      try fields.write(price, at: 8)
      try fields.write(weight, at: 9)
      try fields.write(tags, at: 10)
      try fields.write(genres, at: 11)
      try fields.write(ratings, at: 12)
      try fields.write(chapters, at: 13)
      try fields.write(subtitle, at: 14)
      try fields.write(next, at: 15)
      try fields.write(marks, at: 16)
      try fields.write(edition, at: 17)
      try fields.write(other, at: 18)
    }

    var plain: Plain {
      Plain(
        title: title, pages: pages, rating: rating, published: published, cover: cover,
        isRead: isRead, link: link, id: id, price: price, weight: weight,
        tags: tags.map { Plain.Tag(title: $0.title, color: $0.color) }, genres: genres,
        ratings: ratings,
        chapters: chapters.mapValues { Plain.Tag(title: $0.title, color: $0.color) },
        subtitle: subtitle, next: next.map { Plain.Tag(title: $0.title, color: $0.color) },
        marks: marks, edition: Plain.Edition(rawValue: edition.rawValue) ?? .first, other: other)
    }

    struct Plain: Codable, Equatable {
      struct Tag: Codable, Equatable {
        var title: String
        var color: String?
      }
      enum Edition: String, Codable { case first, second }
      /// Coded through `Codable` in both.
      struct Other: Codable, Equatable {
        var name: String
        var when: Date
        var numbers: Set<Int>
      }

      var title: String
      var pages: Int
      var rating: Double
      var published: Date
      var cover: Data
      var isRead: Bool
      var link: URL
      var id: UUID
      var price: Decimal
      var weight: Float
      var tags: [Tag]
      var genres: [String]
      var ratings: [String: Int]
      var chapters: [String: Tag]
      var subtitle: String?
      var next: Tag?
      var marks: [Int?]
      var edition: Edition
      var other: Other
    }
  }

  private func book(_ random: inout ModelGenerator) -> Book {
    func tag(_ random: inout ModelGenerator) -> Book.Tag {
      Book.Tag(title: random.text(), color: random.maybe { $0.text() })
    }
    return Book(
      title: random.text(), pages: random.integer(), rating: random.double(),
      published: random.date(), cover: random.data(), isRead: random.flag(), link: random.url(),
      id: random.uuid(), price: random.decimal(), weight: random.float(),
      tags: random.list { tag(&$0) }, genres: random.list { $0.text() },
      ratings: random.named { $0.integer() }, chapters: random.named { tag(&$0) },
      subtitle: random.maybe { $0.text() }, next: random.maybe { tag(&$0) },
      marks: random.list { random in random.maybe { $0.integer() } },
      edition: random.flag() ? .first : .second,
      other: Book.Plain.Other(
        name: random.text(), when: random.date(), numbers: Set(random.list { $0.below(100) })))
  }

  private func withBooks(_ count: Int, _ body: (Book) throws -> Void) async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/a.hearth")
    var random = ModelGenerator(random: FormatGenerator(seed: 19), firestore: db)
    for _ in 0..<count { try body(book(&random)) }
    try await db.terminate()
  }

  private func decoded<T: Decodable>(
    _ type: T.Type, _ body: DocumentBody, _ decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    try body.withBytes { try decoder.decodeDocument(type, from: StoredBody($0)) }
  }

  // MARK: Laws

  @Test func `direct bytes are those of Codable, and each is decoded by the other`() async throws {
    try await withBooks(500) { book in
      let encoder = Firestore.Encoder()
      // A set has no order.
      var book = book
      book.other.numbers = Set(book.other.numbers.prefix(1))
      let direct = try encoder.encodeDocument(book).body
      #expect(try direct == encoder.encodeDocument(book.plain).body)
      #expect(throws: Never.self) { try DocumentBody(validating: direct.bytes) }
      #expect(try TreeEncoder.encode(book, options: encoder).body == direct)
      #expect(try decoded(Book.self, direct) == book)
      #expect(try decoded(Book.Plain.self, direct) == book.plain)
    }
  }

  /// Counts how often it is coded by `Codable`.
  struct Watched: DocumentCodable, Equatable {
    static let codableCount = Guarded(0)

    var book: Book

    enum CodingKeys: String, CodingKey { case book }

    init(_ book: Book) { self.book = book }

    init(from decoder: any Decoder) throws {
      Self.codableCount.withLock { $0 += 1 }
      book = try decoder.container(keyedBy: CodingKeys.self).decode(Book.self, forKey: .book)
    }

    func encode(to encoder: any Encoder) throws {
      Self.codableCount.withLock { $0 += 1 }
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(book, forKey: .book)
    }

    static let documentFields = DocumentFields<Watched>("book")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(book, at: 0)
    }
  }

  @Test func `no value of a usual book is left to Codable`() async throws {
    try await withBooks(200) { book in
      var watched = Watched(book)
      // Names with an underscore in front are.
      watched.book.ratings["_x"] = nil
      watched.book.chapters["_x"] = nil
      let body = try Firestore.Encoder().encodeDocument(watched).body
      #expect(try decoded(Watched.self, body) == watched)
    }
    #expect(Watched.codableCount.withLock(\.self) == 0)
    try await withBooks(1) { book in
      var watched = Watched(book)
      watched.book.ratings["_x"] = 1
      _ = try Firestore.Encoder().encodeDocument(watched)
    }
    #expect(Watched.codableCount.withLock(\.self) == 1)
  }

  @Test(arguments: 0..<24)
  func `settings that are not the default ones are honoured`(_ number: Int) async throws {
    let all = RoundTripsTests.Strategies.all
    for (index, strategies) in all.enumerated() where index % 24 == number {
      try await withBooks(10) { book in
        var book = book
        book.other.numbers = [1]
        let direct = try strategies.encoder.encodeDocument(book).body
        #expect(
          try direct == strategies.encoder.encodeDocument(book.plain).body, "\(strategies)")
        let value = try decoded(Book.self, direct, strategies.decoder)
        let plain = try decoded(Book.Plain.self, direct, strategies.decoder)
        #expect(value.plain == plain, "\(strategies)")
      }
    }
  }

  @Test func `errors are those of Codable, with their paths`() async throws {
    try await withBooks(60) { book in
      var book = book
      let encoder = Firestore.Encoder()
      book.other.numbers = [1]
      var map = try encoder.encodeDocument(book).body.map()
      // Each field is missing, or of another kind.
      for field in map.fields {
        for value in [nil, Value.null, .boolean(true), .string("x"), .array([.map(MapValue([]))])] {
          var fields = map.fields.map { ($0.name, $0.value) }
          fields.removeAll { $0.0 == field.name }
          if let value { fields.append((field.name, value)) }
          let body = try DocumentBody(encoding: MapValue(fields))
          let direct = Result { try decoded(Book.self, body) }
          let plain = Result { try decoded(Book.Plain.self, body) }
          switch (direct, plain) {
          case (.success(let value), .success(let other)): #expect(value.plain == other)
          case (.failure(let error), .failure(let other)):
            #expect(path(error) == path(other))
            #expect(sentence(error) == sentence(other))
          default: Issue.record("\(field.name): \(direct), \(plain)")
          }
        }
      }
      map = MapValue([])
      book.rating = .infinity
      let error = #expect(throws: EncodingError.self) { try encoder.encodeDocument(book) }
      #expect(path(error) == "rating")
    }
  }

  struct Doubtful: DocumentCodable, Twin {
    var names: [String: Int]?
    var ratio: Float?
    var when: Date?

    static let documentFields = DocumentFields<Doubtful>("names", "ratio", "when")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(names, at: 0)
      try fields.write(ratio, at: 1)
      try fields.write(when, at: 2)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      names = try fields.read(at: 0)
      ratio = try fields.read(at: 1)
      when = try fields.read(at: 2)
    }

    struct Plain: Codable, Equatable {
      var names: [String: Int]?
      var ratio: Float?
      var when: Date?
    }

    var plain: Plain { Plain(names: names, ratio: ratio, when: when) }
  }

  @Test func `a form that Codable does not know is read directly, whatever the rest needs`() throws
  {
    struct Link: DocumentOnlyCodable, Equatable {
      var target: String

      init(_ target: String) { self.target = target }
      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { throw UseCodable() }
      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        target = try reader.string()
      }
    }
    struct Model: Codable, Equatable {
      var counts: [Int8]
      var link: Link
      var old: Link
      var others: [Link]
    }
    // A double is left to Codable, and so is the map of one link.
    let body = try DocumentBody(
      encoding: MapValue([
        ("counts", .array([.double(3)])), ("link", .string("a")),
        ("old", .map(MapValue([("target", .string("b"))]))),
        ("others", .array([.string("c"), .string("d")])),
      ]))
    let expected = Model(
      counts: [3], link: Link("a"), old: Link("b"), others: [Link("c"), Link("d")])
    #expect(try decoded(Model.self, body, Firestore.Decoder()) == expected)
    #expect(throws: DecodingError.self) {
      let wrong = try DocumentBody(encoding: MapValue([("link", .integer(1))]))
      _ = try decoded(Model.self, wrong, Firestore.Decoder())
    }
  }

  @Test func `a wide number, equivalent names and another strategy are decided by Codable`() throws
  {
    let seconds = Firestore.Decoder()
    seconds.dateDecodingStrategy = .secondsSince1970
    let instant = Instant(microseconds: 1_500_000)
    for (value, decoder) in [
      (("ratio", Value.double(1e300)), Firestore.Decoder()),
      (("ratio", .double(-.infinity)), Firestore.Decoder()),
      (
        ("names", .map(MapValue([("é", .integer(1)), ("e\u{301}", .integer(2))]))),
        Firestore.Decoder()
      ),
      (("names", .map(MapValue([("é", .integer(1)), ("f", .integer(2))]))), Firestore.Decoder()),
      (("when", .timestamp(instant)), Firestore.Decoder()),
      (("when", .timestamp(instant)), seconds),
      (("when", .integer(3)), seconds), (("when", .integer(3)), Firestore.Decoder()),
    ] {
      let body = try DocumentBody(encoding: MapValue([value]))
      let direct = Result { try decoded(Doubtful.self, body, decoder) }
      let plain = Result { try decoded(Doubtful.Plain.self, body, decoder) }
      switch (direct, plain) {
      case (.success(let value), .success(let other)): #expect(value.plain == other)
      case (.failure(let error), .failure(let other)):
        #expect(path(error) == path(other) && sentence(error) == sentence(other))
      default: Issue.record("\(value): \(direct), \(plain)")
      }
    }
    let names = MapValue([("é", .integer(1)), ("e\u{301}", .integer(2))])
    #expect(names.fields.count == 2)
    let body = try DocumentBody(encoding: MapValue([("names", .map(names))]))
    #expect(throws: DecodingError.self) { try decoded(Doubtful.Plain.self, body) }
    #expect(throws: DecodingError.self) { try decoded(Doubtful.self, body) }
  }

  // MARK: Wrong conformances

  /// Writes its fields as a closure says.
  struct Wrong: Codable, DocumentCodable {
    var a = 1
    var write: (borrowing DocumentMapWriter) throws(UseCodable) -> Void = { _ in }

    enum CodingKeys: String, CodingKey { case a }

    static let documentFields = DocumentFields<Wrong>("a", "b")

    init(_ write: @escaping (borrowing DocumentMapWriter) throws(UseCodable) -> Void) {
      self.write = write
    }

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) { try write(fields) }
    init(fields: borrowing DocumentMapReader) throws(UseCodable) { throw UseCodable() }
  }

  /// Writes its value as a closure says. `Codable` encodes it as an empty map.
  struct ByHand: DocumentValueCodable {
    var write: (borrowing DocumentValueWriter) throws(UseCodable) -> Void = { _ in }

    enum CodingKeys: CodingKey {}

    init(_ write: @escaping (borrowing DocumentValueWriter) throws(UseCodable) -> Void) {
      self.write = write
    }

    func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { try write(writer) }
    init(reading reader: borrowing DocumentValueReader) throws(UseCodable) { throw UseCodable() }
  }

  struct One: DocumentCodable {
    var x = 1

    static let documentFields = DocumentFields<One>("x")

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(x, at: 0)
    }

    init(fields: borrowing DocumentMapReader) throws(UseCodable) { x = try fields.read(at: 0) }
  }

  enum SomeKeys: CodingKey { case x }

  /// `Codable` encodes some of it and fails.
  struct Failing: Codable {
    struct Failure: Error {}

    init() {}
    init(from decoder: any Decoder) throws {}

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: SomeKeys.self)
      try container.encode("name", forKey: .x)
      throw Failure()
    }
  }

  @Test func `a conformance that writes wrongly is encoded by Codable`() throws {
    let encoder = Firestore.Encoder()
    let wrong: [Wrong] = [
      // Two values for one field, and for an element.
      Wrong { map throws(UseCodable) in
        try map.write(
          ByHand { value throws(UseCodable) in
            try value.null(); try value.null()
          }, at: 0)
      },
      Wrong { map throws(UseCodable) in
        try map.write(
          [
            ByHand { value throws(UseCodable) in
              try value.null(); try value.null()
            }
          ], at: 0)
      },
      Wrong { map throws(UseCodable) in
        try? map.write(
          ByHand { value throws(UseCodable) in
            try value.null(); try value.null()
          }, at: 0)
      },
      // A field that is not there.
      Wrong { map throws(UseCodable) in try map.write(1, at: 2) },
      Wrong { map throws(UseCodable) in try map.write(1, at: -1) },
      // An array in an array, an element without a value.
      Wrong { map throws(UseCodable) in try map.write([[1]], at: 0) },
      Wrong { map throws(UseCodable) in try map.write([ByHand { _ in }], at: 0) },
      Wrong { map throws(UseCodable) in try map.write(Double.nan, at: 0) },
      Wrong { _ throws(UseCodable) in throw UseCodable() },
      // An error that is caught leaves maps and arrays open.
      Wrong { map throws(UseCodable) in
        try? map.write(["_x": 1], at: 0)
        try map.write(1, at: 1)
      },
      Wrong { map throws(UseCodable) in
        try? map.write([1, .nan], at: 0)
        try map.write(1, at: 1)
      },
      Wrong { map throws(UseCodable) in
        try? map.map(Wrong.documentFields, at: 0) { _ throws(UseCodable) in throw UseCodable() }
        try? map.write(1, at: 1)
      },
      Wrong { map throws(UseCodable) in
        try? map.write(Failing(), at: 0)
        try map.write(1, at: 1)
      },
      // An outer map is written to inside of an inner one.
      Wrong { map throws(UseCodable) in
        try map.map(One.documentFields, at: 0) { _ throws(UseCodable) in try map.write(1, at: 1) }
      },
      Wrong { map throws(UseCodable) in
        try map.map(One.documentFields, at: 0) { _ throws(UseCodable) in try? map.write(1, at: 1) }
      },
    ]
    for value in wrong {
      #expect(try fields(of: value, encoder) == map(["a": .integer(1)]))
    }
    // The last one counts, in any order.
    let twice = Wrong { map throws(UseCodable) in
      try map.write(2, at: 1)
      try map.write(3, at: 0)
      try map.write(4, at: 1)
    }
    #expect(try fields(of: twice, encoder) == map(["a": .integer(3), "b": .integer(4)]))
  }

  /// Nested in types that are coded by `Codable`, and the other way round.
  @Test func `direct and other types are nested in each other`() throws {
    struct Shelf: Codable, Equatable {
      var name: String
      var tags: [Book.Tag]
      var byName: [String: Book.Tag]
      var first: Book.Tag?
    }
    let tag = Book.Tag(title: "t", color: nil)
    let shelf = Shelf(name: "s", tags: [tag, tag], byName: ["k": tag], first: tag)
    let stored = Value.map(map(["title": .string("t")]))
    try expectRoundTrip(
      shelf,
      as: [
        "name": .string("s"), "tags": .array([stored, stored]), "byName": .map(map(["k": stored])),
        "first": stored,
      ])
    let error = #expect(throws: DecodingError.self) {
      try decode(
        Shelf.self,
        from: [
          "name": .string("s"), "tags": .array([stored, .map(map(["title": .null]))]),
          "byName": .map(map([:])),
        ])
    }
    #expect(path(error) == "tags.Index 1.title")
  }

  /// A value of a type is read while another one, with other fields, is not done.
  @Test func `a type that holds itself is read where each of its values lies`() throws {
    struct Branch: DocumentCodable, Equatable {
      var a: Int?
      var branches: [Branch]?
      var only: [Branch]?
      var z: Int?

      static let documentFields = DocumentFields<Branch>("a", "branches", "only", "z")

      init(a: Int? = nil, branches: [Branch]? = nil, only: [Branch]? = nil, z: Int? = nil) {
        (self.a, self.branches, self.only, self.z) = (a, branches, only, z)
      }

      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(a, at: 0)
        try fields.write(branches, at: 1)
        try fields.write(only, at: 2)
        try fields.write(z, at: 3)
      }

      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        a = try fields.read(at: 0)
        branches = try fields.read(at: 1)
        only = try fields.read(at: 2)
        z = try fields.read(at: 3)
      }
    }
    var random = SeededGenerator(seed: 11)
    func branch(depth: Int) -> Branch {
      func some<T>(_ value: @autoclosure () -> T) -> T? {
        Bool.random(using: &random) ? value() : nil
      }
      func several() -> [Branch]? {
        depth == 0 ? nil : some((0..<3).map { _ in branch(depth: depth - 1) })
      }
      return Branch(
        a: some(Int.random(in: 0...9, using: &random)), branches: several(), only: several(),
        z: some(Int.random(in: 10...19, using: &random)))
    }
    for _ in 0..<200 {
      let tree = branch(depth: 4)
      let body = try Firestore.Encoder().encodeDocument(tree).body
      #expect(try decoded(Branch.self, body) == tree)
    }
  }

  /// Types beyond the 128th share what is remembered of them with another one.
  @Test func `a type within one that shares its memory is read right`() throws {
    struct Inner: DocumentCodable, Equatable {
      var b: Int
      var c: Int

      static let documentFields: DocumentFields<Inner> = {
        let outer = Outer.documentFields.table.pointee.number
        // A table of its own for each: names are known again.
        var more = 0
        while true {
          let fields = DocumentFields<Inner>(["b", "c"] + (0..<more).map { "unused \($0)" })
          if (fields.table.pointee.number - outer) % 128 == 0 { return fields }
          more += 1
        }
      }()

      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(b, at: 0)
        try fields.write(c, at: 1)
      }

      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        b = try fields.read(at: 0)
        c = try fields.read(at: 1)
      }

      init(b: Int, c: Int) { (self.b, self.c) = (b, c) }
    }
    struct Outer: DocumentCodable, Equatable {
      var a: Int
      var inner: [Inner]
      var z: Int

      static let documentFields = DocumentFields<Outer>("a", "inner", "z")

      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(a, at: 0)
        try fields.write(inner, at: 1)
        try fields.write(z, at: 2)
      }

      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        a = try fields.read(at: 0)
        inner = try fields.read(at: 1)
        z = try fields.read(at: 2)
      }

      init(a: Int, inner: [Inner], z: Int) { (self.a, self.inner, self.z) = (a, inner, z) }
    }
    let value = Outer(a: 1, inner: [Inner(b: 2, c: 3), Inner(b: 4, c: 5)], z: 6)
    let body = try Firestore.Encoder().encodeDocument(value).body
    for _ in 0..<3 {
      #expect(try decoded(Outer.self, body) == value)
    }
    #expect(
      (Inner.documentFields.table.pointee.number - Outer.documentFields.table.pointee.number) % 128
        == 0)
  }

  // MARK: Types that are coded through Codable inside of others

  /// Stores and reads the path at which it is coded.
  struct Located: Codable, Equatable {
    var path = ""

    init() {}

    init(from decoder: any Decoder) throws {
      path = Self.text(decoder.codingPath)
      let stored = try decoder.singleValueContainer().decode(String.self)
      #expect(stored == path)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(Self.text(encoder.codingPath))
    }

    static func text(_ path: [any CodingKey]) -> String {
      path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
    }
  }

  struct Leaf: DocumentCodable, Equatable {
    var place = Located()

    static let documentFields = DocumentFields<Leaf>("place")

    init() {}
    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(place, at: 0)
    }
    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      place = try fields.read(at: 0)
    }
  }

  struct Middle: Codable, Equatable {
    var first = Leaf()
    var second = [Leaf(), Leaf()]
  }

  struct Outermost: DocumentCodable, Equatable {
    var leaves = [Leaf(), Leaf()]
    var middle = [Middle()]
    var named = ["x": Leaf(), "y": Leaf()]
    var place = Located()

    static let documentFields = DocumentFields<Outermost>("leaves", "middle", "named", "place")

    init() {}
    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
      try fields.write(leaves, at: 0)
      try fields.write(middle, at: 1)
      try fields.write(named, at: 2)
      try fields.write(place, at: 3)
    }
    init(fields: borrowing DocumentMapReader) throws(UseCodable) {
      leaves = try fields.read(at: 0)
      middle = try fields.read(at: 1)
      named = try fields.read(at: 2)
      place = try fields.read(at: 3)
    }
  }

  @Test func `a type inside sees the coding path that Codable gives it`() throws {
    let body = try Firestore.Encoder().encodeDocument(Outermost()).body
    let found = try decoded(Outermost.self, body)
    #expect(found.leaves.map(\.place.path) == ["leaves.[0].place", "leaves.[1].place"])
    #expect(found.middle[0].first.place.path == "middle.[0].first.place")
    #expect(
      found.middle[0].second.map(\.place.path)
        == ["middle.[0].second.[0].place", "middle.[0].second.[1].place"])
    #expect(found.named.mapValues(\.place.path) == ["x": "named.x.place", "y": "named.y.place"])
    #expect(found.place.path == "place")
    let nested = try Firestore.Encoder().encodeDocument(["one": Outermost()]).body
    #expect(
      try decoded([String: Outermost].self, nested)["one"]?.middle[0].first.place.path
        == "one.middle.[0].first.place")
  }

  /// What was noted while a value was encoded directly is forgotten when it is encoded again.
  @Test func `an error is that of Codable, with its path, after a direct attempt`() throws {
    enum Shape: Codable {
      case circle(radius: Double)
    }
    struct Drawing: DocumentCodable {
      var shape: Shape
      var last = 1.0

      enum CodingKeys: String, CodingKey { case shape, last }

      static let documentFields = DocumentFields<Drawing>("last", "shape")

      init(_ shape: Shape) { self.shape = shape }
      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(last, at: 0)
        try fields.write(shape, at: 1)
      }
      init(fields: borrowing DocumentMapReader) throws(UseCodable) {
        last = try fields.read(at: 0)
        shape = try fields.read(at: 1)
      }
    }
    let error = #expect(throws: EncodingError.self) {
      try Firestore.Encoder().encodeDocument(Drawing(.circle(radius: .nan)))
    }
    #expect(path(error) == "shape.circle.radius")

    struct Undecided: Codable {
      init() {}
      init(from decoder: any Decoder) throws {}
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(1)
        var map = encoder.container(keyedBy: SomeKeys.self)
        try map.encode(1, forKey: .x)
      }
    }
    struct Holder: DocumentCodable {
      var x = Undecided()

      static let documentFields = DocumentFields<Holder>("x")

      init() {}
      func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
        try fields.write(x, at: 0)
      }
      init(fields: borrowing DocumentMapReader) throws(UseCodable) { throw UseCodable() }
    }
    let misuse = #expect(throws: EncodingError.self) {
      try Firestore.Encoder().encodeDocument(Holder())
    }
    #expect(path(misuse) == "x")
  }

  @Test func `a type that leaves all to Codable is coded once`() throws {
    struct Lazy: DocumentValueCodable, Equatable {
      var name: String

      init(_ name: String) { self.name = name }
      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
        try writer.codable(self)
      }
      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        self = try reader.codable()
      }
    }
    try expectRoundTrip(Lazy("n"), as: ["name": .string("n")])
    try expectRoundTrip(["a": [Lazy("n")]], as: ["a": .array([.map(map(["name": .string("n")]))])])
  }

  /// Without this, each level would be tried twice, and a document of 20 levels a million times.
  @Test func `a wrong value deep inside is tried a few times only`() throws {
    final class Node: Codable {
      struct Direct: DocumentCodable {
        var next: Node?
        var number: Int?

        static let documentFields = DocumentFields<Direct>("next", "number")

        func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
          try fields.write(next, at: 0)
          try fields.write(number, at: 1)
        }
        init(fields: borrowing DocumentMapReader) throws(UseCodable) {
          Node.attempts.withLock { $0 += 1 }
          next = try fields.read(at: 0)
          number = try fields.read(at: 1)
        }
      }
      static let attempts = Guarded(0)

      var value: Direct?
    }
    var inner = map(["number": .string("x")])
    for _ in 0..<9 { inner = map(["next": .map(map(["value": .map(inner)]))]) }
    let body = try DocumentBody(encoding: inner)
    let error = #expect(throws: DecodingError.self) { try decoded(Node.Direct.self, body) }
    #expect(path(error)?.hasSuffix("next.value.number") == true)
    #expect(Node.attempts.withLock(\.self) == 10)
  }

  @Test func `names of a type of its own are converted as Codable converts them`() throws {
    struct Names: DocumentValueCodable, Equatable {
      var values: [String: Int]

      init(_ values: [String: Int]) { self.values = values }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyCodingKey.self)
        values = [:]
        for key in container.allKeys {
          values[key.stringValue] = try container.decode(Int.self, forKey: key)
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyCodingKey.self)
        for (name, value) in values { try container.encode(value, forKey: .name(name)) }
      }
      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
        try writer.map { names throws(UseCodable) in
          for (name, value) in values { try names.write(value, named: name) }
        }
      }
      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        var values: [String: Int] = [:]
        try reader.forEachField { name, value throws(UseCodable) in
          values[name] = try Int(reading: value)
        }
        self.values = values
      }
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let value = Names(["imageName": 1])
    let body = try encoder.encodeDocument(value).body
    #expect(try body.map() == map(["image_name": .integer(1)]))
    #expect(try decoded(Names.self, body, decoder) == value)
    try expectRoundTrip(value, as: ["imageName": .integer(1)])
  }

  /// A record that is cut off behind its header.
  @Test func `a document without bytes is left to Codable`() throws {
    struct Anything: DocumentValueCodable {
      init(from decoder: any Decoder) throws {
        #expect(try decoder.singleValueContainer().decodeNil())
      }
      func encode(to encoder: any Encoder) throws {}
      func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
        throw UseCodable()
      }
      init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
        self = try reader.codable()
      }
    }
    let bytes: [UInt8] = [0x90]
    try bytes.withUnsafeBytes { bytes in
      let empty = UnsafeRawBufferPointer(rebasing: bytes[..<0])
      _ = try Firestore.Decoder().decodeDocument(Anything.self, from: StoredBody(empty))
    }
  }

  @Test func `names that no map can have are left to Codable`() throws {
    for names in [["a", "a"], ["", "a"], ["__a__"]] {
      #expect(!DocumentFields<Book>(names).table.pointee.isValid)
    }
    let names = ["b", "a", "é", "z"]
    #expect(DocumentFields<Book>(names).names == names)
    // Types with the same names share them: a generic type makes them for each use.
    #expect(DocumentFields<Book>(names).table == DocumentFields<Wrong>(names).table)
    // Equal to Swift, and other bytes.
    #expect(DocumentFields<Book>("é").table != DocumentFields<Book>("e\u{301}").table)
  }
}

extension DocumentCodableTests.Book.Tag {
  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    color = try fields.read(at: 0)
    title = try fields.read(at: 1)
  }
}

extension DocumentCodableTests.Book {
  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    title = try fields.read(at: 0)
    pages = try fields.read(at: 1)
    rating = try fields.read(at: 2)
    published = try fields.read(at: 3)
    cover = try fields.read(at: 4)
    isRead = try fields.read(at: 5)
    link = try fields.read(at: 6)
    id = try fields.read(at: 7)
    price = try fields.read(at: 8)
    weight = try fields.read(at: 9)
    tags = try fields.read(at: 10)
    genres = try fields.read(at: 11)
    ratings = try fields.read(at: 12)
    chapters = try fields.read(at: 13)
    subtitle = try fields.read(at: 14)
    next = try fields.read(at: 15)
    marks = try fields.read(at: 16)
    edition = try fields.read(at: 17)
    other = try fields.read(at: 18)
  }
}

extension DocumentCodableTests.Watched {
  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    book = try fields.read(at: 0)
  }
}
