import Glibc

/// Lets the processes that write take turns.
///
///     turnstile ─▶ LMDB's mutex ─▶ leave the turnstile ─▶ write, commit
///
/// LMDB's mutex is not fair: who commits and begins again finds it free before those who wait are
/// awake. Who waits for the mutex waits in the turnstile, so that who comes back stands behind.
///
/// Only fairness rests on it. Where there are no such locks, everybody walks through.
struct WriterFairnessLock {
  /// Of the data file, open for writing.
  let descriptor: Int32

  func enter() {
    while !DescriptionLock.turnstile.set(F_WRLCK, on: descriptor, waiting: true), errno == EINTR {}
  }

  func leave() { _ = DescriptionLock.turnstile.set(F_UNLCK, on: descriptor) }
}
