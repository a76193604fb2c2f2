import Glibc

/// The device and inode of a file. Two paths lead to the same file if these are equal.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ info: stat) {
    device = UInt64(info.st_dev)
    inode = UInt64(info.st_ino)
  }

  private init?(_ look: (inout stat) -> Int32) {
    var info = stat()
    guard look(&info) == 0 else { return nil }
    self.init(info)
  }

  /// Returns `nil` if there is no file.
  init?(followingLinksAt path: String) { self.init { stat(path, &$0) } }

  /// For a link, the identity of the link itself.
  init?(at path: String) { self.init { lstat(path, &$0) } }

  init?(of descriptor: Int32) { self.init { fstat(descriptor, &$0) } }

  /// `2051:1183`: device and inode.
  var text: String { "\(device):\(inode)" }
}

/// An open file that Hearth created beside a database. It is never opened through a link.
struct OwnFile {
  let descriptor: Int32
  let identity: FileIdentity
  /// Whether this call created the file.
  let isNew: Bool

  /// Opens a file for reading and writing, or creates it with access for its owner only.
  ///
  /// Throws `notAPlainFile` for a symbolic link, a file with a second name, and anything that is
  /// not a regular file.
  static func open(_ path: String) throws(LMDBError) -> OwnFile {
    for _ in 0..<100 {
      // The usual case.
      if let file = try openExisting(path) { return file }
      let new = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard new >= 0 else {
        if errno == EEXIST { continue }
        // A file that is created needs only its folder.
        if errno == ENOENT { throw LMDBError.noFolder.adding("make \(path)") }
        throw LMDBError(errno, context: "make \(path)")
      }
      guard let identity = FileIdentity(of: new) else {
        let code = errno
        _ = Glibc.close(new)
        throw LMDBError(code, context: "make \(path)")
      }
      return OwnFile(descriptor: new, identity: identity, isNew: true)
    }
    throw LMDBError(EAGAIN, context: "make \(path)")
  }

  /// Opens a file that is there. Returns `nil` if there is none.
  static func openExisting(_ path: String) throws(LMDBError) -> OwnFile? {
    let descriptor = Glibc.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return nil
      case ELOOP, EISDIR, ENXIO, ENODEV: throw LMDBError.notAPlainFile.adding("open \(path)")
      default: throw LMDBError(errno, context: "open \(path)")
      }
    }
    var info = stat()
    guard fstat(descriptor, &info) == 0 else {
      let code = errno
      _ = Glibc.close(descriptor)
      throw LMDBError(code, context: "open \(path)")
    }
    // No name is left if the file was removed between the two calls.
    if info.st_mode & S_IFMT == S_IFREG, info.st_nlink <= 1 {
      return OwnFile(descriptor: descriptor, identity: FileIdentity(info), isNew: false)
    }
    _ = Glibc.close(descriptor)
    throw LMDBError.notAPlainFile.adding("open \(path)")
  }
}
