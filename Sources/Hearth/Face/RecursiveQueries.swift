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
    var query = StructuredQuery(.subtree(below: resourcePath.parent))
    query.orders = [StructuredQuery.Order(field: .documentID)]
    // From the lowest id of this collection to the lowest id of the next possible collection.
    let lowest = "__id\(Int64.min)__"
    let next = resourcePath.parent.appending(resourcePath.id + "\0")
    query.start = StructuredQuery.Bound(
      values: [.reference(resourcePath.appending(lowest))], isBefore: true)
    query.end = StructuredQuery.Bound(values: [.reference(next.appending(lowest))], isBefore: true)
    return Query(firestore, query, validationError: validationError)
  }
}
