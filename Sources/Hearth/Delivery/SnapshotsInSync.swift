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
  private let observation: Observation?

  init(_ callbackTarget: CallbackTarget, _ firestore: Firestore, _ callback: Callback<Void>) {
    do {
      observation = try firestore.database().backend.observeSyncs { _ in
        callbackTarget.carry((), to: callback)
      }
    } catch {
      observation = nil
      firestore.report(unheard: Status(readingFailed: error).nsError)
    }
  }

  func remove() { observation?.end() }
}
