import Foundation

/// Reads and commits that block their thread until they are done: for code that cannot await, on a thread that may
/// wait. See `Firestore.blocking`.
///
///     let dune = try db.blocking.getDocument(db.document("books/dune"))
///     let batch = db.batch()
///     batch.updateData(["read": true], forDocument: dune.reference)
///     try db.blocking.commit(batch)
///
/// Over every backend. In a write closure, a transaction's block or a callback that the call would wait for, each throws
/// `failedPrecondition`; after `terminate()` too.
public struct BlockingFirestore: Sendable {
  let firestore: Firestore

  /// A missing document gives a snapshot whose `exists` is false. Throws as `DocumentReference.getDocument()` does:
  /// `invalidArgument` for a reference to another database, `dataLoss` for a damaged document.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try getAll([document])[0]
  }

  /// Several documents as of one moment, in the order of `references`. Throws as `getDocument(_:)` does: all or nothing.
  public func getAll(_ references: [DocumentReference]) throws -> [DocumentSnapshot] {
    try reporting {
      let paths = try references.map { try $0.path(in: firestore) }
      let found = try backend.documentsBlocking(at: paths)
      return zip(references, found).map { DocumentSnapshot($0, $1) }
    }
  }

  /// All documents the query finds. Throws as `Query.getDocuments()` does: `invalidArgument` for a query that was not
  /// well formed or is of another database, `dataLoss` for a damaged document.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try reporting {
      let found = try backend.documentsBlocking(matching: query.checked(in: firestore))
      return QuerySnapshot(query, first: found)
    }
  }

  /// The numbers that the aggregate query asks for. Throws as `getDocuments(_:)` does, and `invalidArgument` for
  /// fields that are not well formed.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    try reporting {
      let (aggregations, checked) = try query.checked(in: firestore)
      let values = try backend.aggregateBlocking(aggregations, over: checked)
      return AggregateQuerySnapshot(query, values)
    }
  }

  /// As `WriteBatch.commit()` with `await`: returns when the batch is durable, and the callbacks of listeners that it
  /// concerns have returned or 100 ms have passed. Throws as it does, and nothing is written then: `invalidArgument`
  /// for a write that was not well formed, `failedPrecondition` for a batch that was committed before, `notFound` for
  /// an update of a missing document, `resourceExhausted` for a full disk or map.
  public func commit(_ batch: WriteBatch) throws {
    try reporting {
      try backend.commitBlocking(batch.take(in: firestore), areChecked: true)
    }
  }

  private var backend: any Backend {
    get throws { try firestore.database().backend }
  }
}

extension Firestore {
  /// The database for code that cannot await. Not to be used on a thread that must not wait, as the main actor's.
  public var blocking: BlockingFirestore { BlockingFirestore(firestore: self) }
}
