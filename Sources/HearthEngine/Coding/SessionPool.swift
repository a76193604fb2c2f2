import Glibc

/// A state that says who uses it.
protocol PooledState {
  /// Whether a run uses the state.
  var isInUse: Bool { get set }
  /// Whether a thread keeps the state for itself.
  var isThreads: Bool { get set }
}

/// The idle session states. They are never freed.
///
/// Each thread keeps one state for itself, so that threads do not wait for each other. States of
/// nested runs and of ended threads are shared.
struct SessionPool<State: PooledState>: Sendable {
  private let key: pthread_key_t
  private let make: @Sendable () -> State
  /// The addresses of states that only the pool owns.
  private let shared = Shared()

  private final class Shared: Sendable {
    let idle = Guarded<[UInt]>([])
  }

  /// - Parameter threadEnds: Receives the state that an ended thread kept, and calls `share`.
  init(
    make: @escaping @Sendable () -> State,
    threadEnds: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
  ) {
    var key = pthread_key_t()
    // If the process has no key left, all states are shared.
    if pthread_key_create(&key, threadEnds) != 0 { key = .max }
    self.key = key
    self.make = make
  }

  @inline(__always)
  func borrow() -> UnsafeMutablePointer<State> {
    if let own = pthread_getspecific(key)?.assumingMemoryBound(to: State.self),
      !own.pointee.isInUse
    {
      own.pointee.isInUse = true
      return own
    }
    return borrowShared()
  }

  /// On the thread that borrowed the state.
  @inline(__always)
  func giveBack(_ state: UnsafeMutablePointer<State>) {
    state.pointee.isInUse = false
    if !state.pointee.isThreads { keep(state) }
  }

  /// Gives the state to this thread, if it has none.
  @inline(never)
  private func keep(_ state: UnsafeMutablePointer<State>) {
    state.pointee.isThreads = true
    guard pthread_getspecific(key) != nil || pthread_setspecific(key, state) != 0 else { return }
    share(state)
  }

  @inline(never)
  private func borrowShared() -> UnsafeMutablePointer<State> {
    let address = shared.idle.withLock { $0.popLast() }
    let state: UnsafeMutablePointer<State>
    if let address, let idle = UnsafeMutablePointer<State>(bitPattern: address) {
      state = idle
    } else {
      state = .allocate(capacity: 1)
      state.initialize(to: make())
    }
    state.pointee.isInUse = true
    return state
  }

  @inline(never)
  func share(_ state: UnsafeMutableRawPointer) {
    state.assumingMemoryBound(to: State.self).pointee.isThreads = false
    shared.idle.withLock { $0.append(UInt(bitPattern: state)) }
  }
}
