import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct QueryWritingTests {
  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
  }

  private func fill(_ count: Int = 20) async throws {
    for n in 0..<count { try await books.document("\(n)").setData(["n": n, "tags": ["a"]]) }
  }

  @Test func `every result is changed in one commit`() async throws {
    try await fill()
    let count = try await books.whereField("n", isGreaterThan: 9)
      .updateAll([
        "n": FieldValue.increment(100 as Int64), "map.at": FieldValue.serverTimestamp(),
        FieldPath(["tags"]): FieldValue.arrayUnion(["b"]),
      ])
    #expect(count == 10)
    let changed = try await books.whereField("n", isGreaterThan: 99).getDocuments().documents
    #expect(changed.count == 10)
    #expect(Set(changed.map { $0["map.at"] as? Timestamp }).count == 1)
    #expect(Set(changed.map(\.updateTime)).count == 1)
    #expect(changed.allSatisfy { $0["tags"] as? [String] == ["a", "b"] })
    #expect(try await books.whereField("n", isLessThan: 0).updateAll(["n": 1]) == 0)
  }

  @Test func `orders, limits and cursors of the query hold`() async throws {
    try await fill()
    #expect(try await books.order(by: "n", descending: true).limit(to: 3).deleteAll() == 3)
    #expect(try await books.order(by: "n").limit(toLast: 2).deleteAll() == 2)
    #expect(try await books.order(by: "n").start(at: [14]).deleteAll(limit: 1) == 1)
    #expect(try await books.order(by: "n").offset(10).deleteAll() == 4)
    let left = try await books.order(by: "n").getDocuments().documents.map { $0["n"] as? Int }
    #expect(left == Array(0..<10))
    #expect(try await db.collectionGroup("books").deleteAll() == 10)
  }

  @Test func `more than the limit changes nothing`() async throws {
    try await fill()
    let sentence = await expectRefused(.resourceExhausted) { try await books.deleteAll(limit: 19) }
    #expect(
      sentence
        == "The query finds more than 19 documents. Nothing was written; limit the query, and repeat."
    )
    #expect(try await books.getDocuments().count == 20)
    #expect(try await books.deleteAll(limit: 20) == 20)
    #expect(try await books.deleteAll(limit: 0) == 0)
    await expectRefused(.invalidArgument) { try await books.deleteAll(limit: -1) }
  }

  @Test func `what cannot be written is refused, and nothing is changed`() async throws {
    try await fill(3)
    await expectRefused(.invalidArgument) { try await books.updateAll(["a..b": 1]) }
    await expectRefused(.invalidArgument) { try await books.updateAll(["__a__": 1]) }
    await expectRefused(.invalidArgument) {
      try await books.whereField("", isEqualTo: 1).deleteAll()
    }
    try await db.indexes.declare(FirestoreIndex(unique: "books", .ascending("n")))
    await expectRefused(.alreadyExists) { try await books.updateAll(["n": 1]) }
    let left = try await books.getDocuments().documents.map { $0["n"] as? Int }
    #expect(left == [0, 1, 2])
  }

  @Test func `a backend elsewhere does it in a transaction`() async throws {
    try await fill()
    let database = try db.database()
    let query = try books.whereField("n", isLessThan: 5).checked()
    let deletion = Mutation(path: ResourcePath(["any", "document"]), operation: .delete)
    await expectRefused(.resourceExhausted) {
      try await reporting {
        _ = try await database.write(deletion, toAllOf: query, limit: 4, isLocal: false)
      }
    }
    #expect(
      try await database.write(deletion, toAllOf: query, limit: 5, isLocal: false) == 5)
    #expect(try await books.getDocuments().count == 15)
  }

  @Test func `increments of all results by many tasks lose nothing`() async throws {
    try await fill(10)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 {
        group.addTask { [books] in
          try await books.updateAll(["n": FieldValue.increment(1 as Int64)])
        }
      }
      for try await count in group { #expect(count == 10) }
    }
    let numbers = try await books.getDocuments().documents.compactMap { $0["n"] as? Int }
    #expect(numbers.reduce(0, +) == 45 + 200)
  }
}
