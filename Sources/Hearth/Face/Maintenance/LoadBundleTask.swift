import Foundation

/// Identifies an observer of a `LoadBundleTask`.
public typealias LoadBundleObserverHandle = Int

/// The state of a bundle load. Always `error`: bundles cannot be loaded.
public enum LoadBundleTaskState: Int, Sendable {
  /// The load failed, as every load does.
  case error
  /// Never the state.
  case inProgress
  /// Never the state.
  case success
}

/// The progress of a bundle load. Bundles cannot be loaded: every number is 0, and `state` is
/// `error`.
public final class LoadBundleTaskProgress: NSObject, Sendable {
  /// The number of documents loaded: 0.
  public let documentsLoaded = 0
  /// The number of documents in the bundle: 0.
  public let totalDocuments = 0
  /// The number of bytes loaded: 0.
  public let bytesLoaded = 0
  /// The size of the bundle in bytes: 0.
  public let totalBytes = 0
  /// The state of the load: `error`.
  public let state = LoadBundleTaskState.error

  /// The progress of every load.
  static let refused = LoadBundleTaskProgress()

  private override init() {}
}

/// The task of a `Firestore.loadBundle` call. Bundles cannot be loaded: the task has failed when it
/// is returned.
///
/// Observers run on the database's callback queue. An observer receives the progress when it is added.
public final class LoadBundleTask: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is.
  private struct State {
    var observers: [LoadBundleObserverHandle: Callback<LoadBundleTaskProgress>] = [:]
    var lastHandle = 0
  }

  private let queue: DispatchQueue
  private let state = Guarded(State())

  init(queue: DispatchQueue) { self.queue = queue }

  /// Adds an observer, which is called with the progress, unless it was removed before.
  @discardableResult
  public func addObserver(
    _ observer: @escaping (LoadBundleTaskProgress) -> Void
  ) -> LoadBundleObserverHandle {
    let callback = Callback(observer)
    let handle = state.withLock { state in
      state.lastHandle += 1
      state.observers[state.lastHandle] = callback
      return state.lastHandle
    }
    queue.async { [self] in
      let observer = state.withLock { $0.observers[handle] }
      observer?.call(.refused)
    }
    return handle
  }

  /// Removes one observer.
  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    state.withLock { $0.observers[handle] = nil }
  }

  /// Removes all observers.
  public func removeAllObservers() {
    state.withLock { $0.observers = [:] }
  }
}
