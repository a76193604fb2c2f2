import Glibc

/// A mutex and the events that threads wait for.
/// The thread sanitizer knows it, unlike `Synchronization.Mutex`.
struct Monitor: ~Copyable, @unchecked Sendable {  // Unchecked: points to pthread objects.
  enum Event: Int, CaseIterable {
    /// A cell became free.
    case freed
    /// The writer slot became free.
    case written
    /// A thread left the environment lock while another waits for exclusive access.
    case drained
    /// The environment lock opened.
    case opened
  }

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutablePointer<pthread_cond_t>

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    conditions = .allocate(capacity: Event.allCases.count)
    for event in Event.allCases {
      (conditions + event.rawValue).initialize(to: pthread_cond_t())
      pthread_cond_init(conditions + event.rawValue, nil)
    }
  }

  deinit {
    for event in Event.allCases { pthread_cond_destroy(conditions + event.rawValue) }
    pthread_mutex_destroy(mutex)
    conditions.deallocate()
    mutex.deallocate()
  }

  func lock() { pthread_mutex_lock(mutex) }
  func unlock() { pthread_mutex_unlock(mutex) }
  func wait(for event: Event) { pthread_cond_wait(conditions + event.rawValue, mutex) }
  func signal(_ event: Event) { pthread_cond_signal(conditions + event.rawValue) }
  func broadcast(_ event: Event) { pthread_cond_broadcast(conditions + event.rawValue) }
}
