import Glibc

/// Lets the processes that write take turns.
///
///     turnstile ─▶ LMDB's mutex ─▶ leave the turnstile ─▶ write, commit
///
/// LMDB's mutex is not fair: who commits and begins again finds it free before those who wait are
/// awake. Who waits for the mutex waits in the turnstile, so that who comes back stands behind.
///
/// A lock of the open file description on one byte far behind the data: nothing else locks the data
/// file, and the kernel takes it back when its process ends. Only fairness rests on it. Where there
/// are no such locks, everybody walks through.
struct Turnstile: ~Copyable {
  // Linux's numbers; <fcntl.h> names them for `_GNU_SOURCE` only.
  private static let setOwnedByDescription: Int32 = 37
  private static let setOwnedByDescriptionWaiting: Int32 = 38

  private let descriptor: Int32

  /// `nil` if the file cannot be written.
  init?(_ path: String) {
    descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
    if descriptor < 0 { return nil }
  }

  deinit { _ = Glibc.close(descriptor) }

  func enter() {
    while !set(Int16(F_WRLCK), waiting: true), errno == EINTR {}
  }

  func leave() { _ = set(Int16(F_UNLCK), waiting: false) }

  private func set(_ type: Int16, waiting: Bool) -> Bool {
    var lock = flock()
    lock.l_type = type
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = 1 << 62
    lock.l_len = 1
    let command = waiting ? Self.setOwnedByDescriptionWaiting : Self.setOwnedByDescription
    return fcntl(descriptor, command, &lock) == 0
  }
}
