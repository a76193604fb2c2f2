import Foundation

/// Reads and then writes that are done as if nothing else happened in between.
///
/// Optimistic: each read notes the version it saw; the commit checks that all of them still stand, in
/// the same step in which it writes. Reads come before writes. Only valid while its block runs.
public final class Transaction: NSObject {
  private let firestore: Firestore
  private var writes = PlannedWrites()
  /// What was read and has not been written: nil for a document that was not there.
  private var reads: [DocumentName: Instant?] = [:]
  private var written: Set<DocumentName> = []
  private var isOver = false

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Reads a document; blocks while it does.
  ///
  /// Throws `invalidArgument` after a write, and `aborted` if the document changed since the transaction
  /// read it before.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    do {
      guard !isOver else { throw Status.transactionIsOver }
      guard writes.mutations.isEmpty else {
        throw Status.invalidArgument(
          "Firestore transactions require all reads to be executed before all writes.")
      }
      let name = try document.name(in: firestore)
      let database = try firestore.database()
      try database.writer.settleBlocking(.document(name.path))
      let stored = try database.store.read { try $0.document(name) }
      if let seen = reads[name], seen != stored?.updateTime {
        throw Status(.aborted, "Document version changed between two reads.")
      }
      reads[name] = .some(stored?.updateTime)
      return DocumentSnapshot(document, stored)
    } catch let status as Status {
      writes.note(status)
      throw status.nsError
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { $0.add(try Mutation(setting: document, to: data, in: self.firestore)) }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction {
    add(document) {
      $0.add(
        try Mutation(setting: document, to: data, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) {
      $0.add(
        try Mutation(setting: document, to: data, merge: .fields(mergeFields), in: self.firestore))
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
      $0.add(try Mutation(setting: document, to: encoded, in: self.firestore))
    }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      $0.add(
        try Mutation(setting: document, to: encoded, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let encoded = try encoder.encodedForWriting(value)
    return add(document) {
      $0.add(
        try Mutation(
          setting: document, to: encoded, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { writes in
      let name = try document.name(in: self.firestore)
      if !self.written.contains(name), case .some(nil) = self.reads[name] {
        throw Status.invalidArgument("Can't update a document that doesn't exist.")
      }
      writes.add(try Mutation(updating: document, with: fields, in: self.firestore))
    }
  }

  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { $0.add(try Mutation(deleting: document, in: self.firestore)) }
  }

  private func add(
    _ document: DocumentReference, _ write: (inout PlannedWrites) throws -> Void
  ) -> Transaction {
    guard !isOver else {
      writes.note(.transactionIsOver)
      return self
    }
    writes.add(write)
    if let last = writes.mutations.last { written.insert(last.name) }
    return self
  }

  /// The writes, with checks that everything that was read still stands: at the first write of a
  /// document that is written, as a write of its own for the others. Ends the transaction.
  func finish() throws(Status) -> [Mutation] {
    isOver = true
    var mutations = try writes.checked()
    var unchecked = reads
    for index in mutations.indices {
      guard let version = unchecked.removeValue(forKey: mutations[index].name) else { continue }
      mutations[index].precondition = Self.unchanged(since: version)
    }
    for (name, version) in unchecked {
      mutations.append(
        Mutation(name: name, operation: .verify, precondition: Self.unchanged(since: version)))
    }
    return mutations
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

  /// Runs `updateBlock` and commits its writes if everything it read still stands; else runs it
  /// again, up to five times in all. It runs on a background queue.
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
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    runTransaction(with: nil, block: updateBlock, completion: completion)
  }

  /// As without options, with as many attempts as they say.
  public func runTransaction(
    with options: TransactionOptions?,
    block updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Any?, Error?) -> Void
  ) {
    let courier = courier(isolation)
    let callback = Callback<TransactionResult> { completion($0.value, $0.error) }
    let options = options ?? TransactionOptions()
    let attempts = options.maxAttempts
    let fault = options.fault
    let block = TransactionBlock(updateBlock)
    Task {
      courier.carry(await run(block, attempts: attempts, fault: fault), to: callback)
    }
  }

  /// Runs `updateBlock` and commits its writes if everything it read still stands; else runs it
  /// again, up to five times in all. It runs on a background queue.
  ///
  /// Throws what the block put into its error pointer, or what refused the commit.
  @discardableResult
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?
  ) async throws -> sending Any? {
    let result = await run(TransactionBlock(updateBlock), attempts: 5, fault: nil)
    if let error = result.error { throw error }
    return result.value
  }

  private func run(
    _ block: TransactionBlock, attempts: Int, fault: Status?
  ) async -> TransactionResult {
    if let fault { return TransactionResult(error: fault.nsError) }
    var attempt = 1
    while true {
      let result = await attemptTransaction(block)
      guard let error = result.error, attempt < attempts, Self.mayTryAgain(error) else {
        return result
      }
      // The others' commits that were in the way take about this long.
      let ceiling = 1_000_000 << UInt64(min(attempt, 8))
      try? await Task.sleep(nanoseconds: UInt64.random(in: 0...UInt64(ceiling)))
      attempt += 1
    }
  }

  private func attemptTransaction(_ block: TransactionBlock) async -> TransactionResult {
    let (result, finished) = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [self] in
        let transaction = Transaction(self)
        let result = block.run(transaction)
        continuation.resume(
          returning: (result, Result { () throws(Status) in try transaction.finish() }))
      }
    }
    if result.error != nil { return result }
    do {
      let mutations = try finished.get()
      guard !mutations.isEmpty else { return result }
      _ = try await database().writer.commit(mutations)
      return result
    } catch let status as Status {
      return TransactionResult(error: status.nsError)
    } catch {
      return TransactionResult(error: error as NSError)
    }
  }

  /// Another attempt may find what this one did not. An error of the user's own is final.
  private static func mayTryAgain(_ error: NSError) -> Bool {
    guard error.domain == FirestoreErrorDomain else { return false }
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .aborted, .alreadyExists, .failedPrecondition: return true
    default: return false
    }
  }
}

/// What a transaction's block gave back.
private struct TransactionResult: @unchecked Sendable {
  // Unchecked: made on one thread, handed on whole, and used on the next only.
  var value: Any?
  var error: NSError?
}

/// A transaction's block on its way to the queue it runs on.
private struct TransactionBlock: @unchecked Sendable {
  // Unchecked: as in Firestore, the block is promised to run on a background queue.
  private let body: (Transaction, NSErrorPointer) -> Any?

  init(_ body: @escaping (Transaction, NSErrorPointer) -> Any?) { self.body = body }

  func run(_ transaction: Transaction) -> TransactionResult {
    var error: NSError?
    let value = withUnsafeMutablePointer(to: &error) { body(transaction, $0) }
    return error.map { TransactionResult(error: $0) } ?? TransactionResult(value: value)
  }
}
