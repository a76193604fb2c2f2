import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

// What the page on models shows, word for word.

struct Book: Codable, Equatable {
  @DocumentID var id: String?
  var title: String
  var pages: Int
  var published: Date?
}

struct Article: Codable, Equatable {
  var title: String
  var tags: [String] = []
  var isPublic = true
}

extension Article {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    title = try container.decode(String.self, forKey: .title)
    tags = try container.decodeIfPresent([String].self, forKey: .tags) ?? []
    isPublic = try container.decodeIfPresent(Bool.self, forKey: .isPublic) ?? true
  }
}

@propertyWrapper
struct EmptyIfMissing<Elements: RangeReplaceableCollection & Codable>: Codable {
  var wrappedValue = Elements()

  init(wrappedValue: Elements) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try Elements(from: decoder) }
  func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension KeyedDecodingContainer {
  func decode<Elements>(
    _ type: EmptyIfMissing<Elements>.Type, forKey key: Key
  ) throws -> EmptyIfMissing<Elements> {
    try decodeIfPresent(type, forKey: key) ?? EmptyIfMissing(wrappedValue: Elements())
  }
}

struct Shelf: Codable {
  var room: String
  @EmptyIfMissing var books: [String]
}

@Suite struct ModelsGuideTests {
  @Test func `a model is written, with waiting and without`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    let dune = books.document("dune")
    let book = Book(title: "Dune", pages: 412)
    try dune.setData(from: book)
    try await dune.setData(committing: book)
    let added = try await books.addDocument(committing: book)
    #expect(try await added.getDocument(as: Book.self).id == added.documentID)
    try await expectRoundTrip(book)
  }

  @Test func `a model goes through dictionaries`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    let book = Book(title: "Dune", pages: 412, published: Date(timeIntervalSince1970: 0.5))
    do {
      var fields = try Firestore.Encoder().encode(book)
      fields["added"] = FieldValue.serverTimestamp()
      try await dune.setData(fields)
      let same = try Firestore.Decoder().decode(Book.self, from: fields, in: dune)
      #expect(same.id == "dune")
      #expect(try await dune.getDocument(as: Book.self) == same)
      #expect(try await dune.getDocument()["added"] is Timestamp)
    }
    do {
      let article = Article(title: "Dune")
      let encoder = FirebaseDataEncoder()
      encoder.dateEncodingStrategy = .secondsSince1970
      let payload = try encoder.encode([article])
      let decoder = FirebaseDataDecoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      let articles = try decoder.decode([Article].self, from: payload)
      #expect(articles == [article])
    }
  }

  @Test func `fields that older documents do not have are the defaults`() async throws {
    let database = try TemporaryDatabase()
    let old = database.firestore.document("old/one")
    try await old.setData(["title": "Dune", "room": "hall"])
    #expect(try await old.getDocument(as: Article.self) == Article(title: "Dune"))
    #expect(try await old.getDocument(as: Shelf.self).books == [])
    try await old.setData(["room": "hall", "books": NSNull()])
    #expect(try await old.getDocument(as: Shelf.self).books == [])
    try await old.setData(committing: Shelf(room: "hall", books: ["Dune"]))
    #expect(try await old.getDocument()["books"] as? [String] == ["Dune"])
    #expect(try await old.getDocument(as: Shelf.self).books == ["Dune"])
    try await old.setData(["title": "Dune", "tags": "sand"])
    await #expect(throws: DecodingError.self) { try await old.getDocument(as: Article.self) }
  }
}
