#if Server
  import HearthEngine
  import Logging

  /// A database of the server: its backend, and the transactions that clients have begun.
  final class ServedDatabase: Sendable {
    let backend: any StoreBackend
    let transactions: TransactionSessions
    let indexes: ServedIndexes
    /// Whether it is shown for databases that do not exist: nothing is written to it.
    let isPlaceholder: Bool
    private let preparation: Guarded<Task<Void, any Error>?>

    init(_ backend: any StoreBackend, _ indexes: ServedIndexes, isPlaceholder: Bool = false) {
      self.indexes = indexes
      self.isPlaceholder = isPlaceholder
      preparation = Guarded(indexes.prepare(backend))
      self.backend = backend
      transactions = TransactionSessions(self.backend)
    }

    /// Returns when the database has the server's indexes, and throws if it cannot have them.
    func prepared() async throws { try await preparation.withLock(\.self)?.value }

    /// Declares other indexes after the former ones. An entry that cannot be declared is logged, and the
    /// database goes on with what it has.
    func replaceIndexes(_ indexes: ServedIndexes, logger: Logger) {
      preparation.withLock { preparation in
        let former = preparation
        preparation = Task { [backend] in
          _ = await former?.result
          do {
            try await indexes.prepare(backend)?.value
          } catch {
            logger.error("The indexes are not replaced.", metadata: ["error": "\(error)"])
          }
        }
      }
    }

    /// The state that a request reads.
    enum Consistency: Sendable {
      case newest
      /// Of a request, or of a read-only transaction.
      case past(Timestamp)
      /// The newest state; the transaction records what is read.
      case transaction(TransactionID)

      var isTransaction: Bool { if case .transaction = self { true } else { false } }

      var context: RequestContext {
        switch self {
        case .newest: .brief
        case .past(let time): RequestContext(thread: .brief, readTime: time)
        case .transaction(let id): RequestContext(thread: .brief, transaction: id)
        }
      }
    }

    /// The part that was read, the time of its state, and the cost of the request's query if it is measured.
    typealias Reading<Part> = (Part, at: Timestamp, QueryExplanation.Execution?)

    /// - Parameter part: Takes what is wanted of the answer, where it is read.
    func read<Part: Sendable>(
      _ consistency: Consistency, _ request: ReadRequest, isMeasured: Bool = false,
      _ part: @escaping @Sendable (ReadAnswer) throws -> Part
    ) async throws -> Reading<Part> {
      var context = consistency.context
      context.isMeasured = isMeasured
      do {
        return try await backend.awaiting { [context] done in
          backend.read(request, context) { result in
            done(
              result.flatMap { found in
                Result { (try part(found.answer), at: found.version.time, found.execution) }
                  .mapError { Status(readingFailed: $0) }
              })
          }
        }
      } catch {
        guard case .past = consistency else { throw error }
        throw Status(readingFailed: error).ofReadTime
      }
    }

    /// Reads the answer of a unary call. While there is no room for it in memory it is dropped, and then
    /// read again.
    ///
    /// - Parameter bytes: Of a part, about.
    func read<Part: Sendable>(
      _ consistency: Consistency, in room: AnswerRoom, _ request: ReadRequest,
      bytes: @escaping @Sendable (Part) -> Int,
      _ part: @escaping @Sendable (ReadAnswer) throws -> Part
    ) async throws -> Part {
      // Decided where it is read: no more are in memory than threads that read.
      let (found, size): (Part?, Int) = try await read(consistency, request) { answer in
        let part = try part(answer)
        let size = bytes(part)
        return (room.takes(size) ? part : nil, size)
      }.0
      if let found { return found }
      try await room.take(size)
      return try await read(consistency, request, part).0
    }

    func newestTime() async throws -> Timestamp {
      try await read(.newest, .nothing) { _ in }.at
    }

    func documents(
      at paths: [ResourcePath], _ consistency: Consistency
    ) async throws -> [StoredDocument?] {
      try await read(consistency, .documents(at: paths)) { try $0.documents }.0
    }

    /// Reads the document at a path for the answer of a unary call.
    func document(
      at path: ResourcePath, _ consistency: Consistency, in room: AnswerRoom
    ) async throws -> StoredDocument? {
      try await read(consistency, in: room, .documents(at: [path])) {
        $0?.answerBytes ?? 0
      } _: {
        try $0.documents[0]
      }
    }

    func results(
      of query: StructuredQuery, _ consistency: Consistency
    ) async throws -> [StoredDocument] {
      try await checkIndexes(query)
      return try await read(consistency, .results(EffectiveQuery(query))) { try $0.results }.0
    }

    func commit(
      _ mutations: [Mutation], in transaction: TransactionID? = nil
    ) async throws -> CommitResult {
      // A client's listeners are in its own process.
      let request = CommitRequest(mutations, completesAfterListeners: false, in: transaction)
      do {
        return try await backend.awaiting { backend.commit(request, .brief, $0) }
      } catch let status as Status where transaction != nil && status.isContention {
        throw Status(
          .aborted,
          "Aborted due to cross-transaction contention: what the transaction read has changed. "
            + "Please try again.")
      }
    }
  }

  extension Status {
    static let shuttingDown = Status(.unavailable, "The server is shutting down.")

    /// The error for a read time that the change log does not reach, as Cloud Firestore returns it.
    var ofReadTime: Status {
      guard code == .outOfRange else { return self }
      var status = self
      status.code = .failedPrecondition
      return status
    }
  }
#endif
