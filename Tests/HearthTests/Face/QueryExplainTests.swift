import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What is said about answers, what is refused, and what is learned.
@Suite struct QueryExplainTests {
  private let folder = TemporaryFolder()

  private func open(_ policy: FirestoreSettings.IndexPolicy) async throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.indexPolicy = policy
    return try Firestore.open(at: folder.path + "/\(UUID().uuidString).hearth", settings: settings)
  }

  private func fill(_ db: Firestore, _ count: Int) async throws {
    for start in stride(from: 0, to: count, by: 500) {
      let batch = db.batch()
      for number in start..<min(start + 500, count) {
        batch.setData(
          ["pages": number, "genre": "genre-\(number % 100)"],
          forDocument: db.document("books/\(10_000 + number)"))
      }
      try await batch.commit()
    }
  }

  @Test(.embedded("Plans are the embedded engine's."))
  func `a plan says what is read, what that took, and what would help`() async throws {
    let db = try await open(.declared)
    try await fill(db, 300)
    let books = db.collection("books")
    let query = books.whereField("genre", isEqualTo: "genre-7").order(by: "pages", descending: true)
    let scan = try await query.explain()
    #expect(scan.plan == "every document of the scope" && scan.indexes == [])
    #expect(!scan.isServed && scan.execution == nil)
    let entry = try #require(scan.missingIndexes.first)
    #expect(scan.description.contains("An index would help: " + entry))
    let analyzed = try #require(try await query.explain(analyze: true).execution)
    #expect(analyzed.resultsReturned == 3 && analyzed.documentsRead == 300)
    #expect(analyzed.keysRead == 300 && analyzed.duration > .zero)

    // What it names is what serves it.
    try await db.indexes.setConfigurationJSON(#"{"indexes": [\#(entry)], "fieldOverrides": []}"#)
    try await db.indexes.waitUntilReady()
    let indexed = try await query.explain(analyze: true)
    #expect(indexed.isServed && indexed.missingIndexes == [] && indexed.indexes.count == 1)
    let execution = try #require(indexed.execution)
    #expect(execution.resultsReturned == 3 && execution.indexEntriesRead == 3)
    #expect(execution.documentsRead == 3 && execution.keysRead == 0)
    #expect(!indexed.description.contains("would help"))

    let count = try await query.count.explain(analyze: true)
    #expect(count.execution?.documentsRead == 0 && count.execution?.indexEntriesRead == 3)
    #expect(try await books.explain().isServed)
    try await db.terminate()
  }

  @Test(.embedded("Indexes are the embedded engine's."))
  func `a strict database refuses what no index serves, and names the index`() async throws {
    let db = try await open(.strict)
    try await fill(db, 20)
    let books = db.collection("books")
    let long = books.whereField("pages", isGreaterThan: 5)
    func refusal(_ body: () async throws -> Void) async -> NSError? {
      do {
        try await body()
        return nil
      } catch {
        return error as NSError
      }
    }
    for refused in [
      await refusal { _ = try await long.getDocuments() },
      await refusal { _ = try await long.getDocuments(as: [String: Int].self) },
      await refusal { _ = try await long.count.getAggregation(source: .server) },
      await refusal { for try await _ in long.documents() {} },
      await refusal { _ = try await long.explain(analyze: true) },
      await refusal { try await db.read { _ = try $0.getDocuments(long) } },
      await refusal { try await db.read { _ = try $0.getDocuments(long, as: [String: Int].self) } },
      await refusal { try await db.read { _ = try $0.getAggregation(long.count) } },
      await refusal { try await db.write { _ = try $0.getDocuments(long) } },
      await refusal {
        try await db.write {
          try $0.setData(["pages": 9], forDocument: books.document("new"))
          _ = try $0.getAggregation(long.count)
        }
      },
      await refusal {
        _ = try await db.runTransaction { transaction, pointer -> Any? in
          do {
            return try transaction.getDocuments(long).count
          } catch {
            pointer?.pointee = error as NSError
            return nil
          }
        }
      },
    ] {
      #expect(refused?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(
        refused?.localizedDescription.hasPrefix("The query requires an index.") == true
          && refused?.localizedDescription.contains(#""fieldPath":"pages""#) == true)
    }
    // What costs what it returns without one.
    #expect(try await books.getDocuments().count == 20)
    #expect(try await books.limit(to: 3).getDocuments().count == 3)
    #expect(
      try await books.whereField(FieldPath.documentID(), in: ["10003"]).getDocuments().count == 1)
    #expect(try await books.count.getAggregation(source: .server).count == 20)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("pages")))
    try await db.indexes.waitUntilReady()
    #expect(try await long.getDocuments().count == 14)
    #expect(try await long.order(by: "pages", descending: true).getDocuments().count == 14)
    try await db.terminate()
  }

  /// 60 authors, 3 of them of Poland; 40 books, 8 of each of the first five; 2 reviews of each book.
  private func fillShelf(_ db: Firestore) async throws {
    let batch = db.batch()
    for number in 0..<60 {
      batch.setData(
        ["country": number < 3 ? "PL" : "DE", "name": "author \(number)"],
        forDocument: db.document("authors/\(number)"))
    }
    for number in 0..<40 {
      let book = db.document("books/\(100 + number)")
      batch.setData(
        ["author": db.document("authors/\(number % 5)"), "pages": number], forDocument: book)
      for review in 0..<2 {
        batch.setData(
          ["book": book, "stars": review], forDocument: db.document("reviews/\(number)-\(review)"))
      }
    }
    try await batch.commit()
  }

  @Test(.embedded("Plans are the embedded engine's."))
  func `the queries of conditions are parts, with costs of their own`() async throws {
    let db = try await open(.declared)
    try await fillShelf(db)
    try await db.indexes.declare(FirestoreIndex("authors", .ascending("country")))
    try await db.indexes.waitUntilReady()
    let polish = db.collection("authors").whereField("country", isEqualTo: "PL")
    let books = db.collection("books").whereFilter(
      .whereField("author", isInResultsOf: polish, field: .documentID()))
    let reviews = db.collection("reviews").whereFilter(
      .whereField("book", isInResultsOf: books, field: .documentID()))

    let planned = try await books.explain()
    #expect(planned.plan == "every document of the scope" && planned.parts.count == 1)
    #expect(planned.parts[0].plan == "condition on __name__ in authors: index (authors: country ↑)")
    #expect(planned.parts[0].isServed && planned.parts[0].execution == nil)

    let found = try await books.explain(analyze: true)
    let (own, part) = (try #require(found.execution), try #require(found.parts.first?.execution))
    #expect(own.resultsReturned == 24 && own.documentsRead == 40 && own.indexEntriesRead == 0)
    #expect(part.resultsReturned == 3 && part.indexEntriesRead == 3 && part.documentsRead <= 3)
    #expect(part.duration > .zero && own.duration > .zero)
    #expect(found.description.contains("\n  condition on __name__ in authors: index"))

    // One within another, which is not served; also of a count.
    for nested in [
      try await reviews.explain(analyze: true), try await reviews.count.explain(analyze: true),
    ] {
      #expect(
        nested.parts.map(\.plan) == [
          "condition on __name__ in books: every document of the scope"
        ])
      let middle = try #require(nested.parts.first)
      #expect(!middle.isServed && !middle.missingIndexes.isEmpty)
      #expect(middle.execution?.resultsReturned == 24 && middle.execution?.documentsRead == 40)
      #expect(middle.parts.map(\.indexes) == [["authors: country ↑"]])
      #expect(middle.parts.first?.execution?.resultsReturned == 3)
    }
    let all = try await reviews.explain(analyze: true)
    #expect(all.execution?.resultsReturned == 48)
    try await db.terminate()

    let strict = try await open(.strict)
    try await fillShelf(strict)
    let refused = strict.collection("books").whereField("pages", isGreaterThan: 3)
    await #expect(throws: NSError.self) {
      _ = try await strict.collection("reviews")
        .whereFilter(.whereField("book", isInResultsOf: refused, field: .documentID()))
        .explain(analyze: true)
    }
    try await strict.terminate()
  }

  @Test(.embedded("Plans are the embedded engine's."))
  func `what results include is explained level by level`() async throws {
    let db = try await open(.declared)
    try await fillShelf(db)
    try await db.indexes.declare(FirestoreIndex("reviews", .ascending("book"), .ascending("stars")))
    try await db.indexes.waitUntilReady()
    let reviews = db.collection("reviews").order(by: "stars").limit(to: 1)
    let books = db.collection("books").limit(to: 10).including(
      .reference(
        "author",
        including: .referring(db.collection("books").limit(to: 2), by: "author", as: "others")),
      .referring(reviews, by: "book", as: "reviews"))
    let plans = [
      "included by author: documents by name",
      "included from books by author: every document of the scope",
      "included from reviews by book: index (reviews: book ↑, stars ↑)",
    ]
    let planned = try await books.explain()
    #expect(
      planned.parts.map(\.plan) == plans && planned.parts.map(\.isServed) == [true, false, true])
    #expect(planned.parts.allSatisfy { $0.execution == nil } && planned.execution == nil)
    #expect(planned.parts[1].missingIndexes.first?.contains(#""fieldPath":"author""#) == true)

    let found = try await books.explain(analyze: true)
    #expect(found.execution?.resultsReturned == 10 && found.execution?.documentsRead == 10)
    let parts = found.parts.compactMap(\.execution)
    #expect(found.parts.map(\.plan) == plans && parts.map(\.resultsReturned) == [5, 10, 10])
    #expect(parts[0].documentsRead == 5 && parts[0].indexEntriesRead == 0)
    #expect(parts[1].documentsRead >= 2 * 5 && parts[1].keysRead >= 2 * 5)
    #expect(parts[2].indexEntriesRead <= 2 * 10 && parts[2].documentsRead == 10)
    #expect(parts.allSatisfy { $0.duration > .zero })
    // Nothing is included with no results.
    let none = try await db.collection("none").including(.reference("author")).explain(
      analyze: true)
    #expect(none.parts.map(\.execution?.documentsRead) == [0])
    try await db.terminate()
  }

  @Test(.embedded("Plans are the embedded engine's."))
  func `groups are explained by the index that has their fields, or else the documents`()
    async throws
  {
    let db = try await open(.declared)
    try await fillShelf(db)
    let groups = db.collection("books").group(by: ["author"], aggregating: [.sum("pages")])
    #expect(try await groups.explain().plan == "every document of the scope")
    #expect(try await groups.explain(analyze: true).execution?.documentsRead == 40)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("author"), .ascending("pages")))
    try await db.indexes.waitUntilReady()
    #expect(try await groups.explain().indexes == ["books: author ↑, pages ↑"])
    let found = try await groups.explain(analyze: true)
    #expect(found.indexes == ["books: author ↑, pages ↑"] && found.isServed)
    #expect(found.execution?.resultsReturned == 5 && found.execution?.indexEntriesRead == 40)
    #expect(found.execution?.documentsRead == 0)
    // The index lacks a document without one of the fields.
    try await db.document("books/none").setData(["pages": 3])
    let whole = try await groups.explain(analyze: true)
    #expect(whole.plan == "every document of the scope" && whole.execution?.documentsRead == 41)
    #expect(whole.execution?.resultsReturned == 6)
    try await db.terminate()
  }

  @Test func `groups and inclusions are explained wherever documents are`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    try await fillShelf(db)
    let groups = db.collection("books").group(by: ["author"])
    #expect(try await groups.explain(analyze: true).execution?.resultsReturned == 5)
    let books = db.collection("books").limit(to: 7).including(.reference("author"))
    #expect(try await books.explain(analyze: true).execution?.resultsReturned == 7)
    let polish = db.collection("authors").whereField("country", isEqualTo: "PL")
    let found = try await db.collection("books").whereFilter(
      .whereField("author", isInResultsOf: polish, field: .documentID())
    ).explain(analyze: true)
    #expect(found.execution?.resultsReturned == 24)
    await #expect(throws: NSError.self) {
      try await db.collection("books").including(.reference("")).explain()
    }
  }

  @Test(.embedded("Indexes are the embedded engine's."))
  func `an automatic database learns from what reads much and returns little`() async throws {
    let db = try await open(.automatic)
    try await fill(db, 1200)
    let query = db.collection("books").whereField("genre", isEqualTo: "genre-7")
    for _ in 0..<3 {
      #expect(try await db.indexes.list().isEmpty)
      #expect(try await query.getDocuments().count == 12)
    }
    try await eventually { try await !db.indexes.list().isEmpty }
    try await db.indexes.waitUntilReady()
    #expect(try await db.indexes.list().map(\.isLearned) == [true])
    let explained = try await query.explain(analyze: true)
    #expect(explained.isServed && explained.execution?.documentsRead == 12)
    #expect(try await query.getDocuments().count == 12)
    try await db.terminate()
  }

  @Test func `an index that is not ready is not read`() async throws {
    let world = try await QueryWorld([])
    // Nobody goes on with what is begun here.
    world.database.indexes.close()
    let definition = IndexDefinition(
      "books", [IndexDefinition.Component(field: FieldSegments(["a"]), kind: .ascending)])
    let store = world.database.store
    var query = StructuredQuery(.collection(ResourcePath(["books"])))
    query.orders = [StructuredQuery.Order(field: FieldSegments(["a"]))]
    for (number, state) in [IndexState.building(documents: 0, upTo: []), .dropping].enumerated() {
      var transaction = try store.environment.beginWrite()
      let index = StoredIndex(
        number: UInt32(number), definition: definition, state: state, origin: .declared)
      try transaction.store(index, number: index.number, in: store)
      try transaction.commit()
      #expect(try world.documentsByEveryPlan(query).map(\.plan.source) == [.documents])
    }
  }
}
