import Foundation
internal import HearthText

/// The folder of an in-memory database (in memory as users see it): `hearth-XXXXXX` in the
/// temporary directory.
///
/// The process that uses the folder locks a file in it; the kernel releases the lock when the
/// process ends. A process removes its folders at a normal exit. After `kill -9` or a crash, the
/// next process that opens an in-memory database removes the unlocked folders.
///
///     .hearth-XXXXXX ── made, locked ──▶ hearth-XXXXXX ── removed ──▶
///
/// A folder gets its final name after it is locked, so an unlocked folder of that name is
/// abandoned.
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
    sweepPeriodically(parent)
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
      // Does not replace another process's folder: that is not empty, because of its lock file.
      if flock(lock, LOCK_EX | LOCK_NB) == 0, rename(hidden, path) == 0 {
        return MemoryFolder(path: path, lock: lock)
      }
      unlink(hidden + "/" + lockName)
      rmdir(hidden)
      Foundation.close(lock)
    }
    let reason = FileError.sentence(forCode: errno)
    throw Status(.unavailable, "Cannot make a temporary folder in \(parent.legible). \(reason)")
  }

  /// Removes the folder and what is in it. Idempotent.
  func remove() {
    // In a forked child the folder is the parent's.
    guard process == getpid() else { return }
    if !isRemoved.exchange(true) { try? FileManager.default.removeItem(atPath: path) }
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

  // MARK: Abandoned folders

  private static let lockName = "owner"
  private static let lastSweep = Guarded<ContinuousClock.Instant?>(nil)

  private static func sweepPeriodically(_ parent: String) {
    let isDue = lastSweep.withLock { last in
      let now = ContinuousClock.now
      if let last, now - last < .seconds(60) { return false }
      last = now
      return true
    }
    if isDue { sweep(parent) }
  }

  /// Removes the folders in `parent` that no process has locked, if they are this user's, have our
  /// name, and contain only our files. Follows no link.
  static func sweep(_ parent: String) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: parent) else { return }
    let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    defer { Foundation.close(directory) }
    for name in names {
      if isOurs(name, "hearth-") { remove(name, in: directory, isUnfinished: false) }
      if isOurs(name, ".hearth-") { remove(name, in: directory, isUnfinished: true) }
    }
  }

  private static func isOurs(_ name: String, _ prefix: String) -> Bool {
    name.utf8.count == prefix.utf8.count + 6 && name.utf8.starts(with: prefix.utf8)
      && name.utf8.suffix(6).allSatisfy { $0.isASCIIAlphanumeric }
  }

  /// - Parameter isUnfinished: The folder is of a process that ended while making it, if it is older
  ///   than an hour, which is longer than that takes. Such a folder holds no data.
  private static func remove(_ name: String, in parent: Int32, isUnfinished: Bool) {
    let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { Foundation.close(folder) }
    var status = stat()
    guard fstat(folder, &status) == 0, status.st_uid == geteuid() else { return }
    if isUnfinished {
      guard time(nil) - status.st_mtim.tv_sec > 3600 else { return }
      unlinkat(folder, lockName, 0)
      unlinkat(parent, name, AT_REMOVEDIR)
      return
    }
    let lock = openat(folder, lockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    guard lock >= 0 else { return }
    defer { Foundation.close(lock) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0, let files = files(of: folder),
      files.allSatisfy({ $0 == lockName || $0.hasPrefix("memory.hearth") })
    else { return }
    // The lock file is removed last, so that a later sweep can finish an interrupted one.
    for file in files where file != lockName { unlinkat(folder, file, 0) }
    unlinkat(folder, lockName, 0)
    unlinkat(parent, name, AT_REMOVEDIR)
  }

  private static func files(of folder: Int32) -> [String]? {
    try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(folder)")
  }
}
