/// A consistent snapshot of the database for several awaited reads.
///
///     let state = try await db.snapshot()
///     let author = try await state.getDocument(herbert)
///     let books = try await state.getDocuments(herbert.collection("books"))
///
/// Every read shows the database as it was at `time`; later writes do not change it. Keeps no
/// transaction open. Changes since `time` are read from the change log, so a read costs more the
/// more its own documents have changed since. Once the log no longer reaches back to `time`, reads
/// throw `outOfRange`; see `FirestoreSettings.changeLogRetention`. For short work,
/// `Firestore.read(_:)` reads the stored state without that cost.
public final class DatabaseSnapshot: Sendable {
  private let firestore: Firestore
  /// The time of the snapshot, in whole microseconds.
  public let time: Timestamp

  init(_ firestore: Firestore, at time: Timestamp) {
    self.firestore = firestore
    self.time = time
  }

  /// Returns the document. If it is missing, the snapshot's `exists` is false.
  ///
  /// Throws `invalidArgument` for an invalid reference or one of another database.
  public func getDocument(_ document: DocumentReference) async throws -> DocumentSnapshot {
    try await getAll([document])[0]
  }

  /// Returns several documents, in the order of `references`. Missing ones have `exists` false.
  public func getAll(_ references: [DocumentReference]) async throws -> [DocumentSnapshot] {
    try await reporting {
      let paths = try references.map { try $0.path(in: firestore) }
      let backend = try firestore.database().backend
      let found = try await backend.versioned(.documents(at: paths), at: time).answer.documents
      return zip(references, found).map { DocumentSnapshot($0, $1) }
    }
  }

  /// Returns the query's results. Throws `invalidArgument` for an invalid query or one of another
  /// database.
  public func getDocuments(_ query: Query) async throws -> QuerySnapshot {
    try await query.read(in: firestore, at: time)
  }

  /// Returns the document, decoded. Throws `DecodingError` if it does not match the type or does
  /// not exist; an optional type gives nil for a document that does not exist.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) async throws -> T {
    try await getDocument(document).data(as: type, decoder: decoder)
  }

  /// Returns the query's results, decoded. Throws `DecodingError` if one of them does not match the
  /// type.
  public func getDocuments<T: Decodable>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) async throws -> [T] {
    try await getDocuments(query).documents.map { try $0.data(as: type, decoder: decoder) }
  }

  /// Returns the aggregations that the query requests.
  public func getAggregation(_ query: AggregateQuery) async throws -> AggregateQuerySnapshot {
    try await query.read(in: firestore, at: time)
  }
}

extension Firestore {
  /// Returns a consistent snapshot for several awaited reads.
  ///
  /// Without `time` it shows the newest state, including every write of this process whose call has
  /// returned before. With `time`, in whole microseconds, it shows the state after the last commit
  /// at or before `time`.
  ///
  /// Throws `invalidArgument` for a time in the future, and `outOfRange` for one that the change
  /// log does not reach.
  public func snapshot(at time: Timestamp? = nil) async throws -> DatabaseSnapshot {
    try await reporting {
      let backend = try database().backend
      guard let time else {
        return DatabaseSnapshot(self, at: try await backend.newestVersion().time)
      }
      return DatabaseSnapshot(self, at: Timestamp(Instant(time)))
    }
  }
}
