import Dispatch

/// A place for documents: every verb that the face of the database needs of one.
///
/// Values are those of `google.firestore.v1`: structured queries, mutations with paths, documents with their times
/// and an opaque version, watch targets, opaque tokens. A call is dispatched once; what is done per key or per
/// document happens behind it.
///
/// Verbs with a completion call it once: before they return, if nothing has to be waited for and the caller lends
/// its thread (see `RequestContext.Thread`), or else on a thread that may block, never on one of the few that
/// async code runs on. So a thread may block until then, and `waiting` and `awaiting` make the forms that do.
///
/// **Read your writes.** A read shows every write that was handed over before it began, whether it was awaited or
/// not: the verbs wait for that.
package protocol Backend: AnyObject, Sendable {
  var capabilities: BackendCapabilities { get }

  // MARK: Reading. The first two note what they read for the transaction of their context; the others have none. Those
  // of documents, results and numbers heed its read time: they throw `outOfRange` for one that the change log does not
  // reach back to, and `invalidArgument` for one in the future.

  /// The documents at these paths, as of one moment, in their order; nil for one that does not exist.
  func documents(
    at paths: [ResourcePath], _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument?]>)

  /// What the query finds, in its order.
  func documents(
    matching query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[StoredDocument]>)

  /// The same two, for a caller that can be suspended and is in no transaction. Each has a default.
  func documents(at paths: [ResourcePath]) async throws -> [StoredDocument?]
  func documents(matching query: StructuredQuery) async throws -> [StoredDocument]

  /// One value for each aggregation.
  func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, _ context: RequestContext,
    _ done: @escaping Completion<[Value]>)

  /// How a query is answered; see `ExplainRequest`.
  func explain(
    _ request: ExplainRequest, _ context: RequestContext,
    _ done: @escaping Completion<QueryExplanation>)

  /// The collections directly below a document or the root, in the order of their ids.
  func collections(
    below path: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>)

  /// The documents of a collection in the order of their ids, and those that do not exist but have documents below
  /// them.
  func documentPaths(
    in collection: ResourcePath, _ context: RequestContext,
    _ done: @escaping Completion<[ResourcePath]>)

  /// Lends a document's name and fields to `body`, on the caller's thread; nil if there is no document.
  func withBody<Answer>(
    at path: ResourcePath, _ context: RequestContext, _ body: (StoredBody?) throws -> Answer
  ) async throws -> Answer

  /// What `decode` makes of each result, in the query's order: on the caller's thread, or if `isParallel` on several.
  func decoded<Answer>(
    matching query: StructuredQuery, _ context: RequestContext, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) async throws -> [Answer]

  // MARK: Writing

  /// Does all of a request or nothing, and completes when that is durable. Reads that begin meanwhile do not wait.
  func commit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>)

  /// As `commit`, for a request that nobody waits for: reads that begin later do. Refused with
  /// `resourceExhausted` if too much waits already.
  func submit(
    _ request: CommitRequest, _ context: RequestContext, _ done: @escaping Completion<CommitResult>)

  // MARK: Transactions

  /// Begins a transaction. Reads with its id in their context are noted; a commit with it is `aborted` if one of
  /// them would not find the same any more. Another attempt after a conflict first waits for its turn at the documents that
  /// the one before had read.
  func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>)

  /// Others may write again, though the transaction is exclusive; it can no longer commit.
  func release(_ transaction: TransactionID)

  /// Forgets a transaction. One that was committed, or is not known, is forgotten already.
  func rollback(_ transaction: TransactionID)

  // MARK: Listening

  /// Posts the target's result to `listener`, and then every change of it. Ends it with what keeps it from going on.
  func listen(to target: Listener.Target, from token: ChangeToken?, _ listener: Listener)

  /// Posts nothing more, and waits for a callback that is running; see `Listener.remove`.
  func stopListening(to target: Listener.Target, _ listener: Listener)

  /// Calls `body` once soon, and then whenever all listeners that a commit concerns, or that have just begun, have been
  /// posted their news: with the sequence of the state that all of them show. Nobody is posted anything meanwhile; it
  /// must not linger.
  func addSyncObserver(_ body: @escaping @Sendable (UInt64) -> Void) -> Int
  func removeSyncObserver(_ observer: Int)

  // MARK: Changes

  /// The time of the newest commit, with every write that was handed over before. No later commit has it, or an earlier
  /// one: what is read at this time is one state for ever.
  func newestTime(_ context: RequestContext, _ done: @escaping Completion<Timestamp>)

  /// The state after the newest commit and every write that was handed over before.
  func newestToken(_ context: RequestContext, _ done: @escaping Completion<ChangeToken>)

  /// The state after the newest commit, for whom waiting for writes would make no sense. May block for a round trip.
  func committedToken() throws -> ChangeToken

  /// The changes after a token in the order of their commits, as many as come at once; none if there are none yet.
  func changes(
    since token: ChangeToken, _ context: RequestContext,
    _ done: @escaping Completion<[LoggedChange]>)

  /// Calls `body` whenever there may be more changes, and at the end. It must not linger.
  func addChangeObserver(_ body: @escaping @Sendable () -> Void) -> Int
  func removeChangeObserver(_ observer: Int)

  /// The state after the change, or the event, with this sequence.
  func token(after sequence: UInt64) -> ChangeToken

  // MARK: The end

  /// Completes when every write that was handed over before this call is done.
  func drain(_ done: @escaping @Sendable () -> Void)

  /// Does what was handed over, ends all listeners without a call, and lets go of everything. Blocks until then.
  func close()

  /// Throws if the backend can no longer be used at all, as in a forked process.
  func checkUsable() throws(Status)

  /// Runs `body`, which blocks this thread until a verb completes. Throws if it never would.
  func blocking<Answer>(_ body: () throws(Status) -> Answer) throws(Status) -> Answer
}

/// What a backend does itself. What it does not is done by `QueryFallback` on a superset, and `explain` says so.
package struct BackendCapabilities: OptionSet, Sendable, CustomStringConvertible {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Finds the documents whose vectors are nearest to one.
  static let nearestVectors = BackendCapabilities(rawValue: 1 << 0)

  package static let all: BackendCapabilities = [.nearestVectors]

  /// Told by `explain`.
  package var description: String {
    contains(.nearestVectors) ? "nearest neighbours" : "nothing else"
  }
}

/// Who asks, as of when, and how the caller waits.
package struct RequestContext: Sendable {
  /// What the completion may do with the caller's thread.
  package enum Thread: Sendable {
    /// It goes on: long work is done elsewhere.
    case busy
    /// It has nothing else to do: the answer is worked out there, if nothing has to be waited for.
    case lent
    /// As `lent`, and it blocks until the completion.
    case blocked
  }

  var thread = Thread.busy
  /// Whose reads are noted.
  var transaction: TransactionID?
  /// The state that is read: after the last commit at or before it, in whole microseconds. Nil for the newest one with
  /// every write that was handed over. Not in a transaction.
  var readTime: Timestamp?
  /// Who asks, as a server has it from its client.
  var identity: RequestIdentity?

  package init(
    thread: RequestContext.Thread = .busy, transaction: TransactionID? = nil,
    readTime: Timestamp? = nil, identity: RequestIdentity? = nil
  ) {
    self.thread = thread
    self.transaction = transaction
    self.readTime = readTime
    self.identity = identity
  }

  /// Of a caller that lends its thread.
  package static func reading(at time: Timestamp) -> RequestContext {
    RequestContext(thread: .lent, readTime: time)
  }

  package static let busy = RequestContext()
  package static let lent = RequestContext(thread: .lent)
  package static let blocked = RequestContext(thread: .blocked)
}

/// Who asks: the id of a user and the claims of a token that was verified.
package struct RequestIdentity: Sendable {
  var userID: String
  var claims: MapValue
}

/// How a transaction begins.
package struct TransactionStart: Sendable {
  /// The one that this is another attempt of, after a conflict: it waits for its turn at what that one had read.
  package var retrying: TransactionID?
  /// Nobody else writes until it ends, for at most a second; then it is aborted.
  package var isExclusive = false
  /// Where in a user's source its block is, for the watchdog.
  let callSite: CallSite
  /// Ends waiting for a turn. Shared by copies.
  let cancellation = CancellationSignal()

  package init(at callSite: CallSite) { self.callSite = callSite }

  package var isCancelled: Bool { cancellation.isCancelled }
  /// Of this attempt, and of those that follow it.
  package func cancel() { cancellation.cancel() }
}

/// What only a backend in this process can do: users' closures on one state of the database.
package protocol LocalBackend: Backend {
  /// Runs `body` on a consistent state, on the caller's thread: the newest with every write handed over before, or
  /// the one at `time`. The blocking forms throw in a transaction's block of this backend.
  func read<Answer>(
    at time: Timestamp?, _ body: (any LocalReader) throws -> Answer
  ) async throws -> Answer
  func readBlocking<Answer>(
    at time: Timestamp?, _ body: (any LocalReader) throws -> Answer
  ) throws -> Answer

  /// Runs `body` once, on the writer's thread, and commits what it wrote.
  ///
  /// - Parameters:
  ///   - file, line: Where in a user's source the closure is, for the watchdog.
  func write(
    file: StaticString, line: UInt, _ body: @escaping (any LocalWriter) throws -> Void,
    _ done: @escaping Completion<CommitResult>)
  func writeBlocking(
    file: StaticString, line: UInt, _ body: (any LocalWriter) throws -> Void
  ) throws -> CommitResult
}

/// What only a backend with a file can do.
package protocol FileBackend: LocalBackend {
  // MARK: Care of the file; see `EmbeddedBackend.FileMaintenance` for one that is not open.

  func check(_ progress: MaintenanceHandler?) async throws -> CheckReport
  func backup(
    to path: String, compacting: Bool, replacing: Bool, _ progress: MaintenanceHandler?
  ) async throws -> CheckReport
  func export(to path: String, replacing: Bool, _ progress: MaintenanceHandler?) async throws -> Int
  func export(
    _ progress: MaintenanceHandler?, _ write: @escaping @Sendable ([UInt8]) throws -> Void
  ) async throws -> Int
  func importDocuments(
    from path: String, skippingFaults: Bool, _ progress: MaintenanceHandler?
  ) async throws -> ImportReport

  // MARK: Indexes

  /// Adds definitions. Returns when this is durable, before they are built.
  func declare(_ indexes: [IndexDefinition]) async throws
  /// Takes a `firestore.indexes.json` instead of what was declared before.
  func declare(onlyThoseIn json: String) async throws
  func drop(_ indexes: [IndexDefinition]) async throws
  /// Blocks.
  func dropLearnedIndexes() throws
  func learnIndexes(_ isLearning: Bool)
  func indexList() throws -> [IndexInfo]
  /// As a `firestore.indexes.json`.
  func indexConfiguration() throws -> String
  func waitForIndexes() async throws

  // MARK: Expiry

  func setExpiry(_ collectionID: String, _ field: FieldSegments?) async throws
  func expiryRules() throws -> [TTLPolicies.Rule]
  func deleteExpiredDocuments() async throws -> Int

  // MARK: Figures

  func statistics() async throws -> DatabaseStatistics
  func listenerStatistics(_ done: @escaping @Sendable (ListenerStatistics) -> Void)
  /// Calls `body` after every group of writes, on the writer's thread, and once a second, whatever the writer does, on
  /// a thread that must not be blocked.
  func observeWriter(_ body: @escaping @Sendable (EmbeddedBackend.WriterFigures) -> Void)
}

/// Reads of one state of the database.
package protocol LocalReader {
  func document(at path: ResourcePath) throws -> StoredDocument?
  func withBody<Answer>(
    at path: ResourcePath, _ body: (StoredBody?) throws -> Answer
  ) throws -> Answer
  func documents(matching query: StructuredQuery) throws -> [StoredDocument]
  func decoded<Answer>(
    matching query: StructuredQuery, isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Answer
  ) throws -> [Answer]
  func aggregate(_ aggregations: [Aggregation], over query: StructuredQuery) throws -> [Value]
}

/// Reads and writes that are committed together; reads see the writes before them.
package protocol LocalWriter: LocalReader {
  func write(_ mutation: Mutation) throws
}
