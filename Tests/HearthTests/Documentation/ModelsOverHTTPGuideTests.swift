import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

extension Timestamp {
  var version: String { "\(seconds)-\(nanoseconds)" }
}

extension DocumentSnapshot {
  /// The condition in a header `If-Match`.
  func precondition(ifMatch header: String) throws -> WritePrecondition {
    if header == "*" { return .exists(true) }
    guard let updateTime, header == "\"\(updateTime.version)\"" else { throw OtherVersion() }
    return .lastUpdateTime(updateTime)
  }
}

/// The document has another version. Answer 412.
struct OtherVersion: Error {}

/// The snippets of the page on models and HTTP bodies, word for word.
@Suite struct ModelsOverHTTPGuideTests {
  struct Book: Codable {
    @DocumentID var id: String?
    var title: String
    var pages: Int
    @ServerTimestamp var added: Date?
  }

  /// The body of `POST /books`.
  struct NewBook: Decodable {
    var title: String
    var pages: Int

    func checked() throws -> Book {
      guard !title.isEmpty, pages > 0 else { throw InvalidBody() }
      return Book(title: title, pages: pages)
    }
  }

  struct InvalidBody: Error {}

  /// A book in a response.
  struct BookBody: Codable {
    var id: String
    var title: String
    var pages: Int
    var added: Date?
    /// The value of the header `ETag`, without its quotation marks.
    var version: String

    init(_ snapshot: DocumentSnapshot) throws {
      let book = try snapshot.data(as: Book.self)
      id = snapshot.documentID
      title = book.title
      pages = book.pages
      added = book.added
      version = snapshot.updateTime?.version ?? ""
    }
  }

  /// The body of `PATCH /books/{id}`.
  struct BookChanges: Decodable {
    var title: String?
    var pages: Int?

    var fields: [String: Any] {
      var fields: [String: Any] = [:]
      if let title { fields["title"] = title }
      if let pages { fields["pages"] = pages }
      return fields
    }
  }

  struct Loan: Codable {
    @DocumentID var id: String?
    var book: DocumentReference
    var reader: String
  }

  /// The body of `POST /loans`.
  struct NewLoan: Decodable {
    var book: String
    var reader: String

    func checked(_ books: CollectionReference) throws -> Loan {
      guard !book.isEmpty, !book.contains("/"), !reader.isEmpty else { throw InvalidBody() }
      return Loan(book: books.document(book), reader: reader)
    }
  }

  /// A loan in a response.
  struct LoanBody: Codable {
    var id: String
    var book: String

    init(_ snapshot: DocumentSnapshot) throws {
      id = snapshot.documentID
      book = try snapshot.data(as: Loan.self).book.documentID
    }
  }

  private let database: TemporaryDatabase
  private var db: Firestore { database.firestore }
  private var books: CollectionReference { db.collection("books") }

  init() throws { database = try TemporaryDatabase() }

  func book(_ id: String) throws -> DocumentReference {
    guard !id.isEmpty, !id.contains("/") else { throw InvalidBody() }
    return books.document(id)
  }

  func create(_ body: NewBook) async throws -> BookBody {
    let added = try await books.addDocument(committing: body.checked())
    return try BookBody(try await added.getDocument())
  }

  /// Nil if there is no such book: answer 404.
  func read(_ id: String) async throws -> BookBody? {
    let snapshot = try await book(id).getDocument()
    return snapshot.exists ? try BookBody(snapshot) : nil
  }

  /// Nil if there is no such book: answer 404.
  func change(_ id: String, _ changes: BookChanges, ifMatch header: String) async throws
    -> BookBody?
  {
    let book = try book(id)
    let seen = try await book.getDocument()
    guard seen.exists else { return nil }
    try await book.updateData(changes.fields, precondition: seen.precondition(ifMatch: header))
    return try await read(id)
  }

  private func etag(_ book: BookBody) -> String { "\"\(book.version)\"" }

  /// Throws `notFound` if there is no such book.
  func delete(_ id: String) async throws {
    try await book(id).delete(precondition: .exists(true))
  }

  func loans(of book: String) throws -> Query {
    db.collection("loans").whereField("book", isEqualTo: try self.book(book))
  }

  private func body<Body: Decodable>(_ json: String) throws -> Body {
    try JSONDecoder().decode(Body.self, from: Data(json.utf8))
  }

  @Test func `the stored model is no body`() throws {
    #expect(throws: FirestoreEncodingError.self) {
      try JSONEncoder().encode(Book(title: "Dune", pages: 412, added: Date()))
    }
    #expect(throws: FirestoreDecodingError.self) {
      try JSONDecoder().decode(Book.self, from: Data(#"{"title": "Dune", "pages": 412}"#.utf8))
    }
  }

  @Test func `a book is created, read and changed`() async throws {
    let created = try await create(body(#"{"title": "Dune", "pages": 412, "id": "mine"}"#))
    #expect(created.title == "Dune" && created.id != "mine" && created.added != nil)
    // A response is JSON.
    let response = try JSONEncoder().encode(created)
    #expect(try JSONDecoder().decode(BookBody.self, from: response).version == created.version)

    let read = try #require(try await read(created.id))
    #expect(read.version == created.version)
    #expect(try await self.read("missing") == nil)

    let changed = try #require(
      try await change(created.id, body(#"{"pages": 418}"#), ifMatch: etag(created)))
    #expect(changed.pages == 418 && changed.title == "Dune" && changed.version != read.version)
    let same = try await change(created.id, body(#"{"pages": 418}"#), ifMatch: "*")
    #expect(same?.version == changed.version)
    let tag = etag(changed)
    for header in [
      etag(created), tag + ", " + tag, "W/" + tag, changed.version, "\"99999999999-0\"",
      "\"1-2000000000\"", "\"dune\"", "\"", "",
    ] {
      await #expect(throws: OtherVersion.self) {
        try await change(created.id, body(#"{"pages": 1}"#), ifMatch: header)
      }
    }
    #expect(try await change("missing", body("{}"), ifMatch: "*") == nil)
    #expect(try await change("missing", body("{}"), ifMatch: tag) == nil)
    // Somebody else comes in between.
    let seen = try await book(created.id).getDocument()
    try await book(created.id).updateData(["pages": 1])
    await #expect {
      try await book(created.id).updateData(
        ["pages": 2], precondition: seen.precondition(ifMatch: tag))
    } throws: {
      ($0 as? FirestoreErrorCode)?.isUpdateTimeMismatch == true
    }
    try await delete(created.id)
    do {
      try await delete(created.id)
      Issue.record("It is deleted.")
    } catch FirestoreErrorCode.notFound {}
  }

  @Test func `a reference is an id in a body`() async throws {
    let new: NewLoan = try body(#"{"book": "dune", "reader": "ann"}"#)
    try await db.collection("loans").addDocument(committing: new.checked(books))
    let found = try await loans(of: "dune").getDocuments().documents
    #expect(try found.map { try LoanBody($0).book } == ["dune"])
    #expect(try await loans(of: "emma").getDocuments().isEmpty)
    let wrong: NewLoan = try body(#"{"book": "dune/reviews/1", "reader": "ann"}"#)
    #expect(throws: InvalidBody.self) { try wrong.checked(books) }
  }

  @Test func `a body that is wrong is refused`() async throws {
    await #expect(throws: InvalidBody.self) {
      try await create(body(#"{"title": "", "pages": 1}"#))
    }
    await #expect(throws: InvalidBody.self) { try await read("dune/reviews/1") }
  }
}
