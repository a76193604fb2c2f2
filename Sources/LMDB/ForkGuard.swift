import Glibc

/// Counts forks, so that an environment detects a forked child without a system call.
enum ForkGuard {
  /// Written only by the handler, in a child that still has one thread, so plain loads are safe.
  nonisolated(unsafe) static let count: UnsafeMutablePointer<UInt> = {
    let count = UnsafeMutablePointer<UInt>.allocate(capacity: 1)
    count.initialize(to: 0)
    pthread_atfork(nil, nil, { ForkGuard.count.pointee &+= 1 })
    return count
  }()
}
