import Glibc

/// Files that become what they are in one moment: written beside their place, flushed, and moved there.
///
///     let file = try NewFile(for: "books.hearth", replacing: false)
///     … write file.path …
///     try file.takePlace()
///
/// Dropped before, it leaves nothing behind. A crash leaves the unfinished file, which the next one for the
/// same place writes over.
public final class NewFile {
  /// Where it is written.
  public let path: String
  private let place: String
  private let isReplacing: Bool
  private let lock: Int32
  private var isInPlace = false

  /// Throws `alreadyThere` if there is a file and it is not to be replaced, `alreadyOpen` if another
  /// is being written for this place.
  public init(for place: String, replacing isReplacing: Bool) throws(LMDBError) {
    guard !place.isEmpty, !place.utf8.contains(0) else {
      throw LMDBError.invalidArgument.adding("write \(place)")
    }
    if !isReplacing, access(place, F_OK) == 0 {
      throw LMDBError.alreadyThere.adding("write \(place)")
    }
    let path = place + "-unfinished"
    self.lock = try Self.make(path, for: place)
    self.path = path
    self.place = place
    self.isReplacing = isReplacing
    Self.removeLocks(beside: path)
  }

  /// A new file, locked. One that somebody left unfinished is removed.
  private static func make(_ path: String, for place: String) throws(LMDBError) -> Int32 {
    // A process that was killed while it gave the file its place left it with two names.
    if let file = FileIdentity(at: path), file == FileIdentity(at: place) { unlink(path) }
    for _ in 0..<100 {
      let file = try OwnFile.open(path)
      guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
        _ = Glibc.close(file.descriptor)
        throw LMDBError.alreadyOpen.adding("write \(path)")
      }
      // Another may have removed it in between.
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

  /// Flushes the file, moves it to its place, and flushes the folder. Throws `alreadyThere` if a file
  /// came there meanwhile and is not to be replaced.
  public func takePlace() throws(LMDBError) {
    guard fsync(lock) == 0 else { throw LMDBError(errno, context: "flush \(path)") }
    if isReplacing {
      guard rename(path, place) == 0 else { throw LMDBError(errno, context: "move \(path)") }
    } else {
      // Fails where a file is, and so never replaces one.
      guard link(path, place) == 0 else {
        throw errno == EEXIST
          ? LMDBError.alreadyThere.adding("write \(place)")
          : LMDBError(errno, context: "move \(path)")
      }
      unlink(path)
    }
    isInPlace = true
    Self.removeLocks(beside: path)
    try DataFile.flushFolder(of: place)
  }

  /// What opening it has left.
  private static func removeLocks(beside path: String) {
    for suffix in ["-lock", "-presence"] { unlink(path + suffix) }
  }
}

extension Environment {
  /// Copies the state that a snapshot sees, page by page, into a file that is there and empty.
  ///
  /// The copy has free pages, too. While it is made, pages that commits free are kept from reuse: the
  /// file may grow. Throws `tryAgain` if two commits came since the snapshot began; what `progress`
  /// throws ends it.
  public func copy(
    _ snapshot: Snapshot, to path: String,
    progress: (_ pages: Int, _ of: Int) throws -> Void = { _, _ in }
  ) throws {
    let source = try openPages()
    let target = Glibc.open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard target >= 0 else { throw LMDBError(errno, context: "copy to \(path)") }
    defer { _ = Glibc.close(target) }
    // Both headers as they are now: the copy is a file at rest. The states of both are kept from reuse,
    // since the free pages of the later one are the used ones of the earlier.
    let (headers, last) = try Self.headers(of: source, at: snapshot.transactionID)
    let pageSize = headers.count / 2
    try Self.write(headers, count: headers.count, to: target, at: 0, path)
    let chunk = max(1, (1 << 20) / pageSize)
    var buffer = [UInt8](repeating: 0, count: chunk * pageSize)
    var page = 2
    while page <= last {
      let count = min(chunk, last - page + 1)
      // Pages at the end that were never written are free ones.
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

  /// Copies a file that nobody writes to, byte for byte, into a file that is there and empty.
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
    let newest = both.max { $0.transactionID < $1.transactionID }
    guard let newest, newest.transactionID == UInt64(transactionID) else {
      throw LMDBError.tryAgain
    }
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
