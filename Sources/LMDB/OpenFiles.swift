import Glibc

/// The data files and lock files this process has open. LMDB's file locks belong to the process: a
/// second environment on the same file would drop them when it closes.
enum OpenFiles {
  private static let monitor = Monitor()
  /// Guarded by `monitor`.
  nonisolated(unsafe) private static var open: Set<FileIdentity> = []

  /// Returns false if the file is already open or being opened.
  static func reserve(_ identity: FileIdentity) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return open.insert(identity).inserted
  }

  static func isOpen(_ identity: FileIdentity) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return open.contains(identity)
  }

  static func release(_ identity: FileIdentity) {
    monitor.lock()
    defer { monitor.unlock() }
    open.remove(identity)
  }
}
