import Foundation
import Logging

/// Many reads of one state of the database, in a closure; see `Firestore.read`.
///
/// Only valid while the closure runs, on its thread. Blocks while it reads.
public class ReadTransaction {
  let firestore: Firestore
  /// Nil once the closure has returned.
  private var reader: (any LocalReader)?

  init(_ firestore: Firestore, _ reader: any LocalReader) {
    self.firestore = firestore
    self.reader = reader
  }

  func end() { reader = nil }

  /// Runs `body` with what there is to read; what it throws of the engine is what users catch.
  func using<Result>(_ body: (any LocalReader) throws -> Result) throws -> Result {
    do {
      guard let reader else {
        throw Status(
          .failedPrecondition, "A session can no longer be used after its closure has returned.")
      }
      return try body(reader)
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// The document; a missing one gives a snapshot whose `exists` is false.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try using { reader in
      DocumentSnapshot(document, try reader.document(at: document.path(in: firestore)))
    }
  }

  /// The document, decoded straight from the file.
  ///
  /// Throws `DecodingError` if the document does not fit, or does not exist. An optional type gives nil for a
  /// document that does not exist.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    try using { reader in
      try reader.withBody(at: document.path(in: firestore)) { body in
        try decoder.decodeDocument(
          type, from: body, named: .path(document.resourcePath), of: document.firestore)
      }
    }
  }

  /// All documents the query finds.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try using { reader in
      QuerySnapshot(query, first: try reader.documents(matching: query.checked(in: firestore)))
    }
  }

  /// All documents the query finds, decoded straight from the file.
  ///
  /// Throws `DecodingError` if one of them does not fit. The closure's thread decodes them all.
  public func getDocuments<T: Decodable>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> [T] {
    try decoded(query, as: type, decoder, isParallel: false)
  }

  /// All documents the query finds, decoded straight from the file; many of them by several threads at once,
  /// see `FirestoreSettings.queryThreads`.
  ///
  /// Throws `DecodingError` if one of them does not fit.
  public func getDocuments<T: Decodable & Sendable & SendableMetatype>(
    _ query: Query, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
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

  /// What the aggregate query adds up.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    try using { reader in
      let (aggregations, checked) = try query.checked(in: firestore)
      return AggregateQuerySnapshot(
        query, try reader.aggregate(aggregations, over: checked))
    }
  }
}

extension Firestore {
  /// Runs `body` on a consistent snapshot of the database, decoded where it lies in the file.
  ///
  ///     let (author, books) = try await db.read { snapshot in
  ///       let author = try snapshot.getDocument(herbert, as: Author.self)
  ///       return (author, try snapshot.getDocuments(herbert.collection("books"), as: Book.self))
  ///     }
  ///
  /// Sees every write of this process whose call has returned before. Runs at once and where it is called: `body` is
  /// synchronous, for while it runs the file keeps the pages of its state; past a second that is logged.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) async throws -> Result {
    try await read(asOf: nil, body)
  }

  /// As the form that is awaited; waits for earlier writes that nobody awaits by blocking. Throws
  /// `failedPrecondition` in a transaction's block of the same database.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    try readBlocking(asOf: nil, body)
  }

  /// Runs `body` on the database as it was at `time`: after the last commit at or before it.
  ///
  ///     let before = try await db.read(at: change.commitTime) { try $0.getDocuments(books) }
  ///
  /// Waits for the writes of this process that have begun, so that a time up to now is answered alike ever after; only
  /// a commit that another process has under way may still get an earlier time.
  ///
  /// Reads as far back as the change log goes; see `FirestoreSettings.changeLogRetention`. Times are compared in
  /// whole microseconds. A document costs its own versions since then, a query the changes of its collections since
  /// then, whatever else was written: it holds the names of the documents that have changed in memory, and the earlier
  /// versions that are results. Indexes serve it as always. A query of everything below a document costs the changes of
  /// the whole database.
  ///
  /// Throws `outOfRange` if the log does not reach back that far, `invalidArgument` for a time in the future, and
  /// what `read(_:)` throws.
  public func read<Result>(
    at time: Timestamp, _ body: (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await read(asOf: time, body)
  }

  /// As the form that is awaited; waits by blocking, as the blocking `read(_:)` does.
  public func read<Result>(
    at time: Timestamp, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    try readBlocking(asOf: time, body)
  }

  private func read<Result>(
    asOf time: Timestamp?, _ body: (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await reporting {
      let (backend, logger) = (try local(), try database().logger)
      return try await backend.read(at: time) { try run(body, $0, logger) }
    }
  }

  private func readBlocking<Result>(
    asOf time: Timestamp?, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    do {
      let (backend, logger) = (try local(), try database().logger)
      return try backend.readBlocking(at: time) { try run(body, $0, logger) }
    } catch let status as Status {
      throw status.nsError
    }
  }

  private func run<Result>(
    _ body: (ReadTransaction) throws -> Result, _ reader: any LocalReader,
    _ logger: Logger
  ) throws -> Result {
    let began = ContinuousClock.now
    let session = ReadTransaction(self, reader)
    defer {
      session.end()
      warnIfLong(
        "A read closure kept old pages of the file in use.", since: began, logger)
    }
    return try body(session)
  }
}
