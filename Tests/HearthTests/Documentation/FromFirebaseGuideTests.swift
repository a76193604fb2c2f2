import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page for users of Firebase, word for word.
@Suite struct FromFirebaseGuideTests {
  struct Book: Codable {
    @DocumentID var id: String?
    var title: String
    var author: String
  }

  func books(by author: String, in db: Firestore) async throws -> [Book] {
    try await db.collection("books")
      .whereField("author", isEqualTo: author)
      .order(by: "title")
      .getDocuments()
      .documents.map { try $0.data(as: Book.self) }
  }

  @Test func `the same source reads books`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    for (id, title) in [("2", "Dune Messiah"), ("1", "Dune")] {
      try await db.document("books/\(id)").setData(["title": title, "author": "Frank Herbert"])
    }
    try await db.document("books/3").setData(["title": "Emma", "author": "Jane Austen"])
    #expect(try await books(by: "Frank Herbert", in: db).map(\.id) == ["1", "2"])
  }

  private let folder = TemporaryFolder()

  func openLibrary(at path: String) throws -> Firestore? {
    do {
      return try Firestore.open(at: path)
    } catch FirestoreErrorCode.failedPrecondition {
      print("Another container has the file open, or a newer version has written it.")
      return nil
    }
  }

  @Test func `a service names its file`() async throws {
    let db = try #require(try openLibrary(at: folder.path + "/library.hearth"))
    #expect(db.path.hasSuffix("library.hearth"))
    try await db.terminate()
  }

  /// Keeps the number of a book's reviews in the book.
  func countReviews(in db: Firestore) async throws {
    let position = db.document("consumers/reviews")
    let saved = try await position.getDocument()["token"] as? Data
    let token = try saved.map { try ChangeToken(bytes: $0) }
    for try await change in db.changes(since: token) {
      guard change.document.parent.collectionID == "reviews", change.kind == .created,
        let book = change.after?["book"] as? DocumentReference
      else { continue }
      try await db.write { tx in
        if try tx.getDocument(book).exists {
          try tx.updateData(["reviews": FieldValue.increment(1)], forDocument: book)
        }
        try tx.setData(["token": change.token.bytes], forDocument: position)
      }
    }
  }

  @Test func `each review is counted once`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await dune.setData(["title": "Dune"])
    let beginning = try await db.changeToken()
    try await db.document("consumers/reviews").setData(["token": beginning.bytes])
    for _ in 0..<2 {
      let counting = Task { try await countReviews(in: db) }
      let before = try await dune.getDocument()["reviews"] as? Int ?? 0
      for _ in 0..<5 {
        try await db.collection("reviews").addDocument(data: ["book": dune])
      }
      try await eventually {
        try await dune.getDocument()["reviews"] as? Int ?? 0 >= before + 5
      }
      counting.cancel()
      try? await counting.value
    }
    #expect(try await dune.getDocument()["reviews"] as? Int == 10)
  }
}
