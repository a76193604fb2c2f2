#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine

  /// Rules by which documents must exist, of processes with connections of their own.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresReferenceTests {
    private static func open(_ count: Int) throws -> [Firestore] {
      let url = try PostgresServer.newURL()
      return try (0..<count).map { try PostgresServer.open(url, as: "process\($0)") }
    }

    private func rule(_ action: FirestoreReferenceRule.Action) -> FirestoreReferenceRule {
      FirestoreReferenceRule(
        "books", field: "author", to: "authors", onDelete: action, mustExist: true)
    }

    @Test(arguments: [FirestoreReferenceRule.Action.restrict, .cascade, .nullify])
    func `of deletions and new references in three processes none leaves a reference behind`(
      action: FirestoreReferenceRule.Action
    ) async throws {
      let databases = try Self.open(3)
      let rule = rule(action)
      try await databases[0].references.declare(rule)
      try await databases[0].indexes.waitUntilReady()
      var (kept, gone) = (0, 0)
      for round in 0..<(Soak.isOn ? 400 : 30) {
        try await databases[round % 3].document("authors/\(round)").setData(["n": round])
        let stored = await withTaskGroup(of: Int.self) { group in
          for task in 0..<18 {
            let db = databases[(task + round) % 3]
            group.addTask {
              let author = db.document("authors/\(round)")
              let book = db.document("books/\(round)-\(task)")
              do {
                switch (task + round) % 6 {
                case 0:
                  try await author.delete()
                  return 0
                case 1: try await db.batch().setData(["author": author], forDocument: book).commit()
                case 2: try await db.write { try $0.setData(["author": author], forDocument: book) }
                case 3:
                  try await db.inTransaction { transaction in
                    // One that reads the author conflicts with the deletion, and is tried again.
                    let exists = try transaction.getDocument(author).exists
                    transaction.setData(["author": author, "n": exists], forDocument: book)
                  }
                default: try await book.setData(["author": author])
                }
                return 1
              } catch {
                #expect(FirestoreErrorCode.failedPrecondition ~= error, "\(error)")
                return 0
              }
            }
          }
          return await group.reduce(0, +)
        }
        let exists = try await databases[0].document("authors/\(round)").getDocument().exists
        if exists { kept += 1 } else { gone += 1 }
        if action == .restrict { try #require(stored == (exists ? 15 : 0), "round \(round)") }
        let dangling = try await databases[1].references.danglingReferences(of: rule)
        try #require(dangling.isEmpty, "round \(round): \(dangling)")
      }
      // Otherwise the run has proved nothing.
      #expect(gone > 0 && (action != .restrict || kept > 0), "\(kept) \(gone)")
      for db in databases { try await db.terminate() }
    }

    @Test func `a process that has not heard of a rule keeps to it from its next commit on`()
      async throws
    {
      let databases = try Self.open(2)
      let (db, other) = (databases[0], databases[1])
      try await other.document("books/before").setData(["n": 1])
      try await other.document("authors/a").setData(["n": 1])
      for action in [FirestoreReferenceRule.Action.restrict, .cascade] {
        try await db.references.declare(rule(action))
        await #expect(throws: FirestoreErrorCode.self) {
          try await other.document("books/b").setData(["author": other.document("authors/none")])
        }
        try await other.document("books/b").setData(["author": other.document("authors/a")])
        try await db.references.drop(rule(action))
        try await db.document("books/c").setData(["author": db.document("authors/none")])
        try await db.document("books/c").delete()
        try await other.document("books/d").setData(["author": other.document("authors/none")])
        try await other.document("books/d").delete()
      }
      #expect(try await db.collection("books").getDocuments().count == 2)
      for db in databases { try await db.terminate() }
    }

    @Test func `all documents are verified, page by page, and the missing ones are counted`()
      async throws
    {
      let db = try Self.open(1)[0]
      let long = String(repeating: "x", count: 1200)
      for start in stride(from: 0, to: 1200, by: 300) {
        let batch = db.batch()
        for number in start..<(start + 300) {
          // A longer id than a key of an index has room for, and one author for several books.
          let id = number % 7 == 0 ? "\(number % 70)\(long)" : "\(number % 70)"
          let author = db.document("authors/\(id)")
          if number < 70, number % 10 != 0 { batch.setData([:], forDocument: author) }
          batch.setData(["author": author], forDocument: db.document("books/\(number)"))
        }
        try await batch.commit()
      }
      let missing = (0..<1200).filter { $0 % 70 % 10 == 0 }.count
      try await db.references.declare(rule(.restrict))
      await #expect(throws: FirestoreErrorCode.self) { try await db.indexes.waitUntilReady() }
      guard case .invalid(let found)? = try await db.indexes.list().first?.state else {
        Issue.record("The rule is valid.")
        return
      }
      #expect(found.count == missing && found.examples.count == 20)
      #expect(try await db.references.danglingReferences(of: rule(.restrict)).count == missing)
      for number in [0, 10, 20, 30, 40, 50, 60] {
        let id = number % 7 == 0 ? "\(number)\(long)" : "\(number)"
        try await db.document("authors/\(id)").setData([:])
      }
      try await db.references.declare(rule(.restrict))
      try await db.indexes.waitUntilReady()
      try await db.terminate()
    }
  }
#endif
