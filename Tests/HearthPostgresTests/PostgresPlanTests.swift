#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine

  /// Commits with constraints, and closures, are planned as they are over a file.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresPlanTests {
    private static let unique = FirestoreIndex(unique: "books", .ascending("n"))
    private static let rule = FirestoreReferenceRule(
      "books", field: "author", to: "authors", onDelete: .cascade, mustExist: true)

    private func constrained(_ url: String) async throws -> Firestore {
      let db = try PostgresServer.open(url, as: "plans")
      try await db.indexes.declare(Self.unique)
      try await db.references.declare(Self.rule)
      try await db.indexes.waitUntilReady()
      try await db.document("authors/a").setData(["name": "Ursula"])
      return db
    }

    @Test func `a commit with constraints takes three round trips, however many documents it has`()
      async throws
    {
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let db = try await constrained(
        PostgresServer.url(PostgresServer.newURL(), through: proxy))
      let author = db.document("authors/a")
      var next = 0
      for count in [1, 100, 400] {
        let trips = try await proxy.fewestRoundTrips {
          let batch = db.batch()
          for _ in 0..<count {
            next += 1
            batch.setData(["n": next, "author": author], forDocument: db.document("books/\(next)"))
          }
          try await batch.commit()
        }
        #expect(trips == 3, "\(count)")
      }
      await #expect(throws: FirestoreErrorCode.self) {
        try await db.document("books/new").setData(["n": 400, "author": author])
      }
      await #expect(throws: FirestoreErrorCode.self) {
        try await db.document("books/new").setData(["n": 0, "author": db.document("authors/b")])
      }
      #expect(try await db.collection("books").getDocuments().count == next)
      var fewest = Int.max
      for name in (1...20).map({ "other\($0)" }) where fewest != 3 {
        let other = db.document("authors/\(name)")
        try await other.setData(["name": name])
        let batch = db.batch()
        for n in 1...10 {
          batch.setData(
            ["n": -n, "author": other], forDocument: db.document("books/\(name)\(n)"))
        }
        try await batch.commit()
        let before = try await proxy.settledRoundTrips()
        try await other.delete()
        fewest = min(fewest, proxy.roundTrips - before)
      }
      #expect(fewest == 3)
      try await author.delete()
      #expect(try await db.collection("books").getDocuments().isEmpty)
      try await db.terminate()
    }

    @Test func `a closure of thousands of writes reads and finds them, and commits all`()
      async throws
    {
      let db = try await constrained(PostgresServer.newURL())
      let author = db.document("authors/a")
      let count = Soak.isOn ? 8_000 : 1_000
      let books = db.collection("books")
      try await db.write { session in
        for n in 0..<count {
          try session.setData(["n": n, "author": author], forDocument: books.document("\(n)"))
        }
        #expect(try session.getDocument(books.document("\(count - 1)"))["n"] as? Int == count - 1)
        #expect(try session.getDocuments(books.whereField("n", isLessThan: 10)).count == 10)
        try session.updateData(
          ["n": FieldValue.increment(Int64(count))], forDocument: books.document("0"))
        try session.deleteDocument(books.document("1"))
      }
      #expect(try await books.count.getAggregation(source: .server).count as? Int == count - 1)
      #expect(try await books.document("0").getDocument()["n"] as? Int == count)
      try await db.terminate()
    }
  }
#endif
