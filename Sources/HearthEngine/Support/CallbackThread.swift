import Dispatch
import Glibc

/// Whether this thread runs a listener's callback, and on which queue.
enum CallbackThread {
  /// Identifies a queue, even if several objects refer to it.
  typealias Mark = UInt64

  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()
  private static let queueKey = DispatchSpecificKey<Mark>()
  private static let lastMark = Guarded<Mark>(0)

  static var isInside: Bool { pthread_getspecific(key) != nil }

  /// Marks this thread as running a callback. Returns whether it did already: the argument of
  /// `leave`.
  static func enter() -> Bool {
    if isInside { return true }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    return false
  }

  static func leave(_ wasInside: Bool) {
    if !wasInside { pthread_setspecific(key, nil) }
  }

  /// The mark of this thread's queue, or of the nearest target queue that has one.
  static var queue: Mark? { DispatchQueue.getSpecific(key: queueKey) }

  /// The queue's mark, assigned on first use.
  static func mark(of queue: DispatchQueue) -> Mark {
    lastMark.withLock { last in
      if let mark = queue.getSpecific(key: queueKey) { return mark }
      last += 1
      queue.setSpecific(key: queueKey, value: last)
      return last
    }
  }
}
