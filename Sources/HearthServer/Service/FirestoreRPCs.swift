#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// GRPCCore has one too.
  typealias Status = HearthEngine.Status

  /// The service `google.firestore.v1.Firestore`. Each extension has the calls of one kind.
  struct FirestoreRPCs: ProtoFirestore.SimpleServiceProtocol {
    let catalog: DatabaseCatalog
    let streams: ListenStreams
    let writeStreams: WriteStreams
    let results: KeptResults
    let targetsPerStream: Int
    let membersPerStream: Int

    /// Runs a call on the database with this name.
    ///
    /// - Parameter writes: Whether the call may create the database.
    func with<Answer>(
      _ name: DatabaseName, writes: Bool, _ body: (ServedDatabase) async throws -> Answer
    ) async throws -> Answer {
      do {
        let database = try await catalog.use(name, for: writes ? .writing : .reading)
        defer { catalog.endUse(of: name, database) }
        try await database.prepared()
        return try await body(database)
      } catch let status as Status {
        throw name.named(status)
      }
    }

    /// Writes an answer for each document of a result, in parts.
    func write<Answer>(
      _ result: KeptResult, _ response: RPCWriter<Answer>, _ context: ServerContext,
      in database: ServedDatabase, at time: Timestamp,
      _ answer: (StoredDocument) throws -> Answer
    ) async throws {
      let room = context.answerRoom
      func next() async throws -> [Answer] {
        try await result.next(room, in: database, at: time).map(answer)
      }
      while case let answers = try await next(), !answers.isEmpty {
        try await response.write(contentsOf: answers)
      }
    }

    /// A call that names a database.
    func with<Answer>(
      database: String, writes: Bool = false,
      _ body: (ServedDatabase, DatabaseName) async throws -> Answer
    ) async throws -> Answer {
      let name = try DatabaseName(database)
      return try await with(name, writes: writes) { try await body($0, name) }
    }

    /// A call that names a document or, if `allowsRoot`, a database's root.
    func with<Answer>(
      document: String, allowsRoot: Bool = false, writes: Bool = false,
      _ body: (ServedDatabase, DatabaseName, ResourcePath) async throws -> Answer
    ) async throws -> Answer {
      let (name, path) = try DatabaseName.parse(document: document, allowsRoot: allowsRoot)
      return try await with(name, writes: writes) { try await body($0, name, path) }
    }
  }

  extension Status: RPCErrorConvertible {
    /// The code for a client. Clients send a commit again after `unavailable` and `resourceExhausted`,
    /// also one that may have been applied: that one is `unknown`.
    var clientCode: Code { mayBeDone ? .unknown : code }

    package var rpcErrorCode: RPCError.Code {
      GRPCCore.Status.Code(rawValue: clientCode.rawValue).flatMap { RPCError.Code($0) } ?? .unknown
    }
    package var rpcErrorMessage: String { message }
    package var rpcErrorCause: (any Error)? { nil }
  }

  extension ServedDatabase {
    /// The state that a request reads by its transaction.
    func consistency(
      transaction id: Data, _ context: ServerContext
    ) throws(Status) -> Consistency {
      try transactions.consistency(of: id, context.remotePeer)
    }

    func consistency(
      readTime: Google_Protobuf_Timestamp? = nil
    ) throws(Status) -> Consistency {
      guard let readTime else { return .newest }
      return .past(Timestamp(try Instant(exactly: readTime, "The read time")))
    }
  }
#endif
