#if Server
  import FirestoreProtocol
  import GRPCCore
  import HearthEngine

  /// GRPCCore has one too.
  typealias Status = HearthEngine.Status

  /// The service `google.firestore.v1.Firestore`. Each extension has the calls of one kind.
  struct FirestoreRPCs: ProtoFirestore.SimpleServiceProtocol {
    let catalog: DatabaseCatalog
    let streams: ListenStreams
    let writeStreams: WriteStreams
    let results: KeptResults
    let limits: FirestoreServer.Limits

    /// Runs a call on the database with this name.
    ///
    /// - Parameter writes: Whether the call may create the database.
    func with<Answer>(
      _ name: DatabaseName, writes: Bool = false, _ body: (ServedDatabase) async throws -> Answer
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
      while true {
        let answers = try await result.next(room, in: database, at: time).map(answer)
        if answers.isEmpty { return }
        try await response.write(contentsOf: answers)
      }
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
#endif
