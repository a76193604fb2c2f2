import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct IncludingQueryTests {
  private struct Author: Codable, Equatable {
    var name: String
  }

  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference
  private let reviews: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
    reviews = db.collection("reviews")
  }

  private func fill() async throws {
    try await db.document("publishers/ace").setData(["city": "New York"])
    try await db.document("authors/herbert").setData([
      "name": "Herbert", "publisher": db.document("publishers/ace"),
    ])
    try await db.document("authors/lem").setData(["name": "Lem"])
    try await books.document("dune").setData([
      "title": "Dune", "author": db.document("authors/herbert"),
    ])
    try await books.document("messiah").setData([
      "title": "Dune Messiah", "author": db.document("authors/herbert"),
    ])
    try await books.document("solaris").setData([
      "title": "Solaris", "author": db.document("authors/lem"),
      "editors": [db.document("authors/lem"), db.document("authors/gone")],
    ])
    try await books.document("beowulf").setData([
      "title": "Beowulf", "author": db.document("authors/gone"),
    ])
    for (number, book) in ["dune", "dune", "dune", "solaris"].enumerated() {
      try await reviews.document("r\(number)").setData([
        "book": books.document(book), "stars": 5 - number,
      ])
    }
  }

  @Test func `results include documents they refer to, and documents that refer to them`()
    async throws
  {
    try await fill()
    let best = reviews.order(by: "stars", descending: true).limit(to: 2)
    let query = books.order(by: "title").including(
      .reference("author", including: .reference("publisher")), .reference("editors"),
      .referring(best, by: "book", as: "reviews"))
    let found = try await query.getDocuments().documents
    #expect(found.map(\.documentID) == ["beowulf", "dune", "messiah", "solaris"])
    #expect(
      found.map { $0.first("author")?["name"] as? String } == [nil, "Herbert", "Herbert", "Lem"])
    #expect(
      found.map { $0.first("author")?.first("publisher")?["city"] as? String } == [
        nil, "New York", "New York", nil,
      ])
    #expect(found[3].included("editors").map(\.documentID) == ["lem"])
    #expect(found[1].included("reviews").map { $0["stars"] as? Int } == [5, 4])
    #expect(found[3].included("reviews").map(\.documentID) == ["r3"])
    #expect(found[0].included("reviews").isEmpty && found[0].included("other").isEmpty)
    #expect(try found[1].first("author")?.data(as: Author.self) == Author(name: "Herbert"))
  }

  @Test func `a projection does not take away what a result includes`() async throws {
    try await fill()
    let found = try await books.select(["title"]).whereField("title", isEqualTo: "Dune")
      .including(.reference("author", as: "by")).getDocuments().documents
    #expect(found.count == 1 && found[0]["author"] == nil && found[0]["title"] as? String == "Dune")
    #expect(found[0].first("by")?["name"] as? String == "Herbert")
  }

  @Test func `a listener receives the changes of included documents`() async throws {
    try await fill()
    let query = books.whereField("title", isEqualTo: "Dune").including(
      .reference("author", including: .reference("publisher")),
      .referring(reviews, by: "book", as: "reviews"))
    var snapshots = query.snapshots.makeAsyncIterator()
    let first = try #require(try await snapshots.next())
    #expect(first.documents[0].included("reviews").count == 3)
    try await db.document("authors/herbert").updateData(["name": "Frank"])
    let second = try #require(try await snapshots.next())
    #expect(second.documents[0].first("author")?["name"] as? String == "Frank")
    #expect(second.results.documentChanges.isEmpty)
    try await reviews.document("new").setData(["book": books.document("dune"), "stars": 1])
    let third = try #require(try await snapshots.next())
    #expect(third.documents[0].included("reviews").count == 4)
    try await db.document("authors/herbert").updateData([
      "publisher": db.document("publishers/other")
    ])
    let fourth = try #require(try await snapshots.next())
    #expect(fourth.documents[0].first("author")?.first("publisher") == nil)
    try await db.document("publishers/other").setData(["city": "Oslo"])
    let fifth = try #require(try await snapshots.next())
    #expect(fifth.documents[0].first("author")?.first("publisher")?["city"] as? String == "Oslo")
    try await books.document("dune").delete()
    let last = try #require(try await snapshots.next())
    #expect(last.documents.isEmpty)
  }

  /// The documents of both are the same ones in part.
  @Test func `a condition may be on the results of a query of the same collection`() async throws {
    try await fill()
    try await books.document("messiah").updateData(["sequelOf": books.document("dune")])
    try await db.document("shelves/a/books/heretics").setData([
      "title": "Heretics", "sequelOf": books.document("dune"),
    ])
    let first = books.whereField("title", isEqualTo: "Dune")
    let sequels = db.collectionGroup("books")
      .whereFilter(.whereField("sequelOf", isInResultsOf: first))
    #expect(
      try await sequels.getDocuments().documents.map(\.reference.path) == [
        "books/messiah", "shelves/a/books/heretics",
      ])
    #expect(try await sequels.count.getAggregation(source: .server).count == 2)
    let old = db.collectionGroup("books").whereFilter(
      .exists(in: books, referringBy: "sequelOf"))
    #expect(try await old.getDocuments().documents.map(\.reference.path) == ["books/dune"])
  }

  @Test func `conditions are on the results of other queries, one-shot and live`() async throws {
    try await fill()
    let herbert = db.collection("authors").whereField("name", isEqualTo: "Herbert")
    let praised = reviews.whereField("stars", isGreaterThan: 3)
    func ids(_ query: Query) async throws -> [String] {
      try await query.getDocuments().documents.map(\.documentID)
    }
    let by = books.whereFilter(.whereField("author", isInResultsOf: herbert))
    #expect(try await ids(by) == ["dune", "messiah"])
    let exists = books.whereFilter(.exists(in: praised, referringBy: "book"))
    #expect(try await ids(exists) == ["dune"])
    let none = books.whereFilter(.notFilter(.exists(in: reviews, referringBy: "book")))
    #expect(try await ids(none) == ["beowulf", "messiah"])
    let edited = books.whereFilter(
      .whereField("editors", arrayContainsAnyInResultsOf: db.collection("authors")))
    #expect(try await ids(edited) == ["solaris"])
    #expect(try await exists.count.getAggregation(source: .server).count == 1)
    let nested = db.collection("authors").whereFilter(
      .exists(in: exists, referringBy: "author"))
    #expect(try await ids(nested) == ["herbert"])
    let recorder = SnapshotRecorder(by)
    #expect(try await recorder.next().count == 2)
    try await db.document("authors/lem").updateData(["name": "Herbert"])
    #expect(
      try await recorder.next().documents.map(\.documentID) == ["dune", "messiah", "solaris"])
    try await db.document("authors/herbert").delete()
    #expect(try await recorder.next().documents.map(\.documentID) == ["solaris"])
  }

  /// Each form reads the values in another way: by an index, from documents, and again and again.
  @Test(arguments: [true, false])
  func `null and NaN are in no results`(isIndexed: Bool) async throws {
    let values: [(id: String, value: Any)] = [
      ("nan", Double.nan), ("null", NSNull()), ("one", 1),
    ]
    for (id, value) in values {
      try await books.document(id).setData(["a": value, "tags": [value]])
      try await reviews.document(id).setData(["b": value])
    }
    if isIndexed {
      for index in [
        FirestoreIndex("books", .ascending("a")), FirestoreIndex("books", .contains("tags")),
        FirestoreIndex("reviews", .ascending("b")),
      ] {
        try await db.indexes.declare(index)
      }
      try await db.indexes.waitUntilReady()
    }
    let result = FieldPath(["b"])
    let filters: [Filter] = [
      .whereField("a", isInResultsOf: reviews, field: result),
      .whereField("tags", arrayContainsAnyInResultsOf: reviews, field: result),
    ]
    for filter in filters {
      let query = books.whereFilter(filter)
      #expect(try await query.getDocuments().documents.map(\.documentID) == ["one"])
      let ordered = query.order(by: "a")
      #expect(try await ordered.getDocuments().documents.map(\.documentID) == ["one"])
      let recorder = SnapshotRecorder(query)
      #expect(try await recorder.next().documents.map(\.documentID) == ["one"])
    }
  }

  @Test func `a transaction that read other results is repeated if they change`() async throws {
    try await fill()
    let query = books.whereFilter(
      .whereField(
        "author", isInResultsOf: db.collection("authors").whereField("name", isEqualTo: "Lem")))
    let attempts = Guarded(0)
    let author = db.document("authors/lem")
    _ = try await db.runTransaction { [db] transaction, errorPointer in
      do {
        let found = try transaction.getDocuments(query).count
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        // Not awaited: the transaction finds it when it commits.
        if attempt == 1 { author.updateData(["name": "Stanisław"]) }
        transaction.setData(["count": found], forDocument: db.document("counts/lem"))
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
    #expect(attempts.withLock(\.self) == 2)
    #expect(try await db.document("counts/lem").getDocument()["count"] as? Int == 0)
  }

  @Test func `groups are live`() async throws {
    try await fill()
    let query = reviews.group(by: ["book"], aggregating: [.count(), .sum("stars")])
      .order(by: .count(), descending: true)
    var snapshots = query.snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?.map(\.count) == [3, 1])
    try await reviews.document("r0").delete()
    let groups = try #require(try await snapshots.next())
    #expect(groups.map(\.count) == [2, 1])
    #expect(groups.map { $0.get(.sum("stars")) as? Int } == [7, 2])
    #expect((groups[0]["book"] as? DocumentReference)?.documentID == "dune")
    try await reviews.document("r3").updateData(["book": FieldValue.delete()])
    #expect(try await snapshots.next()?.map { $0["book"] is NSNull } == [false, true])
  }

  @Test func `invalid inclusions and conditions are refused`() async throws {
    let nearest = books.findNearest(
      vectorField: "v", queryVector: VectorValue([1]), limit: 1, distanceMeasure: .cosine)
    await expectRefused { _ = try await nearest.including(.reference("a")).getDocuments() }
    await expectRefused {
      _ = try await self.books.including(.reference("a"), .reference("b", as: "a")).getDocuments()
    }
    await expectRefused { _ = try await self.books.including(.reference("a..b")).getDocuments() }
    await expectRefused {
      _ = try await self.books.including(.referring(nearest, by: "book", as: "x")).getDocuments()
    }
    await expectRefused {
      _ = try await self.books.whereFilter(.whereField("a", isInResultsOf: nearest)).getDocuments()
    }
    var nested = DocumentInclusion.reference("a")
    for _ in 0..<7 { nested = .reference("a", including: nested) }
    _ = try await books.including(nested).getDocuments()
    for _ in 0..<100_000 { nested = .reference("a", including: nested) }
    let tooDeep = books.including(nested)
    await expectRefused { _ = try await tooDeep.getDocuments() }
    var deep: Query = books
    for _ in 0..<10 { deep = books.whereFilter(.whereField("a", isInResultsOf: deep)) }
    await expectRefused { _ = try await deep.getDocuments() }
    let other = try TemporaryDatabase()
    let elsewhere = other.firestore.collection("authors")
    await expectRefused {
      _ = try await self.books.whereFilter(.whereField("a", isInResultsOf: elsewhere))
        .getDocuments()
    }
  }

  private func expectRefused(_ body: () async throws -> Void) async {
    let error = await #expect(throws: (any Error).self) { try await body() }
    #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
  }
}
