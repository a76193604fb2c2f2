import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.embedded("Indexes are the embedded engine's.")) struct IndexAdministrationTests {
  @Test func `indexes are declared, listed, exported and dropped`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    for index in 0..<20 {
      try await db.document("books/\(index)").setData(["author": "a\(index % 3)", "year": index])
    }
    let pair = FirestoreIndex("books", .ascending("author"), .descending("year"))
    try await db.indexes.declare(pair, FirestoreIndex("books", .contains("tags")))
    try await db.indexes.waitUntilReady()
    let listed = try await db.indexes.list()
    #expect(listed.map(\.description) == ["books: author ↓, year ↑", "books: tags ∋"])
    #expect(listed.map(\.state) == [.ready, .ready])
    #expect(listed.map(\.isLearned) == [false, false])
    let configuration = try await db.indexes.configurationJSON()
    #expect(configuration.contains("\"fieldPath\" : \"author\""))

    try await database.reopen()
    let opened = database.firestore
    #expect(try await opened.indexes.list().count == 2)
    #expect(try await opened.indexes.configurationJSON() == configuration)
    try await opened.indexes.drop(pair)
    try await opened.setIndexConfiguration("{\"indexes\": []}")
    try await opened.indexes.waitUntilReady()
    try await eventually { try await opened.indexes.list().isEmpty }
  }

  @Test func `what cannot be indexed is refused with a sentence`() async throws {
    let database = try TemporaryDatabase()
    let indexes = database.firestore.indexes
    for wrong in [
      FirestoreIndex("books"), FirestoreIndex("books/dune", .ascending("a")),
      FirestoreIndex("books", .ascending("a..b")),
      FirestoreIndex("books", .ascending(FieldPath([]))),
      FirestoreIndex("books", .ascending(FieldPath.documentID())),
      FirestoreIndex("books", .contains("a"), .contains("b")),
      FirestoreIndex("books", (0...100).map { .ascending("f\($0)") }),
    ] {
      await expectRefused(.invalidArgument) { try await indexes.declare(wrong) }
    }
    await expectRefused(.invalidArgument) { try await indexes.setConfigurationJSON("[]") }
    #expect(try await indexes.list().isEmpty)
  }

  @Test func `the index manager switches learning and drops what was learned`() async throws {
    let database = try TemporaryDatabase()
    let manager = try #require(database.firestore.persistentCacheIndexManager)
    let keeper = try database.firestore.database().indexes
    #expect(keeper.advisor.isLearning)
    manager.disableIndexAutoCreation()
    #expect(!keeper.advisor.isLearning)
    manager.enableIndexAutoCreation()
    #expect(keeper.advisor.isLearning)
    for _ in 0..<3 {
      keeper.advisor.note(
        missing: IndexDefinition("books", [.init("a", .ascending)]), touched: 9999, returned: 0)
    }
    try await eventually { try !keeper.list().isEmpty }
    #expect(try await database.firestore.indexes.list().map(\.isLearned) == [true])
    manager.deleteAllIndexes()
    try await eventually { try keeper.list().isEmpty }
  }

  @Test func `an index configuration can come from a stream, and an error goes to the completion`()
    async throws
  {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let json = """
      {"fieldOverrides": [{"collectionGroup": "books", "fieldPath": "year",
        "indexes": [{"queryScope": "COLLECTION", "order": "ASCENDING"}]}]}
      """
    try await db.setIndexConfiguration(InputStream(data: Data(json.utf8)))
    #expect(try await db.indexes.list().map(\.description) == ["books: year ↑"])
    let error = await withCheckedContinuation { done in
      db.setIndexConfiguration("nothing") { done.resume(returning: $0.map { "\($0)" }) }
    }
    #expect(error?.contains("not a JSON object") == true)
  }
}
