import Foundation

public typealias LoadBundleObserverHandle = Int

public enum LoadBundleTaskState: Int, Sendable {
  case error, inProgress, success
}

/// How far the loading of a bundle has come.
public final class LoadBundleTaskProgress: NSObject, Sendable {
  public let documentsLoaded: Int
  public let totalDocuments: Int
  public let bytesLoaded: Int
  public let totalBytes: Int
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

/// The loading of a bundle.
///
/// Observers run on the database's dispatch queue. One that is added late is told the latest progress:
/// there is no network to wait for, so a bundle may be loaded before anybody looks.
public final class LoadBundleTask: NSObject, @unchecked Sendable {
  // Unchecked: NSObject is not Sendable; `lock` protects everything that changes.
  private typealias Observer = (LoadBundleTaskProgress) -> Void

  private let queue: DispatchQueue
  private let lock = NSLock()
  private var observers: [LoadBundleObserverHandle: Observer] = [:]
  private var lastHandle = 0
  private var latest: LoadBundleTaskProgress?

  init(queue: DispatchQueue) { self.queue = queue }

  @discardableResult
  public func addObserver(
    _ observer: @escaping (LoadBundleTaskProgress) -> Void
  ) -> LoadBundleObserverHandle {
    let (handle, latest) = lock.withLock {
      lastHandle += 1
      observers[lastHandle] = observer
      return (lastHandle, self.latest)
    }
    if let latest { tell(latest, handle) }
    return handle
  }

  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    lock.withLock { observers[handle] = nil }
  }

  public func removeAllObservers() {
    lock.withLock { observers = [:] }
  }

  /// News for all observers, in the order they were added.
  func report(_ progress: LoadBundleTaskProgress) {
    let handles = lock.withLock {
      latest = progress
      return observers.keys.sorted()
    }
    for handle in handles { tell(progress, handle) }
  }

  private func tell(_ progress: LoadBundleTaskProgress, _ handle: LoadBundleObserverHandle) {
    queue.async { [self] in
      let observer = lock.withLock { observers[handle] }
      observer?(progress)
    }
  }
}
