import Glibc

/// Whether names in some folders may have changed since they were looked at.
///
/// Making, removing or replacing a name sets its folder's time of change. So one look at the folder stands for a look
/// at each name, as long as that time is the same.
///
/// Law: a folder counts as unchanged only if its time was older, when the names were looked at, than the kernel's
/// clock can lag behind. A later change then has a later time.
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

    /// A file system that keeps whole seconds only lags by up to two.
    func isOlder(than now: timespec) -> Bool {
      let age = (now.tv_sec - seconds) * 1_000_000_000 + now.tv_nsec - nanoseconds
      return age > (nanoseconds == 0 ? 3_000_000_000 : 100_000_000)
    }
  }

  private let paths: [String]
  private var seen: [Folder] = []

  init(_ paths: [String]) { self.paths = paths }

  /// False if `look` says so, which looks at the names and is called if they may have changed.
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
