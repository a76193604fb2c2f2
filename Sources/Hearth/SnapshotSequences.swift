extension DocumentReference {
  /// The document as it is, and after every commit that changes it.
  ///
  ///     for try await snapshot in dune.snapshots { print(snapshot["title"] ?? "gone") }
  ///
  /// Ends when the task is cancelled; throws what ends the listener. A slow loop skips to the newest
  /// state.
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
      private let news: NewsStream

      fileprivate init(_ documentReference: DocumentReference) {
        self.documentReference = documentReference
        news = NewsStream(.document(documentReference.resourcePath)) {
          try documentReference.resolved().database
        }
      }

      public mutating func next() async throws -> DocumentSnapshot? {
        try await news.next().map { DocumentSnapshot(documentReference, $0.list.documents.first) }
      }
    }
  }
}

@available(*, unavailable)
extension DocumentReference.DocumentSnapshotsSequence.Iterator: Sendable {}

extension Query {
  /// The result as it is, and after every commit that changes it.
  ///
  ///     for try await snapshot in db.collection("books").snapshots { print(snapshot.count) }
  ///
  /// Ends when the task is cancelled; throws what ends the listener. A slow loop skips to the newest
  /// state, with the changes since the one it saw last.
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot
    public typealias Failure = Error

    private let query: Query

    public init(_ query: Query, includeMetadataChanges: Bool) { self.query = query }

    public func makeAsyncIterator() -> Iterator { Iterator(query) }

    public struct Iterator: AsyncIteratorProtocol {
      private let query: Query
      private let news: NewsStream

      fileprivate init(_ query: Query) {
        self.query = query
        news = NewsStream(query.target) { try query.resolvedForListening() }
      }

      public mutating func next() async throws -> QuerySnapshot? {
        try await news.next().map { QuerySnapshot(query, $0) }
      }
    }
  }
}

@available(*, unavailable)
extension Query.QuerySnapshotsSequence.Iterator: Sendable {}

/// A listener that is asked for its next event. Holds no more than the one that waits.
private final class NewsStream: Sendable {
  private struct State {
    /// There is news that nobody has looked for.
    var hasNews = false
    var isCancelled = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private final class Bell: Sendable {
    let state = Guarded(State())

    /// Wakes whoever waits, or leaves a note.
    func ring(cancelling: Bool = false) {
      let waiting = state.withLock { state in
        state.hasNews = true
        if cancelling { state.isCancelled = true }
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume()
    }

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

  private let bell = Bell()
  private let listening: Listening

  init(_ target: WatchTarget, _ resolve: () throws -> Database) {
    let bell = bell
    listening = Listening(target, in: resolve, schedule: { _ in bell.ring() }, callback: { _ in })
  }

  deinit { listening.remove() }

  func next() async throws -> ResultEvent? {
    try await withTaskCancellationHandler {
      while true {
        if bell.state.withLock(\.isCancelled) {
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
      bell.ring(cancelling: true)
    }
  }
}
