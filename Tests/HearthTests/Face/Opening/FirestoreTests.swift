import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct FirestoreTests {
  @Test func `a document is written, read, listened to, and there after reopening`() async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/books.hearth"
    let db = try Firestore.open(at: path)
    let dune = db.collection("books").document("dune")
    try await dune.setData(["title": "Dune", "pages": 412, "tags": ["sand", "spice"]])
    let snapshot = try await dune.getDocument()
    #expect(snapshot["title"] as? String == "Dune")
    #expect(snapshot["pages"] as? Int == 412)

    var news = db.collection("books").snapshots.makeAsyncIterator()
    let first = try await news.next()
    #expect(first?.count == 1)
    #expect(first?.documentChanges.map(\.type) == [.added])
    try await dune.updateData(["pages": 500, "author.name": "Herbert"])
    let second = try await news.next()
    #expect(second?.documentChanges.map(\.type) == [.modified])
    #expect(second?.documents.first?["author.name"] as? String == "Herbert")
    db.collection("books").document("emma").setData(["title": "Emma"], completion: nil)
    let both = try await db.collection("books").getDocuments()
    #expect(both.documents.map(\.documentID) == ["dune", "emma"])
    let third = try await news.next()
    #expect(third?.documentChanges.map(\.newIndex) == [1])
    await #expect(throws: NSError.self) {
      try await db.document("books/none").updateData(["a": 1])
    }
    try await db.terminate()

    let again = try Firestore.open(at: path)
    let read = try await again.document("books/dune").getDocument()
    #expect(read["pages"] as? Int == 500)
    #expect(try await again.collectionGroup("books").getDocuments().count == 2)
    try await again.terminate()
  }
}
