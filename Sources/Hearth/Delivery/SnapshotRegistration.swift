import Dispatch
import Foundation
import Synchronization

/// What ends a listener. Any actor may keep one and remove it.
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// No callback begins after this returned, and it waits for one that is running elsewhere. From
  /// inside a listener's callback, this one's or another's, and from inside a write closure it returns at
  /// once. Writes no longer wait for this listener. Idempotent.
  func remove()
}

/// Listening to a target, for the callbacks and the sequences alike.
final class SnapshotRegistration: NSObject, ListenerRegistration, Sendable {
  typealias Watched = (backend: any Backend, target: Listener.Target)

  private let listener: Listener
  /// Nil if it could not begin.
  private let watched: Watched?

  /// Begins to listen; a fault is told once, as the listener's error.
  init(
    _ resolve: () throws -> Watched, since token: ChangeToken?,
    _ way: Listener.Way,
    callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    listener = Listener(way, callback: callback)
    do {
      let watched = try resolve()
      self.watched = watched
      super.init()
      watched.backend.listen(to: watched.target, from: token, listener)
    } catch {
      watched = nil
      super.init()
      listener.end(Status(readingFailed: error))
    }
  }

  /// The next untold event, for a consumer that asks; see `Listener.take`.
  func takeNews() -> Result<ResultEvent, Status>? { listener.take() }

  /// Nothing more will come.
  var isOver: Bool { listener.isRemoved }

  /// A registration may be dropped without ending the listener, as in Firestore.
  func remove() {
    if let watched {
      watched.backend.stopListening(to: watched.target, listener)
    } else {
      listener.remove()
    }
  }
}

extension CallbackTarget {
  /// Delivers a listener's news where this courier's callbacks belong.
  func listening(
    _ resolve: () throws -> SnapshotRegistration.Watched, since token: ChangeToken? = nil,
    _ callback: Callback<Result<ResultEvent, Status>>
  ) -> SnapshotRegistration {
    let way: Listener.Way =
      if let sharedQueue {
        .room(.of(sharedQueue))
      } else if isOwnQueue {
        .ownQueue { listener in carry { listener.deliver() } }
      } else {
        .schedule { listener in carry { listener.deliver() } }
      }
    return SnapshotRegistration(resolve, since: token, way) { callback.call($0) }
  }
}

extension Firestore {
  fileprivate func courier(
    _ actor: (any Actor)?, _ options: SnapshotListenOptions
  ) -> CallbackTarget {
    actor == nil && options.hasOwnQueue ? .ownQueue(LazyCallbackQueue.makeQueue()) : courier(actor)
  }
}

// MARK: Documents

extension DocumentReference {
  /// Calls back with the document as it is, and after commits that change it, of this and of other processes. Each
  /// commit is delivered once, when it is durable. Up to 16 commits that wait for this listener are an event each;
  /// further ones are combined into one event with the newest state.
  ///
  ///     let registration = dune.addSnapshotListener { snapshot, error in
  ///       print(snapshot?["title"] ?? "gone")
  ///     }
  ///
  /// Runs on the actor that adds it, or else on the database's callback queue, where a slow callback delays the
  /// others. Awaited writes and completion handlers of writes that change the document come after this callback has
  /// returned, unless that takes longer than 100 ms; see <doc:WritesAndListeners>. A callback may itself write, and
  /// wait for that.
  ///
  /// An error is delivered last: the listener has ended. `terminate()` ends it without a call. A listener that is
  /// added after `terminate()` is called once, with `failedPrecondition`. There is one store and no server:
  /// `hasPendingWrites` and `isFromCache` are always false.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation), nil, listener)
  }

  /// As `addSnapshotListener(_:)`: metadata never changes here, so that there are no further events.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation), nil, listener)
  }

  /// As `addSnapshotListener(_:)`, with `withOwnQueue(_:)` and `withChanges(since:)` of the options. Its other
  /// options change nothing: there is one source, and metadata never changes.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation, options), options, listener)
  }

  /// Calls back on `queue`; see `addSnapshotListener(_:)`. On a concurrent queue the callbacks of one listener still
  /// come one after another.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), options, listener)
  }

  /// Calls back on `executor`; see `addSnapshotListener(_:)`. Blocking writes do not wait for this callback.
  @discardableResult
  public func addSnapshotListener(
    on executor: any TaskExecutor, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.executor(executor), options, listener)
  }

  private func listen(
    _ courier: CallbackTarget, _ options: SnapshotListenOptions?,
    _ listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Result<ResultEvent, Status>> { [self] result in
      switch result {
      case .success(let event): listener(DocumentSnapshot(self, event.list.first), nil)
      case .failure(let status): listener(nil, status.nsError)
      }
    }
    return courier.listening(watched, since: options?.token, callback)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    (try resolved().backend, .document(resourcePath))
  }
}

// MARK: Queries

extension Query {
  /// Calls back with the result as it is, and after commits that change it, of this and of other processes. Each
  /// commit is delivered once, when it is durable. Up to 16 commits that wait for this listener are an event each;
  /// further ones are combined into one event with the newest state and all changes since the event before. So are
  /// commits that are delivered together and have more than 4,096 changes, or more than 16 MiB of previous versions.
  ///
  ///     let registration = db.collection("books").addSnapshotListener { snapshot, error in
  ///       for change in snapshot?.documentChanges ?? [] { print(change.type, change.document.documentID) }
  ///     }
  ///
  /// Runs on the actor that adds it, or else on the database's callback queue, where a slow callback delays the
  /// others. Awaited writes and completion handlers of writes that change the result come after this callback has
  /// returned, unless that takes longer than 100 ms; see <doc:WritesAndListeners>. A callback may itself write, and
  /// wait for that.
  ///
  /// The cost of an event follows what changed, not the size of the result; a limit that runs out of spare results
  /// runs its query again. An error is delivered last: the listener has ended. `terminate()` ends it without a call.
  /// A listener that is added after `terminate()` is called once, with `failedPrecondition`. There is one store and
  /// no server: `hasPendingWrites` and `isFromCache` are always false. Queries for the nearest vectors, and those
  /// across all collections, report `invalidArgument`.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation), nil, listener)
  }

  /// As `addSnapshotListener(_:)`: metadata never changes here, so that there are no further events.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation), nil, listener)
  }

  /// As `addSnapshotListener(_:)`, with `withOwnQueue(_:)` and `withChanges(since:)` of the options. Its other
  /// options change nothing: there is one source, and metadata never changes.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(firestore.courier(isolation, options), options, listener)
  }

  /// Calls back on `queue`; see `addSnapshotListener(_:)`. On a concurrent queue the callbacks of one listener still
  /// come one after another.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), options, listener)
  }

  /// Calls back on `executor`; see `addSnapshotListener(_:)`. Blocking writes do not wait for this callback.
  @discardableResult
  public func addSnapshotListener(
    on executor: any TaskExecutor, options: SnapshotListenOptions = SnapshotListenOptions(),
    _ listener: @escaping @Sendable (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.executor(executor), options, listener)
  }

  private func listen(
    _ courier: CallbackTarget, _ options: SnapshotListenOptions?,
    _ listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Result<ResultEvent, Status>> { [self] result in
      switch result {
      case .success(let event): listener(QuerySnapshot(self, event), nil)
      case .failure(let status): listener(nil, status.nsError)
      }
    }
    return courier.listening(watched, since: options?.token, callback)
  }
}

// MARK: Aggregations

extension AggregateQuery {
  /// Calls back with the numbers as they are, and after commits that change one of them; see
  /// `Query.addSnapshotListener(_:)`. They are updated from the changes: no result is read again, unless a limit runs
  /// out of spare results or the change log was trimmed in between.
  ///
  ///     let registration = books.count.addSnapshotListener { snapshot, error in
  ///       print(snapshot?.count ?? 0)
  ///     }
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (AggregateQuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(query.firestore.courier(isolation), listener)
  }

  /// Calls back on `queue`; see `addSnapshotListener(_:)`.
  @discardableResult
  public func addSnapshotListener(
    on queue: DispatchQueue,
    _ listener: @escaping @Sendable (AggregateQuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(.queue(queue), listener)
  }

  private func listen(
    _ courier: CallbackTarget, _ listener: @escaping (AggregateQuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Result<ResultEvent, Status>> { [self] result in
      switch result {
      case .success(let event): listener(AggregateQuerySnapshot(self, event.values ?? []), nil)
      case .failure(let status): listener(nil, status.nsError)
      }
    }
    return courier.listening(watched, callback)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    let (aggregations, _) = try checked()
    let watched = try query.listenable(isOnlyCounted: isOnlyCounted)
    return (try query.firestore.database().backend, .totals(of: watched, aggregations))
  }
}
