import Foundation
import HearthTesting
import Testing

@testable import Hearth

@Suite struct DocumentReferenceSnapshotTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test func `fields that were kept are a snapshot again`() async throws {
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData([
      "title": "Dune", "tags": ["a", "b"], "author": db.document("authors/1"),
    ])
    let found = try await dune.getDocument()
    let kept = try #require(found.encodedFields)
    try await dune.updateData(["title": "Emma"])
    let before = try dune.snapshot(ofEncodedFields: kept)
    #expect(before == found && before["title"] as? String == "Dune" && before.exists)
    #expect(before.data()?["author"] as? DocumentReference == db.document("authors/1"))
    #expect(try await db.document("books/none").getDocument().encodedFields == nil)
  }

  @Test func `bytes that are no document are refused`() throws {
    let dune = database.firestore.document("books/dune")
    for bytes in [[], [1], [0xFF, 0xFF], Array("title".utf8)] as [[UInt8]] {
      let error = #expect(throws: (any Error).self) {
        try dune.snapshot(ofEncodedFields: Data(bytes))
      }
      #expect((error as NSError?)?.code == FirestoreErrorCode.dataLoss.rawValue)
    }
  }
}
