import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct TransactionTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws { db = try Firestore.open(at: folder.path + "/transactions.hearth") }

  @Test func `concurrent increments by read and write lose none`() async throws {
    let counter = db.document("counters/a")
    try await counter.setData(["n": 0])
    let errors = await withTaskGroup(of: NSError?.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<10 {
            let error = await self.increment(counter)
            if let error { return error }
          }
          return nil
        }
      }
      return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
    }
    #expect(errors == [])
    #expect(try await counter.getDocument()["n"] as? Int == 40)
  }

  private func increment(_ counter: DocumentReference) async -> NSError? {
    let options = TransactionOptions()
    options.maxAttempts = 200
    return await withCheckedContinuation { continuation in
      db.runTransaction(with: options) { transaction, errorPointer in
        do {
          let n = try transaction.getDocument(counter)["n"] as? Int ?? 0
          transaction.updateData(["n": n + 1], forDocument: counter)
        } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      } completion: { _, error in
        continuation.resume(returning: error as NSError?)
      }
    }
  }

  @Test func `a transaction gives its block's value, and its block's error`() async throws {
    let value = try await db.runTransaction { transaction, _ in
      transaction.setData(["n": 1], forDocument: self.db.document("a/b"))
      return 7
    }
    #expect(value as? Int == 7)
    #expect(try await db.document("a/b").getDocument()["n"] as? Int == 1)

    let attempts = Guarded(0)
    let error = await #expect(throws: NSError.self) {
      try await db.runTransaction { transaction, errorPointer in
        attempts.withLock { $0 += 1 }
        transaction.deleteDocument(self.db.document("a/b"))
        errorPointer?.pointee = NSError(domain: "mine", code: 35)
        return nil
      }
    }
    #expect(error?.domain == "mine" && error?.code == 35)
    #expect(attempts.withLock(\.self) == 1)
    #expect(try await db.document("a/b").getDocument().exists)
  }

  /// An `NSError` that is made from a Swift error on Linux has lost its type and what it held.
  @Test func `a block that throws passes on any error whole, and gives a value of its type`()
    async throws
  {
    struct SoldOut: Error, Equatable { var title: String }
    struct Book: Decodable { var title: String }
    let document = db.document("a/b")
    try await document.setData(["title": 7])
    let attempts = Guarded(0)
    await #expect(throws: SoldOut(title: "Dune")) {
      try await db.runTransaction { transaction in
        attempts.withLock { $0 += 1 }
        transaction.deleteDocument(document)
        throw SoldOut(title: "Dune")
      }
    }
    #expect(attempts.withLock(\.self) == 1)
    let undecodable = await #expect(throws: DecodingError.self) {
      try await db.runTransaction { try $0.getDocument(document, as: Book.self).title }
    }
    #expect("\(try #require(undecodable))".contains("a/b"))
    #expect(try await document.getDocument()["title"] as? Int == 7)

    let title = try await db.runTransaction { transaction in
      let title = try transaction.getDocument(document)["title"] as? Int ?? 0
      transaction.setData(["title": title + 1], forDocument: document)
      return title
    }
    let missing: Int? = try await db.runTransaction {
      try $0.getDocument(document)["none"] as? Int
    }
    #expect(title == 7 && missing == nil)
    #expect(try await document.getDocument()["title"] as? Int == 8)
  }

  @Test func `a block that throws runs again after a conflict, and no write of it is lost`()
    async throws
  {
    let document = db.document("a/counter")
    try await document.setData(["n": 0])
    let attempts = Guarded(0)
    try await db.runTransaction { [db] transaction in
      let n = try transaction.getDocument(document)["n"] as? Int ?? 0
      // Another writer, once.
      if attempts.withLock({ attempts in
        attempts += 1; return attempts == 1
      }) {
        let done = DispatchSemaphore(value: 0)
        db.document("a/counter").setData(["n": 10]) { _ in done.signal() }
        done.wait()
      }
      transaction.setData(["n": n + 1], forDocument: document)
    }
    #expect(try await document.getDocument()["n"] as? Int == 11)
    #expect(attempts.withLock(\.self) == 2)
  }

  @Test func `reads come before writes, and updates need a document`() async throws {
    let document = db.document("a/b")
    let error = await #expect(throws: NSError.self) {
      try await db.runTransaction { transaction, errorPointer in
        transaction.setData([:], forDocument: document)
        do { _ = try transaction.getDocument(document) } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      }
    }
    #expect(
      error?.localizedDescription
        == "Firestore transactions require all reads to be executed before all writes.")
    let missing = await #expect(throws: NSError.self) {
      try await db.runTransaction { transaction, _ in
        _ = try? transaction.getDocument(document)
        transaction.updateData(["a": 1], forDocument: document)
        return nil
      }
    }
    #expect(missing?.localizedDescription == "Can't update a document that doesn't exist.")
    await expectRefused(.notFound) {
      try await db.runTransaction { transaction, _ in
        transaction.updateData(["a": 1], forDocument: document)
        return nil
      }
    }
  }

  @Test func `a transaction that never finds peace gives up after its attempts`() async throws {
    let document = db.document("a/b")
    try await document.setData(["n": 0])
    let attempts = Guarded(0)
    await expectRefused(.aborted) {
      try await db.runTransaction { transaction, _ in
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        _ = try? transaction.getDocument(document)
        let written = DispatchSemaphore(value: 0)
        document.setData(["n": attempt]) { _ in written.signal() }
        written.wait()
        transaction.setData(["n": -1], forDocument: document)
        return nil
      }
    }
    #expect(attempts.withLock(\.self) == 5)
    #expect(try await document.getDocument()["n"] as? Int == 5)
  }
}
