import Glibc

/// Detects whether names in some folders may have changed since they were last checked.
///
/// Creating, removing or replacing a name sets its folder's modification time. While that time is
/// unchanged, one check of the folder replaces a check of each name.
///
/// Law: a folder counts as unchanged only if its time, when the names were checked, was older than
/// the kernel's clock can lag. A later change then has a later time.
struct FolderWatch {
  private struct Folder: Equatable {
    let identity: FileIdentity
    let seconds: Int
    let nanoseconds: Int

    init?(_ path: String) {
      var info = stat()
      guard stat(path, &info) == 0 else { return nil }
      identity = FileIdentity(info)
      seconds = info.st_mtim.tv_sec
      nanoseconds = info.st_mtim.tv_nsec
    }

    /// On a file system that keeps only whole seconds, the time lags by up to two.
    func isOlder(than now: timespec) -> Bool {
      let age = (now.tv_sec - seconds) * 1_000_000_000 + now.tv_nsec - nanoseconds
      return age > (nanoseconds == 0 ? 3_000_000_000 : 100_000_000)
    }
  }

  private let paths: [String]
  private var seen: [Folder] = []

  init(_ paths: [String]) { self.paths = paths }

  /// Returns true if no name can have changed; otherwise the result of `look`, which checks the
  /// names.
  mutating func isUnchanged(_ look: () -> Bool) -> Bool {
    if !seen.isEmpty, zip(paths, seen).allSatisfy({ Folder($0) == $1 }) { return true }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let folders = paths.compactMap { Folder($0) }
    guard folders.count == paths.count, look() else { return false }
    seen = folders.allSatisfy { $0.isOlder(than: now) } ? folders : []
    return true
  }
}
