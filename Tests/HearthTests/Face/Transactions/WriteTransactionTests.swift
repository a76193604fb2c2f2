import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct WriteTransactionTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws { db = try Firestore.open(at: folder.path + "/sessions.hearth") }

  private struct Book: Codable, Equatable {
    var title: String
    var pages: Int
  }

  private struct Broke: Error {}

  private final class Kept: @unchecked Sendable {
    // Unchecked: set while the test waits, and read after.
    var session: WriteTransaction?
  }

  @Test func `a write closure reads its own writes, queries and sums included`() async throws {
    let books = db.collection("books")
    try await books.document("a").setData(["title": "A", "pages": 1])
    try await books.document("b").setData(["title": "B", "pages": 2])
    let told = try await db.write { tx in
      try tx.setData(["title": "C", "pages": 3], forDocument: books.document("c"))
      try tx.updateData(
        ["pages": FieldValue.increment(Int64(10))], forDocument: books.document("a"))
      try tx.deleteDocument(books.document("b"))
      try tx.create(from: Book(title: "D", pages: 4), forDocument: books.document("d"))
      let found = try tx.getDocuments(books.order(by: "pages", descending: true).limit(to: 2))
      let typed = try tx.getDocuments(books.whereField("pages", isLessThan: 10), as: Book.self)
      let count = try tx.getAggregation(books.count).count.intValue
      let a = try tx.getDocument(books.document("a"), as: Book.self)
      let isGone = try !tx.getDocument(books.document("b")).exists
      return (found.documents.map(\.documentID), typed.map(\.pages), count, a.pages, isGone)
    }
    #expect(told.0 == ["a", "d"])
    #expect(told.1 == [3, 4])
    #expect(told.2 == 3 && told.3 == 11 && told.4)
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["a", "c", "d"])
  }

  @Test func `what a closure is told of a time and a version is what is stored`() async throws {
    let document = db.document("a/b")
    let inside = try await db.write { tx in
      try tx.setData(["at": FieldValue.serverTimestamp()], forDocument: document)
      return try tx.getDocument(document)
    }
    let stored = try await document.getDocument()
    #expect(inside["at"] as? Timestamp == stored["at"] as? Timestamp)
    #expect(inside.updateTime == stored.updateTime && inside.createTime == stored.createTime)
  }

  @Test func `a closure that throws leaves nothing behind, and what it threw is told`() async throws
  {
    let document = db.document("a/b")
    await #expect(throws: Broke.self) {
      try await db.write { tx in
        try tx.setData(["n": 1], forDocument: document)
        throw Broke()
      }
    }
    #expect(try await !document.getDocument().exists)
    #expect(throws: Broke.self) { try blockingThrow(document) }
    #expect(try await !document.getDocument().exists)
  }

  private func blockingThrow(_ document: DocumentReference) throws {
    try db.write { tx in
      try tx.setData(["n": 1], forDocument: document)
      throw Broke()
    }
  }

  @Test func `a write that is refused has done nothing, and the closure may go on`() async throws {
    let (one, two) = (db.document("a/1"), db.document("a/2"))
    try await one.setData(["n": 1])
    let time = try #require(try await one.getDocument().updateTime)
    try await db.write { tx in
      #expect(FirestoreErrorCode.alreadyExists.isThrown { try tx.create([:], forDocument: one) })
      #expect(
        FirestoreErrorCode.notFound.isThrown { try tx.updateData(["n": 1], forDocument: two) })
      #expect(
        FirestoreErrorCode.invalidArgument.isThrown {
          try tx.setData(["__n__": 1], forDocument: two)
        })
      #expect(
        FirestoreErrorCode.failedPrecondition.isThrown {
          try tx.deleteDocument(
            one, precondition: .lastUpdateTime(Timestamp(seconds: 1, nanoseconds: 0)))
        })
      try tx.updateData(["n": 2], forDocument: one, precondition: .lastUpdateTime(time))
    }
    #expect(try await one.getDocument()["n"] as? Int == 2)
    #expect(try await !two.getDocument().exists)
  }

  @Test func `a session cannot be used after its closure, nor wait for its own thread`()
    async throws
  {
    let document = db.document("a/b")
    let kept = Kept()
    try await db.write { tx in
      kept.session = tx
      #expect(
        FirestoreErrorCode.failedPrecondition.isThrown { try self.db.write { _ in } })
      #expect(
        FirestoreErrorCode.failedPrecondition.isThrown { try self.db.read { _ in } })
    }
    let session = try #require(kept.session)
    #expect(
      FirestoreErrorCode.failedPrecondition.isThrown {
        try session.setData([:], forDocument: document)
      })
    #expect(try await !document.getDocument().exists)
  }

  @Test func `counting in closures from many tasks loses nothing`() async throws {
    let counter = db.document("counters/a")
    try await counter.setData(["n": 0])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for round in 0..<20 {
            if task % 4 == 0, round % 5 == 0 {
              try await self.db.document("others/\(task)").setData(["n": round])
            }
            try await self.db.write { tx in
              let n = try tx.getDocument(counter)["n"] as? Int ?? 0
              try tx.updateData(["n": n + 1], forDocument: counter)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await counter.getDocument()["n"] as? Int == 320)
  }

  @Test func `a closure larger than a request is refused as a whole`() async throws {
    let text = String(repeating: "x", count: 1_000_000)
    await expectRefused(.invalidArgument) {
      try await db.write { tx in
        for index in 0..<11 {
          try tx.setData(["t": text], forDocument: self.db.document("big/\(index)"))
        }
      }
    }
    #expect(try await db.collection("big").getDocuments().isEmpty)
  }

  @Test func `a read closure sees one state, whatever is written meanwhile`() async throws {
    let accounts = (0..<4).map { db.document("accounts/\($0)") }
    for account in accounts { try await account.setData(["amount": 100]) }
    let isOver = Guarded(false)
    let writer = Task {
      while !isOver.withLock(\.self) {
        try await db.write { tx in
          try tx.updateData(
            ["amount": FieldValue.increment(Int64(-1))], forDocument: accounts[0])
          try tx.updateData(
            ["amount": FieldValue.increment(Int64(1))], forDocument: accounts[3])
        }
      }
    }
    struct Account: Codable { var amount: Int }
    for _ in 0..<200 {
      let (one, all) = try await db.read { snapshot in
        let one = try accounts.map { try snapshot.getDocument($0, as: Account.self).amount }
        let all = try snapshot.getDocuments(self.db.collection("accounts"), as: Account.self)
        let sum = try snapshot.getAggregation(
          self.db.collection("accounts").aggregate([.sum("amount")]))
        #expect(sum.get(.sum("amount")) as? Int == 400)
        return (one, all.map(\.amount))
      }
      #expect(one == all && one.reduce(0, +) == 400)
    }
    isOver.withLock { $0 = true }
    try await writer.value
  }

  @Test func `closing while closures, batches and bulks are busy does or refuses each of them`()
    async throws
  {
    for round in 0..<4 {
      let path = folder.path + "/busy\(round).hearth"
      let db = try Firestore.open(at: path)
      let done = await withTaskGroup(of: [String].self) { group in
        for task in 0..<8 {
          group.addTask {
            var done: [String] = []
            for index in 0..<200 {
              let document = db.document("a/\(task)-\(index)")
              do {
                switch task % 4 {
                case 0: try await db.write { try $0.setData([:], forDocument: document) }
                case 1: try await db.batch().setData([:], forDocument: document).commit()
                case 2: try await document.setData([:])
                default:
                  let bulk = db.bulkWriter { _ in }
                  await bulk.enqueueSet([:], forDocument: document)
                  if await bulk.finish().failed > 0 { return done }
                }
                done.append(document.documentID)
              } catch {
                #expect(FirestoreErrorCode.failedPrecondition ~= error, "\(error)")
                return done
              }
            }
            return done
          }
        }
        group.addTask {
          try? await Task.sleep(for: .milliseconds(5 * round))
          try? await db.terminate()
          return []
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
      let again = try Firestore.open(at: path)
      let stored = try await again.collection("a").getDocuments().documents.map(\.documentID)
      #expect(Set(stored) == Set(done))
      try await again.terminate()
    }
  }

  @Test func `what holds others up for longer than a second is logged`() {
    let lines = LogRecorder()
    let logger = Logger(label: "test") { _ in lines }
    // On a busy machine, a second may pass before it looks: this one begins later.
    ClosureTimer(begunBefore: .seconds(-60)).warnIfLong("short", logger)
    ClosureTimer(begunBefore: .seconds(2)).warnIfLong("long", logger)
    #expect(lines.all == ["warning: long"])
  }

  @Test func `a read closure sees what was handed over before it`() async throws {
    for round in 0..<20 {
      let document = db.document("a/\(round)")
      document.setData(["n": round], completion: nil)
      #expect(try await db.read { try $0.getDocument(document) }.exists)
      document.setData(["n": -round], completion: nil)
      #expect(try blockingRead(document) == -round)
    }
  }

  private func blockingRead(_ document: DocumentReference) throws -> Int? {
    try db.read { try $0.getDocument(document)["n"] as? Int }
  }
}

extension FirestoreErrorCode.Code {
  /// Whether `body` is refused so.
  func isThrown(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      return self ~= error
    }
  }
}
