import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

/// The forms that block: they do what the awaited ones do.
@Suite struct BlockingFirestoreTests {
  private let database: TemporaryDatabase
  private var db: Firestore { database.firestore }

  init() throws { database = try TemporaryDatabase() }

  /// On a thread that may block.
  private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: body)) }
    }
  }

  @Test func `what is committed is read, one by one and by queries`() async throws {
    let db = db
    let (pages, titles, count, missing) = try await onThread {
      let books = db.collection("books")
      let batch = db.batch()
      batch.setData(["title": "Dune", "pages": 412], forDocument: books.document("dune"))
      batch.setData(["title": "Emma", "pages": 474], forDocument: books.document("emma"))
      try db.blocking.commit(batch)
      // Handed over, and not waited for.
      books.document("dune").updateData(["pages": 413])
      let all = try db.blocking.getAll([books.document("emma"), books.document("none")])
      return (
        try db.blocking.getDocument(books.document("dune"))["pages"] as? Int,
        try db.blocking.getDocuments(books.order(by: "pages")).documents.map {
          $0["title"] as? String
        },
        try db.blocking.getAggregation(books.whereField("pages", isGreaterThan: 413).count).count,
        all.map(\.exists)
      )
    }
    #expect(pages == 413)
    #expect(titles == ["Dune", "Emma"])
    #expect(count == 1)
    #expect(missing == [true, false])
  }

  @Test func `rules and indexes hold when they are declared, and included documents are read`()
    async throws
  {
    let db = db
    let (names, refused, left) = try await onThread {
      try db.blocking.declare([
        FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: .cascade)
      ])
      try db.blocking.declare([FirestoreIndex(unique: "books", .ascending("isbn"))])
      let author = db.document("authors/herbert")
      let batch = db.batch()
      batch.setData(["name": "Herbert"], forDocument: author)
      batch.setData(["author": author, "isbn": "1"], forDocument: db.document("books/dune"))
      try db.blocking.commit(batch)
      let books = try db.blocking.getDocuments(
        db.collection("books").including(.reference("author")))
      let names = books.documents.map { $0.first("author")?["name"] as? String }
      let second = db.batch().setData(["isbn": "1"], forDocument: db.document("books/emma"))
      let refused = #expect(throws: (any Error).self) { try db.blocking.commit(second) }
      try db.blocking.commit(db.batch().deleteDocument(author))
      return (
        names, (refused as NSError?)?.code,
        try db.blocking.getDocuments(db.collection("books")).count
      )
    }
    #expect(names == ["Herbert"])
    #expect(refused == FirestoreErrorCode.alreadyExists.rawValue)
    #expect(left == 0)
    let error = await #expect(throws: (any Error).self) {
      try await onThread { try db.blocking.declare([FirestoreIndex("a/b", .ascending("x"))]) }
    }
    #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
  }

  @Test func `a commit returns when its listeners have been called`() async throws {
    let db = db
    let seen = Guarded<[Int]>([])
    let registration = db.document("a/1").addSnapshotListener { snapshot, _ in
      seen.withLock { $0.append(snapshot?["n"] as? Int ?? -1) }
    }
    var waited = 0
    for number in 1...200 where number <= 20 || waited == 0 {
      let (last, time) = try await onThread {
        let batch = db.batch()
        batch.setData(["n": number], forDocument: db.document("a/1"))
        let start = ContinuousClock.now
        try db.blocking.commit(batch)
        let time = ContinuousClock.now - start
        return (seen.withLock { $0.last }, time)
      }
      // A commit waits for 100 ms and no longer: other tests may need the processors meanwhile.
      if time < .milliseconds(100) {
        #expect(last == number)
        waited += 1
      }
    }
    #expect(waited > 0)
    registration.remove()
  }

  @Test func `what is wrong is thrown, with the sentences of the awaited forms`() async throws {
    let db = db
    let other = try TemporaryDatabase()
    let foreign = other.firestore
    let foreignBatch = foreign.batch()
    foreignBatch.setData([:], forDocument: foreign.document("a/1"))
    let used = db.batch()
    try await used.commit()
    let wrong = db.batch()
    wrong.updateData(["n": 1], forDocument: db.document("a/none"))
    nonisolated(unsafe) let batches = (foreignBatch, used, wrong)
    func code(_ body: @escaping @Sendable () throws -> Void) async -> Int {
      do {
        try await onThread(body)
        return 0
      } catch {
        return (error as NSError).code
      }
    }
    let (invalid, failed) = (
      Status.Code.invalidArgument.rawValue, Status.Code.failedPrecondition.rawValue
    )
    #expect(await code { _ = try db.blocking.getDocument(foreign.document("a/1")) } == invalid)
    #expect(await code { _ = try db.blocking.getDocuments(foreign.collection("a")) } == invalid)
    #expect(
      await code { _ = try db.blocking.getAggregation(foreign.collection("a").count) } == invalid)
    #expect(await code { try db.blocking.commit(batches.0) } == invalid)
    #expect(await code { try db.blocking.commit(batches.1) } == failed)
    #expect(await code { try db.blocking.commit(batches.2) } == Status.Code.notFound.rawValue)
    // The batch of the other database was not used up.
    try await batches.0.commit()
    #expect(try await foreign.document("a/1").getDocument().exists)
    try await db.terminate()
    #expect(await code { _ = try db.blocking.getDocument(db.document("a/1")) } == failed)
    #expect(await code { try db.blocking.commit(db.batch()) } == failed)
  }

  @Test func `where it would wait for itself it is refused`() async throws {
    let db = db
    let code = try await db.write { _ in
      do {
        let batch = db.batch()
        batch.setData([:], forDocument: db.document("a/1"))
        try db.blocking.commit(batch)
        return 0
      } catch {
        return (error as NSError).code
      }
    }
    #expect(code == Status.Code.failedPrecondition.rawValue)
    let inTransaction = try await db.runTransaction { _, _ in
      do {
        _ = try db.blocking.getDocument(db.document("a/1"))
        return 0
      } catch {
        return (error as NSError).code
      }
    }
    #expect(inTransaction as? Int == Status.Code.failedPrecondition.rawValue)
  }
}
