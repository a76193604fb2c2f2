import Glibc

/// A state that only one thread at a time accesses.
///
///     let state = Guarded(State())
///     state.withLock { $0.count += 1 }
///
/// Like `Synchronization.Mutex`, but on the system's mutex: the thread sanitizer does not know the
/// futex of `Synchronization.Mutex`, and reports every guarded access as a race.
package struct Guarded<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Unchecked: the state is accessed under the mutex only, and was sent here.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// After the mutex, in the same memory: a thread that locks the mutex is about to access the
  /// state.
  private var state: UnsafeMutablePointer<State> {
    (UnsafeMutableRawPointer(mutex) + Self.offset).assumingMemoryBound(to: State.self)
  }

  private static var alignment: Int {
    max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<State>.alignment)
  }

  private static var offset: Int {
    (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
  }

  package init(_ initial: consuming sending State) {
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: Self.offset + MemoryLayout<State>.size, alignment: Self.alignment)
    mutex = memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    (memory + Self.offset).bindMemory(to: State.self, capacity: 1).initialize(to: initial)
  }

  deinit {
    state.deinitialize(count: 1)
    pthread_mutex_destroy(mutex)
    UnsafeMutableRawPointer(mutex).deallocate()
  }

  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }
}

extension Guarded where State: Sendable {
  /// Replaces the state. Returns the one before.
  package borrowing func exchange(_ new: State) -> State {
    withLock { Swift.exchange(&$0, with: new) }
  }
}
