#if Server
  import FirestoreProtocol
  import Foundation
  import HearthEngine

  /// The transactions that clients have begun in a database and not ended.
  ///
  ///     begin ─▶ open ─ reads ─▶ open ─ commit ─▶ ended
  ///                      ├─ commit fails ─▶ failed ─ retry, rollback ─▶ ended
  ///                      └─ rollback, client gone, idle for a minute, 270 s old ─▶ ended
  ///
  /// Optimistic: a commit fails with `aborted` if what the transaction read has changed.
  final class TransactionSessions: Sendable {
    private enum Mode {
      /// Reads the state at this time.
      case readOnly(Timestamp)
      case readWrite(TransactionID)
      /// Its commit failed: it can only be retried or rolled back.
      case failed(TransactionID)
    }

    private struct Session {
      var mode: Mode
      /// The client that used it last.
      var client: String
      let began = ContinuousClock.now
      var lastUse = ContinuousClock.now

      var isExpired: Bool {
        let now = ContinuousClock.now
        return now - lastUse > .seconds(Limits.transactionIdleSeconds)
          || now - began > .seconds(Limits.transactionSeconds)
      }

      /// The backend's transaction.
      var id: TransactionID? {
        switch mode {
        case .readOnly: nil
        case .readWrite(let id), .failed(let id): id
        }
      }
    }

    private let backend: any Backend
    private let sessions = Guarded<[Data: Session]>([:])

    init(_ backend: any Backend) { self.backend = backend }

    /// Begins a transaction, and returns its id.
    ///
    /// - Parameters:
    ///   - isReadOnly: The mode if the options have none.
    ///   - client: The address of the client's connection; see `endTransactions`.
    func begin(
      _ options: ProtoTransactionOptions, isReadOnly: Bool, _ client: String
    ) async throws -> Data {
      let mode: Mode
      switch options.mode {
      case .readOnly(let options):
        guard case .readTime(let time)? = options.consistencySelector else {
          mode = .readOnly(try await newestTime())
          break
        }
        mode = .readOnly(Timestamp(try Instant(exactly: time, "The read time")))
      case nil where isReadOnly: mode = .readOnly(try await newestTime())
      case .readWrite(let options):
        mode = .readWrite(try await begin(retrying: try former(options.retryTransaction)))
      case nil: mode = .readWrite(try await begin(retrying: nil))
      }
      var generator = SystemRandomNumberGenerator()
      let id = withUnsafeBytes(of: (generator.next(), generator.next())) { Data($0) }
      sessions.withLock { $0[id] = Session(mode: mode, client: client) }
      return id
    }

    private func newestTime() async throws -> Timestamp {
      try await backend.awaiting { backend.newestTime(.lent, $0) }
    }

    private func begin(retrying former: TransactionID?) async throws -> TransactionID {
      var start = TransactionStart(at: CallSite(file: #fileID, line: #line))
      start.retrying = former
      return try await withTaskCancellationHandler {
        try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
      } onCancel: { [start] in
        start.cancel()
      }
    }

    /// Ends an earlier attempt; nil if there is none.
    private func former(_ id: Data) throws(Status) -> TransactionID? {
      guard !id.isEmpty else { return nil }
      return try sessions.withLock { sessions throws(Status) in
        guard let session = sessions[id] else { return nil }
        guard let former = session.id else {
          throw .invalidArgument("A read-only transaction cannot be retried.")
        }
        sessions[id] = nil
        return former
      }
    }

    /// The state that a request of a transaction reads.
    func consistency(
      of id: Data, _ client: String
    ) throws(Status) -> ServedDatabase.Consistency {
      switch try use(id, client) {
      case .readOnly(let time): .past(time)
      case .readWrite(let id): .transaction(id)
      case .failed: throw Self.expired
      }
    }

    private func use(_ id: Data, _ client: String) throws(Status) -> Mode {
      expire()
      return try sessions.withLock { sessions throws(Status) in
        guard let mode = sessions[id]?.mode else { throw Self.expired }
        sessions[id]?.lastUse = .now
        sessions[id]?.client = client
        return mode
      }
    }

    /// Commits with the transaction; see `ServedDatabase.commit`.
    func commit(
      _ id: Data, _ mutations: [Mutation], _ client: String,
      _ commit: (TransactionID) async throws -> CommitResult
    ) async throws -> CommitResult {
      switch try use(id, client) {
      case .failed: throw Self.expired
      case .readOnly:
        guard mutations.isEmpty else {
          throw Status.invalidArgument("Cannot modify entities in a read-only transaction.")
        }
        sessions.withLock { $0[id] = nil }
        return CommitResult(at: Instant(try await newestTime()))
      case .readWrite(let transaction):
        // A second commit of it meanwhile is refused.
        sessions.withLock { $0[id]?.mode = .failed(transaction) }
        let result = try await commit(transaction)
        sessions.withLock { $0[id] = nil }
        return result
      }
    }

    func rollback(_ id: Data) throws(Status) {
      guard let session = sessions.withLock({ $0.removeValue(forKey: id) }) else {
        throw Self.expired
      }
      if let id = session.id { backend.rollback(id) }
    }

    /// Ends those that have expired.
    func expire() { end(where: \.isExpired) }

    /// Ends those that this client used last: its connection is closed. A client that goes on over
    /// another connection begins again.
    func endTransactions(of client: String) { end { $0.client == client } }

    /// The number of transactions that have not ended.
    var open: Int { sessions.withLock(\.count) }

    private func end(where isOver: (Session) -> Bool) {
      let ids = sessions.withLock { sessions in
        let over = sessions.filter { isOver($0.value) }
        for id in over.keys { sessions[id] = nil }
        return over.values.compactMap(\.id)
      }
      for id in ids { backend.rollback(id) }
    }

    /// Clients look for "transaction has expired" in the message.
    private static let expired = Status.invalidArgument(
      "The referenced transaction has expired or is no longer valid.")
  }
#endif
