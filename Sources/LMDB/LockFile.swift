import CLMDB
import Glibc

/// LMDB's lock file, opened before LMDB opens it, so that it is not a link and stays the same file.
///
/// The file is sparse and mapped: on a full disk, a reader's slot in a page without a block would
/// end the process with SIGBUS. So blocks are reserved for the whole file. If the file system
/// cannot reserve them, that risk remains.
struct LockFile: ~Copyable {
  // Kept open: LMDB's locks belong to the process, and closing any descriptor of the file drops
  // them.
  private let descriptor: Int32
  private let path: String
  private let identity: FileIdentity
  private let isNew: Bool

  /// Created before LMDB opens the file, and released after LMDB has closed it. Throws
  /// `openElsewhere` if this process already has it open for another data file: opening and closing
  /// it would drop that one's locks.
  ///
  /// Throws `noSpace` or `quotaExceeded` if the disk has no room for the slots of so many readers:
  /// LMDB writes to its mapping of the file, which would end the process.
  init(_ path: String, readers: Int) throws(LMDBError) {
    if let identity = FileIdentity(at: path), OpenFiles.isOpen(identity) {
      throw LMDBError.openElsewhere.adding("open \(path)")
    }
    let file = try OwnFile.open(path)
    if let failure = Self.reserve(file.descriptor, readers: readers) {
      if file.isNew { unlink(path) }
      _ = Glibc.close(file.descriptor)
      throw failure.adding("reserve \(path)")
    }
    guard OpenFiles.reserve(file.identity) else {
      _ = Glibc.close(file.descriptor)
      throw LMDBError.openElsewhere.adding("open \(path)")
    }
    descriptor = file.descriptor
    identity = file.identity
    isNew = file.isNew
    self.path = path
  }

  deinit {
    OpenFiles.release(identity)
    _ = Glibc.close(descriptor)
  }

  /// Removes the file if it was created here. Called if opening failed, without other users.
  func withdraw() {
    if isNew, isInPlace { unlink(path) }
  }

  /// Reserves blocks for the file as LMDB will make it, without changing its size. Returns an error if
  /// there is no room for them, and nil if there is, or if the file system cannot reserve blocks.
  private static func reserve(_ descriptor: Int32, readers: Int) -> LMDBError? {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return nil }
    // LMDB's slots have 64 bytes, behind less than a page.
    let needed = off_t(max(1, min(readers, 1 << 20)) * 64 + 4096)
    let keepsSize: Int32 = 1
    guard fallocate(descriptor, keepsSize, 0, max(info.st_size, needed)) != 0 else { return nil }
    switch errno {
    case ENOSPC: return .noSpace
    case EDQUOT: return .quotaExceeded
    default: return nil
    }
  }

  /// Called after LMDB has set the file's size.
  func reserve() {
    var info = stat()
    if fstat(descriptor, &info) == 0 { _ = fallocate(descriptor, 0, 0, info.st_size) }
  }

  var isInPlace: Bool { FileIdentity(at: path) == identity }

  /// The process whose thread holds LMDB's mutex for writing; `nil` if none does, or if it cannot
  /// be determined.
  ///
  ///     ┌─────────────────┬───────────────────┬───────────────┬─────────┬┄┄┄┬───────────────────┐
  ///     │ magic, format 8 │ mutex for readers │ last commit 8 │ slots 4 │   │ mutex for writers │
  ///     └─────────────────┴───────────────────┴───────────────┴─────────┴┄┄┄┴───────────────────┘
  ///                                                       a cache line begins here ─┘
  ///
  /// glibc stores the thread that holds a mutex after two words.
  var writingProcess: Int32? {
    let mutex = (8 + MemoryLayout<pthread_mutex_t>.size + 12 + 63) / 64 * 64
    var thread: Int32 = 0
    guard pread(descriptor, &thread, 4, off_t(mutex + 8)) == 4, thread > 0 else { return nil }
    let status = ProcessLocks.text(at: "/proc/\(thread)/status")
    let line = status.split(separator: "\n").first { $0.hasPrefix("Tgid:") }
    return line.flatMap { Int32($0.dropFirst(5).drop { $0 == "\t" || $0 == " " }) }
  }
}
