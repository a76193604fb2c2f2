import Dispatch

/// A store for documents: every verb that the public API needs.
///
/// Values are those of `google.firestore.v1`: structured queries, mutations with paths, documents
/// with their times and an opaque version, watch targets, opaque tokens. A call is dispatched once;
/// the work per key or per document is done behind it.
///
/// Verbs with a completion call it once: before they return, if nothing has to be waited for and
/// the caller lends its thread (see `RequestContext.Thread`); otherwise on a thread that may block,
/// never on one of the few that run async code. So a thread may block until the completion, as
/// `waiting` does.
///
/// **Read your writes.** A read shows every write that was completed, or passed to `submit`, before
/// the read began: the verbs wait for it.
package protocol Backend: AnyObject, Sendable {
  // MARK: Reading

  /// Answers a request from one state, and names it.
  ///
  /// In a transaction, the answer is of the newest state, and recorded: documents, results, values and groups. A read
  /// time throws `outOfRange` if it is before the change log, and `invalidArgument` if it is
  /// in the future; only requests of documents, results, values, groups, joined results and `nothing` have one.
  func read(
    _ request: ReadRequest, _ context: RequestContext, _ done: @escaping Completion<VersionedAnswer>
  )

  /// The same in the newest state, for a caller that can be suspended and is in no transaction. Has a default.
  func read(_ request: ReadRequest) async throws -> ReadAnswer

  /// Calls `body` on the caller's thread with the body of a document, which is valid until it returns; with nil if the
  /// document does not exist.
  func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer

  /// The output of `decode` for each result, in the query's order. Runs on the caller's thread, or
  /// on any threads if `isParallel`. May be called for a document more than once.
  func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer]

  // MARK: Writing

  /// Commits all of a request or nothing, and completes when the commit is durable. Reads that
  /// begin meanwhile wait for it if it is not awaited. Such a one is refused with `resourceExhausted`
  /// if too many bytes wait already.
  func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>)

  // MARK: Transactions

  /// Begins a transaction. Reads with its id in their context are recorded; a commit with its id is
  /// `aborted` if one of them would find something else now. Another attempt after a conflict first
  /// waits for its turn at the documents that the previous attempt read.
  func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>)

  /// Ends a transaction that is not committed: others may write again. Does nothing if it was
  /// committed, or is unknown.
  ///
  /// - Parameter isRetried: Another attempt begins with what this one has read, see `TransactionStart`.
  func end(_ transaction: TransactionID, isRetried: Bool)

  // MARK: Listening

  /// Posts the target's result to `listener`, and then each change of it. If listening cannot
  /// continue, ends `listener` with the error.
  func listen(to target: Listener.Target, from token: ChangeToken?, _ listener: Listener)

  /// Posts nothing more, and waits for a running callback; see `Listener.remove`.
  func stopListening(to target: Listener.Target, _ listener: Listener)

  /// Calls `body` once soon, and then each time when all listeners that a commit affects, or that
  /// have just begun, have received their events: with the sequence of the state that all of them
  /// show. No events are posted meanwhile; `body` must return quickly.
  func observeSyncs(_ body: @escaping @Sendable (UInt64) -> Void) -> Observation

  // MARK: The end

  /// Completes when every write that was passed to the backend before this call is done.
  func drain(_ done: @escaping @Sendable () -> Void)

  /// Completes the writes passed to the backend, ends all listeners without a call, and frees all
  /// resources. Blocks until then.
  func close()

  /// Throws if the backend can no longer be used at all, as in a forked process.
  func checkUsable() throws(Status)

  /// Runs `body`, which blocks this thread until a verb completes. Throws if it would never
  /// complete.
  func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer
}

/// The verbs of a backend that has a log of its changes, in the order of their commits.
package protocol ChangeFeed: Backend {
  /// A token for the state after the change, or the event, with this sequence.
  func token(after sequence: UInt64) -> ChangeToken

  /// A token for the state after the newest commit. Waits for no write. May block for a round trip.
  func committedToken() throws -> ChangeToken

  /// The changes after a token in the order of their commits, one page; empty if there are none
  /// yet.
  func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>)

  /// The time of the commit that made the state of a token. Throws `outOfRange` for one before the
  /// change log.
  func time(
    of token: ChangeToken, _ context: RequestContext, _ done: @escaping Completion<Timestamp>)

  /// Calls `body` whenever there may be more changes, and on close. `body` must return quickly.
  func observeChanges(_ body: @escaping @Sendable () -> Void) -> Observation
}

/// The verbs of a backend whose indexes and constraints are declared.
package protocol IndexedBackend: Backend {
  /// Adds definitions. Returns when they are durable, before the indexes are built. Constraints hold
  /// for every commit from then on, or are refused with `unimplemented`.
  func declare(_ indexes: [IndexDefinition], _ done: @escaping Completion<Void>)
  func drop(_ indexes: [IndexDefinition]) async throws
  func indexList() throws -> [IndexInfo]
  /// Waits until no index is being built. Throws `failedPrecondition` if a unique one is invalid.
  func waitForIndexes() async throws
}

/// A backend with all that copies and servers need.
package typealias StoreBackend = ChangeFeed & IndexedBackend

/// Calls that were asked for. They end soon after `end`, which waits for none.
package struct Observation: Sendable {
  private let onEnd: @Sendable () -> Void

  init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

  package func end() { onEnd() }
}

/// The caller's transaction and read time, and how the caller waits.
package struct RequestContext: Sendable {
  /// How the caller's thread may be used.
  package enum Thread: Sendable {
    /// It has other work: long work is done elsewhere.
    case busy
    /// It has no other work: the answer is computed on it, if nothing has to be waited for.
    case lent
    /// It has other work that can wait for a moment (`ReadDeadline`): if the answer takes longer, it
    /// is computed elsewhere.
    case brief
    /// Same as `lent`, and it blocks until the completion.
    case blocked
  }

  var thread = Thread.busy
  /// The transaction that records the reads.
  var transaction: TransactionID?
  /// The state to read: after the last commit at or before this time, in whole microseconds. Nil
  /// for the newest state (see `Backend`). Not in a transaction.
  var readTime: Timestamp?
  /// Whether the answer comes with the cost of its query: see `VersionedAnswer.execution`.
  package var isMeasured = false

  package init(
    thread: RequestContext.Thread = .busy, transaction: TransactionID? = nil,
    readTime: Timestamp? = nil
  ) {
    self.thread = thread
    self.transaction = transaction
    self.readTime = readTime
  }

  /// For an async function: its thread is lent, unless it runs on an executor with other work, an
  /// actor's or one that the task prefers. Threads of Swift's global pool are there for work.
  package static func awaiting(
    at readTime: Timestamp? = nil, isolation: (any Actor)? = #isolation
  ) -> RequestContext {
    let isBrief =
      isolation != nil
      || withUnsafeCurrentTask { task in
        guard let executor = task?.unownedTaskExecutor else { return false }
        return executor != globalConcurrentExecutor.asUnownedTaskExecutor()
      }
    guard isBrief || readTime != nil else { return .lent }
    return RequestContext(thread: isBrief ? .brief : .lent, readTime: readTime)
  }

  package static let busy = RequestContext()
  package static let brief = RequestContext(thread: .brief)
  package static let lent = RequestContext(thread: .lent)
  package static let blocked = RequestContext(thread: .blocked)
}

/// How a transaction begins.
package struct TransactionStart: Sendable {
  /// The previous attempt, after a conflict: this one waits for its turn at the documents that it
  /// read.
  package var retrying: TransactionID?
  /// No other write runs until it ends; after at most a second it is aborted.
  package var isExclusive = false
  /// The place of its block in a user's source, for the watchdog.
  let callSite: CallSite
  /// Ends waiting for a turn. Shared by copies.
  let cancellation = CancellationSignal()

  package init(at callSite: CallSite) { self.callSite = callSite }

  package var isCancelled: Bool { cancellation.isCancelled }
  /// Cancels this attempt, and those that follow.
  package func cancel() { cancellation.cancel() }
}

/// The verbs that only a backend in this process has: users' closures on one state of the database.
package protocol LocalBackend: Backend {
  /// Runs `body` on a consistent state, on the caller's thread: the newest one (see `Backend`), or
  /// the one at `time`. The blocking forms throw in a transaction's block of this backend.
  func read<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) async throws -> Answer
  func readBlocking<Answer>(
    at time: Timestamp?, _ body: (any DocumentState) throws -> Answer
  ) throws -> Answer

  /// Runs `body` once, on the writer's thread, and commits its writes.
  ///
  /// - Parameters:
  ///   - file, line: The place of the closure in a user's source, for the watchdog.
  func write(
    file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
    _ context: RequestContext, _ done: @escaping Completion<CommitResult>)
}

/// The verbs of a backend that deletes documents when they expire.
package protocol ExpiringBackend: Backend {
  /// Sets the policy of a collection id; a nil field removes it. Returns when it holds for all
  /// documents.
  func setTTL(_ collectionID: String, _ field: FieldSegments?) async throws
  /// Those that have a field, in the order of the collection ids.
  func ttlPolicies() async throws -> [TTLPolicies.Rule]
  /// Returns the number of deleted documents.
  func deleteExpiredDocuments() async throws -> Int
}

/// The verb of a backend whose times are corrected while it is open.
package protocol TimeRepairingBackend: Backend {
  /// Corrects times that are ahead of the clock; see `TimeRepair`. Returns the number of documents
  /// with other times.
  func repairTimes() async throws -> Int
}

/// The verbs that only a backend with a file has.
package protocol FileBackend: LocalBackend, ExpiringBackend {
  /// The path of the file.
  var path: String { get }
  /// Whether the file and those beside it are still the ones that were opened. If not, all writes fail
  /// with `failedPrecondition`. Asks the file system.
  var isInPlace: Bool { get }

  // MARK: Maintenance; see `EmbeddedBackend.FileMaintenance` for a file that is not open.

  func check(_ progress: MaintenanceHandler?) async throws -> CheckReport
  func backup(
    to path: String, compacting: Bool, replacing: Bool, _ progress: MaintenanceHandler?
  ) async throws -> CheckReport
  func export(to path: String, replacing: Bool, _ progress: MaintenanceHandler?) async throws -> Int
  func export(
    _ progress: MaintenanceHandler?, _ write: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> Int
  func importDocuments(
    from path: String, skippingInvalidLines: Bool, _ progress: MaintenanceHandler?
  ) async throws -> ImportReport

  // MARK: Indexes

  /// Replaces the declared indexes by those of a `firestore.indexes.json`.
  func declare(onlyThoseIn json: String) async throws
  /// Blocks.
  func dropLearnedIndexes() throws
  func learnIndexes(_ isLearning: Bool)
  /// As a `firestore.indexes.json`.
  func indexConfiguration() throws -> String

  // MARK: Retention

  /// Stores how long changes are kept, for every process that writes; nil leaves it to the settings
  /// of each.
  ///
  /// - Parameter isDefault: Does nothing if a retention is stored.
  func setRetention(_ retention: ChangeLogRetention?, isDefault: Bool) async throws
  /// Nil if none is stored.
  func storedRetention() throws -> ChangeLogRetention?

  // MARK: Figures

  func statistics() async throws -> DatabaseStatistics
  func listenerStatistics(_ done: @escaping @Sendable (ListenerStatistics) -> Void)
  /// Calls `body` after every group of writes, on the writer's thread, and once a second, also if
  /// the writer is idle, on a thread that must not be blocked.
  func observeWriter(_ body: @escaping @Sendable (EmbeddedBackend.WriterFigures) -> Void)
}
