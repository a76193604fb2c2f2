import Foundation

/// Queries for the documents of all collections, in pre-order: a document, all documents below it,
/// the next document.
///
/// These queries can be limited, started, ended, counted and projected, and filtered by name. They
/// cannot be ordered or filtered by a field, or listened to: that fails with `invalidArgument`.
extension Firestore {
  /// All documents of the database.
  public func allDocuments() -> Query { Query(self, StructuredQuery(.subtree(below: .root))) }
}

extension DocumentReference {
  /// All documents below this one, without the document itself.
  public func descendants() -> Query {
    Query(
      firestore, StructuredQuery(.subtree(below: resourcePath)), validationError: validationError)
  }
}

extension CollectionReference {
  /// All documents of the collection, and all documents below them.
  public func recursive() -> Query {
    Query(
      firestore, StructuredQuery(recursivelyIn: resourcePath), validationError: validationError)
  }
}
