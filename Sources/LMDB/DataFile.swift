import Glibc

/// The path and the identity of the data file, and whether the file is still there.
struct DataFile {
  /// Without symbolic links, so that every process uses the same lock file.
  let path: String
  let identity: FileIdentity
  /// An open descriptor. Keeps the inode number from being reused while it is in `OpenFiles`. Pages
  /// are read through it, so that they come from the open file even if another file is now at the
  /// path.
  let anchor: Int32
  /// Whether this call created the file.
  let isNew: Bool
  /// The path that the caller gave, made absolute. A link in it may later lead to another file.
  private let namedPath: String

  /// Called last, when an environment no longer uses its file.
  func release() {
    OpenFiles.release(identity)
    _ = Glibc.close(anchor)
  }

  /// The folders that contain the last components of both paths.
  var folders: [String] {
    let own = Self.directory(of: path)
    return namedPath == path ? [own] : [own, Self.directory(of: namedPath)]
  }

  /// Removes the file if this process created it, and nothing is in it that was committed. Called
  /// while no other process can open it.
  func withdraw() {
    guard isNew, FileIdentity(at: path) == identity else { return }
    unlink(path)
  }

  /// Whether both paths still lead to the file that was located.
  var isInPlace: Bool {
    FileIdentity(followingLinksAt: path) == identity
      && (namedPath == path || FileIdentity(followingLinksAt: namedPath) == identity)
  }

  /// Opens the file, or creates an empty one, which LMDB treats as a new database.
  ///
  /// - Parameters:
  ///   - path: The path that `resolve` returned.
  ///   - namedPath: The path that the caller gave.
  static func open(
    _ path: String, named namedPath: String, isReadOnly: Bool, mayCreate: Bool
  ) throws(LMDBError) -> DataFile {
    var isNew = false
    if mayCreate {
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 || errno == EEXIST else {
        throw LMDBError(errno, context: "open \(path)")
      }
      if descriptor >= 0 {
        _ = Glibc.close(descriptor)
        isNew = true
        // Without its name in the folder, the file's flushed contents would be lost.
        do throws(LMDBError) { try flushFolder(of: path) } catch {
          unlink(path)
          throw error
        }
      }
    }
    // Opened as LMDB will open it: if the file system copies a file on opening for writing, this is
    // the copy.
    let access = isReadOnly ? O_RDONLY : O_RDWR
    let anchor = Glibc.open(path, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    var info = stat()
    guard anchor >= 0, fstat(anchor, &info) == 0 else {
      let code = errno
      if anchor >= 0 { _ = Glibc.close(anchor) }
      if isNew { unlink(path) }
      // The file existed when its path was resolved.
      if code == ENOENT { throw LMDBError.fileReplaced.adding("open \(path)") }
      throw LMDBError(code, context: "open \(path)")
    }
    guard info.st_mode & S_IFMT == S_IFREG else {
      _ = Glibc.close(anchor)
      throw LMDBError.notADatabase.adding("open \(path): not a plain file")
    }
    return DataFile(
      path: path, identity: FileIdentity(info), anchor: anchor, isNew: isNew,
      namedPath: normalized(namedPath))
  }

  /// Returns the path without symbolic links, and whether the file exists.
  static func resolve(
    _ path: String, _ configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> (path: String, exists: Bool) {
    var info = stat()
    let exists = stat(path, &info) == 0
    if !exists && errno != ENOENT { throw LMDBError(errno, context: "open \(path)") }
    if exists && info.st_mode & S_IFMT != S_IFREG {
      throw LMDBError.notADatabase.adding("open \(path): not a plain file")
    }
    if !configuration.allowsRemoteFileSystem,
      let type = configuration.fileSystemType(exists ? path : directory(of: path)),
      let name = FileSystemKind.remoteTypes[type]
    {
      throw LMDBError.remoteFileSystem.adding("open \(path) on \(name)")
    }
    return (try exists ? realPath(path) : realPath(ofMissing: path), exists)
  }

  /// The path, without symbolic links, of an existing file or of one that would be created.
  static func position(of path: String) throws(LMDBError) -> String {
    var info = stat()
    return stat(path, &info) == 0 ? try realPath(path) : try realPath(ofMissing: path)
  }

  /// The real path of an existing file.
  static func realPath(_ path: String) throws(LMDBError) -> String {
    guard let real = realpath(path, nil) else { throw LMDBError(errno, context: "open \(path)") }
    defer { free(real) }
    return String(cString: real)
  }

  /// The real path of a file to be created. Follows a link whose target does not exist yet.
  private static func realPath(ofMissing path: String) throws(LMDBError) -> String {
    var path = path
    for _ in 0..<40 {
      var target = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(path, &target, target.count)
      guard count > 0 else {
        let folder: String
        do throws(LMDBError) { folder = try realPath(directory(of: path)) } catch {
          throw error == .noSuchFile ? LMDBError.noFolder.adding("open \(path)") : error
        }
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map {
          path[path.utf8.index(after: $0)...]
        }
        return (folder == "/" ? "" : folder) + "/" + (name ?? path[...])
      }
      let link = String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
      path = link.utf8.first == UInt8(ascii: "/") ? link : directory(of: path) + "/" + link
    }
    throw LMDBError(ELOOP, context: "open \(path)")
  }

  /// An absolute path, without `//` and `/./`.
  private static func normalized(_ path: String) -> String {
    // The usual case.
    if isNormal(path) { return path }
    var path = path
    if path.utf8.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) {
      path = String(cString: folder) + "/" + path
      free(folder)
    }
    return path.utf8.split(separator: UInt8(ascii: "/"))
      .filter { !$0.elementsEqual(".".utf8) }
      .reduce(into: "") { $0 += "/" + String(Substring($1)) }
  }

  private static func isNormal(_ path: String) -> Bool {
    path.utf8.first == UInt8(ascii: "/")
      && path.utf8.dropFirst()
        .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) }
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
