import Foundation
import Synchronization

/// What ends a listener.
public protocol ListenerRegistration: NSObjectProtocol {
  /// No callback begins after this returned, and it waits for one that is running elsewhere. From
  /// inside a listener's callback, this one's or another's, it returns at once. Idempotent.
  func remove()
}

/// Listening to a target, for the callbacks and the sequences alike.
final class Listening: NSObject, ListenerRegistration, Sendable {
  private let listener: Listener
  private let database: Database?
  private let target: WatchTarget

  /// Begins to listen; a fault is told once, as the listener's error.
  init(
    _ target: WatchTarget, in resolve: () throws -> Database,
    schedule: @escaping @Sendable (Listener) -> Void,
    callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    self.target = target
    listener = Listener(schedule: schedule, callback: callback)
    do {
      let database = try resolve()
      self.database = database
      super.init()
      database.registry.add(listener, watching: target)
    } catch {
      database = nil
      super.init()
      listener.fail(Status(readingFailed: error))
    }
  }

  /// The next untold event, for a consumer that asks; see `Listener.take`.
  func takeNews() -> Result<ResultEvent, Status>? { listener.take() }

  /// Nothing more will come.
  var isOver: Bool { listener.isRemoved }

  /// A registration may be dropped without ending the listener, as in Firestore.
  func remove() {
    if let database {
      database.registry.remove(listener, watching: target)
    } else {
      listener.remove()
    }
  }
}

extension Courier {
  /// Delivers a listener's news where this courier's callbacks belong.
  func listening(
    to target: WatchTarget, in resolve: () throws -> Database,
    _ callback: Callback<Result<ResultEvent, Status>>
  ) -> Listening {
    Listening(target, in: resolve) { listener in
      carry { listener.deliver() }
    } callback: {
      callback.call($0)
    }
  }
}

extension DocumentReference {
  /// Calls back with the document as it is, and after every commit that changes it. A commit is told
  /// once, when it is durable; a listener that falls behind is told the newest state.
  ///
  ///     let registration = dune.addSnapshotListener { snapshot, error in
  ///       print(snapshot?["title"] ?? "gone")
  ///     }
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Result<ResultEvent, Status>> { [self] result in
      switch result {
      case .success(let event):
        listener(DocumentSnapshot(self, event.list.documents.first), nil)
      case .failure(let status): listener(nil, status.nsError)
      }
    }
    return firestore.courier(isolation).listening(
      to: .document(resourcePath), in: { try resolved().database }, callback)
  }

  /// As without it: metadata never changes here, so that there is nothing more to tell.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    addSnapshotListener(listener)
  }

  /// As without them: there is one source, and metadata never changes.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (DocumentSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    addSnapshotListener(listener)
  }
}

extension Query {
  /// Calls back with the result as it is, and after every commit that changes it. A commit is told
  /// once, when it is durable; a listener that falls behind is told the newest state, with the changes
  /// since what it was told last.
  ///
  ///     let registration = db.collection("books").addSnapshotListener { snapshot, error in
  ///       for change in snapshot?.documentChanges ?? [] { print(change.type, change.document.documentID) }
  ///     }
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Result<ResultEvent, Status>> { [self] result in
      switch result {
      case .success(let event): listener(QuerySnapshot(self, event), nil)
      case .failure(let status): listener(nil, status.nsError)
      }
    }
    return firestore.courier(isolation).listening(
      to: target, in: { try resolvedForListening() }, callback)
  }

  /// As without it: metadata never changes here, so that there is nothing more to tell.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    addSnapshotListener(listener)
  }

  /// As without them: there is one source, and metadata never changes.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, isolation: isolated (any Actor)? = #isolation,
    listener: @escaping (QuerySnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    addSnapshotListener(listener)
  }
}
