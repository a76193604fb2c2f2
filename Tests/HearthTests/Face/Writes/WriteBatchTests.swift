import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct WriteBatchTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws { db = try Firestore.open(at: folder.path + "/batch.hearth") }

  @Test func `a batch is done together, in order, at one time`() async throws {
    let one = db.document("things/one")
    let two = db.document("things/two")
    let batch = db.batch()
      .setData(["n": 1], forDocument: one)
      .updateData(["n": FieldValue.increment(Int64(2))], forDocument: one)
      .setData(["at": FieldValue.serverTimestamp()], forDocument: two)
      .setData(["at": FieldValue.serverTimestamp()], forDocument: one, merge: true)
    try await batch.commit()
    let first = try await one.getDocument()
    let second = try await two.getDocument()
    #expect(first["n"] as? Int == 3)
    #expect(first["at"] as? Timestamp == second["at"] as? Timestamp)
    #expect(first.updateTime == second.updateTime)
    await expectRefused(.failedPrecondition) { try await batch.commit() }
  }

  @Test func `a batch of which one write fails changes nothing`() async throws {
    let one = db.document("things/one")
    await expectRefused(.notFound) {
      try await db.batch()
        .setData(["n": 1], forDocument: one)
        .updateData(["n": 2], forDocument: db.document("things/missing"))
        .commit()
    }
    #expect(try await !one.getDocument().exists)
    await expectRefused(.invalidArgument) {
      try await db.batch()
        .setData(["n": 1], forDocument: one)
        .setData(["__n__": 1], forDocument: db.document("things/two"))
        .commit()
    }
    #expect(try await !one.getDocument().exists)
    try await db.batch().commit()
  }

  @Test func `a reference of another database is refused`() async throws {
    let other = try Firestore.open(at: folder.path + "/other.hearth")
    let error = await #expect(throws: NSError.self) {
      try await db.batch().setData([:], forDocument: other.document("a/b")).commit()
    }
    #expect(
      error?.localizedDescription
        == "Provided document reference is from a different Cloud Firestore instance.")
  }

  @Test func `what was handed over without waiting is read at once`() async throws {
    let documents = (0..<20).map { db.document("things/\($0)") }
    db.batch().setData(["n": 0], forDocument: documents[0]).commit(completion: nil)
    for document in documents.dropFirst() {
      document.setData(["n": 1], completion: nil)
      #expect(try await document.getDocument().exists)
    }
    #expect(try await db.collection("things").getDocuments().count == 20)
    try await db.waitForPendingWrites()
  }

  private struct Score: Codable, Equatable {
    var points: Int
  }

  private struct TooMany: Error, Equatable {}

  @Test func `a check sees the document as the batch leaves it, and its error is the batch's`()
    async throws
  {
    let one = db.document("scores/one")
    let two = db.document("scores/two")
    try await one.setData(["points": 1])
    let before = try await one.getDocument()
    // The increment is an integer at the first check, and none at the second.
    func batch() -> WriteBatch {
      db.batch().updateData(["points": FieldValue.increment(Int64(1))], forDocument: one)
        .check(one) { document in
          let score = try document.data(as: Score.self)
          #expect(score == Score(points: 2))
        }
        .setData(["points": 1], forDocument: two)
        .updateData(["points": FieldValue.increment(0.5)], forDocument: one)
        .check(one) { _ = try $0.data(as: Score.self) }
    }
    let error = await #expect(throws: DecodingError.self) { try await batch().commit() }
    #expect(sentence(error)?.contains("the field points of the document scores/one") == true)
    #expect(throws: DecodingError.self) { try db.blocking.commit(batch()) }
    let reported: (any Error)? = await withCheckedContinuation { done in
      batch().commit { done.resume(returning: $0) }
    }
    #expect(reported is DecodingError)
    #expect(try await one.getDocument().updateTime == before.updateTime)
    #expect(try await !two.getDocument().exists)
    await #expect(throws: TooMany.self) {
      try await db.batch().check(two) { _ in throw TooMany() }.commit()
    }
  }

  @Test func `a check that passes writes nothing, and knows a document that is missing`()
    async throws
  {
    let one = db.document("scores/one")
    try await db.batch().check(one) { #expect(!$0.exists) }
      .setData(["points": 1], forDocument: one).check(one) { #expect($0.exists) }
      .deleteDocument(one).check(one) { #expect(!$0.exists) }.commit()
    try await one.setData(["points": 1])
    let before = try await one.getDocument().updateTime
    try await db.batch().check(one) { #expect($0["points"] as? Int == 1) }.commit()
    #expect(try await one.getDocument().updateTime == before)
  }

  @Test(.embedded("It is about the writer's thread."))
  func `a check cannot wait for its own database`() async throws {
    let one = db.document("scores/one")
    await expectRefused(.failedPrecondition) {
      try await db.batch().check(one) { [db] _ in
        // The writer's thread cannot wait for itself.
        try db.blocking.commit(db.batch().setData(["points": 2], forDocument: one))
      }.commit()
    }
    #expect(try await !one.getDocument().exists)
  }

  @Test func `checks of batches at once are those of the state that each commits on`() async throws
  {
    let one = db.document("scores/one")
    try await one.setData(["points": 0])
    let refused = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<40 {
        group.addTask { [db] in
          do {
            try await db.batch()
              .updateData(["points": FieldValue.increment(Int64(1))], forDocument: one)
              .check(one) { if $0["points"] as? Int ?? 0 > 10 { throw TooMany() } }.commit()
            return false
          } catch {
            return error is TooMany
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(refused == 30)
    #expect(try await one.getDocument()["points"] as? Int == 10)
  }
}
