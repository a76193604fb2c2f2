/// Reads and writes of one closure that are committed together, or not at all; see
/// `Firestore.write`.
///
/// Reads, including queries, see the writes before them, and what reference rules have done after their
/// deletions. A write that throws has no effect; if the closure catches the error, the other writes are
/// committed, unless rules would change too many documents. Valid only while the closure runs,
/// and only on its thread; later calls throw `failedPrecondition`.
public final class WriteTransaction: ReadTransaction {
  private let writer: any LocalWriter

  init(_ firestore: Firestore, _ writer: any LocalWriter) {
    self.writer = writer
    super.init(firestore, writer)
  }

  // MARK: Set

  /// Replaces the document, or creates it.
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) throws {
    try write(Mutation(setting: document, to: data, in: firestore))
  }

  /// If `merge` is true, merges the data into the document: maps field by field, everything else as
  /// a whole. Otherwise as `setData(_:forDocument:)`.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) throws {
    try write(Mutation(setting: document, to: data, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only these fields, strings or `FieldPath`s. Throws `invalidArgument` if one is not in the
  /// data.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) throws {
    try write(
      Mutation(setting: document, to: data, merge: .fields(mergeFields), in: firestore))
  }

  /// Replaces the document, or creates it, if the precondition holds.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) throws {
    try write(Mutation(setting: document, to: data, in: firestore).requiring(precondition))
  }

  /// Replaces the document with an encoded value, or creates it. Throws if the value cannot be
  /// encoded or stored.
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) throws {
    try set(value, document, encoder, merge: nil)
  }

  /// If `merge` is true, merges an encoded value into the document. Throws as
  /// `setData(from:forDocument:)` does.
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = .standard
  ) throws {
    try set(value, document, encoder, merge: merge ? .all : nil)
  }

  /// Merges only these fields of an encoded value. Throws as `setData(from:forDocument:)` does.
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = .standard
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

  /// Creates the document. Throws `alreadyExists` if it exists.
  public func create(_ data: [String: Any], forDocument document: DocumentReference) throws {
    try write(Mutation(setting: document, to: data, in: firestore).creating())
  }

  /// Creates the document from an encoded value. Throws `alreadyExists` if it exists.
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) throws {
    let encoded = try encoder.encodedForWriting(value)
    try write(Mutation(setting: document, to: encoded, in: firestore).creating())
  }

  /// Changes fields of a document that exists; throws `notFound` otherwise. Keys are strings, whose
  /// dots lead into maps, or `FieldPath`s.
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) throws {
    try write(Mutation(updating: document, with: fields, in: firestore))
  }

  /// Changes fields of the document if the precondition holds.
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

  /// Deletes the document if the precondition holds.
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
  /// Runs `body`, and commits its writes together, as if no other write happened in between.
  ///
  ///     let left = try await db.write { tx in
  ///       let left = try tx.getDocument(account)["amount"] as? Int ?? 0
  ///       guard left >= price else { throw Broke() }
  ///       try tx.updateData(["amount": left - price], forDocument: account)
  ///       return left - price
  ///     }
  ///
  /// Returns when the commit is durable. By then, the callbacks of this process's listeners that it
  /// concerns have returned, or 100 ms have passed; see <doc:WritesAndListeners>.
  ///
  /// `body` runs at most once, on the writer's thread; it does not run if the write is refused
  /// before. All other writes of the file wait for it: keep it short. A closure that takes longer
  /// than one second is logged, with its place in the source.
  ///
  /// `body` is synchronous, and cannot wait for other writes of this database. It can write to
  /// another database; if the closures of two databases would wait for each other, one of them gets
  /// `failedPrecondition`.
  ///
  /// Throws what `body` throws, with nothing applied. Throws `aborted`, with nothing applied, in
  /// the rare case that the storage refused the first commit and the data that `body` had read
  /// changed before the second.
  @discardableResult
  public func write<Result>(
    _ body: sending @escaping (WriteTransaction) throws -> sending Result,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> sending Result {
    let run = WriteClosure(self, body)
    do {
      let backend = try local()
      _ = try await backend.awaiting { backend.write(file: file, line: line, run.run, .lent, $0) }
    } catch let status as Status {
      throw run.thrown ?? status.nsError
    }
    return try run.value()
  }

  /// As the async form; blocks until then.
  ///
  /// Does not wait for callbacks on the queue that it blocks, nor for callbacks of executors and of
  /// actors other than the main actor. In a write closure of another database it waits for no
  /// callback. Throws `failedPrecondition` in a write closure or a transaction's block of the same
  /// database.
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

/// Carries a user's closure to the writer's thread, and its result back.
private final class WriteClosure<Result>: @unchecked Sendable {
  // Unchecked: the caller, which waits, and the writer's thread access it in turns.
  private let firestore: Firestore
  private let body: (WriteTransaction) throws -> Result
  private var result: Result?
  private var failure: (any Error)?
  /// Locked between the turns. The task continues only after the writer's thread has resumed it,
  /// but the thread sanitizer does not always see that.
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
