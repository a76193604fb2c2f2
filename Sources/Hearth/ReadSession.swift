import Foundation
import LMDB
import Logging

/// Many reads of one state of the database, in a closure; see `Firestore.read`.
///
/// Only valid while the closure runs, on its thread. Blocks while it reads.
public class ReadSession {
  enum Source {
    case snapshot(StoreSnapshot)
    case request(LiveRequest)
  }

  let firestore: Firestore
  private let database: Database
  /// Nil once the closure has returned.
  private var source: Source?

  init(_ firestore: Firestore, _ database: Database, _ source: Source) {
    self.firestore = firestore
    self.database = database
    self.source = source
  }

  func end() { source = nil }

  /// Runs `body` with what there is to read; what it throws of the engine is what users catch.
  func using<Result>(_ body: (Source) throws -> Result) throws -> Result {
    do {
      guard let source else {
        throw Status(
          .failedPrecondition, "A session can no longer be used after its closure has returned.")
      }
      return try body(source)
    } catch let error as LMDBError {
      throw Status(reading: error).nsError
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// The document; a missing one gives a snapshot whose `exists` is false.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try using { source in
      let name = try document.name(in: firestore)
      let stored =
        switch source {
        case .snapshot(let snapshot): try snapshot.document(name)
        case .request(let request): try request.document(name)
        }
      return DocumentSnapshot(document, stored)
    }
  }

  /// The document, decoded straight from the file.
  ///
  /// Throws `DecodingError` if the document does not fit, or does not exist. An optional type gives nil for a
  /// document that does not exist.
  public func getDocument<T: Decodable>(
    _ document: DocumentReference, as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    try using { source in
      let name = try document.name(in: firestore)
      let decode = { (body: StoredBody?) in
        try decoder.decodeDocument(type, from: body, context: document.decodingContext)
      }
      return switch source {
      case .snapshot(let snapshot): try decode(snapshot.body(of: name))
      case .request(let request): try request.withBody(of: name, decode)
      }
    }
  }

  /// All documents the query finds.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try using { source in
      let effective = try effective(query)
      let documents = try database.tracing { trace in
        switch source {
        case .snapshot(let snapshot): try snapshot.documents(matching: effective, trace: trace)
        case .request(let request): try request.documents(matching: effective, trace: trace)
        }
      }
      return QuerySnapshot(query, first: documents)
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
    try using { source in
      let effective = try effective(query)
      let decode = { [firestore] (name: StoredName, body: StoredBody) in
        let context = DocumentDecoder.Context(document: name, owner: firestore)
        return try decoder.decodeDocument(type, from: body, context: context)
      }
      return try database.tracing { trace in
        switch source {
        case .snapshot(let snapshot):
          return try snapshot.decoded(
            matching: effective, trace: trace, isParallel: isParallel, decode)
        case .request(let request):
          var results: [T] = []
          try request.forEachBody(matching: effective, trace: trace) {
            results.append(try decode($0, $1))
          }
          return results
        }
      }
    }
  }

  /// What the aggregate query adds up.
  public func getAggregation(_ query: AggregateQuery) throws -> AggregateQuerySnapshot {
    try using { source in
      try check(query.query)
      let (aggregations, effective) = try query.checked()
      let values = try database.tracing { trace in
        switch source {
        case .snapshot(let snapshot):
          try snapshot.aggregate(aggregations, over: effective, trace: trace)
        case .request(let request):
          try request.aggregate(aggregations, over: effective, trace: trace)
        }
      }
      return AggregateQuerySnapshot(query, values)
    }
  }

  private func effective(_ query: Query) throws -> EffectiveQuery {
    try check(query)
    return try query.effective()
  }

  private func check(_ query: Query) throws {
    guard query.firestore === firestore else {
      throw Status.invalidArgument("Provided query is from a different Cloud Firestore instance.")
    }
  }
}

extension Firestore {
  /// Reads as much as it likes of one state of the database, decoded where it lies in the file.
  ///
  ///     let (author, books) = try await db.read { snapshot in
  ///       let author = try snapshot.getDocument(herbert, as: Author.self)
  ///       return (author, try snapshot.getDocuments(herbert.collection("books"), as: Book.self))
  ///     }
  ///
  /// Sees every write of this process whose call has returned before. Runs at once and where it is called: `body` is
  /// synchronous, for while it runs the file keeps the pages of its state; past a second that is logged.
  public func read<Result>(_ body: (ReadSession) throws -> Result) async throws -> Result {
    let opened = try await reporting {
      let opened = try database()
      await opened.writer.settle(.everything)
      return opened
    }
    return try read(opened, body)
  }

  /// As the form that is awaited; waits for earlier writes that nobody awaits by blocking. Throws
  /// `failedPrecondition` in a transaction's block of the same database.
  public func read<Result>(_ body: (ReadSession) throws -> Result) throws -> Result {
    let opened: Database
    do {
      opened = try database()
      try BlockThread.refuse(in: opened)
      try opened.writer.settleBlocking(.everything)
    } catch let status as Status {
      throw status.nsError
    }
    return try read(opened, body)
  }

  private func read<Result>(
    _ database: Database, _ body: (ReadSession) throws -> Result
  ) throws -> Result {
    do {
      return try database.store.read { snapshot in
        let began = ContinuousClock.now
        let session = ReadSession(self, database, .snapshot(snapshot))
        defer {
          session.end()
          warnIfLong(
            "A read closure kept old pages of the file in use.", since: began, database.logger)
        }
        return try body(session)
      }
    } catch let status as Status {
      throw status.nsError
    }
  }
}
