#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A state that is touched by one thread at a time.
///
///     let state = Guarded(State())
///     state.withLock { $0.count += 1 }
///
/// What `Synchronization.Mutex` is, on the system's mutex: that one's futex is unknown to the thread
/// sanitizer, which then takes every guarded access for a race.
package struct Guarded<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Unchecked: the state is touched under the mutex only, and was sent here.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let state: UnsafeMutablePointer<State>

  package init(_ initial: consuming sending State) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    state = .allocate(capacity: 1)
    state.initialize(to: initial)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }
}
