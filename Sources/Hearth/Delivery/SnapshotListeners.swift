import Dispatch
import Foundation

// MARK: Documents

extension DocumentReference: Watchable {
  /// Calls `listener` with the document, and again after each commit that changes it, of this
  /// process and of others.
  ///
  ///     let registration = dune.addSnapshotListener { snapshot, error in
  ///       print(snapshot?["title"] ?? "gone")
  ///     }
  ///
  /// Each commit is delivered once, when it is durable. Up to 16 commits that wait for this
  /// listener are one event each; further ones are combined into one event with the newest state.
  ///
  /// Runs on the actor that adds it, or else on the database's callback queue, where a slow
  /// callback delays the others. Awaited writes that change the document, and completion handlers
  /// of such writes, wait until this callback has returned, but at most 100 ms; see
  /// <doc:WritesAndListeners>. A callback may write, and wait for its write.
  ///
  /// An error is the last event: the listener has ended. `terminate()` ends it without a call. A
  /// listener that is added after `terminate()` is called once, with `failedPrecondition`.
  /// `hasPendingWrites` and `isFromCache` are always false: there is one store and no server.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation), listener)
  }

  /// Same as `addSnapshotListener(_:)`: metadata never changes, so there are no further events.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation), listener)
  }

  /// Same as `addSnapshotListener(_:)`, with `withOwnQueue(_:)` and `resuming(from:)` of the
  /// options. The other options have no effect.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation, options), since: options.resumeToken, listener)
  }

  /// Calls `listener` on `queue`; see `addSnapshotListener(_:)`. On a concurrent queue, the
  /// callbacks of one listener still run one after another.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), since: options.resumeToken, listener)
  }

  /// Calls `listener` on `executor`; see `addSnapshotListener(_:)`. Blocking writes do not wait for
  /// this callback.
  @discardableResult
  public func addSnapshotListener(
    on executor: any TaskExecutor, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.executor(executor), since: options.resumeToken, listener)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    (try resolved().backend, .document(resourcePath))
  }

  func shown(_ event: ResultEvent) -> DocumentSnapshot { DocumentSnapshot(self, event.list.first) }
}

// MARK: Queries

extension Query {
  /// Calls `listener` with the result, and again after each commit that changes it, of this process
  /// and of others.
  ///
  ///     let registration = db.collection("books").addSnapshotListener { snapshot, error in
  ///       for change in snapshot?.documentChanges ?? [] {
  ///         print(change.type, change.document.documentID)
  ///       }
  ///     }
  ///
  /// Each commit is delivered once, when it is durable. Up to 16 commits that wait for this
  /// listener are one event each; further ones are combined into one event with the newest state
  /// and all changes since the previous event. Commits are also combined if they are delivered
  /// together and have more than 4,096 changes, or more than 16 MiB of previous versions.
  ///
  /// Runs on the actor that adds it, or else on the database's callback queue, where a slow
  /// callback delays the others. Awaited writes that change the result, and completion handlers of
  /// such writes, wait until this callback has returned, but at most 100 ms; see
  /// <doc:WritesAndListeners>. A callback may write, and wait for its write.
  ///
  /// The cost of an event depends on the changes, not on the size of the result. A query with a
  /// limit runs again when its lookahead results are used up.
  ///
  /// An error is the last event: the listener has ended. `terminate()` ends it without a call. A
  /// listener that is added after `terminate()` is called once, with `failedPrecondition`. Queries
  /// with `findNearest`, and those across all collections, fail with `invalidArgument`.
  /// `hasPendingWrites` and `isFromCache` are always false: there is one store and no server.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation), listener)
  }

  /// Same as `addSnapshotListener(_:)`: metadata never changes, so there are no further events.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation), listener)
  }

  /// Same as `addSnapshotListener(_:)`, with `withOwnQueue(_:)` and `resuming(from:)` of the
  /// options. The other options have no effect.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.callbackTarget(isolation, options), since: options.resumeToken, listener)
  }

  /// Calls `listener` on `queue`; see `addSnapshotListener(_:)`. On a concurrent queue, the
  /// callbacks of one listener still run one after another.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), since: options.resumeToken, listener)
  }

  /// Calls `listener` on `executor`; see `addSnapshotListener(_:)`. Blocking writes do not wait for
  /// this callback.
  @discardableResult
  public func addSnapshotListener(
    on executor: any TaskExecutor, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.executor(executor), since: options.resumeToken, listener)
  }
}

// MARK: Aggregations

extension AggregateQuery {
  /// Calls `listener` with the aggregations, and again after each commit that changes one of them;
  /// see `Query.addSnapshotListener(_:)`.
  ///
  ///     let registration = books.count.addSnapshotListener { snapshot, error in
  ///       print(snapshot?.count ?? 0)
  ///     }
  ///
  /// The values are updated from the changes. Results are read again only if the lookahead results
  /// of a limit are used up, or if the change log was trimmed in between.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (AggregateQuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(query.firestore.callbackTarget(isolation), listener)
  }

  /// Calls `listener` on `queue`; see `addSnapshotListener(_:)`.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue,
    _ listener: @escaping @Sendable (AggregateQuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), listener)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    let (aggregations, _) = try checked()
    try query.refuseListeningToSearch(isOnlyCounted: isOnlyCounted)
    let watched = try query.listenable(isOnlyCounted: isOnlyCounted)
    return (try query.firestore.database().backend, .totals(of: watched, aggregations))
  }

  func shown(_ event: ResultEvent) -> AggregateQuerySnapshot {
    AggregateQuerySnapshot(self, event.values ?? [])
  }
}
