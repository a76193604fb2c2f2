import Foundation

/// API that has a meaning only with a server.
extension Firestore {
  private static let noBundles = Status(
    .unimplemented, "Bundles are made by a server and cannot be loaded into this database.")

  private var bundleRefusal: NSError { (refusal ?? Self.noBundles).nsError }

  /// Not available: reports `unimplemented`, because bundles come from a server.
  @discardableResult
  public func loadBundle(_ data: Data) -> LoadBundleTask { LoadBundleTask(queue: callbackQueue) }

  /// Not available: reports `unimplemented`, because bundles come from a server.
  @discardableResult
  public func loadBundle(_ stream: InputStream) -> LoadBundleTask {
    LoadBundleTask(queue: callbackQueue)
  }

  /// Not available: reports `unimplemented`, because bundles come from a server.
  @discardableResult
  public func loadBundle(
    _ data: Data, isolation: isolated (any Actor)? = #isolation,
    completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    refuse(isolation, completion)
  }

  /// Not available: reports `unimplemented`, because bundles come from a server.
  @discardableResult
  public func loadBundle(
    _ stream: InputStream, isolation: isolated (any Actor)? = #isolation,
    completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    refuse(isolation, completion)
  }

  /// Not available: throws `unimplemented`, because bundles come from a server.
  public func loadBundle(_ data: Data) async throws -> LoadBundleTaskProgress {
    throw bundleRefusal
  }

  /// Not available: throws `unimplemented`, because bundles come from a server.
  public func loadBundle(_ stream: InputStream) async throws -> LoadBundleTaskProgress {
    throw bundleRefusal
  }

  private func refuse(
    _ actor: (any Actor)?, _ completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
  ) -> LoadBundleTask {
    if let completion {
      callbackTarget(actor).carry(bundleRefusal, to: Callback<NSError> { completion(nil, $0) })
    }
    return LoadBundleTask(queue: callbackQueue)
  }

  /// Calls `completion` with nil: named queries come in bundles. After `terminate`, also logs an
  /// error, because the call cannot throw.
  public func getQuery(
    named name: String, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Query?) -> Void
  ) {
    if let refusal { report(unheard: refusal.nsError) }
    callbackTarget(isolation).carry((), to: Callback<Void> { completion(nil) })
  }

  /// Returns nil: named queries come in bundles. After `terminate`, also logs an error, because the
  /// call cannot throw.
  @discardableResult
  public func getQuery(named name: String) async -> Query? {
    if let refusal { report(unheard: refusal.nsError) }
    return nil
  }
}
