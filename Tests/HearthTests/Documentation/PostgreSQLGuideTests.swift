import FirebaseFirestore
import TestSupport
import Testing

/// The snippets of the page on PostgreSQL, word for word.
@Suite struct PostgreSQLGuideTests {
  func openBooks() throws -> Firestore {
    try Firestore.open("postgresql://books@db.internal:5432/books?sslmode=verify-full")
  }

  func openToRead(_ url: String) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    return try Firestore.open(url, settings: settings)
  }

  func move(_ old: Firestore, to new: Firestore) async throws {
    let copy = try await DatabaseCopy.begin(from: old, to: new)
    try await copy.copyDocuments { print("\($0.done) of \($0.total) documents") }
    try await copy.copyIndexes()
    guard try await copy.verify().isEqual else { throw FirestoreErrorCode(.dataLoss) }
    let verified = copy.token
    try await copy.follow { $0.changes > 0 }
    // Nothing writes to `old` from here on.
    try await copy.catchUp()
    guard try await copy.verifyChanges(since: verified).isEqual else {
      throw FirestoreErrorCode(.dataLoss)
    }
    try await copy.finish()
  }

  @Test func `a database moves`() async throws {
    let folder = TemporaryFolder()
    let old = try Firestore.open(at: folder.path + "/old.hearth")
    let new = try Firestore.open(at: folder.path + "/new.hearth")
    try await old.document("books/dune").setData(["pages": 412])
    try await move(old, to: new)
    #expect(try await new.document("books/dune").getDocument()["pages"] as? Int == 412)
    #expect(try await new.listCollections().map(\.collectionID) == ["books"])
  }

  /// Without a server it says so, and without the trait it names the trait.
  @Test func `a server that is not there is an error`() throws {
    do {
      _ = try openBooks()
      Issue.record("There is no such server.")
    } catch FirestoreErrorCode.unavailable {
    } catch FirestoreErrorCode.unimplemented {}
  }
}
