import Foundation
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
}
