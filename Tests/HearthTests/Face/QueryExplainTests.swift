import Foundation
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
