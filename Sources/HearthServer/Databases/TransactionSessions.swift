#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
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
      /// The id of the first attempt.
      let origin: Data
      /// The client that used it last.
      var client: String
      let began: ContinuousClock.Instant
      var lastUse: ContinuousClock.Instant

      /// The backend's transaction.
      var id: TransactionID? {
        switch mode {
        case .readOnly: nil
        case .readWrite(let id), .failed(let id): id
        }
      }
    }

    /// A transaction that waits for its turn, or for the backend.
    private struct Beginning {
      let client: String
      let start: TransactionStart
    }

    private struct State {
      var sessions: [Data: Session] = [:]
      /// The newest attempt, by the first one's id.
      private var newest: [Data: Data] = [:]
      var beginnings = Line<Beginning>()

      mutating func add(_ id: Data, _ session: Session) {
        sessions[id] = session
        newest[session.origin] = id
      }

      @discardableResult
      mutating func remove(_ id: Data) -> Session? {
        guard let session = sessions.removeValue(forKey: id) else { return nil }
        if newest[session.origin] == id { newest[session.origin] = nil }
        return session
      }

      /// The attempt that a client means to repeat: some name the first one again and again.
      func attempt(_ id: Data) -> Data? { sessions[id] == nil ? newest[id] : id }
    }

    private let backend: any StoreBackend
    private let limit: Int
    private let idleTime: Duration
    private let longestTime: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Guarded(State())

    /// Transactions of one database that may be open.
    static let limit = 20_000

    init(
      _ backend: any StoreBackend, limit: Int = limit,
      idleTime: Duration = .seconds(Limits.transactionIdleSeconds),
      longestTime: Duration = .seconds(Limits.transactionSeconds),
      now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
      self.backend = backend
      self.limit = limit
      self.idleTime = idleTime
      self.longestTime = longestTime
      self.now = now
    }

    private func isExpired(_ session: Session) -> Bool {
      let now = self.now()
      return now - session.lastUse > idleTime || now - session.began > longestTime
    }

    /// Begins a transaction, and returns its id.
    ///
    /// - Parameters:
    ///   - isReadOnly: The mode if the options have none.
    ///   - client: The address of the client's connection; see `endTransactions`.
    func begin(
      _ options: ProtoTransactionOptions, isReadOnly: Bool, _ client: String
    ) async throws -> Data {
      let (number, start, origin) = try prepare(options, client)
      var generator = SystemRandomNumberGenerator()
      let id = withUnsafeBytes(of: (generator.next(), generator.next())) { Data($0) }
      do {
        try await withTaskCancellationHandler {
          try await withRPCCancellationHandler {
            let mode = try await mode(options, isReadOnly: isReadOnly, start)
            let now = self.now()
            let session = Session(
              mode: mode, origin: origin ?? id, client: client, began: now, lastUse: now)
            try add(id, session, number, start)
          } onCancelRPC: {
            start.cancel()
          }
        } onCancel: {
          start.cancel()
        }
      } catch {
        state.withLock { _ = $0.beginnings.remove(number) }
        throw error
      }
      return id
    }

    /// Notes a transaction that begins, and its former attempt, which ends. Also returns the id of the
    /// first attempt.
    private func prepare(
      _ options: ProtoTransactionOptions, _ client: String
    ) throws(Status) -> (Int, TransactionStart, Data?) {
      var start = TransactionStart(at: CallSite(file: #fileID, line: #line))
      return try state.withLock { state throws(Status) in
        var former: (id: Data, session: Session)?
        if case .readWrite(let options)? = options.mode {
          former = try Self.former(options.retryTransaction, in: state)
        }
        // A retry takes the place of its former attempt.
        let others =
          state.sessions.count + state.beginnings.elements.count - (former == nil ? 0 : 1)
        guard others < limit else {
          throw Status(
            .resourceExhausted, "The database has \(limit) open transactions. Try again later.")
        }
        if let former { state.remove(former.id) }
        start.retrying = former?.session.id
        let number = state.beginnings.append(Beginning(client: client, start: start))
        return (number, start, former?.session.origin)
      }
    }

    private func mode(
      _ options: ProtoTransactionOptions, isReadOnly: Bool, _ start: TransactionStart
    ) async throws -> Mode {
      switch options.mode {
      case .readOnly(let options):
        guard case .readTime(let time)? = options.consistencySelector else {
          return .readOnly(try await backend.newestVersion().time)
        }
        return .readOnly(Timestamp(try Instant(exactly: time, "The read time")))
      case nil where isReadOnly: return .readOnly(try await backend.newestVersion().time)
      case .readWrite, nil:
        return .readWrite(
          try await backend.awaiting { backend.beginTransaction(start, .brief, $0) })
      }
    }

    /// Adds a transaction that has begun, unless its client has gone meanwhile.
    private func add(
      _ id: Data, _ session: Session, _ number: Int, _ start: TransactionStart
    ) throws {
      let isWanted = state.withLock { state in
        state.beginnings.remove(number)
        if !start.isCancelled { state.add(id, session) }
        return !start.isCancelled
      }
      if isWanted { return }
      if let id = session.id { backend.end(id, isRetried: false) }
      throw CancellationError()
    }

    /// The attempt to repeat; nil if it has ended.
    private static func former(
      _ id: Data, in state: State
    ) throws(Status) -> (id: Data, session: Session)? {
      guard !id.isEmpty, let id = state.attempt(id), let session = state.sessions[id] else {
        return nil
      }
      guard session.id != nil else {
        throw .invalidArgument("A read-only transaction cannot be retried.")
      }
      return (id, session)
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

    /// Returns the mode, which a commit ends: a second commit at the same time finds `failed`.
    private func use(
      _ id: Data, _ client: String, committing: Bool = false
    ) throws(Status) -> Mode {
      let (mode, expired): (Mode?, Session?) = state.withLock { state in
        guard var session = state.sessions[id] else { return (nil, nil) }
        guard !isExpired(session) else { return (nil, state.remove(id)) }
        let mode = session.mode
        (session.lastUse, session.client) = (now(), client)
        if committing, case .readWrite(let transaction) = mode {
          session.mode = .failed(transaction)
        }
        state.sessions[id] = session
        return (mode, nil)
      }
      if let id = expired?.id { backend.end(id, isRetried: false) }
      guard let mode else { throw Self.expired }
      return mode
    }

    /// Commits with the transaction; see `ServedDatabase.commit`.
    func commit(
      _ id: Data, _ mutations: [Mutation], _ client: String,
      _ commit: (TransactionID) async throws -> CommitResult
    ) async throws -> CommitResult {
      switch try use(id, client, committing: true) {
      case .failed: throw Self.expired
      case .readOnly:
        guard mutations.isEmpty else {
          throw Status.invalidArgument("Cannot modify entities in a read-only transaction.")
        }
        state.withLock { _ = $0.remove(id) }
        return CommitResult(at: Instant(try await backend.newestVersion().time))
      case .readWrite(let transaction):
        let result = try await commit(transaction)
        state.withLock { _ = $0.remove(id) }
        return result
      }
    }

    func rollback(_ id: Data) throws(Status) {
      guard let session = state.withLock({ $0.remove(id) }) else {
        throw Self.expired
      }
      if let id = session.id { backend.end(id, isRetried: false) }
    }

    /// Ends those that have expired.
    func expire() { end(where: isExpired) }

    /// Ends those that this client used last: its connection is closed. A client that goes on over
    /// another connection begins again.
    func endTransactions(of client: String) {
      let starts = state.withLock { state in
        state.beginnings.elements.values.filter { $0.client == client }.map(\.start)
      }
      for start in starts { start.cancel() }
      end { $0.client == client }
    }

    /// The number of transactions that have not ended.
    var open: Int { state.withLock(\.sessions.count) }

    /// The number of transactions that have not begun yet. For tests.
    var beginning: Int { state.withLock(\.beginnings.elements.count) }

    private func end(where isOver: (Session) -> Bool) {
      let ids = state.withLock { state in
        let over = state.sessions.filter { isOver($0.value) }
        for id in over.keys { state.remove(id) }
        return over.values.compactMap(\.id)
      }
      for id in ids { backend.end(id, isRetried: false) }
    }

    /// Clients look for "transaction has expired" in the message.
    private static let expired = Status.invalidArgument(
      "The referenced transaction has expired or is no longer valid.")
  }
#endif
