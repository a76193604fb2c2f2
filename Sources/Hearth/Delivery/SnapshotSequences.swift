extension DocumentReference {
  /// The document, and its new state after each commit that changes it.
  ///
  ///     for try await snapshot in dune.snapshots { print(snapshot["title"] ?? "gone") }
  ///
  /// Up to 16 commits that wait for the loop are one element each; further ones are combined into
  /// one element with the newest state. No write waits for the loop.
  ///
  /// Ends when the task is cancelled, and when the database is terminated. Throws the error that
  /// ends the listener, or `failedPrecondition` if the database was terminated before.
  public var snapshots: DocumentSnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// Same as `snapshots`: metadata never changes.
  public func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence {
    DocumentSnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// The sequence that `snapshots` returns.
  public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot
    public typealias Failure = Error

    private let documentReference: DocumentReference

    /// Same as `documentReference.snapshots`: metadata never changes.
    public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
      self.documentReference = documentReference
    }

    public func makeAsyncIterator() -> Iterator { Iterator(documentReference) }

    /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
      private let documentReference: DocumentReference
      private let events: SnapshotIterator

      fileprivate init(_ documentReference: DocumentReference) {
        self.documentReference = documentReference
        events = SnapshotIterator(documentReference.watched)
      }

      public mutating func next() async throws -> DocumentSnapshot? {
        try await next(isolation: #isolation)
      }

      /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws -> DocumentSnapshot? {
        try await events.next().map { DocumentSnapshot(documentReference, $0.list.first) }
      }
    }
  }
}

@available(*, unavailable)
extension DocumentReference.DocumentSnapshotsSequence.Iterator: Sendable {}

extension Query {
  /// The result, and its new state after each commit that changes it.
  ///
  ///     for try await snapshot in db.collection("books").snapshots { print(snapshot.count) }
  ///
  /// Up to 16 commits that wait for the loop are one element each; further ones are combined into
  /// one element with the newest state and all changes since the previous element. No write waits
  /// for the loop.
  ///
  /// Ends when the task is cancelled, and when the database is terminated. Throws the error that
  /// ends the listener, or `failedPrecondition` if the database was terminated before.
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// Same as `snapshots`: metadata never changes.
  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// As `snapshots`, but resumes from a token: the changes of the first snapshot are those since
  /// the token. See `SnapshotListenOptions.resuming(from:)`.
  public func snapshots(resumingFrom token: ChangeToken?) -> QuerySnapshotsSequence {
    var sequence = snapshots
    sequence.token = token
    return sequence
  }

  /// The sequence that `snapshots` returns.
  public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot
    public typealias Failure = Error

    private let query: Query
    fileprivate var token: ChangeToken?

    /// Same as `query.snapshots`: metadata never changes.
    public init(_ query: Query, includeMetadataChanges: Bool) { self.query = query }

    public func makeAsyncIterator() -> Iterator { Iterator(query, token) }

    /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
      private let query: Query
      private let events: SnapshotIterator

      fileprivate init(_ query: Query, _ token: ChangeToken?) {
        self.query = query
        events = SnapshotIterator(query.watched, since: token)
      }

      public mutating func next() async throws -> QuerySnapshot? {
        try await next(isolation: #isolation)
      }

      /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws -> QuerySnapshot? {
        try await events.next().map { QuerySnapshot(query, $0) }
      }
    }
  }
}

@available(*, unavailable)
extension Query.QuerySnapshotsSequence.Iterator: Sendable {}

extension AggregateQuery {
  /// The aggregations, and their new values after each commit that changes one of them.
  ///
  ///     for try await snapshot in db.collection("books").count.snapshots { print(snapshot.count) }
  ///
  /// Up to 16 commits that wait for the loop are one element each; further ones are combined into
  /// one element with the newest values. No write waits for the loop. Ends and throws as
  /// `Query.snapshots` does.
  public var snapshots: SnapshotsSequence<AggregateQuerySnapshot> {
    SnapshotsSequence(watched) { AggregateQuerySnapshot(self, $0.values ?? []) }
  }
}

extension GroupedAggregateQuery {
  /// The groups, and their new state after each commit that changes them.
  ///
  ///     for try await groups in db.collection("books").group(by: ["author"]).snapshots {
  ///       print(groups.count)
  ///     }
  ///
  /// Buffers, ends and throws as `Query.snapshots` does.
  public var snapshots: SnapshotsSequence<[AggregateGroup]> {
    SnapshotsSequence(watched, groups)
  }
}

extension IncludingQuery {
  /// The results with what they include, and their new state after each commit that changes a result
  /// or an included document.
  ///
  ///     let books = db.collection("books").including(.reference("author"))
  ///     for try await snapshot in books.snapshots { print(snapshot.documents.count) }
  ///
  /// Buffers, ends and throws as `Query.snapshots` does.
  public var snapshots: SnapshotsSequence<IncludingSnapshot> {
    SnapshotsSequence(watched, snapshot)
  }
}

/// The results of a query that Firestore cannot listen to, and their new state after each commit that
/// changes them.
public struct SnapshotsSequence<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = Error

  private let watched: @Sendable () throws -> SnapshotRegistration.Watched
  private let element: @Sendable (ResultEvent) -> Element

  init(
    _ watched: @escaping @Sendable () throws -> SnapshotRegistration.Watched,
    _ element: @escaping @Sendable (ResultEvent) -> Element
  ) {
    self.watched = watched
    self.element = element
  }

  public func makeAsyncIterator() -> Iterator { Iterator(SnapshotIterator(watched), element) }

  /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
  public struct Iterator: AsyncIteratorProtocol {
    private let events: SnapshotIterator
    private let element: @Sendable (ResultEvent) -> Element

    fileprivate init(
      _ events: SnapshotIterator, _ element: @escaping @Sendable (ResultEvent) -> Element
    ) {
      self.events = events
      self.element = element
    }

    public mutating func next() async throws -> Element? { try await next(isolation: #isolation) }

    /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      try await events.next().map(element)
    }
  }
}

@available(*, unavailable)
extension SnapshotsSequence.Iterator: Sendable {}
