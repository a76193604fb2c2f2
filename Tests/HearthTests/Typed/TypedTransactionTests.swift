import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Documents of models in transactions and closures, and what typed queries have of untyped ones.
@Suite struct TypedTransactionTests {
  private struct Book: Codable, Equatable, DocumentModel {
    @DocumentID var id: String?
    var title: String
    var pages: Int
    var by: DocumentReference?

    struct Fields: Sendable {
      var title: Field<String> { Field("title") }
      var pages: Field<Int> { Field("pages") }
    }
    static let fields = Fields()

    init(_ title: String, pages: Int, by: DocumentReference? = nil) {
      self.title = title
      self.pages = pages
      self.by = by
    }
  }

  private func withBooks(
    _ body: (Firestore, TypedCollection<Book>) async throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/typed.hearth")
    let books = db.collection("books", of: Book.self)
    try await books.document("dune").set(Book("Dune", pages: 412))
    try await books.document("emma").set(Book("Emma", pages: 474))
    try await body(db, books)
    try await db.terminate()
  }

  private func transact<Result>(
    _ db: Firestore, _ body: @escaping (Transaction) throws -> Result
  ) async throws -> Result {
    let result = try await db.runTransaction { transaction, errorPointer in
      do {
        return try body(transaction)
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    }
    return try #require(result as? Result)
  }

  private func pages(_ books: TypedCollection<Book>) async throws -> [String: Int] {
    Dictionary(
      uniqueKeysWithValues: try await books.getDocuments().map { ($0.title, $0.pages) })
  }

  @Test func `a transaction reads and writes documents of a model`() async throws {
    try await withBooks { db, books in
      let total = try await transact(db) { tx in
        let dune = try tx.get(books.document("dune"))
        let long = try tx.getDocuments(books.where(\.pages > 400))
        let none = try tx.get(books.document("none"))
        #expect(dune?.id == "dune" && none == nil && long.count == 2)
        try tx.update(books.document("dune")) { $0.pages += 6 }
        try tx.set(books.document("emma"), to: Book("Emma", pages: 1))
        try tx.create(books.document("ubik"), as: Book("Ubik", pages: 202))
        return long.map(\.pages).reduce(0, +)
      }
      #expect(total == 886)
      #expect(try await pages(books) == ["Dune": 418, "Emma": 1, "Ubik": 202])
      _ = try await transact(db) { tx in tx.delete(books.document("ubik")) }
      #expect(try await pages(books).count == 2)
    }
  }

  @Test func `a batch writes documents of a model`() async throws {
    try await withBooks { db, books in
      let batch = db.batch()
      try batch.update(books.document("dune")) { $0.pages += 6 }
      try batch.set(books.document("emma"), to: Book("Emma", pages: 1))
      try batch.create(books.document("ubik"), as: Book("Ubik", pages: 202))
      try await batch.commit()
      #expect(try await pages(books) == ["Dune": 418, "Emma": 1, "Ubik": 202])
      try await db.batch().delete(books.document("ubik")).commit()
      #expect(try await pages(books).count == 2)
      let again = db.batch()
      try again.create(books.document("emma"), as: Book("Emma", pages: 2))
      let error = await #expect(throws: NSError.self) { try await again.commit() }
      #expect(error.map { FirestoreErrorCode.alreadyExists ~= $0 } == true)
    }
  }

  @Test func `a closure reads and writes documents of a model`() async throws {
    try await withBooks { db, books in
      try await db.write { tx in
        try tx.update(books.document("dune")) { $0.pages += 6 }
        #expect(try tx.get(books.document("dune"))?.pages == 418)
        try tx.create(books.document("ubik"), as: Book("Ubik", pages: 202))
        #expect(try tx.getDocuments(books.order(by: \.pages)).map(\.title).first == "Ubik")
        try tx.set(books.document("emma"), to: Book("Emma", pages: 1))
        try tx.delete(books.document("dune"))
      }
      let (emma, all, none) = try await db.read { tx in
        (
          try tx.get(books.document("emma")), try tx.getDocuments(books),
          try tx.get(books.document("dune"))
        )
      }
      #expect(emma?.pages == 1 && all.count == 2 && none == nil)
    }
  }

  @Test func `a change that the compiler cannot refuse is refused in transactions and closures`()
    async throws
  {
    try await withBooks { db, books in
      func twice(_ changes: inout FieldUpdates<Book>) {
        changes.pages = 1
        changes.pages = 2
      }
      let calls: [() async throws -> Void] = [
        { try await db.write { tx in try tx.update(books.document("dune"), twice) } },
        { _ = try await transact(db) { tx in try tx.update(books.document("dune"), twice) } },
        { try await db.batch().update(books.document("dune"), twice).commit() },
        { try await books.document("dune").update(twice) },
      ]
      for call in calls {
        let error = await #expect(throws: NSError.self) { try await call() }
        #expect(error.map { FirestoreErrorCode.invalidArgument ~= $0 } == true)
      }
      let missing = await #expect(throws: NSError.self) {
        try await db.write { tx in try tx.update(books.document("none")) { $0.pages = 1 } }
      }
      #expect(missing.map { FirestoreErrorCode.notFound ~= $0 } == true)
      let left = try await pages(books)
      #expect(left == ["Dune": 412, "Emma": 474])
    }
  }

  @Test func `a precondition holds in every typed write`() async throws {
    try await withBooks { db, books in
      let dune = books.document("dune")
      let old = try #require(try await dune.untyped.getDocument().updateTime)
      try await dune.update(precondition: .lastUpdateTime(old)) { $0.pages += 1 }
      let stale = WritePrecondition.lastUpdateTime(old)
      let calls: [() async throws -> Void] = [
        { try await dune.update(precondition: stale) { $0.pages += 1 } },
        { try await dune.delete(precondition: stale) },
        { try await db.write { tx in try tx.delete(dune, precondition: stale) } },
        { try await db.write { tx in try tx.update(dune, precondition: stale) { $0.pages = 1 } } },
        { _ = try await transact(db) { tx in tx.delete(dune, precondition: stale) } },
        { try await db.batch().delete(dune, precondition: stale).commit() },
        { try await db.batch().update(dune, precondition: stale) { $0.pages = 1 }.commit() },
        {
          _ = try await transact(db) { tx in
            try tx.update(dune, precondition: stale) { $0.pages = 1 }
          }
        },
      ]
      for call in calls {
        let error = await #expect(throws: NSError.self) { try await call() }
        #expect(error.map { FirestoreErrorCode.failedPrecondition ~= $0 } == true)
      }
      #expect(try await dune.get()?.pages == 413)
      let now = try #require(try await dune.untyped.getDocument().updateTime)
      try await dune.delete(precondition: .lastUpdateTime(now))
      #expect(try await dune.get() == nil)
    }
  }

  @Test func `a typed query searches and includes, and everything typed leads to the untyped one`()
    async throws
  {
    try await withBooks { db, books in
      let author = db.document("authors/herbert")
      try await author.setData(["name": "Herbert"])
      try await books.document("dune").set(Book("Dune", pages: 412, by: author))
      let texts = SearchFields("title")
      let found = try await books.where(\.pages > 100).search("dune", in: texts).limit(to: 5)
        .getDocuments()
      #expect(found.map(\.title) == ["Dune"])
      #expect(
        try await books.search("dune emma", in: texts, matchesAll: false).getDocuments().count == 2)
      let documents = try await books.where(\.title == "Dune").including(.reference("by"))
        .getDocuments().documents
      let book = try #require(documents.first)
      #expect(try book.data(as: Book.self).pages == 412)
      #expect(book.first("by")?["name"] as? String == "Herbert")

      let collection: CollectionReference = books.untyped
      let document: DocumentReference = books.document("dune").untyped
      let query: Query = books.where(\.pages > 1).untyped
      #expect(collection == db.collection("books") && document == collection.document("dune"))
      #expect(query == collection.whereField("pages", isGreaterThan: 1))
      #expect(try await query.of(Book.self).getDocuments().count == 2)
      #expect(try await document.of(Book.self).get()?.title == "Dune")
      #expect(books.document("dune").documentID == "dune")
    }
  }
}
