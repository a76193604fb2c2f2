import Foundation

extension Firestore {
  /// Calls `listener` once soon, and again each time commits have been posted to all listeners that
  /// they affect, or a listener has begun.
  ///
  /// Several commits may be one call. Listeners on other queues may not have been called yet. If
  /// the database cannot be used, as after `terminate`, `listener` is never called, and the reason
  /// is logged.
  @discardableResult
  public func addSnapshotsInSyncListener(
    isolation: isolated (any Actor)? = #isolation, _ listener: @escaping () -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Void> { listener() }
    return InSyncListening(callbackTarget(isolation), self, callback)
  }
}

/// The registration of a snapshots-in-sync listener.
private final class InSyncListening: NSObject, ListenerRegistration, Sendable {
  private let backend: (any Backend)?
  private let observer: Int

  init(_ callbackTarget: CallbackTarget, _ firestore: Firestore, _ callback: Callback<Void>) {
    do {
      backend = try firestore.database().backend
    } catch {
      backend = nil
      firestore.report(unheard: Status(readingFailed: error).nsError)
    }
    observer = backend?.addSyncObserver { _ in callbackTarget.carry((), to: callback) } ?? 0
  }

  func remove() { backend?.removeSyncObserver(observer) }
}
