import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Whether this thread runs some listener's callback, and on which queue it is.
enum CallbackThread {
  /// Tells one queue from the others, by whatever object it comes.
  typealias Mark = UInt64

  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()
  private static let queueKey = DispatchSpecificKey<Mark>()
  private static let lastMark = Guarded<Mark>(0)

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

  /// The mark of this thread's queue, or of the nearest one that it targets and that has one.
  static var queue: Mark? { DispatchQueue.getSpecific(key: queueKey) }

  /// The queue's, from the first time it is asked for.
  static func mark(of queue: DispatchQueue) -> Mark {
    lastMark.withLock { last in
      if let mark = queue.getSpecific(key: queueKey) { return mark }
      last += 1
      queue.setSpecific(key: queueKey, value: last)
      return last
    }
  }
}
