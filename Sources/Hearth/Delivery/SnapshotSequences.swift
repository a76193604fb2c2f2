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
    SnapshotsSequence(self)
  }

  /// The sequence that `snapshots` returns.
  public typealias DocumentSnapshotsSequence = SnapshotsSequence<DocumentSnapshot>
}

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
    SnapshotsSequence(self)
  }

  /// As `snapshots`, but resumes from a token: the changes of the first snapshot are those since
  /// the token. See `SnapshotListenOptions.resuming(from:)`.
  public func snapshots(resumingFrom token: ChangeToken?) -> QuerySnapshotsSequence {
    SnapshotsSequence(self, since: token)
  }

  /// The sequence that `snapshots` returns.
  public typealias QuerySnapshotsSequence = SnapshotsSequence<QuerySnapshot>
}

extension AggregateQuery {
  /// The aggregations, and their new values after each commit that changes one of them.
  ///
  ///     for try await snapshot in db.collection("books").count.snapshots { print(snapshot.count) }
  ///
  /// Up to 16 commits that wait for the loop are one element each; further ones are combined into
  /// one element with the newest values. No write waits for the loop. Ends and throws as
  /// `Query.snapshots` does.
  public var snapshots: SnapshotsSequence<AggregateQuerySnapshot> {
    SnapshotsSequence(self)
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
    SnapshotsSequence(self)
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
    SnapshotsSequence(self)
  }
}

/// A document or the results of a query, and their new state after each commit that changes them; see
/// `Query.snapshots`.
public struct SnapshotsSequence<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = Error

  private let watchable: any Watchable<Element>
  private let token: ChangeToken?

  init(_ watchable: any Watchable<Element>, since token: ChangeToken? = nil) {
    self.watchable = watchable
    self.token = token
  }

  public func makeAsyncIterator() -> Iterator { Iterator(watchable, since: token) }

  /// Listens from its creation until it is released, or the task of its `next()` is cancelled.
  public struct Iterator: AsyncIteratorProtocol {
    private let snapshots: WaitingSnapshots<Element>

    fileprivate init(_ watchable: any Watchable<Element>, since token: ChangeToken?) {
      snapshots = WaitingSnapshots(watchable, since: token)
    }

    public mutating func next() async throws -> Element? { try await next(isolation: #isolation) }

    /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      try await snapshots.next()
    }
  }
}

@available(*, unavailable)
extension SnapshotsSequence.Iterator: Sendable {}

/// A listener whose consumer asks for the next snapshot. Buffers as many as a `Listener` does.
private final class WaitingSnapshots<Snapshot: Sendable>: Sendable {
  private let watchable: any Watchable<Snapshot>
  private let signal = AsyncSignal()
  private let listening: SnapshotRegistration

  init(_ watchable: any Watchable<Snapshot>, since token: ChangeToken?) {
    self.watchable = watchable
    let signal = signal
    listening = SnapshotRegistration(
      { try watchable.watched() }, since: token, .ask { signal.set() }, callback: { _ in })
  }

  deinit { listening.remove() }

  func next() async throws -> Snapshot? {
    let event: ResultEvent? = try await signal.next {
      switch listening.listener.take() {
      case .success(let event)?: .element(event)
      case .failure(let status)?: throw status.nsError
      case nil: listening.listener.isRemoved ? .end : .nothing
      }
    }
    if event == nil { listening.remove() }
    return event.map { watchable.shown($0) }
  }
}

extension SnapshotsSequence where Element == DocumentSnapshot {
  /// Same as `documentReference.snapshots`: metadata never changes.
  public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
    self.init(documentReference)
  }
}

extension SnapshotsSequence where Element == QuerySnapshot {
  /// Same as `query.snapshots`: metadata never changes.
  public init(_ query: Query, includeMetadataChanges: Bool) { self.init(query) }
}
