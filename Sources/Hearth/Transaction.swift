import Foundation

/// Reads and then writes that are done as if nothing else happened in between.
///
/// Optimistic: each read notes the version it saw; the commit checks that none of them has changed, in the same step
/// in which it writes. After a conflict the transaction waits for its turn at the documents it has read. Reads come
/// before writes. Only valid while its block runs.
public final class Transaction: NSObject {
  private let firestore: Firestore
  private let database: Database
  private var writes = PlannedWrites()
  /// What was read: nil for a document that was not there.
  private var reads: [DocumentName: Instant?] = [:]
  private var results: [SeenResult] = []
  /// Whether the documents written so far are there then.
  private var written: [DocumentName: Bool] = [:]
  private var isOver = false
  /// At documents that others want, too.
  private let turn: DocumentLines.Turn
  /// The writer waits for this transaction, and must not be waited for.
  private let hasWriter: Bool

  init(
    _ firestore: Firestore, _ database: Database, _ turn: DocumentLines.Turn,
    hasWriter: Bool = false
  ) {
    self.firestore = firestore
    self.database = database
    self.turn = turn
    self.hasWriter = hasWriter
  }

  /// Reads a document; blocks while it does. The first read of a transaction waits for its turn if other transactions
  /// of this process wait for the document.
  ///
  /// Throws `invalidArgument` after a write, and `aborted` if the document changed since the transaction
  /// read it before.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try read {
      let name = try document.name(in: firestore)
      // Who has read something does not wait: others may wait for that.
      if reads.isEmpty, results.isEmpty, !hasWriter {
        database.lines.waitBlocking(for: name.path, turn)
      }
      try settle(.document(name.path))
      let stored = try database.store.read { try $0.document(name) }
      try see(name, stored)
      return DocumentSnapshot(document, stored)
    }
  }

  /// All documents the query finds; blocks while it reads.
  ///
  /// The transaction is done only if the query still finds the same, in the same versions. Throws as
  /// `getDocument` does.
  public func getDocuments(_ query: Query) throws -> QuerySnapshot {
    try read {
      guard query.firestore === firestore else {
        throw Status.invalidArgument(
          "Provided query is from a different Cloud Firestore instance.")
      }
      let effective = try query.effective()
      try settle(effective.scope.readScope)
      // Of whole documents: what the query leaves out may have changed as well.
      var whole = effective
      whole.projection = []
      let (found, shown, sequence) = try database.store.read { snapshot in
        (
          try database.documents(matching: whole, in: snapshot),
          effective.projection.isEmpty ? nil : try snapshot.documents(matching: effective),
          try snapshot.state().lastSequence
        )
      }
      for document in found { try see(database.name(document.path), document) }
      results.append(SeenResult(whole, found, at: sequence))
      return QuerySnapshot(query, first: shown ?? found)
    }
  }

  private func settle(_ scope: ReadScope) throws(Status) {
    if !hasWriter { try database.writer.settleBlocking(scope) }
  }

  private func read<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      guard !isOver else { throw Status.transactionIsOver }
      guard writes.mutations.isEmpty else {
        throw Status.invalidArgument(
          "Firestore transactions require all reads to be executed before all writes.")
      }
      return try body()
    } catch let status as Status {
      writes.note(status)
      throw status.nsError
    }
  }

  /// Notes the version that was read.
  private func see(_ name: DocumentName, _ stored: StoredDocument?) throws {
    if let seen = reads[name], seen != stored?.updateTime {
      var status = Status(.aborted, "Document version changed between two reads.")
      status.isContention = true
      throw status
    }
    reads[name] = .some(stored?.updateTime)
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { try $0.add(Mutation(setting: document, to: data, in: self.firestore)) }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  /// Throws if `value` cannot be encoded; everything else fails the transaction.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(Mutation(setting: document, to: encoded, in: self.firestore))
    }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(
        Mutation(setting: document, to: encoded, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(
        Mutation(
          setting: document, to: encoded, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { writes in
      let name = try document.name(in: self.firestore)
      let isThere = self.written[name] ?? self.reads[name].map { $0 != nil }
      guard isThere ?? true else {
        throw Status.invalidArgument("Can't update a document that doesn't exist.")
      }
      try writes.add(Mutation(updating: document, with: fields, in: self.firestore))
    }
  }

  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { try $0.add(Mutation(deleting: document, in: self.firestore)) }
  }

  // MARK: With conditions

  /// Makes the document; the transaction fails with `alreadyExists` if it is there.
  @discardableResult
  public func create(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) {
      try $0.add(Mutation(setting: document, to: data, in: self.firestore).creating())
    }
  }

  /// Throws if `value` cannot be encoded; everything else fails the transaction.
  @discardableResult
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      try $0.add(Mutation(setting: document, to: encoded, in: self.firestore).creating())
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(setting: document, to: data, in: self.firestore).requiring(precondition))
    }
  }

  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(
        Mutation(updating: document, with: fields, in: self.firestore).requiring(precondition))
    }
  }

  @discardableResult
  public func deleteDocument(
    _ document: DocumentReference, precondition: WritePrecondition
  ) -> Transaction {
    add(document) {
      try $0.add(Mutation(deleting: document, in: self.firestore).requiring(precondition))
    }
  }

  private func add(
    _ document: DocumentReference, _ write: (inout PlannedWrites) throws -> Void
  ) -> Transaction {
    guard !isOver else {
      writes.note(.transactionIsOver)
      return self
    }
    writes.add(write)
    if let last = writes.mutations.last {
      if case .delete = last.operation {
        written[last.name] = false
      } else {
        written[last.name] = true
      }
    }
    return self
  }

  var readPaths: [ResourcePath] { reads.keys.map(\.path) }

  /// Checks that nothing that was read has changed, then the writes. Ends the transaction.
  func finish() throws(Status) -> (mutations: [Mutation], premises: Premises?) {
    isOver = true
    let writes = try writes.checked()
    let checks = reads.map { name, version in
      Mutation(name: name, operation: .verify, precondition: Self.unchanged(since: version))
    }
    return (checks + writes, results.isEmpty ? nil : Premises(results: results))
  }

  private static func unchanged(since version: Instant?) -> Mutation.Precondition {
    version.map { .updateTime($0) } ?? .exists(false)
  }
}

extension Status {
  fileprivate static let transactionIsOver = Status(
    .failedPrecondition, "A transaction can no longer be used after its block has returned.")
}

extension Firestore {
  /// A new batch of writes.
  public func batch() -> WriteBatch { WriteBatch(self) }

  /// Runs `updateBlock`, and commits its writes if nothing it read has changed; else runs it
  /// again, up to five times in all. It runs on a thread of its own, and may block.
  ///
  ///     db.runTransaction { transaction, errorPointer in
  ///       do {
  ///         let book = try transaction.getDocument(dune)
  ///         transaction.updateData(["reads": (book["reads"] as? Int ?? 0) + 1], forDocument: dune)
  ///       } catch {
  ///         errorPointer?.pointee = error as NSError
  ///       }
  ///       return nil
  ///     } completion: { _, error in
  ///       print(error ?? "counted")
  ///     }
  ///
  /// After a conflict the next attempt waits for its turn at the documents that this one read, in the order of
  /// arrival: at most 32 documents, and not in a line that has not moved for a second. The fifth attempt holds the
  /// file's write lock while the block runs, so that all other writes wait; after one second the lock is released,
  /// and the attempt fails. Then the transaction ends with `aborted`, whose sentence names contention and the number
  /// of attempts, and nothing is applied. See <doc:WritesAndListeners>.
  ///
  /// In the block, `read` and `write` of this database throw `failedPrecondition`. `completion` comes after the
  /// callbacks of this process's listeners that the transaction concerns, as that of any write.
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    runTransaction(with: nil, block: updateBlock, file: file, line: line, completion: completion)
  }

  /// As without options, with as many attempts as they say. With fewer than five, none holds the write lock; with
  /// more, each from the fifth on does.
  public func runTransaction(
    with options: TransactionOptions?,
    block updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    let courier = courier(isolation)
    let callback = Callback<TransactionResult> { completion($0.value, $0.error) }
    let options = options ?? TransactionOptions()
    let attempts = options.maxAttempts
    let fault = options.fault
    let block = TransactionBlock(CallSite(file: file, line: line), updateBlock)
    // Now, not when the task comes to run: `terminate` waits for what was handed over before it.
    let database = begin(fault)
    Task {
      courier.carry(await run(block, attempts: attempts, in: database), to: callback)
    }
  }

  /// Runs `updateBlock`, and commits its writes if nothing it read has changed; else runs it
  /// again, up to five times in all. It runs on a thread of its own, and may block.
  ///
  /// After a conflict the next attempt waits for its turn at the documents that this one read; the fifth attempt
  /// holds the file's write lock while the block runs, for at most one second. See the form with a completion
  /// handler, and <doc:WritesAndListeners>. Returns after the callbacks of this process's listeners that the
  /// transaction concerns, as any awaited write.
  ///
  /// Throws what the block put into its error pointer; `aborted` after the last attempt, with a sentence that names
  /// contention and the number of attempts; what else refused the commit; or `CancellationError`: after the task is
  /// cancelled no commit begins, and the block does not run again.
  @discardableResult
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> sending Any? {
    let block = TransactionBlock(CallSite(file: file, line: line), updateBlock)
    let result = await run(block, attempts: 5, in: begin(nil))
    if let error = result.error { throw error }
    return result.value
  }

  /// The database, which is not closed before the transaction is done.
  private func begin(_ fault: Status?) -> Result<Database, any Error> {
    Result {
      if let fault { throw fault }
      let database = try database()
      try database.begin()
      return database
    }
  }

  private func run(
    _ block: TransactionBlock, attempts: Int, in database: Result<Database, any Error>
  ) async -> TransactionResult {
    do {
      let database = try database.get()
      defer { database.end() }
      return await run(block, attempts: attempts, in: database)
    } catch {
      return TransactionResult(error: (error as? Status)?.nsError ?? error)
    }
  }

  private func run(
    _ block: TransactionBlock, attempts: Int, in database: Database
  ) async -> TransactionResult {
    var turn = DocumentLines.Turn()
    defer { database.lines.end(turn) }
    var attempt = 1
    while true {
      if Task.isCancelled { return TransactionResult(error: CancellationError()) }
      let result =
        attempt < Self.attemptsBeforeLock
        ? await attemptTransaction(block, turn, in: database)
        : await attemptHoldingLock(block, turn, in: database)
      guard let error = result.error, !result.isFinal, Self.mayTryAgain(error) else {
        return result
      }
      guard attempt < attempts else { return result.givenUp(after: attempt) }
      database.lines.end(turn)
      if result.isContention {
        turn = await database.lines.wait(for: result.readPaths)
      } else {
        let ceiling = 1_000_000 << UInt64(min(attempt, 8))
        try? await Task.sleep(nanoseconds: UInt64.random(in: 0...UInt64(ceiling)))
      }
      attempt += 1
    }
  }

  /// From then on nobody else may write meanwhile.
  private static var attemptsBeforeLock: Int { 5 }

  private func attemptTransaction(
    _ block: TransactionBlock, _ turn: DocumentLines.Turn, in database: Database
  ) async -> TransactionResult {
    let attempt = await database.blocks.run(block.callSite, in: database) { [self] in
      TransactionAttempt(block, Transaction(self, database, turn))
    }
    if attempt.result.error != nil { return attempt.result }
    if Task.isCancelled { return TransactionResult(error: CancellationError()) }
    do {
      let (mutations, premises) = try attempt.writes.get()
      guard !mutations.isEmpty || premises != nil else { return attempt.result }
      _ = try await database.writer.commit(mutations, on: premises)
      return attempt.result
    } catch {
      return attempt.failed(error)
    }
  }

  /// As `attemptTransaction`, with the file's write lock in hand while the block runs, so that nothing it reads
  /// can change. After a second the lock is let go, and the attempt fails when the block has returned.
  private func attemptHoldingLock(
    _ block: TransactionBlock, _ turn: DocumentLines.Turn, in database: Database
  ) async -> TransactionResult {
    let meeting = Meeting<TransactionAttempt>()
    let (attempt, outcome) = await withTaskCancellationHandler {
      await database.blocks.run(block.callSite, in: database) { [self] in
        // From the block's thread: the writer never waits for one that has yet to be found.
        database.writer.submitAlone(from: block.callSite) { request in
          guard !meeting.isCancelled else { throw Status(.cancelled, "The task was cancelled.") }
          guard let attempt = meeting.start(atMost: .seconds(1)) else { throw Status.heldTooLong }
          if attempt.result.error != nil { throw Status(.cancelled, "The block failed.") }
          for mutation in try attempt.writes.get().mutations { try request.write(mutation) }
          if meeting.isCancelled { throw Status(.cancelled, "The task was cancelled.") }
        } complete: {
          meeting.finish($0)
        }
        guard meeting.waitForStart() else {
          return (nil as TransactionAttempt?, meeting.waitForFinish())
        }
        let attempt = TransactionAttempt(block, Transaction(self, database, turn, hasWriter: true))
        meeting.end(with: attempt)
        return (attempt, meeting.waitForFinish())
      }
    } onCancel: {
      meeting.cancel()
    }
    if let attempt, attempt.result.error != nil { return attempt.result }
    switch outcome {
    case .success: return attempt?.result ?? TransactionResult()
    case .failure where meeting.isCancelled: return TransactionResult(error: CancellationError())
    case .failure(let status):
      return attempt?.failed(status) ?? TransactionResult(error: status.nsError)
    }
  }

  /// Another attempt may find what this one did not. An error of the user's own is final, and so is
  /// what Firestore calls permanent.
  private static func mayTryAgain(_ error: any Error) -> Bool {
    let error = error as NSError
    guard error.domain == FirestoreErrorDomain else { return false }
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .aborted, .alreadyExists, .failedPrecondition: return true
    case .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .internal, .unavailable,
      .unauthenticated:
      return true
    default: return false
    }
  }
}

/// What a transaction's block gave back.
private struct TransactionResult: @unchecked Sendable {
  // Unchecked: made on one thread, handed on whole, and used on the next only.
  var value: Any?
  var error: (any Error)?
  var isFinal = false
  /// What was read had changed.
  var isContention = false
  var readPaths: [ResourcePath] = []

  /// After the last attempt.
  func givenUp(after attempts: Int) -> TransactionResult {
    guard isContention else { return self }
    let status = Status(
      .aborted,
      "The transaction was given up because of contention: in each of \(attempts) attempts others had changed "
        + "what it read before it could be committed, or held the file's write lock. Nothing was applied.",
      cause: error)
    return TransactionResult(error: status.nsError)
  }
}

/// One run of a transaction's block, and the writes that it leads to.
private struct TransactionAttempt: Sendable {
  let result: TransactionResult
  let writes: Result<(mutations: [Mutation], premises: Premises?), Status>

  init(_ block: TransactionBlock, _ transaction: Transaction) {
    var result = block.run(transaction)
    result.readPaths = transaction.readPaths
    // The block may hand on what a read threw.
    if let error = result.error as? NSError, error.domain == FirestoreErrorDomain {
      result.isContention = error.code == FirestoreErrorCode.aborted.rawValue
    }
    self.result = result
    writes = Result { () throws(Status) in try transaction.finish() }
  }

  func failed(_ error: any Error) -> TransactionResult {
    var failed = TransactionResult(error: error, readPaths: result.readPaths)
    if let status = error as? Status {
      failed.error = status.nsError
      failed.isFinal = status.mayBeDone
      failed.isContention = status.isContention
    }
    return failed
  }
}

/// The writer's thread, which waits for a block, and the block's.
///
///     waiting ─ start ─▶ running ─ end ─▶ ended ─ finish ─▶ finished
///        └─ finish: the request was refused ─▶ finished
private final class Meeting<Attempt: Sendable>: Sendable {
  private struct State {
    var isCancelled = false
    var attempt: Attempt?
    var outcome: Writer.Outcome?
  }

  private let state = Guarded(State())
  private let started = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private let finished = DispatchSemaphore(value: 0)

  var isCancelled: Bool { state.withLock(\.isCancelled) }

  func cancel() { state.withLock { $0.isCancelled = true } }

  // MARK: The block's thread

  /// False if there is nothing to do.
  func waitForStart() -> Bool {
    started.wait()
    return state.withLock { $0.outcome == nil }
  }

  func end(with attempt: Attempt) {
    state.withLock { $0.attempt = attempt }
    ended.signal()
  }

  func waitForFinish() -> Writer.Outcome {
    finished.wait()
    return state.withLock(\.outcome) ?? .failure(.terminated)
  }

  // MARK: The writer's

  /// Lets the block run. Nil if it takes longer.
  func start(atMost limit: Duration) -> Attempt? {
    started.signal()
    _ = ended.wait(timeout: .now() + limit / .seconds(1))
    return state.withLock(\.attempt)
  }

  func finish(_ outcome: Writer.Outcome) {
    state.withLock { $0.outcome = outcome }
    started.signal()
    finished.signal()
  }
}

extension Status {
  fileprivate static let heldTooLong = {
    var status = Status(
      .aborted,
      "The transaction's block held the file's write lock for more than a second. Nothing was applied."
    )
    status.isContention = true
    return status
  }()
}

/// A transaction's block on its way to the thread it runs on.
private struct TransactionBlock: @unchecked Sendable {
  // Unchecked: as in Firestore, the block is promised to run in the background.
  let callSite: CallSite
  private let body: (Transaction, NSErrorPointer) -> Any?

  init(_ callSite: CallSite, _ body: @escaping (Transaction, NSErrorPointer) -> Any?) {
    self.callSite = callSite
    self.body = body
  }

  func run(_ transaction: Transaction) -> TransactionResult {
    var error: NSError?
    let value = withUnsafeMutablePointer(to: &error) { body(transaction, $0) }
    return error.map { TransactionResult(error: $0) } ?? TransactionResult(value: value)
  }
}
