import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page for users of GRDB, word for word.
@Suite struct FromGRDBGuideTests {
  struct Book: Codable {
    var isbn: String
    var title: String
  }

  struct Author: Codable {
    var name: String
  }

  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.lines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
  }

  private let database: TemporaryDatabase
  private var db: Firestore { database.firestore }

  init() throws { database = try TemporaryDatabase() }

  @Test func `a read sees one state`() async throws {
    let db = db
    try await db.document("authors/herbert").setData(["name": "Frank Herbert"])
    try await db.document("books/1").setData([
      "isbn": "1", "title": "Dune", "author": db.document("authors/herbert"),
    ])
    let herbert = db.document("authors/herbert")
    let (author, titles) = try await db.read { snapshot in
      let author = try snapshot.getDocument(herbert, as: Author.self)
      let books = try snapshot.getDocuments(
        db.collection("books").whereField("author", isEqualTo: herbert), as: Book.self)
      return (author, books.map(\.title))
    }
    #expect(author.name == "Frank Herbert" && titles == ["Dune"])
  }

  private func transfer(
    _ amount: Int, from: DocumentReference, to: DocumentReference
  ) async throws {
    let db = db
    struct NotEnough: Error {}

    do {
      try await db.write { tx in
        let balance = try tx.getDocument(from)["balance"] as? Int ?? 0
        guard balance >= amount else { throw NotEnough() }
        try tx.updateData(["balance": FieldValue.increment(Int64(-amount))], forDocument: from)
        try tx.updateData(["balance": FieldValue.increment(Int64(amount))], forDocument: to)
      }
    } catch is NotEnough {
      print("Nothing was transferred.")
    } catch FirestoreErrorCode.notFound {
      print("There is no such account.")
    }
  }

  @Test func `a write is taken back by its error`() async throws {
    let (ann, bob) = (db.document("accounts/ann"), db.document("accounts/bob"))
    try await ann.setData(["balance": 10])
    try await transfer(5, from: ann, to: bob)
    try await bob.setData(["balance": 0])
    try await transfer(50, from: ann, to: bob)
    try await transfer(4, from: ann, to: bob)
    #expect(
      output.lines.withLock(\.self) == ["There is no such account.", "Nothing was transferred."])
    #expect(try await ann.getDocument()["balance"] as? Int == 6)
    #expect(try await bob.getDocument()["balance"] as? Int == 4)
  }

  @Test func `a loop observes a result`() async throws {
    let db = db
    try await db.document("books/1").setData(["title": "Emma"])
    let following = Task {
      for try await snapshot in db.collection("books").order(by: "title").snapshots {
        print(snapshot.documents.compactMap { $0["title"] as? String })
        if snapshot.count == 2 { break }
      }
    }
    try await eventually { output.lines.withLock(\.count) == 1 }
    try await db.document("books/2").setData(["title": "Dune"])
    try await following.value
    #expect(output.lines.withLock(\.self) == [#"["Emma"]"#, #"["Dune", "Emma"]"#])
  }

  @Test func `constraints are declared`() async throws {
    let db = db
    let herbert = db.document("authors/herbert")
    try await herbert.setData(["name": "Frank Herbert"])
    for _ in 0..<2 {
      try await db.indexes.declare(FirestoreIndex(unique: "books", .ascending("isbn")))
      try await db.references.declare(
        FirestoreReferenceRule(
          "books", field: "author", to: "authors", onDelete: .cascade, mustExist: true))
      do {
        try await db.collection("books").addDocument(data: ["isbn": "1", "author": herbert])
      } catch FirestoreErrorCode.alreadyExists {
        print("There is a book with this number.")
      }
    }
    #expect(output.lines.withLock(\.self) == ["There is a book with this number."])
    try await herbert.delete()
    #expect(try await db.collection("books").getDocuments().isEmpty)
  }

  private final class Failures: Sendable {
    private let errors = Guarded<[NSError]>([])

    var first: NSError? { errors.withLock(\.first) }

    func add(_ error: NSError) { errors.withLock { $0.append(error) } }
  }

  func copy(_ rows: some Sequence<Book>, to books: CollectionReference) async throws -> Int {
    let failures = Failures()
    let bulk = books.firestore.bulkWriter { failures.add($0.error) }
    for book in rows {
      try await bulk.enqueueSet(from: book, forDocument: books.document(book.isbn))
    }
    let summary = await bulk.finish()
    if let first = failures.first { throw first }
    return summary.done
  }

  @Test func `rows are copied`() async throws {
    let books = db.collection("books")
    let rows = (1...300).map { Book(isbn: "\($0)", title: "Book \($0)") }
    #expect(try await copy(rows, to: books) == 300)
    #expect(try await books.getDocuments().count == 300)
    await #expect(throws: NSError.self) {
      try await copy([Book(isbn: "a/b", title: "?")], to: books)
    }
  }

  @Test func `the calls of the table compile`() async throws {
    let books = db.collection("books")
    let isbn = "1"
    let book = Book(isbn: isbn, title: "Dune")
    try await books.document(isbn).create(committing: book)
    try await books.document(isbn).setData(committing: book)
    try await books.document(isbn).updateData(["pages": 412])
    #expect(try await books.document("dune").getDocument(as: Book?.self) == nil)
    #expect(try await books.getDocuments(as: Book.self).count == 1)
    let found = try await books.whereField("pages", isGreaterThan: 400).order(by: "title")
      .limit(to: 10).getDocuments(as: Book.self)
    #expect(found.count == 1)
    #expect(try await books.count.getAggregation(source: .server).count == 1)
    #expect(try await books.whereField("pages", isEqualTo: 412).updateAll(["read": true]) == 1)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("author")))
    try await books.document(isbn).delete()
  }
}
