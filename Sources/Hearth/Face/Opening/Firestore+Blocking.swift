import Foundation

/// Reads and commits that block their thread until they are done, for code that cannot await, on a
/// thread that may wait. See `Firestore.blocking`.
///
///     let dune = try db.blocking.getDocument(db.document("books/dune"))
///     let batch = db.batch()
///     batch.updateData(["read": true], forDocument: dune.reference)
///     try db.blocking.commit(batch)
///
/// Works with every backend. Every call throws `failedPrecondition` in a write closure, in a
/// transaction's block, in a callback that the call would wait for, and after `terminate()`.
public struct BlockingFirestore: Sendable {
  let firestore: Firestore

  /// Returns the document. If it is missing, the snapshot's `exists` is false.
  ///
  /// Throws the errors of `DocumentReference.getDocument()`: `invalidArgument` for a reference to
  /// another database, `dataLoss` for a damaged document.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try getAll([document])[0]
  }

  /// Returns several documents as of one commit, in the order of `references`. Throws the errors of
  /// `getDocument(_:)`; then no document is returned.
  public func getAll(_ references: [DocumentReference]) throws -> [DocumentSnapshot] {
    try reporting {
      let paths = try references.map { try $0.path(in: firestore) }
      let found = try backend.readBlocking(.documents(at: paths)).documents
      return zip(references, found).map { DocumentSnapshot($0, $1) }
    }
  }

  /// Returns the query's results.
  ///
  /// Throws the errors of `Query.getDocuments()`: `invalidArgument` for an invalid query or one of
  /// another database, `dataLoss` for a damaged document.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try query.readBlocking(in: firestore)
  }

  /// Returns the query's results with the documents that they include, all from one state of the
  /// database. Throws the errors of `getDocuments(_:)`.
  public func getDocuments(_ query: IncludingQuery) throws -> IncludingSnapshot {
    try query.readBlocking(in: firestore)
  }

  /// Returns the aggregations that the query requests. Throws the errors of `getDocuments(_:)`, and
  /// `invalidArgument` for invalid fields.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    try query.readBlocking(in: firestore)
  }

  /// Returns the groups of a query. Throws the errors of `GroupedAggregateQuery.getGroups()`.
  public func getGroups(_ query: GroupedAggregateQuery) throws -> [AggregateGroup] {
    try query.readBlocking(in: firestore)
  }

  /// Commits a batch, as `WriteBatch.commit()` with `await` does. Returns when the batch is durable
  /// and the callbacks of affected listeners have returned, or 100 ms have passed.
  ///
  /// Throws the errors of that method, and nothing is written then: `invalidArgument` for an
  /// invalid write, `failedPrecondition` for a batch that was committed before, `notFound` for an
  /// update of a missing document, `resourceExhausted` if the disk or the map is full.
  public func commit(_ batch: WriteBatch) throws {
    try reporting {
      try backend.commitBlocking(batch.take(in: firestore), areChecked: true)
    }
  }

  /// Declares rules for references, as `FirestoreReferences.declare(_:)` does. Returns when this is
  /// durable. Throws the errors of that method.
  public func declare(_ rules: [FirestoreReferenceRule]) throws {
    try reporting { try backend.asIndexed().declareBlocking(rules.map { try $0.definition() }) }
  }

  /// Declares indexes, as `FirestoreIndexes.declare(_:)` does. Returns when this is durable, before
  /// they are built. Throws the errors of that method.
  public func declare(_ indexes: [FirestoreIndex]) throws {
    try reporting { try backend.asIndexed().declareBlocking(indexes.map { try $0.definition() }) }
  }

  private var backend: any Backend {
    get throws { try firestore.database().backend }
  }
}

extension Firestore {
  /// The database for code that cannot await. Do not use it on a thread that must not block, such
  /// as the main actor's.
  public var blocking: BlockingFirestore { BlockingFirestore(firestore: self) }
}
