extension DocumentReference {
  /// The document as it is, and after commits that change it.
  ///
  ///     for try await snapshot in dune.snapshots { print(snapshot["title"] ?? "gone") }
  ///
  /// Up to 16 commits that wait for the loop are an element each; further ones are combined into one with the newest
  /// state. No write waits for the loop. Ends when the task is cancelled, and when the database is terminated; throws
  /// what else ends the listener, and `failedPrecondition` if the database was terminated before.
  public var snapshots: DocumentSnapshotsSequence { snapshots(includeMetadataChanges: false) }

  public func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence {
    DocumentSnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot
    public typealias Failure = Error

    private let documentReference: DocumentReference

    public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
      self.documentReference = documentReference
    }

    public func makeAsyncIterator() -> Iterator { Iterator(documentReference) }

    public struct Iterator: AsyncIteratorProtocol {
      private let documentReference: DocumentReference
      private let news: SnapshotIterator

      fileprivate init(_ documentReference: DocumentReference) {
        self.documentReference = documentReference
        news = SnapshotIterator(documentReference.watched)
      }

      public mutating func next() async throws -> DocumentSnapshot? {
        try await news.next().map { DocumentSnapshot(documentReference, $0.list.first) }
      }
    }
  }
}

@available(*, unavailable)
extension DocumentReference.DocumentSnapshotsSequence.Iterator: Sendable {}

extension Query {
  /// The result as it is, and after commits that change it.
  ///
  ///     for try await snapshot in db.collection("books").snapshots { print(snapshot.count) }
  ///
  /// Up to 16 commits that wait for the loop are an element each; further ones are combined into one with the newest
  /// state and all changes since the element before. No write waits for the loop. Ends when the task is cancelled,
  /// and when the database is terminated; throws what else ends the listener, and `failedPrecondition` if the
  /// database was terminated before.
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// As `snapshots`; the first one's changes are those since the token. See
  /// `SnapshotListenOptions.withChanges(since:)`.
  public func snapshots(since token: ChangeToken?) -> QuerySnapshotsSequence {
    var sequence = snapshots
    sequence.token = token
    return sequence
  }

  public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot
    public typealias Failure = Error

    private let query: Query
    fileprivate var token: ChangeToken?

    public init(_ query: Query, includeMetadataChanges: Bool) { self.query = query }

    public func makeAsyncIterator() -> Iterator { Iterator(query, token) }

    public struct Iterator: AsyncIteratorProtocol {
      private let query: Query
      private let news: SnapshotIterator

      fileprivate init(_ query: Query, _ token: ChangeToken?) {
        self.query = query
        news = SnapshotIterator(query.watched, since: token)
      }

      public mutating func next() async throws -> QuerySnapshot? {
        try await news.next().map { QuerySnapshot(query, $0) }
      }
    }
  }
}

@available(*, unavailable)
extension Query.QuerySnapshotsSequence.Iterator: Sendable {}

extension AggregateQuery {
  /// The numbers as they are, and after commits that change one of them.
  ///
  ///     for try await snapshot in db.collection("books").count.snapshots { print(snapshot.count) }
  ///
  /// Up to 16 commits that wait for the loop are an element each; further ones are combined into one with the newest
  /// numbers. No write waits for the loop. Ends and throws as `Query.snapshots` does.
  public var snapshots: AggregateSnapshotsSequence { AggregateSnapshotsSequence(query: self) }

  public struct AggregateSnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = AggregateQuerySnapshot
    public typealias Failure = Error

    fileprivate let query: AggregateQuery

    public func makeAsyncIterator() -> Iterator { Iterator(query) }

    public struct Iterator: AsyncIteratorProtocol {
      private let query: AggregateQuery
      private let news: SnapshotIterator

      fileprivate init(_ query: AggregateQuery) {
        self.query = query
        news = SnapshotIterator(query.watched)
      }

      public mutating func next() async throws -> AggregateQuerySnapshot? {
        try await news.next().map { AggregateQuerySnapshot(query, $0.values ?? []) }
      }
    }
  }
}

@available(*, unavailable)
extension AggregateQuery.AggregateSnapshotsSequence.Iterator: Sendable {}

/// A listener that is asked for its next event. Holds those that wait, as many as a `Listener` does.
private final class SnapshotIterator: Sendable {
  private let bell = AsyncSignal()
  private let listening: SnapshotRegistration

  init(_ resolve: () throws -> SnapshotRegistration.Watched, since token: ChangeToken? = nil) {
    let bell = bell
    listening = SnapshotRegistration(
      resolve, since: token, .ask { bell.ring() }, callback: { _ in })
  }

  deinit { listening.remove() }

  func next() async throws -> ResultEvent? {
    try await withTaskCancellationHandler {
      while true {
        if bell.isCancelled {
          listening.remove()
          return nil
        }
        switch listening.takeNews() {
        case .success(let event)?: return event
        case .failure(let status)?: throw status.nsError
        case nil where listening.isOver: return nil
        case nil: await bell.wait()
        }
      }
    } onCancel: {
      bell.cancel()
    }
  }
}

/// Wakes a task that waits for more.
final class AsyncSignal: Sendable {
  private struct State {
    /// There is news that nobody has looked for.
    var hasNews = false
    var isCancelled = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Guarded(State())

  var isCancelled: Bool { state.withLock(\.isCancelled) }

  /// Wakes whoever waits, or leaves a note.
  func ring() { ring(cancelling: false) }

  func cancel() { ring(cancelling: true) }

  private func ring(cancelling: Bool) {
    let waiting = state.withLock { state in
      state.hasNews = true
      if cancelling { state.isCancelled = true }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }

  /// For one task.
  func wait() async {
    await withCheckedContinuation { continuation in
      let hasNews = state.withLock { state in
        if !state.hasNews { state.waiting = continuation }
        return state.hasNews
      }
      if hasNews { continuation.resume() }
    }
    state.withLock { $0.hasNews = false }
  }
}
