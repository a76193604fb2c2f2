/// Every change, one by one, for consumers that must not miss any.
extension Firestore {
  /// Every committed change after a token that the change log still holds, in the order of the commits, without gaps;
  /// then those to come.
  ///
  ///     for try await change in db.changes(since: token) {
  ///       try await index.update(change.document.path, change.after?.data())
  ///       token = change.token
  ///     }
  ///
  /// No change is left out or combined with another, as long as the loop is not slower than the log is trimmed: it
  /// reads the change log, and holds a portion of that. With a token that is stored after the work, each change is
  /// seen at least once. With one that is stored in the same `write { }` as the work, the work's writes are done
  /// exactly once, even if the process is killed. Without a token: from now on.
  ///
  /// Changes of all processes count, the loop's own too. Ends when the task is cancelled. Throws
  /// `outOfRange` if the log no longer has what follows (see `FirestoreSettings.changeLogRetention`):
  /// then read everything, and go on from a token of that moment. Throws `invalidArgument` for the
  /// token of another database.
  public func changes(since token: ChangeToken? = nil) -> ChangesSequence {
    ChangesSequence(firestore: self, token: token)
  }

  /// The state after the newest commit and every write whose call has returned before. What is read afterwards shows
  /// at least this.
  public func changeToken() async throws -> ChangeToken {
    try await reporting {
      let backend = try database().backend
      return try await backend.awaiting { backend.newestToken(.lent, $0) }
    }
  }

  /// A document as a commit left it, and as it was before.
  public struct DocumentVersions: Sendable {
    /// `removed` is a deletion.
    public let type: DocumentChangeType
    public let document: DocumentReference
    /// Nil if the document was made.
    public let before: QueryDocumentSnapshot?
    /// Nil if it was deleted.
    public let after: QueryDocumentSnapshot?
    public let commitTime: Timestamp
    /// The last change of its commit. A batch is applied as a whole up to here.
    public let endsCommit: Bool
    /// Goes on after this change.
    public let token: ChangeToken
  }

  public struct ChangesSequence: AsyncSequence, Sendable {
    public typealias Element = DocumentVersions
    public typealias Failure = Error

    fileprivate let firestore: Firestore
    fileprivate let token: ChangeToken?

    public func makeAsyncIterator() -> Iterator { Iterator(firestore, token) }

    public struct Iterator: AsyncIteratorProtocol {
      private let firestore: Firestore
      private let reading: Result<ChangeReading, Status>

      fileprivate init(_ firestore: Firestore, _ token: ChangeToken?) {
        self.firestore = firestore
        do {
          reading = .success(try ChangeReading(firestore.database().backend, token))
        } catch {
          reading = .failure(Status(readingFailed: error))
        }
      }

      public mutating func next() async throws -> DocumentVersions? {
        try await reporting {
          let reading = try reading.get()
          return try await reading.next().map { change in
            let document = DocumentReference(firestore, change.path)
            func snapshot(_ version: StoredDocument?) -> QueryDocumentSnapshot? {
              version.map { QueryDocumentSnapshot(document, $0) }
            }
            let type: DocumentChangeType =
              switch change.kind {
              case .created: .added
              case .updated: .modified
              case .deleted: .removed
              }
            return DocumentVersions(
              type: type, document: document, before: snapshot(change.before),
              after: snapshot(change.after), commitTime: Timestamp(change.commitTime),
              endsCommit: change.endsCommit,
              token: reading.backend.token(after: change.sequence))
          }
        }
      }
    }
  }
}

@available(*, unavailable)
extension Firestore.ChangesSequence.Iterator: Sendable {}

/// A reader of the change log that waits for more at its end.
private final class ChangeReading: @unchecked Sendable {
  // Unchecked: what changes belongs to the iterator, which one task uses at a time.
  let backend: any Backend
  private let bell = AsyncSignal()
  private let observer: Int
  /// Everything up to here has been told.
  private var token: ChangeToken
  /// The next one is last.
  private var page: [LoggedChange] = []

  init(_ backend: any Backend, _ token: ChangeToken?) throws {
    self.backend = backend
    self.token = try token ?? backend.committedToken()
    let bell = bell
    observer = backend.addChangeObserver { bell.ring() }
  }

  deinit { backend.removeChangeObserver(observer) }

  func next() async throws -> LoggedChange? {
    try await withTaskCancellationHandler {
      while true {
        if bell.isCancelled { return nil }
        if let change = page.popLast() {
          token = backend.token(after: change.sequence)
          return change
        }
        let (backend, token) = (backend, token)
        page = try await backend.awaiting { backend.changes(since: token, .lent, $0) }.reversed()
        if page.isEmpty { await bell.wait() }
      }
    } onCancel: {
      bell.cancel()
    }
  }
}
