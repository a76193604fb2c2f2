import Glibc

/// A file that appears in one step: it is written beside its place, flushed, and moved there.
///
///     let file = try NewFile(for: "books.hearth", replacing: false)
///     // Write the file at file.path.
///     try file.takePlace()
///
/// If it is released before `takePlace()`, nothing is left. A crash leaves the unfinished file,
/// which the next one for the same place replaces.
public final class NewFile {
  /// The path to write to.
  public let path: String
  private let position: String
  private let isReplacing: Bool
  private let lock: Int32
  private var isInPlace = false

  /// Creates the unfinished file. Throws `alreadyThere` if a file exists that must not be replaced,
  /// `alreadyOpen` if another `NewFile` for this place exists.
  public init(for position: String, replacing isReplacing: Bool) throws(LMDBError) {
    guard !position.isEmpty, !position.utf8.contains(0) else {
      throw LMDBError.invalidArgument.adding("write \(position)")
    }
    if !isReplacing, access(position, F_OK) == 0 {
      throw LMDBError.alreadyThere.adding("write \(position)")
    }
    let path = position + "-unfinished"
    self.lock = try Self.make(path, for: position)
    self.path = path
    self.position = position
    self.isReplacing = isReplacing
    Self.removeLocks(beside: path)
  }

  /// Creates the file and locks it. Removes one that was left unfinished.
  private static func make(_ path: String, for position: String) throws(LMDBError) -> Int32 {
    // A process killed while it moved the file left it with two names.
    if let file = FileIdentity(at: path), file == FileIdentity(at: position) { unlink(path) }
    for _ in 0..<100 {
      let file = try OwnFile.open(path)
      guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
        _ = Glibc.close(file.descriptor)
        throw LMDBError.alreadyOpen.adding("write \(path)")
      }
      // Another process may have removed it in between.
      let isOurs = file.identity == FileIdentity(at: path)
      if file.isNew, isOurs { return file.descriptor }
      if isOurs { unlink(path) }
      _ = Glibc.close(file.descriptor)
    }
    throw LMDBError(EAGAIN, context: "write \(path)")
  }

  deinit {
    if !isInPlace {
      unlink(path)
      Self.removeLocks(beside: path)
    }
    _ = Glibc.close(lock)
  }

  /// Flushes the file, moves it to its place, and flushes the folder. Throws `alreadyThere` if a
  /// file that must not be replaced has appeared there meanwhile.
  public func takePlace() throws(LMDBError) {
    guard fsync(lock) == 0 else { throw LMDBError(errno, context: "flush \(path)") }
    if isReplacing {
      guard rename(path, position) == 0 else { throw LMDBError(errno, context: "move \(path)") }
    } else {
      // Fails if a file exists, so it never replaces one.
      guard link(path, position) == 0 else {
        throw errno == EEXIST
          ? LMDBError.alreadyThere.adding("write \(position)")
          : LMDBError(errno, context: "move \(path)")
      }
      unlink(path)
    }
    isInPlace = true
    Self.removeLocks(beside: path)
    try DataFile.flushFolder(of: position)
  }

  /// Removes the files that opening it has left.
  static func removeLocks(beside path: String) {
    for suffix in ["-lock", "-presence"] { unlink(path + suffix) }
  }
}

extension Environment {
  /// Copies the state that a snapshot sees, page by page, into an existing empty file.
  ///
  /// The copy includes free pages. Meanwhile pages that commits free cannot be reused, so the file
  /// may grow. Throws `tryAgain` if a commit came after the snapshot began and before the headers
  /// were read. An error that `progress` throws ends the copy.
  public func copy(
    _ snapshot: Snapshot, to path: String,
    progress: (_ pages: Int, _ of: Int) throws -> Void = { _, _ in }
  ) throws {
    let source = try openPages()
    let target = Glibc.open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard target >= 0 else { throw LMDBError(errno, context: "copy to \(path)") }
    defer { _ = Glibc.close(target) }
    // Copies both headers: the copy is like a file that is not in use. The pages of both states are
    // kept from reuse, because the pages that the later state frees are used by the earlier one.
    let (headers, last) = try Self.headers(of: source, at: snapshot.transactionID)
    let pageSize = headers.count / 2
    try Self.write(headers, count: headers.count, to: target, at: 0, path)
    let chunk = max(1, (1 << 20) / pageSize)
    var buffer = [UInt8](repeating: 0, count: chunk * pageSize)
    var page = 2
    while page <= last {
      let count = min(chunk, last - page + 1)
      // Pages at the end that were never written are free.
      guard
        try source.read(
          at: UInt64(page * pageSize), into: &buffer, count: count * pageSize)
      else {
        if count == 1 { break }
        try Self.copyPages(page..<(page + count), pageSize, source, target, path)
        break
      }
      try Self.write(buffer, count: count * pageSize, to: target, at: page * pageSize, path)
      page += count
      try progress(page, last + 1)
    }
    guard fsync(target) == 0 else { throw LMDBError(errno, context: "flush \(path)") }
  }

  /// Copies a file that no process writes to, byte for byte, into an existing empty file.
  public static func copyFile(
    at path: String, to target: String,
    progress: (_ bytes: Int, _ of: Int) throws -> Void = { _, _ in }
  ) throws {
    let source = try PageReader(path: path)
    let descriptor = Glibc.open(target, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw LMDBError(errno, context: "copy to \(target)") }
    defer { _ = Glibc.close(descriptor) }
    let total = Int(clamping: try source.byteCount())
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var done = 0
    while done < total {
      let count = min(buffer.count, total - done)
      guard try source.read(at: UInt64(done), into: &buffer, count: count) else {
        throw LMDBError.truncated.adding("copy \(path)")
      }
      try write(buffer, count: count, to: descriptor, at: done, target)
      done += count
      try progress(done, total)
    }
    guard fsync(descriptor) == 0 else { throw LMDBError(errno, context: "flush \(target)") }
  }

  private static func copyPages(
    _ pages: Range<Int>, _ pageSize: Int, _ source: borrowing PageReader, _ target: Int32,
    _ path: String
  ) throws(LMDBError) {
    for page in pages {
      guard let bytes = try source.read(at: UInt64(page * pageSize), count: pageSize) else {
        return
      }
      try write(bytes, count: pageSize, to: target, at: page * pageSize, path)
    }
  }

  private static func headers(
    of file: borrowing PageReader, at transactionID: Int
  ) throws -> (bytes: [UInt8], lastPage: Int) {
    guard let start = try file.read(at: 0, count: FileHeader.byteCount) else {
      throw LMDBError.truncated
    }
    let pageSize = try FileHeader(start, page: 0).pageSize
    guard let bytes = try file.read(at: 0, count: 2 * Int(pageSize)) else {
      throw LMDBError.truncated
    }
    let both = [
      try FileHeader(bytes, page: 0),
      try FileHeader(Array(bytes[Int(pageSize)...]), page: 1),
    ]
    let newest = FileHeader.newest(of: both)
    guard newest.transactionID == UInt64(transactionID) else { throw LMDBError.tryAgain }
    return (bytes, Int(clamping: newest.lastPage))
  }

  private static func write(
    _ bytes: [UInt8], count: Int, to target: Int32, at offset: Int, _ path: String
  ) throws(LMDBError) {
    var done = 0
    while done < count {
      let wrote = bytes.withUnsafeBytes {
        pwrite(target, $0.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
      }
      if wrote < 0, errno == EINTR { continue }
      guard wrote > 0 else {
        throw LMDBError(wrote == 0 ? ENOSPC : errno, context: "write \(path)")
      }
      done += wrote
    }
  }
}
