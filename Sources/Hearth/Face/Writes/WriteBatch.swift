/// Several writes that are committed together, or not at all.
///
///     let batch = db.batch()
///     batch.setData(["title": "Dune"], forDocument: dune)
///     batch.deleteDocument(draft)
///     try await batch.commit()
///
/// Writes are applied in order; a document may be written several times. If a write is invalid,
/// `commit` reports its error and applies nothing. Listeners receive the batch as one commit.
public final class WriteBatch: DocumentWrites {
  private var isCommitted = false

  /// Requires that a document passes a check as the writes added before leave it. If `body` throws,
  /// `commit` applies nothing and throws the same error.
  ///
  ///     let batch = db.batch()
  ///     batch.updateData(["pages": FieldValue.increment(1.0)], forDocument: dune)
  ///     batch.check(dune) { _ = try $0.data(as: Book.self) }
  ///     try await batch.commit()
  ///
  /// `body` gets the document with the results of its transforms; it does not exist in the snapshot if
  /// it is missing or deleted. Runs within the commit, on the writer's thread, so that nobody changes
  /// the document in between. All other writes wait for it: keep it short, and without effects,
  /// because a commit that the storage refuses is planned again. It cannot wait for the same database.
  @discardableResult
  public func check(
    _ document: DocumentReference, _ body: @escaping @Sendable (DocumentSnapshot) throws -> Void
  ) -> WriteBatch {
    add(
      .verifying(
        try document.uncheckedPath(in: firestore),
        DocumentCheck { try body(DocumentSnapshot(document, $0)) }))
  }

  override func add(_ write: @autoclosure () throws -> Mutation) -> Self {
    guard isCommitted else { return super.add(try write()) }
    note(.batchIsCommitted)
    return self
  }

  // MARK: Committing

  /// Submits the batch, and returns before it is committed.
  ///
  /// Reads of this process that begin later see it. Waits for no listener. Counts towards
  /// `FirestoreSettings.queueLimitBytes`; beyond it the commit fails with `resourceExhausted`. A
  /// failure goes to `Firestore.unobservedWriteFailureHandler`.
  public func commit() {
    submit(firestore.writeHandler(nil, nil))
  }

  /// Submits the batch, and returns before it is committed. `completion` is called when the batch
  /// is durable.
  ///
  /// Before that, the callbacks of this process's listeners that the batch concerns have returned,
  /// or 100 ms have passed; see <doc:WritesAndListeners>. For the rest, see `commit()`.
  public func commit(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)?
  ) {
    guard let completion else { return commit() }
    submit(completesAfterListeners: true, firestore.writeHandler(isolation, completion))
  }

  /// Commits the batch, and returns when it is durable.
  ///
  /// By then, the callbacks of this process's listeners that the batch concerns have returned, or
  /// 100 ms have passed; see <doc:WritesAndListeners>.
  ///
  /// Throws `failedPrecondition` after `terminate` and for a second commit, also if the batch has
  /// no writes. Throws the error of an invalid write.
  public func commit() async throws {
    try await reporting {
      let mutations = try take(in: firestore)
      // Before the check for writes: a terminated database also refuses an empty batch.
      let database = try firestore.database()
      guard !mutations.isEmpty else { return }
      try await database.backend.commit(mutations, areChecked: true)
    }
  }

  private func submit(
    completesAfterListeners: Bool = false, _ done: @escaping @Sendable (Status?) -> Void
  ) {
    do {
      let mutations = try take(in: firestore)
      let database = try firestore.database()
      guard !mutations.isEmpty else { return done(nil) }
      database.backend.submit(
        mutations, areChecked: true, completesAfterListeners: completesAfterListeners, done)
    } catch {
      done(error as? Status ?? Status(.unknown, "The commit failed.", cause: error))
    }
  }

  /// The writes, once. Throws if the batch is of another database.
  func take(in firestore: Firestore) throws -> [Mutation] {
    guard self.firestore === firestore else {
      throw Status.invalidArgument(
        "Provided write batch is from a different Cloud Firestore instance.")
    }
    if isCommitted { throw Status.batchIsCommitted }
    isCommitted = true
    return try checked()
  }
}

extension Status {
  fileprivate static let batchIsCommitted = Status(
    .failedPrecondition, "A write batch can no longer be used after commit has been called.")
}

extension Firestore {
  /// Creates an empty batch of writes.
  public func batch() -> WriteBatch { WriteBatch(self) }

  /// Passes the outcome of a write to its completion handler. Without one, an error is reported as unobserved.
  func writeHandler(
    _ actor: (any Actor)?, _ completion: ((Error?) -> Void)?
  ) -> @Sendable (Status?) -> Void {
    guard let completion else { return { [self] in if let error = $0 { reportUnobserved(error) } } }
    let callbackTarget = callbackTarget(actor)
    let callback = Callback<(any Error)?> { completion($0) }
    return { callbackTarget.carry($0?.thrown, to: callback) }
  }
}
