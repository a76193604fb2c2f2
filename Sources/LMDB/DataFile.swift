import Glibc

/// Where the data file really is.
struct DataFile {
  /// Without symbolic links, so that every process uses the same lock file.
  let path: String
  let identity: OpenFiles.Identity
  /// Keeps the inode's number from being given to another file while it is in `OpenFiles`.
  let anchor: Int32

  /// The last thing done with an environment's file.
  func release() {
    OpenFiles.release(identity)
    _ = Glibc.close(anchor)
  }

  /// Finds the file, or makes an empty one, which LMDB takes for a new database.
  static func locate(
    _ path: String, configuration: EnvironmentConfiguration, mayCreate: Bool
  ) throws(LMDBError) -> DataFile {
    var info = stat()
    let exists = stat(path, &info) == 0
    if !exists && errno != ENOENT { throw LMDBError(errno, context: "open \(path)") }
    if !exists && !mayCreate { throw LMDBError.noSuchFile.adding("open \(path)") }
    if exists && info.st_mode & S_IFMT != S_IFREG {
      throw LMDBError.notADatabase.adding("open \(path): not a plain file")
    }
    if !configuration.allowsRemoteFileSystem,
      let type = configuration.fileSystemType(exists ? path : directory(of: path)),
      FileSystemKind.isRemote(type)
    {
      let name = FileSystemKind.remoteTypes[type] ?? ""
      throw LMDBError.remoteFileSystem.adding("open \(path) on \(name)")
    }
    if !exists {
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw LMDBError(errno, context: "open \(path)") }
      _ = Glibc.close(descriptor)
      // What is flushed into a file is lost with the file's name.
      try flushFolder(of: path)
    }
    let real = try realPath(path)
    let anchor = Glibc.open(real, O_RDONLY | O_CLOEXEC)
    guard anchor >= 0, fstat(anchor, &info) == 0 else {
      throw LMDBError(errno, context: "open \(path)")
    }
    return DataFile(
      path: real, identity: OpenFiles.Identity(info), anchor: anchor)
  }

  /// Of a file that is there.
  static func realPath(_ path: String) throws(LMDBError) -> String {
    guard let real = realpath(path, nil) else { throw LMDBError(errno, context: "open \(path)") }
    defer { free(real) }
    return String(cString: real)
  }

  /// Whether the path still leads to the file that was located.
  var isInPlace: Bool {
    var info = stat()
    return stat(path, &info) == 0 && OpenFiles.Identity(info) == identity
  }

  static func flushFolder(of path: String) throws(LMDBError) {
    let folder = Glibc.open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw LMDBError(errno, context: "flush the folder of \(path)") }
    defer { _ = Glibc.close(folder) }
    // Some file systems cannot flush a folder, and need not.
    guard fsync(folder) == 0 || errno == EINVAL else {
      throw LMDBError(errno, context: "flush the folder of \(path)")
    }
  }

  static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
