import Logging

/// Reads of one consistent state of the database, in a closure; see `Firestore.read`.
///
/// Valid only while the closure runs, and only on its thread; later calls throw
/// `failedPrecondition`. Every read blocks the thread.
public class ReadTransaction {
  let firestore: Firestore
  /// Nil once the closure has returned.
  // Exclusivity is unchecked: one thread uses it, and nothing else runs in the middle of an access.
  @exclusivity(unchecked) private var reader: (any DocumentState)?

  init(_ firestore: Firestore, _ reader: any DocumentState) {
    self.firestore = firestore
    self.reader = reader
  }

  func end() { reader = nil }

  /// Runs `body` with the reader. Converts a `Status` that it throws to the `NSError` that users
  /// catch.
  func using<Result>(_ body: (any DocumentState) throws -> Result) throws -> Result {
    return try reporting {
      guard let reader else {
        throw Status(
          .failedPrecondition, "A session can no longer be used after its closure has returned.")
      }
      return try body(reader)
    }
  }

  /// Reads a document. If it does not exist, `exists` of the snapshot is false.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try using { reader in
      DocumentSnapshot(
        document, try reader.answer(.documents(at: [document.path(in: firestore)])).documents[0])
    }
  }

  /// Reads a document, and decodes it directly from the file.
  ///
  /// Throws `DecodingError` if the document does not match the type or does not exist. An optional
  /// type gives nil for a document that does not exist.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) throws -> T {
    try using { reader in
      try reader.withBody(at: document.path(in: firestore)) { body in
        try decoder.decodeDocument(
          type, from: body, named: .path(document.resourcePath), of: document.firestore)
      }
    }
  }

  /// Reads all documents that the query finds.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try using { try query.read(from: $0, in: firestore) }
  }

  /// Reads all documents that the query finds, and decodes them directly from the file, on the
  /// closure's thread.
  ///
  /// Throws `DecodingError` if a document does not match the type.
  public func getDocuments<T: Decodable>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) throws -> [T] {
    try decoded(query, as: type, decoder, isParallel: false)
  }

  /// Reads all documents that the query finds, and decodes them directly from the file; many of
  /// them on several threads at once, see `FirestoreSettings.maxQueryThreads`.
  ///
  /// Throws `DecodingError` if a document does not match the type.
  public func getDocuments<T: Decodable & Sendable & SendableMetatype>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = .standard
  ) throws -> [T] {
    try decoded(query, as: type, decoder, isParallel: decoder.isFreeOfUserCode)
  }

  private func decoded<T: Decodable>(
    _ query: Query, as type: T.Type, _ decoder: Firestore.Decoder, isParallel: Bool
  ) throws -> [T] {
    try using { reader in
      try reader.decoded(matching: query.checked(in: firestore), isParallel: isParallel) {
        [firestore] name, body in
        try decoder.decodeDocument(type, from: body, named: name, of: firestore)
      }
    }
  }

  /// Reads the results of the query, and the documents that they include.
  public func getDocuments(_ query: IncludingQuery) throws -> IncludingSnapshot {
    try using { try query.read(from: $0, in: firestore) }
  }

  /// Computes the aggregations of the query.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    try using { try query.read(from: $0, in: firestore) }
  }

  /// Computes the groups of the query; see `GroupedAggregateQuery.getGroups()`.
  public func getGroups(_ query: GroupedAggregateQuery) throws -> [AggregateGroup] {
    try using { try query.read(from: $0, in: firestore) }
  }
}

extension Firestore {
  /// Runs `body` on a consistent snapshot of the database.
  ///
  ///     let (author, books) = try await db.read { snapshot in
  ///       let author = try snapshot.getDocument(herbert, as: Author.self)
  ///       return (author, try snapshot.getDocuments(herbert.collection("books"), as: Book.self))
  ///     }
  ///
  /// Documents are decoded where they lie in the file. Sees every write of this process whose call
  /// has returned before.
  ///
  /// `body` runs where the caller runs. It is synchronous, because the file keeps the pages of the
  /// snapshot while `body` runs; a `body` that takes longer than one second is logged.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) async throws -> Result {
    try await read(asOf: nil, body)
  }

  /// As the async form; blocks while it waits for earlier writes that are not awaited. Throws
  /// `failedPrecondition` in a write closure or a transaction's block of the same database.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    try readBlocking(asOf: nil, body)
  }

  /// Runs `body` on the database as it was at `time`: after the last commit at or before it.
  ///
  ///     let before = try await db.read(at: change.commitTime) { try $0.getDocuments(books) }
  ///
  /// Waits for the writes of this process that have begun. After that, a time up to now always
  /// gives the same state, with one exception: a commit that another process has begun may still
  /// get an earlier time.
  ///
  /// Reads as far back as the change log goes; see `FirestoreSettings.changeLogRetention`. Times
  /// are compared in whole microseconds.
  ///
  /// A document costs its own versions since then. A query costs the changes of its collections
  /// since then, not other writes; it uses indexes as usual. It keeps in memory the names of the
  /// documents that have changed, and the earlier versions that are results. A query of everything
  /// below a document costs the changes of the whole database.
  ///
  /// Throws `outOfRange` if the log does not reach back that far, `invalidArgument` for a time in
  /// the future, and the errors of `read(_:)`.
  public func read<Result>(
    at time: Timestamp, _ body: (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await read(asOf: time, body)
  }

  /// As the async form; blocks while it waits, and throws, as the blocking `read(_:)` does.
  public func read<Result>(
    at time: Timestamp, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    try readBlocking(asOf: time, body)
  }

  private func read<Result>(
    asOf time: Timestamp?, _ body: (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await reporting {
      let database = try database()
      let backend = try database.checkedLocal()
      return try await backend.read(at: time) { try run(body, $0, database.logger) }
    }
  }

  private func readBlocking<Result>(
    asOf time: Timestamp?, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    return try reporting {
      let database = try database()
      let backend = try database.checkedLocal()
      return try backend.readBlocking(at: time) { try run(body, $0, database.logger) }
    }
  }

  private func run<Result>(
    _ body: (ReadTransaction) throws -> Result, _ reader: any DocumentState,
    _ logger: Logger
  ) throws -> Result {
    let timer = ClosureTimer()
    let session = ReadTransaction(self, reader)
    defer {
      session.end()
      timer.warnIfLong("A read closure kept old pages of the file in use.", logger)
    }
    return try body(session)
  }
}
