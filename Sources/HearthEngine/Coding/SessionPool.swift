#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The states of runs that are not going on. They are never freed.
///
/// Each thread keeps one of its own, so that threads do not wait for each other; those of nested runs
/// and of threads that ended are shared.
struct SessionPool<State>: Sendable {
  private let key: pthread_key_t
  private let make: @Sendable () -> State
  /// Addresses: their owner is the pool alone.
  private let shared = Shared()

  private final class Shared: Sendable {
    let idle = Guarded<[UInt]>([])
  }

  /// - Parameter threadEnds: gets what a thread kept, for `share`.
  init(
    make: @escaping @Sendable () -> State,
    threadEnds: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
  ) {
    var key = pthread_key_t()
    // Without a key of its own it is a pool like others.
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
