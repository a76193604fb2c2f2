/// Every change, one by one, for consumers that must not miss any.
extension Firestore {
  /// Every committed change after `token`, in commit order and without gaps, and then each new one.
  ///
  ///     for try await change in db.changes(since: token) {
  ///       print(change.document.path, change.after?["title"] ?? "deleted")
  ///       token = change.token
  ///     }
  ///
  /// Changes are neither skipped nor combined. The loop reads the change log and holds one page of
  /// it in memory; it must keep up with the trimming of the log.
  ///
  /// To process each change at least once, store its token after the work. To apply the work's
  /// writes exactly once, even if the process is killed, store the token in the same `write { }` as
  /// the work. Without a token, only changes from now on are returned.
  ///
  /// Includes changes of all processes, and those that the loop makes itself. Ends when the task is
  /// cancelled. Throws `outOfRange` if the log no longer holds the next change (see
  /// `FirestoreSettings.changeLogRetention`): read everything then, and continue from a token of
  /// that state. Throws `outOfRange` for a token of a later state than the file is in, too, and
  /// `invalidArgument` for one of another database.
  public func changes(since token: ChangeToken? = nil) -> ChangesSequence {
    ChangesSequence(firestore: self, token: token)
  }

  /// The token of the newest commit, after every write whose call has returned before. Later reads
  /// show at least this state.
  public func changeToken() async throws -> ChangeToken {
    try await reporting {
      try await database().backend.asChangeFeed().newestToken()
    }
  }

  /// Sets how long past changes are kept, for every process that writes to the file: by default,
  /// each process removes changes by its own `FirestoreSettings.changeLogRetention` and
  /// `changeLogLimitBytes`. Stored in the file, and kept by backups and repairs.
  ///
  ///     try await db.setChangeLogRetention(
  ///       ChangeLogRetention(age: .seconds(7 * 86_400), limitBytes: 1 << 30))
  ///
  /// Later commits remove what exceeds either limit. `statistics()` returns the limits, and the
  /// oldest time that can be read. Versions of Hearth before this setting ignore it. Throws
  /// `invalidArgument` for a negative limit, and what a commit throws.
  ///
  /// - Parameter retention: Nil leaves the limits to the settings of each process again.
  public func setChangeLogRetention(_ retention: ChangeLogRetention?) async throws {
    try await reporting { try await file().setRetention(retention, isDefault: false) }
  }

  /// One change of a document: its versions before and after a commit.
  public struct Change: Sendable {
    /// The kind of a change.
    public enum Kind: Sendable, Hashable {
      /// The document did not exist before.
      case created
      /// The document's fields changed.
      case updated
      /// The document does not exist any more.
      case deleted
    }

    /// Whether the document was created, updated or deleted.
    public let kind: Kind
    /// The document that changed.
    public let document: DocumentReference
    /// The version before. Nil if the document was created.
    public let before: QueryDocumentSnapshot?
    /// The version after. Nil if the document was deleted.
    public let after: QueryDocumentSnapshot?
    /// The time of the commit, in whole microseconds.
    public let commitTime: Timestamp
    /// Whether this is the last change of its commit. Up to here, all changes of a batch have been
    /// returned.
    public let endsCommit: Bool
    /// The position after this change: `changes(since:)` continues with the next one.
    public let token: ChangeToken
  }

  /// The changes of a database; see `Firestore.changes(since:)`.
  public struct ChangesSequence: AsyncSequence, Sendable {
    public typealias Element = Change
    public typealias Failure = Error

    fileprivate let firestore: Firestore
    fileprivate let token: ChangeToken?

    public func makeAsyncIterator() -> Iterator { Iterator(firestore, token) }

    /// Iterates over the changes. Waits for the next commit at the end of the log.
    public struct Iterator: AsyncIteratorProtocol {
      private let firestore: Firestore
      private let reading: Result<ChangeReading, Status>

      fileprivate init(_ firestore: Firestore, _ token: ChangeToken?) {
        self.firestore = firestore
        do {
          reading = .success(try ChangeReading(firestore.database().backend.asChangeFeed(), token))
        } catch {
          reading = .failure(Status(readingFailed: error))
        }
      }

      /// The next change. Nil when the task is cancelled.
      public mutating func next() async throws -> Change? {
        try await next(isolation: #isolation)
      }

      /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws -> Change? {
        try await reporting {
          let reading = try reading.get()
          // The end of the database wakes the reading before its file is closed.
          return try await reading.next { _ = try firestore.database() }.map { change in
            let document = DocumentReference(firestore, change.path)
            func snapshot(_ version: StoredDocument?) -> QueryDocumentSnapshot? {
              version.map { QueryDocumentSnapshot(document, $0) }
            }
            let kind: Change.Kind =
              switch change.kind {
              case .created: .created
              case .updated: .updated
              case .deleted: .deleted
              }
            return Change(
              kind: kind, document: document, before: snapshot(change.before),
              after: snapshot(change.after), commitTime: Timestamp(change.commitTime),
              endsCommit: change.endsCommit,
              token: reading.feed.token(after: change.sequence))
          }
        }
      }
    }
  }
}

@available(*, unavailable)
extension Firestore.ChangesSequence.Iterator: Sendable {}

/// Reads the change log, and waits for new changes at its end.
private final class ChangeReading: @unchecked Sendable {
  // Unchecked: the mutable state belongs to the iterator, which one task uses at a time.
  let feed: any ChangeFeed
  private let signal = AsyncSignal()
  private let observation: Observation
  /// The position after the last change that was returned.
  private var token: ChangeToken
  /// In reverse order: the next change is the last element.
  private var page: [LoggedChange] = []

  init(_ feed: any ChangeFeed, _ token: ChangeToken?) throws {
    self.feed = feed
    self.token = try token ?? feed.committedToken()
    let signal = signal
    observation = feed.observeChanges { signal.set() }
  }

  deinit { observation.end() }

  /// - Parameter checkOpen: Throws once the database has begun to end.
  func next(_ checkOpen: () throws -> Void) async throws -> LoggedChange? {
    try await signal.next {
      if page.isEmpty {
        let (feed, token) = (feed, token)
        page = try await feed.awaiting { feed.changes(since: token, $0, $1) }.reversed()
      }
      guard let change = page.popLast() else {
        try checkOpen()
        return .nothing
      }
      token = feed.token(after: change.sequence)
      return .element(change)
    }
  }
}
