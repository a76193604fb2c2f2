import Foundation

/// Reads and commits that block their thread until they are done: for code that cannot await, on a thread that may
/// wait. See `Firestore.blocking`.
///
///     let dune = try db.blocking.getDocument(db.document("books/dune"))
///     let batch = db.batch()
///     batch.updateData(["read": true], forDocument: dune.reference)
///     try db.blocking.commit(batch)
///
/// Over every backend; errors are those of the awaited forms. In a write closure, a transaction's block or a callback that
/// the call would wait for, each throws `failedPrecondition`.
public struct BlockingFirestore: Sendable {
  let firestore: Firestore

  /// A missing document gives a snapshot whose `exists` is false.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try getAll([document])[0]
  }

  /// Several documents as of one moment, in the order of `references`.
  public func getAll(_ references: [DocumentReference]) throws -> [DocumentSnapshot] {
    let paths = try reporting { try references.map { try $0.path(in: firestore) } }
    let found = try waiting { backend, done in backend.documents(at: paths, .blocked, done) }
    return zip(references, found).map { DocumentSnapshot($0, $1) }
  }

  /// All documents the query finds.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    let checked = try reporting { try query.checked(in: firestore) }
    let found = try waiting { backend, done in
      backend.documents(matching: checked, .blocked, done)
    }
    return QuerySnapshot(query, first: found)
  }

  /// The numbers that the aggregate query asks for.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    let (aggregations, checked) = try reporting { try query.checked(in: firestore) }
    let values = try waiting { backend, done in
      backend.aggregate(aggregations, over: checked, .blocked, done)
    }
    return AggregateQuerySnapshot(query, values)
  }

  /// As `WriteBatch.commit()` with `await`: returns when the batch is durable, and the callbacks of listeners that it
  /// concerns have returned or 100 ms have passed.
  public func commit(_ batch: WriteBatch) throws {
    let mutations = try reporting { try batch.take(in: firestore) }
    var request = CommitRequest(mutations)
    request.areChecked = true
    _ = try waiting { backend, done in backend.commit(request, .blocked, done) }
  }

  private func waiting<Answer: Sendable>(
    _ verb: (any Backend, @escaping Completion<Answer>) -> Void
  ) throws -> Answer {
    try reporting {
      let backend = try firestore.database().backend
      return try backend.waiting { verb(backend, $0) }
    }
  }
}

extension Firestore {
  /// The database for code that cannot await. Not to be used on a thread that must not wait, as the main actor's.
  public var blocking: BlockingFirestore { BlockingFirestore(firestore: self) }
}
