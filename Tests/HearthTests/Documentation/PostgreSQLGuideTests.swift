import FirebaseFirestore
import Testing

/// The snippets of the page on PostgreSQL, word for word.
@Suite struct PostgreSQLGuideTests {
  func openBooks() throws -> Firestore {
    try Firestore.open("postgresql://books@db.internal:5432/books?sslmode=verify-full")
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
