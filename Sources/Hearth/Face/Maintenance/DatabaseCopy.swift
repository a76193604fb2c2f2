/// A copy of one database in another, on the same or another kind of backend, made while the first
/// is in use.
///
///     let copy = try await DatabaseCopy.begin(from: old, to: new)
///     try await copy.copyDocuments { print("\($0.done) of \($0.total)") }
///     try await copy.copyIndexes()
///     print(try await copy.verify().isEqual)
///     try await copy.follow { $0.changes > 0 }  // until it has caught up
///     // Nobody writes to `old` any more.
///     try await copy.catchUp()
///     try await copy.finish()
///
/// Documents keep their create and update times. The target is empty at the beginning, and nobody
/// else writes to it until `finish`. An interrupted copy is continued: `begin` finds in the target
/// how far it has come, also in another process and after a crash. Every step can be repeated.
///
/// The source's change log must reach back to the last change that was applied: for the time of one
/// batch while the copy runs, and for the time of an interruption (see
/// `FirestoreSettings.changeLogRetention`).
///
/// One call at a time. Several copies to one target end each other with `failedPrecondition`.
public struct DatabaseCopy: Sendable {
  private let work: DocumentCopy
  private let databases: [Database]

  /// How much of a step is done.
  public struct Progress: Sendable, Hashable {
    /// The number of documents copied or compared so far, also before an interruption.
    public var done: Int
    /// The number of documents that there were when the step began; at least `done`.
    public var total: Int
  }

  /// The changes of the source that the target does not have yet.
  public struct Lag: Sendable, Hashable {
    /// The number of changes.
    public var changes: Int
    /// From the commit of the last applied change to the source's newest commit.
    public var time: Duration
  }

  /// The result of comparing the target with the source.
  public struct Verification: Sendable, Hashable {
    /// Whether both have the same documents with the same times.
    public var isEqual: Bool { differenceCount == 0 }
    /// The documents that are not the same, or only in one of the databases.
    public var differenceCount: Int
    /// The paths of up to 20 of these documents.
    public var differences: [String]
    /// The target's documents, by the id of their collections, at any depth. Empty if only changes
    /// were compared.
    public var collections: [Collection]

    /// The documents of all collections with one id.
    public struct Collection: Sendable, Hashable {
      /// The id of the collections.
      public var id: String
      /// The number of documents.
      public var documents: Int
      /// A 128-bit checksum over names, times and fields, as 32 hexadecimal digits.
      public var checksum: String
    }
  }

  // MARK: Beginning

  /// Begins a copy, or continues one that was interrupted.
  ///
  /// Throws `failedPrecondition` if the target has documents and is no unfinished copy of this
  /// source, or if the source is itself an unfinished copy; `outOfRange` if the source's change log
  /// no longer reaches back to where the interrupted copy is: then copy into an empty database.
  public static func begin(
    from source: Firestore, to target: Firestore
  ) async throws -> DatabaseCopy {
    try await reporting {
      let databases = [try source.database(), try target.database()]
      let work = try await active(databases) {
        try await DocumentCopy.begin(from: databases[0].backend, to: databases[1].backend)
      }
      return DatabaseCopy(work: work, databases: databases)
    }
  }

  /// Whether all documents have been copied at least once: the target was a state of the source when
  /// the last step ended.
  public var hasDocuments: Bool { work.hasDocuments }

  /// The position in the source's history up to which its changes are applied.
  public var token: ChangeToken { work.token }

  // MARK: Steps

  /// Copies all documents, and then what has changed meanwhile. The target is then the source's
  /// state at a moment of this call.
  ///
  /// Throws `outOfRange` if the source's change log does not reach back to what was applied last,
  /// and `CancellationError`.
  public func copyDocuments(
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws {
    try await step {
      try await work.copyDocuments { progress(Progress(done: $0.done, total: $0.total)) }
    }
  }

  /// Declares the source's indexes, unique indexes and references in the target, and waits until
  /// they are built. Call it after `copyDocuments`, so that no rule meets half of the documents.
  ///
  /// Learned indexes are not copied. Throws `failedPrecondition` if a unique index is valid in the
  /// source and not in the target.
  public func copyIndexes() async throws {
    try await step { try await work.copyIndexes() }
  }

  /// Applies every change soon after its commit, whole commits in their order.
  ///
  /// Calls `progress` after each batch, and ends when it returns false. Throws `CancellationError`
  /// when the task is cancelled, and the errors of `copyDocuments`.
  public func follow(progress: @escaping @Sendable (Lag) -> Bool) async throws {
    try await step {
      try await work.follow { progress(Lag(changes: $0.changes, time: $0.time)) }
    }
  }

  /// Applies the changes up to the newest one of this moment.
  public func catchUp() async throws { try await step { try await work.catchUp() } }

  /// Whether the source has changed since the last change that was applied.
  public func hasMissingChanges() async throws -> Bool {
    try await step { try await work.hasMissingChanges() }
  }

  /// Compares all documents by counts and checksums, and one by one where these differ. Call it
  /// after `copyDocuments` or `catchUp`. Others may write to the source meanwhile: the comparison is
  /// with its state at `token`.
  ///
  /// Reads both databases once. Throws `outOfRange` if the source is written so much meanwhile that
  /// its change log no longer reaches back to `token`.
  public func verify(
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Verification {
    try await step {
      Verification(
        try await work.verify { progress(Progress(done: $0.done, total: $0.total)) })
    }
  }

  /// Compares the documents that have changed in the source since a token: what was applied after
  /// the last complete comparison.
  public func verifyChanges(since token: ChangeToken) async throws -> Verification {
    try await step { Verification(try await work.verifyChanges(since: token)) }
  }

  /// Removes what the copy has stored about itself in the target. The copy cannot be continued
  /// afterwards. Sets the source's TTL policies, too: until then, nothing expires in the target.
  ///
  /// Throws `failedPrecondition` if not all documents are copied.
  public func finish() async throws { try await step { try await work.finish() } }

  /// `terminate` of either database waits for a step.
  private func step<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await reporting { try await Self.active(databases, body) }
  }

  private static func active<Result>(
    _ databases: [Database], _ body: () async throws -> Result
  ) async throws -> Result {
    try await databases[0].active { try await databases[1].active(body) }
  }
}

extension DatabaseCopy.Verification {
  fileprivate init(_ verification: CopyVerification) {
    differenceCount = verification.differenceCount
    differences = verification.differences
    collections = verification.collections.map {
      Collection(id: $0.id, documents: $0.sum.count, checksum: $0.sum.checksum)
    }
  }
}
