import Foundation

/// What has a meaning only with a server.
extension Firestore {
  private static let noBundles = Status(
    .unimplemented, "Bundles are made by a server and cannot be loaded into this database.")

  private var bundleRefusal: NSError { (refusal ?? Self.noBundles).nsError }

  /// Reports `unimplemented`: bundles come from a server.
  @discardableResult
  public func loadBundle(_ data: Data) -> LoadBundleTask { refusedTask() }

  /// Reports `unimplemented`: bundles come from a server.
  @discardableResult
  public func loadBundle(_ stream: InputStream) -> LoadBundleTask { refusedTask() }

  /// Reports `unimplemented`: bundles come from a server.
  @discardableResult
  public func loadBundle(
    _ data: Data, isolation: isolated (any Actor)? = #isolation,
    completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    refuse(isolation, completion)
  }

  /// Reports `unimplemented`: bundles come from a server.
  @discardableResult
  public func loadBundle(
    _ stream: InputStream, isolation: isolated (any Actor)? = #isolation,
    completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    refuse(isolation, completion)
  }

  /// Throws `unimplemented`: bundles come from a server.
  public func loadBundle(_ data: Data) async throws -> LoadBundleTaskProgress {
    throw bundleRefusal
  }

  /// Throws `unimplemented`: bundles come from a server.
  public func loadBundle(_ stream: InputStream) async throws -> LoadBundleTaskProgress {
    throw bundleRefusal
  }

  private func refuse(
    _ actor: (any Actor)?, _ completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    if let completion {
      courier(actor).carry(bundleRefusal, to: Callback<NSError> { completion(nil, $0) })
    }
    return refusedTask()
  }

  private func refusedTask() -> LoadBundleTask {
    let task = LoadBundleTask(queue: callbackQueue)
    task.report(
      LoadBundleTaskProgress(
        documentsLoaded: 0, totalDocuments: 0, bytesLoaded: 0, totalBytes: 0, state: .error))
    return task
  }

  /// Nil: named queries come in bundles. After `terminate` that is logged as an error: the call cannot throw.
  public func getQuery(
    named name: String, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Query?) -> Void
  ) {
    if let refusal { report(unheard: refusal.nsError) }
    courier(isolation).carry((), to: Callback<Void> { completion(nil) })
  }

  /// Nil: named queries come in bundles. After `terminate` that is logged as an error: the call cannot throw.
  @discardableResult
  public func getQuery(named name: String) async -> Query? {
    if let refusal { report(unheard: refusal.nsError) }
    return nil
  }

  // MARK: In sync

  /// Calls back once soon, and then when commits have been posted to all listeners that they affect, or a listener has
  /// begun; several commits at once may be one call. Listeners on other queues may not have been called yet.
  ///
  /// A database that cannot be used, as after `terminate`, never calls back, and logs why.
  @discardableResult
  public func addSnapshotsInSyncListener(
    isolation: isolated (any Actor)? = #isolation, _ listener: @escaping () -> Void
  ) -> ListenerRegistration {
    let callback = Callback<Void> { listener() }
    return InSyncListening(courier(isolation), self, callback)
  }
}

/// A listener for "all listeners have the news".
private final class InSyncListening: NSObject, ListenerRegistration, Sendable {
  private let backend: (any Backend)?
  private let observer: Int

  init(_ courier: CallbackTarget, _ firestore: Firestore, _ callback: Callback<Void>) {
    do {
      backend = try firestore.database().backend
    } catch {
      backend = nil
      firestore.report(unheard: Status(readingFailed: error).nsError)
    }
    observer = backend?.addSyncObserver { _ in courier.carry((), to: callback) } ?? 0
  }

  func remove() { backend?.removeSyncObserver(observer) }
}
