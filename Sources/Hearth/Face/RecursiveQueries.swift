import Foundation

/// Documents whatever their collection, in pre-order: a document, all that lies below it, the next.
///
/// Such queries can be limited, started, ended, counted and projected, and filtered by name; not
/// ordered or filtered by a field, nor listened to.
extension Firestore {
  /// Every document of the database.
  public func allDocuments() -> Query { Query(self, StructuredQuery(.subtree(below: .root))) }
}

extension DocumentReference {
  /// Every document below this one; not the document itself.
  public func descendants() -> Query {
    Query(firestore, StructuredQuery(.subtree(below: resourcePath)), fault: fault)
  }
}

extension CollectionReference {
  /// Every document of the collection and below it.
  public func recursive() -> Query {
    var query = StructuredQuery(.subtree(below: resourcePath.parent))
    query.orders = [StructuredQuery.Order(field: .documentID)]
    // Between the lowest id of this collection and that of the one that would come next.
    let lowest = "__id\(Int64.min)__"
    let next = resourcePath.parent.appending(resourcePath.id + "\0")
    query.start = StructuredQuery.Bound(
      values: [.reference(resourcePath.appending(lowest))], isBefore: true)
    query.end = StructuredQuery.Bound(values: [.reference(next.appending(lowest))], isBefore: true)
    return Query(firestore, query, fault: fault)
  }
}
