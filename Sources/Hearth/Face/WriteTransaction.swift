import Foundation

/// Reads and writes of one closure that are done together, or not at all; see `Firestore.write`.
///
/// Reads see the writes before them, queries included. A write that throws has done nothing; if the
/// closure lets that pass, the others are done. Only valid while the closure runs, on its thread.
public final class WriteTransaction: ReadTransaction {
  private let writer: any LocalWriter

  init(_ firestore: Firestore, _ writer: any LocalWriter) {
    self.writer = writer
    super.init(firestore, writer)
  }

  // MARK: Set

  /// Replaces the document, or makes it.
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) throws {
    try write(Mutation(setting: document, to: data, in: firestore))
  }

  /// Merges into the document: maps field by field, everything else as a whole.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) throws {
    try write(Mutation(setting: document, to: data, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only these fields, strings or `FieldPath`s; each must be in the data.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) throws {
    try write(
      Mutation(setting: document, to: data, merge: .fields(mergeFields), in: firestore))
  }

  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) throws {
    try write(Mutation(setting: document, to: data, in: firestore).requiring(precondition))
  }

  /// Replaces the document with an encoded value. Throws if it cannot be encoded or stored.
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws {
    try set(value, document, encoder, merge: nil)
  }

  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws {
    try set(value, document, encoder, merge: merge ? .all : nil)
  }

  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws {
    try set(value, document, encoder, merge: .fields(mergeFields))
  }

  private func set<T: Encodable>(
    _ value: T, _ document: DocumentReference, _ encoder: Firestore.Encoder,
    merge: ParsedWrite.Merge?
  ) throws {
    let encoded = try encoder.encodedForWriting(value)
    try write(Mutation(setting: document, to: encoded, merge: merge, in: firestore))
  }

  // MARK: Create, update, delete

  /// Makes the document; `alreadyExists` if it is there.
  public func create(_ data: [String: Any], forDocument document: DocumentReference) throws {
    try write(Mutation(setting: document, to: data, in: firestore).creating())
  }

  /// Makes the document from an encoded value; `alreadyExists` if it is there.
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws {
    let encoded = try encoder.encodedForWriting(value)
    try write(Mutation(setting: document, to: encoded, in: firestore).creating())
  }

  /// Changes fields of a document that exists; `notFound` otherwise.
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) throws {
    try write(Mutation(updating: document, with: fields, in: firestore))
  }

  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) throws {
    try write(Mutation(updating: document, with: fields, in: firestore).requiring(precondition))
  }

  /// Deletes the document, if it exists. Collections below it stay.
  public func deleteDocument(_ document: DocumentReference) throws {
    try write(Mutation(deleting: document, in: firestore))
  }

  public func deleteDocument(
    _ document: DocumentReference, precondition: WritePrecondition
  ) throws {
    try write(Mutation(deleting: document, in: firestore).requiring(precondition))
  }

  private func write(_ mutation: @autoclosure () throws -> Mutation) throws {
    try using { _ in try writer.write(mutation()) }
  }
}

extension Firestore {
  /// Reads and writes as if nothing else happened in between. Returns when that is durable, and the callbacks of this
  /// process's listeners that it concerns have returned or 100 ms have passed; see <doc:WritesAndListeners>.
  ///
  ///     let left = try await db.write { tx in
  ///       let left = try tx.getDocument(account)["amount"] as? Int ?? 0
  ///       guard left >= price else { throw Broke() }
  ///       try tx.updateData(["amount": left - price], forDocument: account)
  ///       return left - price
  ///     }
  ///
  /// `body` runs once, on the writer's thread, and never a second time; not at all if the write is refused before.
  /// All other writes of the file wait for it: be quick; past a second that is logged, with the place of the closure.
  /// It is synchronous, and cannot wait for other writes of this database. Writes to another one are possible; if two
  /// databases' closures would wait for each other, one of them gets `failedPrecondition`. Throws what `body` throws,
  /// with nothing applied. Throws `aborted`, with nothing applied, in the rare case that the storage refused the
  /// commit at first and what was read had changed before the second.
  @discardableResult
  public func write<Result>(
    _ body: sending @escaping (WriteTransaction) throws -> sending Result,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> sending Result {
    let run = WriteClosure(self, body)
    do {
      let backend = try local()
      _ = try await backend.awaiting { backend.write(file: file, line: line, run.run, $0) }
    } catch let status as Status {
      throw run.thrown ?? status.nsError
    }
    return try run.value()
  }

  /// As the form that is awaited; blocks until then. Does not wait for callbacks on the queue that it blocks, nor for
  /// those of actors other than the main actor and of executors. In a closure of another database it waits for no
  /// callback. Throws `failedPrecondition` in a transaction's block of the same database.
  @discardableResult
  public func write<Result>(
    _ body: (WriteTransaction) throws -> Result,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> Result {
    try withoutActuallyEscaping(body) { body in
      let run = WriteClosure(self, body)
      do {
        let backend = try local()
        _ = try backend.writeBlocking(file: file, line: line, run.run)
      } catch let status as Status {
        throw run.thrown ?? status.nsError
      }
      return try run.value()
    }
  }
}

/// A user's closure on its way to the writer's thread, and what became of it on the way back.
private final class WriteClosure<Result>: @unchecked Sendable {
  // Unchecked: the caller, who waits, and the writer's thread touch it in turns.
  private let firestore: Firestore
  private let body: (WriteTransaction) throws -> Result
  private var result: Result?
  private var failure: (any Error)?
  /// Locked between their turns. The task goes on only after the thread has told it to, but the thread sanitizer
  /// does not always see that.
  private let turn = Guarded(())

  init(_ firestore: Firestore, _ body: @escaping (WriteTransaction) throws -> Result) {
    self.firestore = firestore
    self.body = body
  }

  func run(_ writer: any LocalWriter) throws {
    let session = WriteTransaction(firestore, writer)
    defer {
      session.end()
      turn.withLock { _ in }
    }
    do {
      result = try body(session)
    } catch {
      failure = error
      throw error
    }
  }

  var thrown: (any Error)? {
    turn.withLock { _ in }
    return failure
  }

  func value() throws -> Result {
    turn.withLock { _ in }
    guard let result else { throw Status(.internal, "A write closure was not run.").nsError }
    return result
  }
}
