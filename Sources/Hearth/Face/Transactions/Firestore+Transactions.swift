import Foundation

extension Firestore {
  /// Runs `updateBlock` and commits its writes, if nothing that it read has changed. Otherwise runs
  /// it again, for at most five attempts. The block runs on a thread of its own, and may block.
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
  /// After a conflict, the next attempt waits for its turn at the documents that this one read.
  /// Turns are in the order of arrival. A transaction that has read more than 32 documents waits
  /// for no turn, and none waits in a queue that has not moved for one second.
  ///
  /// The fifth attempt holds the file's write lock while the block runs, so that all other writes
  /// wait. After one second the lock is released and the attempt fails. If the last attempt fails,
  /// the transaction ends with `aborted` and nothing is applied; with `failedPrecondition`, as in
  /// Firebase, if its block only read. The error's message names contention and the number of
  /// attempts. See <doc:WritesAndListeners>.
  ///
  /// In the block, `read` and `write` of this database throw `failedPrecondition`. As for any
  /// write, `completion` is called after the callbacks of this process's listeners whose results
  /// the transaction changes.
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    runTransaction(with: nil, block: updateBlock, file: file, line: line, completion: completion)
  }

  /// Same as the form without options, with `options.maxAttempts` attempts. If that is below five,
  /// no attempt holds the write lock; otherwise the fifth and all later ones do.
  public func runTransaction(
    with options: TransactionOptions?,
    block updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    let callbackTarget = callbackTarget(isolation)
    let callback = Callback<TransactionRunner.Result> { completion($0.value, $0.error) }
    let options = options ?? TransactionOptions()
    let attempts = options.maxAttempts
    let block = TransactionBlock(self, storing: updateBlock)
    // Begins here, not when the task runs: `terminate` waits for what was begun before it.
    let database = options.validationError.map { Result.failure($0) } ?? begun()
    Task {
      let result = await run(block, attempts: attempts, in: database, file, line)
      callbackTarget.carry(result, to: callback)
    }
  }

  /// Runs `updateBlock` and commits its writes, if nothing that it read has changed. Otherwise runs
  /// it again, for at most five attempts. The block runs on a thread of its own, and may block.
  ///
  /// After a conflict, the next attempt waits for its turn at the documents that this one read. The
  /// fifth attempt holds the file's write lock while the block runs, for at most one second. See
  /// the form with a completion handler, and <doc:WritesAndListeners>. As any awaited write,
  /// returns after the callbacks of this process's listeners whose results the transaction changes.
  ///
  /// Throws the error that the block stored in its error pointer, an `NSError` (see the form whose block
  /// throws); `aborted` after the last attempt, or `failedPrecondition` if the block only read, with a
  /// message that names contention and the number of attempts; any other error of the commit; or
  /// `CancellationError`: after the task is cancelled, no commit begins and the block does not run again.
  @discardableResult
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> sending Any? {
    let block = TransactionBlock(self, storing: updateBlock)
    let result = await run(block, attempts: 5, in: begun(), file, line)
    if let error = result.error { throw error }
    return result.value
  }

  /// Runs `updateBlock` and commits its writes, as the form with an error pointer does. Not in Firestore.
  ///
  ///     let left = try await db.runTransaction { transaction in
  ///       let copies = try transaction.getDocument(dune)["copies"] as? Int ?? 0
  ///       transaction.updateData(["copies": copies - 1], forDocument: dune)
  ///       return copies - 1
  ///     }
  ///
  /// Throws the error that the block threw, of whatever type it is; otherwise as the other form does. An
  /// error pointer has room for an `NSError` only: on Linux, one that is made from a Swift error has lost
  /// its type and all that it held.
  @discardableResult
  public func runTransaction<Result>(
    _ updateBlock: @escaping (Transaction) throws -> sending Result,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> sending Result {
    let block = TransactionBlock(self) { try updateBlock($0) }
    let result = await run(block, attempts: 5, in: begun(), file, line)
    if let error = result.error { throw error }
    guard let value = result.value as? Result else {
      throw Status(.internal, "The transaction's block has no result.").nsError
    }
    return value
  }

  private func run(
    _ block: TransactionBlock, attempts: Int, in database: Result<Database, any Error>,
    _ file: StaticString, _ line: UInt
  ) async -> TransactionRunner.Result {
    do {
      let database = try database.get()
      defer { database.end() }
      return await database.transactions.run(attempts: attempts, file: file, line: line) {
        block.run($0)
      }
    } catch {
      return TransactionRunner.Result(error: error)
    }
  }
}

/// A transaction's block, passed to the thread that it runs on.
private struct TransactionBlock: @unchecked Sendable {
  // Unchecked: as in Firestore, the block is documented to run on a thread of its own.
  private let firestore: Firestore
  private let body: (Transaction) throws -> Any?

  init(_ firestore: Firestore, _ body: @escaping (Transaction) throws -> Any?) {
    self.firestore = firestore
    self.body = body
  }

  /// A block that stores its error.
  init(_ firestore: Firestore, storing body: @escaping (Transaction, NSErrorPointer) -> Any?) {
    self.init(firestore) { transaction in
      var error: NSError?
      let value = withUnsafeMutablePointer(to: &error) { body(transaction, $0) }
      if let error { throw error }
      return value
    }
  }

  func run(_ reader: TransactionRunner.Reader) -> TransactionRunner.Run {
    let transaction = Transaction(firestore, reader)
    let outcome = Result { try body(transaction) }
    let writes = Result { () throws(Status) in try transaction.finish() }
    return TransactionRunner.Run(outcome, writes: writes)
  }
}
