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
  public let documentsLoaded: Int
  /// The number of documents in the bundle: 0.
  public let totalDocuments: Int
  /// The number of bytes loaded: 0.
  public let bytesLoaded: Int
  /// The size of the bundle in bytes: 0.
  public let totalBytes: Int
  /// The state of the load: `error`.
  public let state: LoadBundleTaskState

  init(
    documentsLoaded: Int, totalDocuments: Int, bytesLoaded: Int, totalBytes: Int,
    state: LoadBundleTaskState
  ) {
    self.documentsLoaded = documentsLoaded
    self.totalDocuments = totalDocuments
    self.bytesLoaded = bytesLoaded
    self.totalBytes = totalBytes
    self.state = state
  }

  /// Whether the other object has the same numbers and state.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? LoadBundleTaskProgress else { return false }
    return documentsLoaded == other.documentsLoaded && totalDocuments == other.totalDocuments
      && bytesLoaded == other.bytesLoaded && totalBytes == other.totalBytes
      && state == other.state
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(documentsLoaded)
    hasher.combine(bytesLoaded)
    hasher.combine(state)
    return hasher.finalize()
  }
}

/// The task of a `Firestore.loadBundle` call. Bundles cannot be loaded: the task has failed when it
/// is returned.
///
/// Observers run on the database's callback queue. An observer receives the latest progress when it
/// is added.
public final class LoadBundleTask: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; everything here is.
  private struct State {
    var observers: [LoadBundleObserverHandle: Callback<LoadBundleTaskProgress>] = [:]
    var lastHandle = 0
    var latest: LoadBundleTaskProgress?
  }

  private let queue: DispatchQueue
  private let state = Guarded(State())

  init(queue: DispatchQueue) { self.queue = queue }

  /// Adds an observer, which is called with the latest progress and with each later one.
  @discardableResult
  public func addObserver(
    _ observer: @escaping (LoadBundleTaskProgress) -> Void
  ) -> LoadBundleObserverHandle {
    let callback = Callback(observer)
    let (handle, latest) = state.withLock { state in
      state.lastHandle += 1
      state.observers[state.lastHandle] = callback
      return (state.lastHandle, state.latest)
    }
    if let latest { notify(latest, handle) }
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

  /// Delivers a progress to all observers, in the order in which they were added.
  func report(_ progress: LoadBundleTaskProgress) {
    let handles = state.withLock { state in
      state.latest = progress
      return state.observers.keys.sorted()
    }
    for handle in handles { notify(progress, handle) }
  }

  private func notify(_ progress: LoadBundleTaskProgress, _ handle: LoadBundleObserverHandle) {
    queue.async { [self] in
      let observer = state.withLock { $0.observers[handle] }
      observer?.call(progress)
    }
  }
}
