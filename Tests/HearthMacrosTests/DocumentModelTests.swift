#if Macros
  import Foundation
  @testable import Hearth
  @testable import HearthEngine
  import HearthMacros
  import HearthTesting
  import Testing

  private struct Locker: Codable, Equatable {
    var row: Int
  }

  /// What `@Document` writes compiles, and does what `Codable` does.
  @Suite struct DocumentModelTests {
    /// Every kind of property.
    @Document
    struct Book: Codable, Equatable {
      enum CodingKeys: String, CodingKey {
        case id, title, pages = "numberOfPages", isbn, `default`, price, tags, cover, updated
        case translator, genre, state, kind, seen, ratings, limits, former, locker
      }

      @DocumentID var id: String?
      let title: String
      var pages = 0
      var isbn: String?, `default`: Bool = true
      var price: Decimal
      var tags: [Tag] = []
      var cover: Tag?
      @ServerTimestamp var updated: Date?
      @ExplicitNull var translator: String?
      /// Around a type that is coded by `Codable`.
      @ExplicitNull var former: Tag?
      var genre: Genre = .novel
      var state: State
      var kind: Kind { didSet { observed += 1 } }
      var seen: Set<Int>
      var ratings: [String: Double] = ["first": 1]
      /// Of a type that only this file knows.
      fileprivate var locker: Locker?
      /// Written, and never read.
      let limits = 3
      /// No field.
      var observed = 0
      static let count = 1
      var summary: String { "\(title), \(pages)" }

      struct Tag: Codable, Equatable {
        var name: String
      }
    }

    @Document
    enum Genre: String, Codable { case novel, essay }

    @Document
    enum State: Codable, Equatable {
      case stored
      case lent(to: String, since: Date, times: Int = 1)
      case sold(Decimal, String?)
      indirect case reserved(State)

      enum CodingKeys: String, CodingKey { case stored, lent = "borrowed", sold, reserved }
      enum LentCodingKeys: String, CodingKey { case to = "reader", since, times }
    }

    @Document
    struct Kind: RawRepresentable, Codable, Equatable {
      var rawValue: Int
    }

    @Document
    public struct Published: Codable, Equatable {
      public var title: String
      var notes: String?
      private var secret = Hidden(value: 1)

      private struct Hidden: Codable, Equatable { var value: Int }
      public init(title: String) { self.title = title }
    }

    @Document
    struct Pair<Element: Codable & Equatable>: Codable, Equatable {
      var first: Element
      var second: Element?
    }

    @Document
    struct Nothing: Codable, Equatable {}

    /// Its fields can be named anywhere.
    @Document
    @MainActor struct Screen: Codable {
      var title: String
      var items = 0
    }

    static func book(_ number: Int) -> Book {
      var book = Book(
        title: "Dune \(number)", price: Decimal(number) / 4, state: .stored,
        kind: Kind(rawValue: number), seen: [number])
      book.pages = 100 * number
      book.isbn = number % 2 == 0 ? nil : "978-\(number)"
      book.tags = (0..<number % 3).map { Book.Tag(name: "t\($0)") }
      book.cover = number % 3 == 0 ? nil : Book.Tag(name: "c")
      book.former = number % 4 == 0 ? nil : Book.Tag(name: "f")
      book.locker = number % 5 == 0 ? nil : Locker(row: number)
      book.updated = Date(timeIntervalSince1970: Double(number))
      book.genre = number % 2 == 0 ? .essay : .novel
      book.state =
        switch number % 4 {
        case 0: .stored
        case 1: .lent(to: "Ada", since: Date(timeIntervalSince1970: 5), times: number)
        case 2: .sold(Decimal(number), number % 3 == 0 ? nil : "bill")
        default: .reserved(.reserved(.sold(1, nil)))
        }
      return book
    }

    /// A decoder with a strategy for keys, which leaves everything to `Codable`.
    private static func codableDecoder() -> Firestore.Decoder {
      let decoder = Firestore.Decoder()
      decoder.keyDecodingStrategy = .custom { $0.last ?? DocumentFieldKey(stringValue: "") }
      return decoder
    }

    private func expectSame<Model: Codable & Equatable & SendableMetatype>(
      _ model: Model, in db: Firestore, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let encoder = Firestore.Encoder()
      let direct = try encoder.encodeDocument(model)
      let codable = try TreeEncoder.encode(model, options: encoder)
      #expect(direct.body == codable.body, sourceLocation: sourceLocation)
      let document = db.document("a/direct")
      try await document.setData(committing: model)
      let one = try await document.getDocument(as: Model.self)
      let other = try await document.getDocument(
        as: Model.self, decoder: Self.codableDecoder())
      #expect(one == other, sourceLocation: sourceLocation)
    }

    @Test func `models of every kind are stored and read as Codable does`() async throws {
      let database = try TemporaryDatabase()
      let db = database.firestore
      for number in 0..<24 { try await expectSame(Self.book(number), in: db) }
      try await expectSame(Published(title: "Dune"), in: db)
      try await expectSame(Pair(first: 1, second: nil), in: db)
      try await expectSame(Pair(first: Pair(first: "a", second: "b"), second: nil), in: db)
      try await expectSame(Nothing(), in: db)
    }

    @Test func `a missing field has its default value, for both ways`() async throws {
      let database = try TemporaryDatabase()
      let document = database.firestore.document("books/dune")
      try await document.setData([
        "title": "Dune", "price": 2.5, "kind": 7, "seen": [1],
        "state": [
          "borrowed": ["reader": "Ada", "since": Timestamp(seconds: 5, nanoseconds: 0), "times": 2]
        ],
      ])
      let book = try await document.getDocument(as: Book.self)
      #expect(
        try await document.getDocument(as: Book.self, decoder: Self.codableDecoder()) == book)
      #expect(book.id == "dune" && book.pages == 0 && book.default && book.isbn == nil)
      #expect(book.tags == [] && book.genre == .novel && book.ratings == ["first": 1])
      #expect(book.updated == nil && book.translator == nil && book.observed == 0)
      #expect(
        book.state == .lent(to: "Ada", since: Date(timeIntervalSince1970: 5), times: 2))
      // Null is no missing field.
      try await document.updateData(["numberOfPages": NSNull()])
      await #expect(throws: DecodingError.self) {
        try await document.getDocument(as: Book.self)
      }
    }

    @Test func `server timestamps, ids and nulls are written as always`() async throws {
      let database = try TemporaryDatabase()
      let document = database.firestore.document("books/dune")
      var book = Self.book(1)
      book.updated = nil
      book.id = "other"
      try await document.setData(committing: book)
      let data = try #require(try await document.getDocument().data())
      #expect(data["updated"] is Timestamp && data["translator"] is NSNull && data["id"] == nil)
      #expect(data["observed"] == nil && data["limits"] as? Int == 3)
      let direct = try Firestore.Encoder().encodeDocument(book)
      let codable = try TreeEncoder.encode(book, options: Firestore.Encoder())
      #expect(direct.body == codable.body)
      #expect(direct.transforms.map(\.field.names) == [["updated"]])
      #expect(codable.transforms.map(\.field.names) == [["updated"]])
    }

    @Test func `queries and updates know the fields by their stored names`() async throws {
      let database = try TemporaryDatabase()
      let books = database.firestore.collection("books", of: Book.self)
      for number in 0..<8 { try await books.document("b\(number)").set(Self.book(number)) }
      let query = books.where { $0.pages > 300 && $0.genre == .essay }.order(by: \.pages)
      #expect(try await query.getDocuments().map(\.id) == ["b4", "b6"])
      #expect(
        query.untyped
          == database.firestore.collection("books")
          .whereFilter(
            .andFilter([
              .whereField("numberOfPages", isGreaterThan: 300),
              .whereField("genre", isEqualTo: "essay"),
            ])
          ).order(by: "numberOfPages"))
      try await books.document("b4").update { $0.pages += 6 }
      #expect(try await books.document("b4").get()?.pages == 406)
      #expect(try await books.where(\.id == "b3").getDocuments().map(\.id) == ["b3"])
      await #expect(throws: FirestoreErrorCode.self) {
        try await books.document("b4").update { $0.id.set("other") }
      }
      await #expect(throws: FirestoreErrorCode.self) {
        try await books.document("b4").update {
          $0.pages += 1
          $0.pages += 2
        }
      }
      #expect(try await books.document("b4").get()?.pages == 406)
    }

    @Test func `a model of the main actor is queried anywhere`() async throws {
      let database = try TemporaryDatabase()
      let screens = database.firestore.collection("screens", of: Screen.self)
      try await screens.document("a").set(Screen(title: "A", items: 7))
      #expect(try await screens.where { $0.items > 3 }.count() == 1)
    }
  }
#endif
