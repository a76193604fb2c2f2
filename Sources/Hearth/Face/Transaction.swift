import Foundation

/// Reads and then writes that are done as if nothing else happened in between.
///
/// Optimistic: each read notes the version it saw; the commit checks that none of them has changed, in the same step
/// in which it writes. After a conflict the transaction waits for its turn at the documents it has read. Reads come
/// before writes. Only valid while its block runs.
public final class Transaction: NSObject {
  private let firestore: Firestore
  private let reader: TransactionRunner.Reader
  private var writes = PlannedWrites()
  /// Whether the documents that were read or written so far are there.
  private var exists: [ResourcePath: Bool] = [:]
  private var isOver = false

  init(_ firestore: Firestore, _ reader: TransactionRunner.Reader) {
    self.firestore = firestore
    self.reader = reader
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
      let found = try reader.documents(at: paths)
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
      let found = try reader.documents(matching: query.checked(in: firestore))
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
    let callback = Callback<TransactionRunner.Result> { completion($0.value, $0.error) }
    let options = options ?? TransactionOptions()
    let attempts = options.maxAttempts
    let block = TransactionBlock(self, updateBlock)
    // Now, not when the task comes to run: `terminate` waits for what was handed over before it.
    let database = begin(options.fault)
    Task {
      let result = await run(block, attempts: attempts, in: database, file, line)
      courier.carry(result, to: callback)
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
    let block = TransactionBlock(self, updateBlock)
    let result = await run(block, attempts: 5, in: begin(nil), file, line)
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

/// A transaction's block on its way to the thread it runs on.
private struct TransactionBlock: @unchecked Sendable {
  // Unchecked: as in Firestore, the block is promised to run in the background.
  private let firestore: Firestore
  private let body: (Transaction, NSErrorPointer) -> Any?

  init(_ firestore: Firestore, _ body: @escaping (Transaction, NSErrorPointer) -> Any?) {
    self.firestore = firestore
    self.body = body
  }

  func run(_ reader: TransactionRunner.Reader) -> TransactionRunner.Run {
    let transaction = Transaction(firestore, reader)
    var error: NSError?
    let value = withUnsafeMutablePointer(to: &error) { body(transaction, $0) }
    let writes = Result { () throws(Status) in try transaction.finish() }
    return TransactionRunner.Run(value: error == nil ? value : nil, error: error, writes: writes)
  }
}
