import HearthTesting
import Testing

@testable import Hearth

@Suite struct RecursiveQueriesTests {
  private let database: TemporaryDatabase
  private let db: Firestore

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
  }

  private static let collections = [
    "__id-8__", "__id-1__", "__id1__", "__id7__", "__id8__", "__id9223372036854775807__", "!",
    "2024",
    "Users", "__", "books", "books2",
  ]

  private func paths(_ query: Query) async throws -> [String] {
    try await query.getDocuments().documents.map(\.reference.path)
  }

  @Test func `a collection with a numeric id is read and deleted alone`() async throws {
    for id in Self.collections {
      try await db.document("\(id)/x").setData([:])
      try await db.document("\(id)/x/\(id)/y").setData([:])
    }
    var left = Self.collections
    for id in Self.collections {
      let own = ["\(id)/x", "\(id)/x/\(id)/y"]
      #expect(try await paths(db.collection(id).recursive()) == own)
      let inner = db.document("\(id)/x").collection(id)
      #expect(try await paths(inner.recursive()) == [own[1]])
      #expect(try await db.recursiveDelete(db.collection(id)) == 2)
      left.removeFirst()
      let others = try await paths(db.allDocuments())
      #expect(others == left.flatMap { ["\($0)/x", "\($0)/x/\($0)/y"] })
    }
  }
}
