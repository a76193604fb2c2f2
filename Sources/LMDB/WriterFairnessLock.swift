import Glibc

/// Makes the processes that write take turns.
///
///     fairness lock ─▶ LMDB's mutex ─▶ release the fairness lock ─▶ write, commit
///
/// LMDB's mutex is not fair: a process that commits and begins again finds it free before those
/// that wait are awake. A process holds the fairness lock while it waits for the mutex, so that a
/// process that comes back queues behind it.
///
/// Only fairness depends on it. If the file system has no such locks, every process passes.
struct WriterFairnessLock {
  /// A descriptor of the data file, open for writing.
  let descriptor: Int32

  func enter() {
    while !DescriptionLock.fairnessLock.set(F_WRLCK, on: descriptor, waiting: true), errno == EINTR
    {}
  }

  func leave() { _ = DescriptionLock.fairnessLock.set(F_UNLCK, on: descriptor) }
}
