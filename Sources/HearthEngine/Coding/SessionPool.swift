#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The idle session states. They are never freed.
///
/// Each thread keeps one state for itself, so that threads do not wait for each other. States of
/// nested runs and of ended threads are shared.
struct SessionPool<State>: Sendable {
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
    guard let own = pthread_getspecific(key) else { return borrowShared() }
    pthread_setspecific(key, nil)
    return own.assumingMemoryBound(to: State.self)
  }

  @inline(__always)
  func giveBack(_ state: UnsafeMutablePointer<State>) {
    if pthread_getspecific(key) != nil || pthread_setspecific(key, state) != 0 { share(state) }
  }

  @inline(never)
  private func borrowShared() -> UnsafeMutablePointer<State> {
    let address = shared.idle.withLock { $0.popLast() }
    if let address, let state = UnsafeMutablePointer<State>(bitPattern: address) { return state }
    let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
    state.initialize(to: make())
    return state
  }

  @inline(never)
  func share(_ state: UnsafeMutableRawPointer) {
    shared.idle.withLock { $0.append(UInt(bitPattern: state)) }
  }
}
