import Glibc

/// A lock file that says from which pid namespace the database is in use.
///
/// LMDB knows its readers by process id. Two containers, each with its own process 1, would take
/// each other's slots for their own and never clear those of the dead.
///
///     alone?  ─ yes ─▶ write our namespace ─▶ share ─▶ still ours? ─ yes ─▶ present
///        └──── no ──▶ share ─▶ same namespace? ─ yes ─▶ present
///
/// Changing an exclusive `flock` into a shared one lets go in between, hence the second look.
///
/// It is also the doorbell: written after a commit, so that whoever watches it hears of the commit when
/// readers can see it. The data file is written before that: who looks then may look too early.
///
/// A process that watches says so before, with a shared lock on a byte that the file does not have; who
/// commits asks whether anybody else does, and rings only then. The kernel takes the lock back when the
/// process ends. Law: who watches and looks after saying so misses nothing: a commit that it does not
/// see then asks later.
struct Presence: ~Copyable {
  private let descriptor: Int32
  private let firstByte: UInt8

  /// `nil` on a read-only file system, where LMDB takes no locks either.
  static func enter(at path: String, namespace: String) throws(LMDBError) -> Presence? {
    for _ in 0..<100 {
      guard let presence = try enterOnce(at: path, namespace: namespace) else { return nil }
      if presence.isInPlace(path) { return presence }
    }
    throw LMDBError(EAGAIN, context: "flock \(path)")
  }

  /// False if somebody removed the file since it was opened: others then lock another one.
  private func isInPlace(_ path: String) -> Bool {
    var (own, named) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &named) == 0
      && OpenFiles.Identity(own) == OpenFiles.Identity(named)
  }

  private static func enterOnce(
    at path: String, namespace: String
  ) throws(LMDBError) -> Presence? {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      if errno == EROFS { return nil }
      throw LMDBError(errno, context: "open \(path)")
    }
    let presence = Presence(descriptor, namespace)
    for _ in 0..<100 {
      // Mostly it is there already, from the last time. To make it anew costs a block of the disk.
      if try presence.lock(LOCK_EX | LOCK_NB, path), presence.read() != namespace {
        try presence.write(namespace, path)
      }
      _ = try presence.lock(LOCK_SH, path)
      let present = presence.read()
      if present == namespace { return presence }
      // Empty: who was alone died before it wrote. Then somebody is alone again soon.
      if !present.isEmpty {
        throw LMDBError.foreignProcessNamespace.adding("\(path): \(present), here \(namespace)")
      }
      _ = flock(descriptor, LOCK_UN)
    }
    throw LMDBError(EAGAIN, context: "flock \(path)")
  }

  /// Runs `body` while nobody uses the database and nobody can begin to: who opens it waits. False, and
  /// nothing done, if somebody uses it.
  static func alone<R>(at path: String, _ body: () throws -> R) throws -> R? {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      // Where nothing can be written, nobody writes.
      if errno == EROFS || errno == EACCES { return try body() }
      throw LMDBError(errno, context: "open \(path)")
    }
    let presence = Presence(descriptor)
    guard try presence.lock(LOCK_EX | LOCK_NB, path), presence.isInPlace(path) else { return nil }
    return try body()
  }

  /// Runs `body` while nobody uses the database. False, and nothing done, if somebody does.
  static func whileAbsent(
    from path: String, _ body: () throws(LMDBError) -> Void
  ) throws(LMDBError) -> Bool {
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
    if descriptor < 0, errno != ENOENT { throw LMDBError(errno, context: "open \(path)") }
    if descriptor >= 0 {
      let presence = Presence(descriptor)
      guard try presence.lock(LOCK_EX | LOCK_NB, path), presence.isInPlace(path) else {
        return false
      }
      try body()
    } else {
      try body()
    }
    return true
  }

  private init(_ descriptor: Int32, _ namespace: String = "") {
    self.descriptor = descriptor
    firstByte = namespace.utf8.first ?? 0
  }

  deinit { _ = Glibc.close(descriptor) }

  /// From now on other processes ring. False if the file system has no such locks: then they always do.
  @discardableResult
  func listen() -> Bool {
    var lock = Self.listeners(F_RDLCK)
    return fcntl(descriptor, Self.setLock, &lock) == 0
  }

  /// Whether somebody else may be listening: another process, or whoever opened the file again.
  var isHeard: Bool {
    var lock = Self.listeners(F_WRLCK)
    return fcntl(descriptor, Self.getLock, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
  }

  private static func listeners(_ type: Int32) -> Glibc.flock {
    Glibc.flock(
      l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: 1 << 40, l_len: 1, l_pid: 0)
  }

  // F_OFD_GETLK and F_OFD_SETLK: locks of this descriptor, and not of the process, which would lose them
  // with any other descriptor of the file that it closes.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37

  /// Writes the first byte again: nothing else changes, and a full disk does not matter.
  func ring() {
    guard isHeard else { return }
    var byte = firstByte
    _ = pwrite(descriptor, &byte, 1, 0)
  }

  private func lock(_ operation: Int32, _ path: String) throws(LMDBError) -> Bool {
    while flock(descriptor, operation) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw LMDBError(errno, context: "flock \(path)") }
    }
    return true
  }

  /// Ends with a newline, so that half a line is not taken for a whole one.
  private func write(_ namespace: String, _ path: String) throws(LMDBError) {
    let line = Array((namespace + "\n").utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, line, line.count, 0) == line.count
    else { throw LMDBError(errno == 0 ? EIO : errno, context: "write \(path)") }
  }

  private func read() -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0, bytes[count - 1] == UInt8(ascii: "\n") else { return "" }
    return String(decoding: bytes[..<(count - 1)], as: UTF8.self)
  }

  /// `pid:[4026531836]`; without `/proc`, a word that equals itself.
  static func currentProcessNamespace() -> String {
    var name = [CChar](repeating: 0, count: 128)
    let count = readlink("/proc/self/ns/pid", &name, name.count)
    guard count > 0 else { return "unknown" }
    return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
