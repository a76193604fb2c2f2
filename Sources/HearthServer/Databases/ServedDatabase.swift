#if Server
  import HearthEngine
  import Logging

  /// A database of the server: its backend, and the transactions that clients have begun.
  final class ServedDatabase: Sendable {
    let backend: any Backend
    let transactions: TransactionSessions
    let indexes: ServedIndexes
    /// Whether it is shown for databases that do not exist: nothing is written to it.
    let isPlaceholder: Bool
    private let preparation: Guarded<Task<Void, any Error>?>

    init(_ backend: any Backend, _ indexes: ServedIndexes, isPlaceholder: Bool = false) {
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
      /// The newest state, whose time is not asked for.
      case untimed
    }

    /// Reads, and returns the time of the state that was read.
    func read<Answer: Sendable>(
      _ consistency: Consistency,
      _ verb: (RequestContext, @escaping Completion<Answer>) -> Void
    ) async throws -> (Answer, at: Timestamp) {
      switch consistency {
      case .untimed:
        let answer = try await backend.awaiting { verb(.brief, $0) }
        return (answer, Timestamp(seconds: 0, nanoseconds: 0))
      case .past(let time):
        return (try await past(time, verb).get(), time)
      case .transaction(let id):
        let answer = try await backend.awaiting {
          verb(RequestContext(thread: .brief, transaction: id), $0)
        }
        return (answer, try await newestTime())
      case .newest:
        // The seam does not return the time of the state that it reads.
        let before = try await newestTime()
        let answer = try await backend.awaiting { verb(.brief, $0) }
        let after = try await newestTime()
        if before == after { return (answer, after) }
        let past = await past(after, verb)
        if case .failure(let status) = past, status.code == .failedPrecondition {
          // The change log does not reach back so far: nobody can read at either time.
          return (answer, before)
        }
        return (try past.get(), after)
      }
    }

    /// Reads the answer of a unary call. While there is no room for it in memory it is dropped, and then
    /// read again.
    ///
    /// - Parameter bytes: Of an answer, about.
    func read<Answer: Sendable>(
      _ consistency: Consistency, in room: AnswerRoom, bytes: @escaping @Sendable (Answer) -> Int,
      _ verb: (RequestContext, @escaping Completion<Answer>) -> Void
    ) async throws -> Answer {
      // Decided where it is read: no more are in memory than threads that read.
      let (found, size): (Answer?, Int) = try await read(consistency) { context, done in
        verb(context) { answer in
          done(
            answer.map { answer in
              let size = bytes(answer)
              return (room.takes(size) ? answer : nil, size)
            })
        }
      }.0
      if let found { return found }
      try await room.take(size)
      return try await read(consistency, verb).0
    }

    private func past<Answer: Sendable>(
      _ time: Timestamp, _ verb: (RequestContext, @escaping Completion<Answer>) -> Void
    ) async -> Result<Answer, Status> {
      do {
        return .success(
          try await backend.awaiting {
            verb(RequestContext(thread: .brief, readTime: time), $0)
          })
      } catch {
        return .failure(Status(readingFailed: error).ofReadTime)
      }
    }

    func newestTime() async throws -> Timestamp {
      try await backend.awaiting { backend.newestTime(.brief, $0) }
    }

    func documents(
      at paths: [ResourcePath], _ consistency: Consistency
    ) async throws -> ([StoredDocument?], at: Timestamp) {
      try await read(consistency) { backend.documents(at: paths, $0, $1) }
    }

    /// Reads the document at a path for the answer of a unary call.
    func document(
      at path: ResourcePath, _ consistency: Consistency, in room: AnswerRoom
    ) async throws -> StoredDocument? {
      try await read(consistency, in: room) {
        $0[0]?.answerBytes ?? 0
      } _: {
        backend.documents(at: [path], $0, $1)
      }[0]
    }

    func documents(
      matching query: StructuredQuery, _ consistency: Consistency
    ) async throws -> ([StoredDocument], at: Timestamp) {
      try await checkIndexes(query)
      return try await read(consistency) { backend.documents(matching: query, $0, $1) }
    }

    func aggregate(
      _ aggregations: [Aggregation], over query: StructuredQuery, _ consistency: Consistency
    ) async throws -> ([Value], at: Timestamp) {
      try await checkIndexes(query)
      guard case .transaction = consistency else {
        return try await read(consistency) { backend.aggregate(aggregations, over: query, $0, $1) }
      }
      // The seam records no aggregates. If the documents recorded here are still the same at the
      // commit, so were they for this aggregate.
      _ = try await documents(matching: query, consistency)
      return try await read(.newest) { backend.aggregate(aggregations, over: query, $0, $1) }
    }

    func commit(
      _ mutations: [Mutation], in transaction: TransactionID? = nil
    ) async throws -> CommitResult {
      var request = CommitRequest(mutations)
      request.transaction = transaction
      // A client's listeners are in its own process.
      request.completesAfterListeners = false
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
    /// The error for a read time that the change log does not reach, as Cloud Firestore returns it.
    var ofReadTime: Status {
      guard code == .outOfRange else { return self }
      var status = self
      status.code = .failedPrecondition
      return status
    }
  }
#endif
