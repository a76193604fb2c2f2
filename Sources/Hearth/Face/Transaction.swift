import Foundation

/// Reads and then writes that are done as if nothing else happened in between.
///
/// Optimistic: each read notes the version it saw; the commit checks that none of them has changed, in the same step
/// in which it writes. After a conflict the transaction waits for its turn at the documents it has read. Reads come
/// before writes. Only valid while its block runs.
public final class Transaction: NSObject {
  private let firestore: Firestore
  private let backend: any Backend
  private let context: RequestContext
  private var writes = PlannedWrites()
  /// Whether the documents that were read or written so far are there.
  private var exists: [ResourcePath: Bool] = [:]
  private var isOver = false

  init(_ firestore: Firestore, _ backend: any Backend, _ id: TransactionID) {
    self.firestore = firestore
    self.backend = backend
    context = RequestContext(thread: .blocked, transaction: id)
  }

  /// Reads a document; blocks while it does. The first read of a transaction waits for its turn if other transactions
  /// of this process wait for the document.
  ///
  /// Throws `invalidArgument` after a write, and `aborted` if the document changed since the transaction
  /// read it before.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try getAll([document])[0]
  }

  /// Several documents as of one moment, in the order of `references`; blocks while it reads.
  ///
  ///     let snapshots = try transaction.getAll([from, to])
  ///
  /// Throws as `getDocument` does.
  public func getAll(_ references: [DocumentReference]) throws -> [DocumentSnapshot] {
    try read {
      let paths = try references.map { try $0.path(in: firestore) }
      guard !paths.isEmpty else { return [] }
      let found = try backend.waiting { backend.documents(at: paths, context, $0) }
      for (path, document) in zip(paths, found) { exists[path] = document != nil }
      return zip(references, found).map { DocumentSnapshot($0, $1) }
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
      let found = try backend.waiting { backend.documents(matching: effective, context, $0) }
      for document in found { exists[document.path] = true }
      return QuerySnapshot(query, first: found)
    }
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
      let path = try document.path(in: self.firestore)
      guard self.exists[path] ?? true else {
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
        exists[last.path] = false
      } else {
        exists[last.path] = true
      }
    }
    return self
  }

  /// Ends it. Its writes, each of them checked.
  func finish() throws(Status) -> [Mutation] {
    isOver = true
    return try writes.checked()
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
    let start = TransactionStart(at: block.callSite)
    return await withTaskCancellationHandler {
      await run(block, attempts: attempts, in: database, start)
    } onCancel: {
      start.cancel()
    }
  }

  private func run(
    _ block: TransactionBlock, attempts: Int, in database: Database,
    _ first: TransactionStart
  ) async -> TransactionResult {
    var start = first
    // Also where it was cancelled before another attempt; one that has ended is forgotten already.
    defer { if let id = start.retrying { database.backend.rollback(id) } }
    var attempt = 1
    while true {
      if Task.isCancelled { return TransactionResult(error: CancellationError()) }
      start.isExclusive = attempt >= Self.attemptsBeforeLock
      let (result, id) =
        start.isExclusive
        ? await attemptExclusively(block, start, in: database)
        : await self.attempt(block, start, in: database)
      guard let error = result.error else { return result }
      guard !result.isFinal, attempt < attempts, Self.mayTryAgain(error) else {
        if let id { database.backend.rollback(id) }
        let mayTryAgain = !result.isFinal && Self.mayTryAgain(error)
        return mayTryAgain ? result.givenUp(after: attempt) : result
      }
      if result.isContention {
        start.retrying = id
      } else {
        start.retrying = nil
        if let id { database.backend.rollback(id) }
        let ceiling = 1_000_000 << UInt64(min(attempt, 8))
        try? await Task.sleep(nanoseconds: UInt64.random(in: 0...UInt64(ceiling)))
      }
      attempt += 1
    }
  }

  /// From then on nobody else may write meanwhile.
  private static var attemptsBeforeLock: Int { 5 }

  /// The result, and the transaction if it has not ended.
  private func attempt(
    _ block: TransactionBlock, _ start: TransactionStart, in database: Database
  ) async -> (TransactionResult, TransactionID?) {
    let backend = database.backend
    do {
      let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
      if Task.isCancelled { return (TransactionResult(error: CancellationError()), id) }
      let attempt = await database.blocks.run(block.callSite, in: backend) { [self] in
        TransactionAttempt(block, Transaction(self, backend, id))
      }
      if attempt.result.error != nil { return (attempt.result, id) }
      if Task.isCancelled { return (TransactionResult(error: CancellationError()), id) }
      do {
        _ = try await backend.commit(attempt.request(id))
        return (attempt.result, nil)
      } catch {
        return (attempt.failed(error), id)
      }
    } catch {
      return (TransactionResult(error: (error as? Status)?.nsError ?? error), nil)
    }
  }

  /// As `attempt`, with the file's write lock in hand while the block runs, so that nothing it reads
  /// can change. After a second the lock is let go, and the attempt fails when the block has returned.
  private func attemptExclusively(
    _ block: TransactionBlock, _ start: TransactionStart, in database: Database
  ) async -> (TransactionResult, TransactionID?) {
    let backend = database.backend
    return await database.blocks.run(block.callSite, in: backend) { [self] in
      // From the block's thread: the writer never waits for one that has yet to be found.
      var id: TransactionID?
      var attempt: TransactionAttempt?
      do throws(Status) {
        let begun = try backend.waiting { backend.beginTransaction(start, .blocked, $0) }
        id = begun
        if start.isCancelled {
          backend.rollback(begun)
          return (TransactionResult(error: CancellationError()), nil)
        }
        // Whatever comes of it, the writer goes on from here.
        var isCommitted = false
        defer { if !isCommitted { backend.release(begun) } }
        let made = TransactionAttempt(block, Transaction(self, backend, begun))
        attempt = made
        if made.result.error != nil { return (made.result, begun) }
        if start.isCancelled { return (TransactionResult(error: CancellationError()), begun) }
        let request = try made.request(begun)
        isCommitted = true
        // Waited for here, but no more so than by a task: its callbacks may come on any thread.
        _ = try backend.waiting { backend.commit(request, .lent, $0) }
        return (made.result, nil)
      } catch {
        return (attempt?.failed(error) ?? TransactionResult(error: error.nsError), id)
      }
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
  private let writes: Result<[Mutation], Status>

  init(_ block: TransactionBlock, _ transaction: Transaction) {
    var result = block.run(transaction)
    // The block may hand on what a read threw.
    if let error = result.error as? NSError, error.domain == FirestoreErrorDomain {
      result.isContention = error.code == FirestoreErrorCode.aborted.rawValue
    }
    self.result = result
    writes = Result { () throws(Status) in try transaction.finish() }
  }

  func request(_ id: TransactionID) throws(Status) -> CommitRequest {
    var request = CommitRequest(try writes.get())
    request.areChecked = true
    request.transaction = id
    return request
  }

  func failed(_ error: any Error) -> TransactionResult {
    var failed = TransactionResult(error: error)
    if let status = error as? Status {
      failed.error = status.nsError
      failed.isFinal = status.mayBeDone
      failed.isContention = status.isContention
    }
    return failed
  }
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
