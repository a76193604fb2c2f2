import Foundation

/// One state of the database for several reads that are awaited.
///
///     let state = try await db.snapshot()
///     let author = try await state.getDocument(herbert)
///     let books = try await state.getDocuments(herbert.collection("books"))
///
/// Every read shows the database as it was at `time`, whatever is written meanwhile. Holds nothing open: what has changed
/// since is read from the change log, so that a read costs more the more its own documents have changed, and throws
/// `outOfRange` once the log no longer reaches back to `time`; see `FirestoreSettings.changeLogRetention`. For short work
/// `Firestore.read(_:)` reads what is stored, at no such cost.
public final class DatabaseSnapshot: Sendable {
  private let firestore: Firestore
  /// In whole microseconds.
  public let time: Timestamp

  init(_ firestore: Firestore, at time: Timestamp) {
    self.firestore = firestore
    self.time = time
  }

  /// A missing document gives a snapshot whose `exists` is false.
  public func getDocument(_ document: DocumentReference) async throws -> DocumentSnapshot {
    try await getAll([document])[0]
  }

  /// Several documents, in the order of `references`.
  public func getAll(_ references: [DocumentReference]) async throws -> [DocumentSnapshot] {
    try await reporting {
      let paths = try references.map { try $0.path(in: firestore) }
      let backend = try firestore.database().backend
      let found = try await backend.documents(at: paths, asOf: time)
      return zip(references, found).map { DocumentSnapshot($0, $1) }
    }
  }

  /// All documents the query finds.
  public func getDocuments(_ query: Query) async throws -> QuerySnapshot {
    try await reporting {
      let checked = try query.checked(in: firestore)
      let backend = try firestore.database().backend
      return QuerySnapshot(
        query, first: try await backend.documents(matching: checked, asOf: time))
    }
  }

  /// The document, decoded. Throws `DecodingError` if it does not fit, or does not exist; an optional type gives nil for
  /// a document that does not exist.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) async throws -> T {
    try await getDocument(document).data(as: type, decoder: decoder)
  }

  /// All documents the query finds, decoded. Throws `DecodingError` if one of them does not fit.
  public func getDocuments<T: Decodable>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) async throws -> [T] {
    try await getDocuments(query).documents.map { try $0.data(as: type, decoder: decoder) }
  }

  /// The numbers that the aggregate query asks for.
  public func getAggregation(_ query: AggregateQuery) async throws -> AggregateQuerySnapshot {
    try await reporting {
      let (aggregations, checked) = try query.checked(in: firestore)
      let backend = try firestore.database().backend
      return AggregateQuerySnapshot(
        query, try await backend.aggregate(aggregations, over: checked, asOf: time))
    }
  }
}

extension Firestore {
  /// The state of the database as it is now, with every write of this process whose call has returned before, or as it
  /// was at `time`: after the last commit at or before it, in whole microseconds.
  ///
  /// What is read at a time to come throws `invalidArgument`, and at one that the change log does not reach `outOfRange`.
  public func snapshot(at time: Timestamp? = nil) async throws -> DatabaseSnapshot {
    try await reporting {
      let backend = try database().backend
      return DatabaseSnapshot(self, at: try await backend.time(at: time))
    }
  }
}
