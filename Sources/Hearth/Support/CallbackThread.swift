import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Whether this thread runs some listener's callback, and on which queue it is.
enum CallbackThread {
  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()
  private static let queueKey = DispatchSpecificKey<ObjectIdentifier>()

  static var isInside: Bool { pthread_getspecific(key) != nil }

  /// Whether this thread runs a callback already.
  static func enter() -> Bool {
    if isInside { return true }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    return false
  }

  static func leave(_ wasInside: Bool) {
    if !wasInside { pthread_setspecific(key, nil) }
  }

  /// What the queue of this thread, or one that it targets, is marked with.
  static var queue: ObjectIdentifier? { DispatchQueue.getSpecific(key: queueKey) }

  static func mark(_ queue: DispatchQueue, _ mark: ObjectIdentifier?) {
    queue.setSpecific(key: queueKey, value: mark)
  }
}
