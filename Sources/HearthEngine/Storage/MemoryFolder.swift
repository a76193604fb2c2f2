import Foundation

/// The folder of a database that lives in memory, as far as users see: `hearth-XXXXXX` in the temporary directory.
///
/// The process that uses it holds a lock on a file in it, which the kernel releases with the process. What
/// nobody holds any more, after `kill -9` or a crash, the next process removes that opens such a database. At an
/// ordinary exit a process removes its own.
///
///     .hearth-XXXXXX ── made, locked ──▶ hearth-XXXXXX ── removed ──▶
///
/// A folder gets its name when it is locked: none of that name is still on its way to a lock.
final class MemoryFolder: Sendable {
  let path: String
  private let lock: Int32
  private let process = getpid()
  private let isRemoved = Guarded(false)

  var databasePath: String { path + "/memory.hearth" }

  private init(path: String, lock: Int32) {
    self.path = path
    self.lock = lock
  }

  deinit {
    remove()
    Foundation.close(lock)
  }

  package static func make() throws(Status) -> MemoryFolder {
    let parent = NSTemporaryDirectory()
    sweepNowAndThen(parent)
    let folder = try makeLocked(in: parent)
    live.withLock { live in
      live.removeAll { $0.folder == nil }
      live.append(Weak(folder: folder))
    }
    _ = removesAtExit
    return folder
  }

  private static func makeLocked(in parent: String) throws(Status) -> MemoryFolder {
    for _ in 0..<10 {
      var template = Array((parent + "/.hearth-XXXXXX").utf8CString)
      guard mkdtemp(&template) != nil else { break }
      let hidden = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
      let lock = open(
        hidden + "/" + lockName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard lock >= 0 else { break }
      let path = parent + "/hearth-" + hidden.suffix(6)
      // Does not replace another's folder: there is its lock's file in it.
      if flock(lock, LOCK_EX | LOCK_NB) == 0, rename(hidden, path) == 0 {
        return MemoryFolder(path: path, lock: lock)
      }
      unlink(hidden + "/" + lockName)
      rmdir(hidden)
      Foundation.close(lock)
    }
    throw Status(.unavailable, "Cannot make a temporary folder.")
  }

  /// Removes the folder and what is in it. Idempotent.
  func remove() {
    // A forked child has its parent's folder, not one of its own.
    guard process == getpid() else { return }
    let isFirst = isRemoved.withLock { isRemoved in
      defer { isRemoved = true }
      return !isRemoved
    }
    if isFirst { try? FileManager.default.removeItem(atPath: path) }
  }

  // MARK: At the end of the process

  private struct Weak: Sendable {
    weak let folder: MemoryFolder?
  }

  private static let live = Guarded<[Weak]>([])

  private static let removesAtExit: Void = {
    atexit {
      for entry in MemoryFolder.live.withLock({ $0 }) { entry.folder?.remove() }
    }
  }()

  // MARK: What others left

  private static let lockName = "owner"
  private static let lastSweep = Guarded<ContinuousClock.Instant?>(nil)

  private static func sweepNowAndThen(_ parent: String) {
    let isDue = lastSweep.withLock { last in
      let now = ContinuousClock.now
      if let last, now - last < .seconds(60) { return false }
      last = now
      return true
    }
    if isDue { sweep(parent) }
  }

  /// Removes the folders in `parent` that no process holds: of this user, of our name, and with nothing in
  /// them but what we put there. Follows no link.
  static func sweep(_ parent: String) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: parent) else { return }
    let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    defer { Foundation.close(directory) }
    for name in names {
      if isOurs(name, "hearth-") { removeIfLeft(name, in: directory) }
      if isOurs(name, ".hearth-") { removeIfUnfinished(name, in: directory) }
    }
  }

  private static func isOurs(_ name: String, _ prefix: String) -> Bool {
    let utf8 = Array(name.utf8)
    let prefix = Array(prefix.utf8)
    return utf8.count == prefix.count + 6 && utf8.starts(with: prefix)
      && utf8.dropFirst(prefix.count).allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: false
        }
      }
  }

  private static func removeIfLeft(_ name: String, in parent: Int32) {
    let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { Foundation.close(folder) }
    var status = stat()
    guard fstat(folder, &status) == 0, status.st_uid == geteuid() else { return }
    let lock = openat(folder, lockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    guard lock >= 0 else { return }
    defer { Foundation.close(lock) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0, let files = files(of: folder),
      files.allSatisfy({ $0 == lockName || $0.hasPrefix("memory.hearth") })
    else { return }
    // The lock goes last: a sweep that is cut short is done again.
    for file in files where file != lockName { unlinkat(folder, file, 0) }
    unlinkat(folder, lockName, 0)
    unlinkat(parent, name, AT_REMOVEDIR)
  }

  /// Of a process that ended while it made a folder: an hour is longer than that takes. Holds no data.
  private static func removeIfUnfinished(_ name: String, in parent: Int32) {
    let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { Foundation.close(folder) }
    var status = stat()
    guard fstat(folder, &status) == 0, status.st_uid == geteuid(),
      time(nil) - status.st_mtim.tv_sec > 3600
    else { return }
    unlinkat(folder, lockName, 0)
    unlinkat(parent, name, AT_REMOVEDIR)
  }

  private static func files(of folder: Int32) -> [String]? {
    try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(folder)")
  }
}
