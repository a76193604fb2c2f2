import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct QuerySearchTests {
  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference
  private let texts = SearchFields(weights: ["title": 3, "about.text": 1], language: "en")

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
  }

  private func fill() async throws {
    let all = [
      ("dune", "Dune", "A desert planet, its sand worms and its spice"),
      ("worms", "Worms", "How a worm lives in the garden"),
      ("emma", "Emma", "A novel about a match-maker"),
    ]
    for (id, title, text) in all {
      try await books.document(id).setData(["title": title, "about": ["text": text], "n": id.count])
    }
  }

  private func ids(_ query: Query) async throws -> [String] {
    try await query.getDocuments().documents.map(\.documentID)
  }

  @Test func `the words of a text are those that a search compares`() throws {
    #expect(try texts.words(in: "The Worms, naïve — 3.14 🚀") == ["the", "worm", "naiv", "3.14"])
    #expect(try SearchFields("title").words(in: "Worms naïve") == ["worms", "naive"])
    #expect(try texts.words(in: "… ?").isEmpty)
    for fields in [SearchFields("title", language: "tlh"), SearchFields([])] {
      let error = #expect(throws: NSError.self) { try fields.words(in: "") }
      #expect(error.map { FirestoreErrorCode.invalidArgument ~= $0 } == true)
    }
  }

  @Test func `words are found by their stems, ranked, with filters, and live`() async throws {
    try await db.indexes.declare(FirestoreIndex(words: "books", in: texts))
    try await fill()
    try await db.indexes.waitUntilReady()
    #expect(try await ids(books.search("worm", in: texts)) == ["worms", "dune"])
    #expect(try await ids(books.search("worm", in: texts).limit(to: 1)) == ["worms"])
    #expect(try await ids(books.search("\"sand worm\"", in: texts)) == ["dune"])
    #expect(try await ids(books.search("gard* lives", in: texts)) == ["worms"])
    #expect(try await ids(books.search("desert match", in: texts)).isEmpty)
    #expect(
      try await Set(ids(books.search("desert match", in: texts, matchesAll: false)))
        == ["dune", "emma"])
    let few = books.search("worm", in: texts).whereField("n", isLessThan: 5)
    #expect(try await ids(few) == ["dune"])
    #expect(try await few.count.getAggregation(source: .server).count == 1)
    let groups = try await books.search("worm", in: texts).group(by: ["n"]).getGroups()
    #expect(groups.map { $0["n"] as? Int } == [4, 5])
    let first = try await books.search("worm", in: texts).limit(to: 1).group(by: ["n"]).getGroups()
    #expect(first.map { $0["n"] as? Int } == [5])
    let recorder = SnapshotRecorder(books.search("worm", in: texts).limit(to: 2))
    #expect(try await recorder.next().documents.map(\.documentID) == ["worms", "dune"])
    try await books.document("emma").updateData(["title": "Emma, worm, worm, worm"])
    let next = try await recorder.next()
    #expect(next.documents.map(\.documentID) == ["emma", "worms"])
    #expect(next.documentChanges.map(\.type) == [.removed, .added])
    // A text that only changes the statistics changes all scores, but no place.
    try await books.document("other").setData(["title": "Another novel"])
    try await books.document("worms").updateData(["title": "Worms and worms and worms and worm"])
    let last = try await recorder.next()
    #expect(
      last.documents.map(\.documentID) == ["emma", "worms"]
        || last.documents.first?.documentID == "worms")
    #expect(last.documentChanges.map(\.document.documentID) == ["worms"])
  }

  @Test(arguments: [false, true])
  func `results have their scores in a field if a search asks for it`(hasIndex: Bool) async throws {
    if hasIndex { try await db.indexes.declare(FirestoreIndex(words: "books", in: texts)) }
    try await fill()
    if hasIndex { try await db.indexes.waitUntilReady() }
    let search = books.search("worm", in: texts, scoreField: "found.score")
    let found = try await search.getDocuments().documents
    #expect(found.map(\.documentID) == ["worms", "dune"])
    let scores = found.compactMap { $0["found.score"] as? Double }
    #expect(scores.count == 2 && scores[0] > scores[1] && scores[1] > 0)
    let page = try await search.limit(to: 1).offset(1).getDocuments().documents
    #expect(page.map { $0["found.score"] as? Double } == [scores[1]])
    #expect(found[0]["title"] as? String == "Worms")
    let stored = try await books.document("worms").getDocument()
    #expect(stored["found"] == nil, "Nothing is stored.")
    let refused = await #expect(throws: NSError.self) {
      try await books.search("worm", in: texts, scoreField: "__x__").getDocuments()
    }
    #expect(refused.map { FirestoreErrorCode.invalidArgument ~= $0 } == true)
  }

  @Test(.embedded("It is about a declared index."))
  func `an index on words is explained, listed, exported and dropped`() async throws {
    try await fill()
    let index = FirestoreIndex(words: "books", in: texts)
    let missing = try await books.search("worm", in: texts).explain()
    #expect(!missing.isServed && missing.missingIndexes.count == 1)
    try await db.indexes.declare(index)
    try await db.indexes.waitUntilReady()
    #expect(index.description == "books: words of about.text, title × 3 (en)")
    let explained = try await books.search("worm", in: texts).explain()
    #expect(explained.isServed && explained.indexes == [index.description])
    let json = try await db.indexes.configurationJSON()
    #expect(try IndexConfiguration(json: json).definitions == [try index.definition()])
    try await db.indexes.drop(index)
    #expect(try await ids(books.search("worm", in: texts)) == ["worms", "dune"])
  }

  @Test(.embedded("It holds the writer's thread."), arguments: [false, true])
  func `results are changed and deleted while others write in the collection`(
    hasIndex: Bool
  ) async throws {
    if hasIndex { try await db.indexes.declare(FirestoreIndex(words: "books", in: texts)) }
    try await fill()
    if hasIndex { try await db.indexes.waitUntilReady() }
    let writer = try db.database().writer
    let search = books.search("worm", in: texts)
    func whileOthersWrite(
      _ id: String, _ body: @escaping @Sendable () async throws -> Int
    ) async throws -> Int {
      let gate = DispatchSemaphore(value: 0)
      writer.perform(WriteClosure { _ in gate.wait() }) { _ in }
      try await eventually { writer.waitingCount == 0 }
      // Not awaited.
      func add() { books.document(id).setData(["title": "One more worm"]) }
      add()
      async let count = body()
      try await eventually { writer.waitingCount == 2 }
      gate.signal()
      return try await count
    }
    #expect(try await whileOthersWrite("late") { try await search.updateAll(["seen": true]) } == 3)
    let seen = try await books.whereField("seen", isEqualTo: true).getDocuments().documents
    #expect(Set(seen.map(\.documentID)) == ["dune", "worms", "late"])
    #expect(try await whileOthersWrite("later") { try await search.deleteAll() } == 4)
    #expect(try await ids(books) == ["emma"])
    let found = try await db.write { [books] tx in
      try tx.setData(["title": "My own worm"], forDocument: books.document("own"))
      return try tx.getDocuments(search).documents.map(\.documentID)
    }
    #expect(found == ["own"])
  }

  @Test func `searches that cannot be answered are refused`() async throws {
    try await fill()
    func refuse(_ query: Query) async {
      let error = await #expect(throws: (any Error).self) { try await query.getDocuments() }
      #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
    await refuse(books.search(" ", in: texts))
    await refuse(books.search("worm", in: SearchFields("a", language: "xx")))
    await refuse(books.search("worm", in: SearchFields(weights: ["a": 0])))
    await refuse(books.search("worm", in: SearchFields()))
    await refuse(books.search("worm", in: texts).order(by: "title"))
    let refused = await #expect(throws: (any Error).self) {
      _ = try await db.runTransaction { [books, texts] transaction, errorPointer in
        do { _ = try transaction.getDocuments(books.search("worm", in: texts)) } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      }
    }
    #expect((refused as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
    var counts = books.search("worm", in: texts).count.snapshots.makeAsyncIterator()
    await #expect(throws: (any Error).self) { _ = try await counts.next() }
  }
}
