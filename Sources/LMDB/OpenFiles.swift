import Glibc

/// The files this process has open. LMDB's file locks belong to the process: a second environment
/// on the same file would drop them when it closes.
enum OpenFiles {
  struct Identity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    init(_ info: stat) {
      device = UInt64(info.st_dev)
      inode = UInt64(info.st_ino)
    }
  }

  private static let monitor = Monitor()
  /// Guarded by `monitor`.
  nonisolated(unsafe) private static var open: Set<Identity> = []

  /// False if the file is open already, or being opened.
  static func reserve(_ identity: Identity) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return open.insert(identity).inserted
  }

  static func release(_ identity: Identity) {
    monitor.lock()
    defer { monitor.unlock() }
    open.remove(identity)
  }
}
