import Glibc

/// Marks on the data file itself that a process has it open, even if the file is renamed.
///
/// The lock file and the presence file are found by path. If the data file is moved, gets a second
/// name or loses the files beside it, another process would open it with different locks than those
/// that have it open.
///
///     sharing    shares the locks beside the file: readers are registered, writers take turns
///     unlocked   only reads, and may not write the locks beside the file
///
/// Law: a file is never open in both ways. Each process sets its own mark before it looks for the
/// other.
///
/// The marks are open file description locks, on bytes far beyond the data: the kernel releases
/// them when the process ends. If the file system has no such locks, no other process is detected.
enum OpenFileLock {
  /// Throws `readElsewhere` if a process reads the file without locks.
  static func share(_ descriptor: Int32, _ path: String) throws(LMDBError) {
    _ = DescriptionLock.sharing.set(F_RDLCK, on: descriptor)
    guard DescriptionLock.unlocked.isHeldElsewhere(than: descriptor) == true else { return }
    _ = DescriptionLock.sharing.set(F_UNLCK, on: descriptor)
    throw LMDBError.readElsewhere.adding("open \(path)")
  }

  /// Throws `writtenElsewhere` if a process that may write has the file open.
  static func readUnlocked(_ descriptor: Int32, _ path: String) throws(LMDBError) {
    _ = DescriptionLock.unlocked.set(F_RDLCK, on: descriptor)
    guard isShared(elsewhereThan: descriptor) else { return }
    _ = DescriptionLock.unlocked.set(F_UNLCK, on: descriptor)
    throw LMDBError.writtenElsewhere.adding("open \(path)")
  }

  /// Runs `body` while no process that may write has the file open, or can open it. Returns `nil`,
  /// without running `body`, if one has.
  static func whileReadUnlocked<R>(_ path: String, _ body: () throws -> R) throws -> R? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return try body() }
      throw LMDBError(errno, context: "open \(path)")
    }
    defer { _ = Glibc.close(descriptor) }
    do throws(LMDBError) { try readUnlocked(descriptor, path) } catch { return nil }
    return try body()
  }

  /// Whether another process, or another description in this one, shares the locks beside the file.
  static func isShared(elsewhereThan descriptor: Int32) -> Bool {
    DescriptionLock.sharing.isHeldElsewhere(than: descriptor) == true
  }

  /// Whether any process has the file open. False if there is no file.
  static func isHeld(onFileAt path: String) throws(LMDBError) -> Bool {
    let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return false }
      throw LMDBError(errno, context: "open \(path)")
    }
    defer { _ = Glibc.close(descriptor) }
    return isShared(elsewhereThan: descriptor)
      || DescriptionLock.unlocked.isHeldElsewhere(than: descriptor) == true
  }
}

/// A lock of one byte that belongs to an open file description. The process would lose a lock of
/// its own when it closes any other descriptor of the file.
struct DescriptionLock {
  private let byte: Int64

  /// On the presence file: the process listens for commit notifications.
  static let listening = DescriptionLock(byte: 1 << 40)
  /// On the data file: the process waits for LMDB's mutex; see `WriterFairnessLock`.
  static let fairnessLock = DescriptionLock(byte: 1 << 62)
  /// On the data file; see `OpenFileLock`.
  static let sharing = DescriptionLock(byte: 1 << 62 + 1)
  /// On the data file; see `OpenFileLock`.
  static let unlocked = DescriptionLock(byte: 1 << 62 + 2)

  // Linux's numbers; <fcntl.h> declares them for `_GNU_SOURCE` only.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37
  private static let setLockWaiting: Int32 = 38

  /// Returns false, with `errno` set, if the lock is not available.
  func set(_ type: Int32, on descriptor: Int32, waiting: Bool = false) -> Bool {
    var lock = record(type)
    return fcntl(descriptor, waiting ? Self.setLockWaiting : Self.setLock, &lock) == 0
  }

  /// `nil` if the file system has no such locks.
  func isHeldElsewhere(than descriptor: Int32) -> Bool? {
    var lock = record(F_WRLCK)
    guard fcntl(descriptor, Self.getLock, &lock) == 0 else { return nil }
    return lock.l_type != Int16(F_UNLCK)
  }

  private func record(_ type: Int32) -> Glibc.flock {
    Glibc.flock(
      l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: Int(byte), l_len: 1, l_pid: 0)
  }
}

/// The holders of file locks, as the kernel lists them.
enum ProcessLocks {
  /// The processes with a `flock` on the file. Empty if the kernel does not list them.
  static func holders(of file: FileIdentity) -> [Int32] {
    // `7: FLOCK  ADVISORY  READ 4711 08:01:1183 0 EOF`
    let (major, minor) = (
      (file.device >> 8) & 0xFFF | (file.device >> 32) & ~0xFFF,
      file.device & 0xFF | (file.device >> 12) & ~0xFF
    )
    var processes: Set<Int32> = []
    for line in text(at: "/proc/locks").split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 6, words[1] == "FLOCK", let process = Int32(words[4]), process > 0
      else { continue }
      let position = words[5].split(separator: ":")
      guard position.count == 3, UInt64(position[0], radix: 16) == major,
        UInt64(position[1], radix: 16) == minor, UInt64(position[2]) == file.inode
      else { continue }
      processes.insert(process)
    }
    return processes.sorted()
  }

  /// The text of a kernel file, whose size is not known before it is read.
  static func text(at path: String) -> String {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { _ = Glibc.close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
