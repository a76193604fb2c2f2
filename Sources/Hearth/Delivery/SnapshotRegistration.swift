import Foundation

/// Removes a listener. Any actor may keep a registration and remove it.
///
///     let registration = dune.addSnapshotListener { snapshot, _ in
///       print(snapshot?["title"] ?? "gone")
///     }
///     registration.remove()
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// Removes the listener: no callback begins after this has returned, and writes no longer wait
  /// for the listener. Idempotent.
  ///
  /// Waits for a callback that is running on another thread. Inside a listener's callback, of this
  /// or another listener, and inside a write closure, it returns at once.
  func remove()
}

/// A listener on a target, for callbacks and for sequences.
final class SnapshotRegistration: NSObject, ListenerRegistration, Sendable {
  typealias Watched = (backend: any Backend, target: Listener.Target)

  let listener: Listener
  /// Nil if listening could not begin.
  private let watched: Watched?

  /// Begins to listen. An error is delivered once, as the error of the listener.
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

  /// As in Firestore, releasing the registration does not end the listener; this does.
  func remove() {
    if let watched {
      watched.backend.stopListening(to: watched.target, listener)
    } else {
      listener.remove()
    }
  }
}

extension Firestore {
  func callbackTarget(
    _ actor: (any Actor)?, _ options: SnapshotListenOptions
  ) -> CallbackTarget {
    actor == nil && options.hasOwnQueue
      ? .ownQueue(LazyCallbackQueue.makeQueue()) : callbackTarget(actor)
  }
}
