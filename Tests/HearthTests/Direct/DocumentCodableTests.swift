import Foundation
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

      static let documentFields = DocumentFields("color", "title")

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
    static let documentFields = DocumentFields(
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
    try body.withBytes { try decoder.decodeDocument(type, from: $0) }
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

    static let documentFields = DocumentFields("book")

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

  // MARK: Wrong conformances

  /// Writes its fields as a closure says.
  struct Wrong: Codable, DocumentCodable {
    var a = 1
    var write: (borrowing DocumentMapWriter) throws(UseCodable) -> Void = { _ in }

    enum CodingKeys: String, CodingKey { case a }

    static let documentFields = DocumentFields("a", "b")

    init(_ write: @escaping (borrowing DocumentMapWriter) throws(UseCodable) -> Void) {
      self.write = write
    }

    func write(fields: borrowing DocumentMapWriter) throws(UseCodable) { try write(fields) }
    init(fields: borrowing DocumentMapReader) throws(UseCodable) { throw UseCodable() }
  }

  @Test func `a conformance that writes wrongly is encoded by Codable`() throws {
    let encoder = Firestore.Encoder()
    let wrong: [Wrong] = [
      // Two values for one field.
      Wrong { map throws(UseCodable) in
        let writer = try map.field(at: 0)
        try writer.integer(1)
        try writer.integer(2)
      },
      // A field that is not there.
      Wrong { map throws(UseCodable) in try map.write(1, at: 2) },
      Wrong { map throws(UseCodable) in try map.write(1, at: -1) },
      // An array in an array, an element without a value, two values of an element.
      Wrong { map throws(UseCodable) in try map.write([[1]], at: 0) },
      Wrong { map throws(UseCodable) in
        try map.field(at: 0).array { array throws(UseCodable) in _ = try array.element() }
      },
      Wrong { map throws(UseCodable) in
        try map.field(at: 0).array { array throws(UseCodable) in
          let element = try array.element()
          try element.null()
          try element.null()
        }
      },
      Wrong { map throws(UseCodable) in try map.write(Double.nan, at: 0) },
      Wrong { _ throws(UseCodable) in throw UseCodable() },
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

      static let documentFields = DocumentFields("a", "branches", "only", "z")

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

      static let documentFields: DocumentFields = {
        while true {
          let fields = DocumentFields("b", "c")
          if (fields.table.pointee.number - Outer.documentFields.table.pointee.number) % 128 == 0 {
            return fields
          }
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

      static let documentFields = DocumentFields("a", "inner", "z")

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

  @Test func `names that no map can have are left to Codable`() throws {
    for names in [["a", "a"], ["", "a"], ["__a__"]] {
      #expect(!DocumentFields(names).table.pointee.isValid)
    }
    #expect(DocumentFields("b", "a", "é", "z").names == ["b", "a", "é", "z"])
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
