import CLMDB
import Glibc
import Synchronization

/// One LMDB file, open in this process: bytes in, bytes out.
///
///     let environment = try Environment.open(
///       at: "books.hearth", configuration: EnvironmentConfiguration(tables: ["documents"]))
///     let documents = environment.table("documents")
///     let title = try environment.read { try $0.get(documents, key).map(Array.init) }
///
/// Beside the data file `path` are `path-lock` (LMDB's reader table) and `path-presence` (the pid
/// namespace that uses the file; carries commit notifications). Only their owner can read them.
/// Several processes of one host may use the file; within one process it is open once.
///
///     read {}  ─▶ a reader from the pool ─▶ renew ─▶ body ─▶ reset ─▶ back
///     grow, reopen, close ─▶ exclusive access
public final class Environment: Sendable {
  /// The path of the data file, without symbolic links.
  public let path: String
  /// The configuration it was opened with.
  public let configuration: EnvironmentConfiguration

  /// `ForkGuard.count`. Written only by the fork handler, in a child that has one thread.
  @usableFromInline nonisolated(unsafe) let forkCount: UnsafeMutablePointer<UInt>
  @usableFromInline let forkCountAtOpen: UInt

  let borrows: BorrowPoisoner?
  private let file: DataFile
  private let tables: [String: Table]
  @usableFromInline let lock: EnvironmentLock

  /// Changed only with exclusive access; used only inside `lock`.
  nonisolated(unsafe) private(set) var handle: OpaquePointer?
  /// `nil` if this process may not write beside the file: its readers are then not registered, and
  /// no process may write. Changed only by `close`; notified by the writer.
  nonisolated(unsafe) private(set) var presenceFile: PresenceFile?
  /// Changed only by `close`, with exclusive access.
  nonisolated(unsafe) private var lockFile: LockFile?
  /// The newest header that this environment has seen. Used only by the writer.
  nonisolated(unsafe) private var knownHeader: [UInt8] = []
  /// Used only by the writer.
  nonisolated(unsafe) private var folderWatch: FolderWatch
  /// If true, nothing is written any more; see `LMDBError.fileReplaced`.
  private let isReplaced = Atomic(false)
  private let pageSize: Int
  /// If opening created the file, the last commit of opening it.
  private let createdCommit: UInt64?
  /// When stale readers were last cleared, in nanoseconds of the monotonic clock.
  private let lastStaleCheck = Atomic<UInt64>(0)

  // MARK: Opening

  /// Opens the file, or creates it.
  ///
  /// Throws `alreadyOpen` if this process already has it open; `openElsewhere` if another process
  /// still has the file open that was at this path before, or has this one open under another name;
  /// `readElsewhere` or `writtenElsewhere` if one process may not write the files beside it, and
  /// another may; `notAPlainFile` if a link is in the place of one of those files. Retries for half
  /// a second before it throws `foreignProcessNamespace`, `openElsewhere`, `readElsewhere` or
  /// `writtenElsewhere`.
  ///
  /// - Parameters:
  ///   - path: The file's path, without symbolic links.
  ///   - namedPath: The path that the user gave, if it is not `path`. Nothing is written any more once
  ///     it leads to another file.
  ///   - configuration: The tables to open, and the limits.
  public static func open(
    at path: String, named namedPath: String? = nil, configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> Environment {
    let forkCount = ForkGuard.count
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw LMDBError.invalidArgument.adding("open \(path)")
    }
    try admit(.open, "open", path, configuration)
    var backoff = Backoff(configuration.openElsewhereBackoff)
    var attempts = 0
    while true {
      do throws(LMDBError) {
        return try open(path, namedPath ?? path, configuration, forkCount)
      } catch {
        switch error {
        // Another process replaced the file while this one waited for it.
        case .fileReplaced where attempts < 100: attempts += 1
        // Another process may be opening or closing it. A process that is being started briefly
        // holds the locks of its parent.
        case .foreignProcessNamespace, .openElsewhere, .readElsewhere, .writtenElsewhere:
          guard backoff.wait() else { throw error }
        default: throw error
        }
      }
    }
  }

  private static func open(
    _ path: String, _ namedPath: String, _ configuration: EnvironmentConfiguration,
    _ forkCount: UnsafeMutablePointer<UInt>
  ) throws(LMDBError) -> Environment {
    var (path, exists) = try DataFile.resolve(path, configuration)
    var presenceFile = try enter(path, exists: exists, configuration)
    // A process with exclusive access may have created it meanwhile.
    if !exists { exists = FileIdentity(at: path) != nil }
    if !exists, presenceFile?.isAlone == false {
      throw LMDBError(
        LMDBError.openElsewhere.code, context: "open \(path)",
        processIDs: presenceFile?.otherProcesses ?? [])
    }
    do throws(LMDBError) {
      let file = try DataFile.open(
        path, named: namedPath, isReadOnly: configuration.isReadOnly,
        mayCreate: !exists && presenceFile?.isAlone == true)
      guard OpenFiles.reserve(file.identity) else {
        _ = Glibc.close(file.anchor)
        throw LMDBError.alreadyOpen.adding("open \(file.path)")
      }
      do throws(LMDBError) {
        return try Environment(file, &presenceFile, configuration, forkCount)
      } catch {
        // A full disk must not leave an empty file, which looks like a database that lost its data.
        if presenceFile?.isAlone == true { file.withdraw() }
        file.release()
        throw error
      }
    } catch {
      presenceFile?.withdraw()
      throw error
    }
  }

  /// `nil` if the file is opened for reading only, and this process may not write beside it.
  private static func enter(
    _ path: String, exists: Bool, _ configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> PresenceFile? {
    guard exists || !configuration.isReadOnly else {
      throw LMDBError.noSuchFile.adding("open \(path)")
    }
    do throws(LMDBError) {
      return try PresenceFile.enter(
        at: path + "-presence", namespace: configuration.processNamespace())
    } catch {
      guard configuration.isReadOnly, error == .accessDenied || error == LMDBError(EROFS) else {
        throw error
      }
      return nil
    }
  }

  private init(
    _ file: DataFile, _ presenceFile: inout PresenceFile?,
    _ configuration: EnvironmentConfiguration,
    _ forkCount: UnsafeMutablePointer<UInt>
  ) throws(LMDBError) {
    var lockFile = try Self.lock(file, &presenceFile, configuration)
    let opened: OpenedFile
    do throws(LMDBError) {
      opened = try OpenedFile.open(
        file, configuration, isUnlocked: lockFile == nil, isAlone: presenceFile?.isAlone ?? true
      ) { () throws(LMDBError) in
        // Reading all pages takes long; other processes do not have to wait for it.
        try presenceFile?.share()
      }
    } catch {
      if presenceFile?.isAlone == true { lockFile?.withdraw() }
      throw error
    }
    lockFile?.reserve()
    do throws(LMDBError) {
      guard file.isInPlace, lockFile?.isInPlace ?? true, presenceFile?.isInPlace ?? true else {
        throw LMDBError.fileReplaced.adding("open \(file.path)")
      }
      try presenceFile?.share()
    } catch {
      mdb_env_close(opened.handle)
      throw error
    }
    self.path = file.path
    self.configuration = configuration
    self.forkCount = forkCount
    forkCountAtOpen = forkCount.pointee
    self.file = file
    folderWatch = FolderWatch(file.folders)
    handle = opened.handle
    pageSize = opened.pageSizeBytes
    createdCommit = file.isNew ? Self.newestCommit(PageReader(using: file.anchor)) : nil
    self.presenceFile = presenceFile.take()
    self.lockFile = lockFile.take()
    tables = opened.tables
    let isInstrumented = configuration.faultInjector != nil || configuration.poisonsBorrowedBytes
    borrows = configuration.poisonsBorrowedBytes ? BorrowPoisoner() : nil
    let readers = max(1, min(configuration.readerPoolLimit, opened.maximumReaders))
    lock = EnvironmentLock(
      readers: readers, nested: max(1, min(readers, opened.maximumReaders - readers)),
      isInstrumented: isInstrumented)
    lock.attach(self)
    lastStaleCheck.store(Self.now(), ordering: .relaxed)
  }

  /// Marks the file as in use, and opens LMDB's lock file; `nil` if that may not be written.
  private static func lock(
    _ file: DataFile, _ presenceFile: inout PresenceFile?, _ configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> LockFile? {
    guard presenceFile != nil else {
      try OpenFileLock.readUnlocked(file.anchor, file.path)
      return nil
    }
    try presenceFile?.admit(file.identity)
    try OpenFileLock.share(file.anchor, file.path)
    let lockPath = file.path + "-lock"
    // Another process has the file open, with other lock files than those at this path.
    if OpenFileLock.isShared(elsewhereThan: file.anchor),
      presenceFile?.isAlone == true || FileIdentity(at: lockPath) == nil
    {
      throw LMDBError.openElsewhere.adding("open \(file.path)")
    }
    return try LockFile(lockPath, readers: configuration.maximumReaders)
  }

  deinit { close() }

  /// The table of this name, which the configuration must contain.
  public func table(_ name: String) -> Table {
    guard let table = tables[name] else {
      preconditionFailure("The table is not named in the environment's configuration.")
    }
    return table
  }

  /// Removes the file and those beside it. Returns false, and removes nothing, if a process has it
  /// open.
  public static func remove(at path: String) throws(LMDBError) -> Bool {
    try PresenceFile.whileAbsent(from: path) { () throws(LMDBError) in try removeFiles(at: path) }
  }

  private static func removeFiles(at path: String) throws(LMDBError) {
    for suffix in ["", "-lock", "-presence"]
    where unlink(path + suffix) != 0 && errno != ENOENT {
      throw LMDBError(errno, context: "remove \(path + suffix)")
    }
  }

  /// The number of the last commit in a file; 0 if there is none, or it cannot be read.
  private static func newestCommit(_ file: borrowing PageReader) -> UInt64 {
    (try? FileHeader.validate(file))?.transactionID ?? 0
  }

  /// Removes the files that opening leaves beside the data file, unless a process has it open.
  public static func removeLocks(beside path: String) throws(LMDBError) {
    let real = try DataFile.realPath(path)
    _ = try PresenceFile.whileAbsent(from: real) { () throws(LMDBError) in
      NewFile.removeLocks(beside: real)
    }
  }

  /// Whether opening has left files beside the data file.
  public static func hasLocks(beside path: String) throws(LMDBError) -> Bool {
    let real = try DataFile.realPath(path)
    return ["-lock", "-presence"].contains { access(real + $0, F_OK) == 0 }
  }

  /// Runs `body` while no process has the file open; a process that opens it meanwhile waits.
  /// Returns `nil`, without running `body`, if a process has it open.
  public static func whileClosed<R>(_ path: String, _ body: () throws -> R) throws -> R? {
    try PresenceFile.alone(at: try DataFile.realPath(path), body)
  }

  /// Like `whileClosed`, also if there is no file yet.
  public static func whileUnused<R>(_ path: String, _ body: () throws -> R) throws -> R? {
    try PresenceFile.alone(at: try DataFile.position(of: path), body)
  }

  /// The file that is written after every commit of another process, once readers see the commit,
  /// if `listen` was called before. See `PresenceFile`.
  public var commitNotificationPath: String { path + "-presence" }

  /// Asks other processes to send commit notifications, until the environment is closed.
  public func listen() throws {
    // Inside a transaction, so that the file is not closed meanwhile.
    try read { _ in _ = presenceFile?.listen() }
  }

  /// Whether a file with these first bytes, at least 20, begins as a database of LMDB does.
  public static func isHeader(_ bytes: [UInt8]) -> Bool {
    bytes.count >= 20 && bytes.load(16, as: UInt32.self) == FileHeader.magic
  }

  // MARK: Exclusive access

  /// Waits for this process's transactions to end, and closes the file. Later calls throw `closed`.
  ///
  /// A thread must end its own transactions first. In a forked child this does nothing: the
  /// environment belongs to the parent.
  public func close() {
    guard !isForked else { return }
    do throws(LMDBError) {
      try lock.alone { (condition) throws(LMDBError) in
        if condition == .closed { return }
        condition = .closed
        closeHandle()
        // Closing the lock file releases LMDB's locks.
        lockFile = nil
        // Before the presence file: a process with exclusive access must find the file unused.
        file.release()
        presenceFile = nil
      }
    } catch {
      preconditionFailure("A thread closes an environment in which it has a transaction open.")
    }
  }

  /// Closes the file. If opening it created it, and no commit came since, removes it again with the
  /// files beside it, unless another process has it open.
  ///
  /// For a database whose first commit failed: what is left would be a file without content.
  public func closeAndWithdraw() {
    let identity = file.identity
    close()
    guard let createdCommit else { return }
    _ = try? PresenceFile.whileAbsent(from: path) { () throws(LMDBError) in
      guard FileIdentity(at: path) == identity,
        Self.newestCommit(try PageReader(path: path)) == createdCommit
      else { return }
      try Self.removeFiles(at: path)
    }
  }

  /// Grows the map to `bytes`, or to twice its size (at most 256 GiB more) if that is larger. Does
  /// nothing if it already holds `bytes`.
  ///
  /// Waits for this process's transactions. Throws `transactionOpen` if this thread has one, and
  /// `outOfMemory`, with the old size kept, if the address space does not suffice.
  public func grow(toAtLeast bytes: Int) throws(LMDBError) {
    try alone("grow") { (condition) throws(LMDBError) in
      let old = self.mapSizeBytes
      if bytes <= old { return }
      let geometric = old + min(old, 256 << 30)
      try self.setMapSize(max(bytes, geometric), keeping: old, &condition)
    }
  }

  /// Adopts the map size that another process has set.
  func adoptMapSize() throws(LMDBError) {
    try alone("adopt the map size") { (condition) throws(LMDBError) in
      try self.setMapSize(0, keeping: self.mapSizeBytes, &condition)
    }
  }

  /// Closes and opens the file again, after a failed commit or flush. Afterwards reads show whether
  /// that commit reached the file.
  public func reopen() throws(LMDBError) {
    try alone("reopen", evenIfBroken: true) { (condition) throws(LMDBError) in
      try self.reopen(mapSizeBytes: self.mapSizeBytes, &condition)
    }
  }

  private func alone(
    _ call: StaticString, evenIfBroken: Bool = false,
    _ body: (inout EnvironmentLock.Condition) throws(LMDBError) -> Void
  ) throws(LMDBError) {
    guard !isForked else { throw failure(LMDBError.forked.code, call) }
    do throws(LMDBError) {
      try lock.alone { (condition) throws(LMDBError) in
        if condition == .closed { throw .closed }
        if condition == .broken && !evenIfBroken { throw .needsReopen }
        try body(&condition)
      }
    } catch {
      throw error.context.isEmpty ? failure(error.code, call) : error
    }
  }

  private func setMapSize(
    _ bytes: Int, keeping old: Int, _ condition: inout EnvironmentLock.Condition
  ) throws(LMDBError) {
    try admit(.setMapSize, "set the map size")
    let (rounded, overflow) = bytes.addingReportingOverflow(OpenedFile.mapGranularity - 1)
    guard !overflow else { throw failure(ENOMEM, "set the map size") }
    let code = mdb_env_set_mapsize(
      handle,
      rounded / OpenedFile.mapGranularity
        * OpenedFile.mapGranularity)
    guard code != MDB_SUCCESS else { return }
    // LMDB unmaps before it maps, so there is no map now.
    try reopen(mapSizeBytes: old, &condition)
    throw failure(code, "set the map size")
  }

  private func reopen(
    mapSizeBytes: Int, _ condition: inout EnvironmentLock.Condition
  ) throws(LMDBError) {
    condition = .broken
    try admit(.open, "reopen")
    guard !isReplaced.load(ordering: .relaxed), file.isInPlace else {
      throw failure(LMDBError.fileReplaced.code, "reopen")
    }
    closeHandle()
    var configuration = configuration
    configuration.mapSizeBytes = max(mapSizeBytes, configuration.mapSizeBytes)
    let opened = try OpenedFile.open(
      file, configuration, isUnlocked: lockFile == nil, isAlone: false)
    handle = opened.handle
    lockFile?.reserve()
    guard opened.tables == tables else {
      closeHandle()
      throw failure(LMDBError.incompatible.code, "reopen")
    }
    condition = .open
  }

  private func closeHandle() {
    guard let handle else { return }
    lock.forEachReaderCell { cell in
      if let transaction = cell.pointee.transaction { mdb_txn_abort(transaction) }
      cell.pointee.hold(nil)
    }
    mdb_env_close(handle)
    self.handle = nil
  }

  private var mapSizeBytes: Int {
    guard let handle else { return configuration.mapSizeBytes }
    var raw = MDB_envinfo()
    mdb_env_info(handle, &raw)
    return Int(clamping: raw.me_mapsize)
  }

  // MARK: In place

  /// Whether the data file and the files beside it are still at their paths, and none was replaced.
  /// True after `close`.
  public var isInPlace: Bool {
    if isReplaced.load(ordering: .relaxed) { return false }
    // `close` takes the files away, so it must not run meanwhile.
    return (try? visiting("look at the files") { (_) throws(LMDBError) in hasItsFiles }) ?? true
  }

  private var hasItsFiles: Bool {
    file.isInPlace && lockFile?.isInPlace ?? true && presenceFile?.isInPlace ?? true
  }

  /// Throws `fileReplaced`, and from then on always, unless the files at the paths are the open
  /// ones, and the data file has the header of the last commit (which `cp` over it would not
  /// leave).
  ///
  /// Called by the writer, which holds LMDB's mutex.
  func checkPlace(before transaction: OpaquePointer) throws(LMDBError) {
    let last = UInt64(mdb_txn_id(transaction)) - 1
    let header = header(of: last)
    guard !isReplaced.load(ordering: .relaxed), folderWatch.isUnchanged({ hasItsFiles }),
      header.transactionID == last,
      header.other < max(last, 1),
      knownHeader.isEmpty || knownHeader.transactionID != last
        || knownHeader == header.bytes
    else { throw replaced("begin writing") }
    knownHeader = header.bytes
  }

  /// Like `checkPlace(before:)`, after the writer's commit. Others may have committed since.
  func checkPlace(afterCommit commit: UInt64) throws(LMDBError) {
    let header = header(of: commit)
    guard folderWatch.isUnchanged({ hasItsFiles }) else { throw replaced("commit") }
    if header.transactionID == commit {
      knownHeader = header.bytes
    } else if header.transactionID < commit {
      // An empty commit writes no header.
      guard
        self.header(of: commit - 1).bytes == knownHeader
          || self.header(of: commit).transactionID >= commit
      else { throw replaced("commit") }
    }
  }

  private func replaced(_ call: StaticString) -> LMDBError {
    isReplaced.store(true, ordering: .relaxed)
    return failure(LMDBError.fileReplaced.code, call)
  }

  /// Of the two headers, the one that a commit writes, and the commit number in the other.
  private func header(of commit: UInt64) -> (bytes: [UInt8], transactionID: UInt64, other: UInt64) {
    var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
    var other: UInt64 = 0
    let page = Int(commit & 1)
    guard pread(file.anchor, &bytes, bytes.count, off_t(page * pageSize)) == bytes.count,
      pread(file.anchor, &other, 8, off_t((1 - page) * pageSize + FileHeader.transactionOffset))
        == 8
    else { return ([], 0, .max) }
    return (bytes, bytes.transactionID, UInt64(littleEndian: other))
  }

  /// Reads the file that is open, even if another file is at its path.
  func openPages() throws(LMDBError) -> PageReader { try PageReader(copying: file.anchor) }

  /// The process that holds LMDB's mutex for writing; `nil` if none does or it cannot be
  /// determined.
  ///
  /// Never waits. Must not be called concurrently with `close`.
  public var writingProcess: Int32? { lockFile?.writingProcess }

  // MARK: Concurrent with transactions

  /// Frees the slots of readers whose process died, and returns their number. Also done at open,
  /// every ten seconds of writing, and when slots run out.
  @discardableResult
  public func clearStaleReaders() -> Int {
    var dead: Int32 = 0
    lastStaleCheck.store(Self.now(), ordering: .relaxed)
    _ = try? visiting("check readers") { (handle) throws(LMDBError) in
      mdb_reader_check(handle, &dead)
    }
    return Int(dead)
  }

  func clearStaleReadersNowAndThen() {
    let nanoseconds = Self.now() &- lastStaleCheck.load(ordering: .relaxed)
    if Duration.nanoseconds(Int64(clamping: nanoseconds)) >= configuration.staleReaderInterval {
      clearStaleReaders()
    }
  }

  func visiting<R>(
    _ call: StaticString, _ body: (OpaquePointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    guard !isForked else { throw failure(LMDBError.forked.code, call) }
    do throws(LMDBError) {
      return try lock.visiting { () throws(LMDBError) in
        guard let handle else { throw .needsReopen }
        return try body(handle)
      }
    } catch {
      throw error.context.isEmpty ? failure(error.code, call) : error
    }
  }

  // MARK: Helpers

  /// This process is a fork of the one that opened the file, and must not use it.
  @inlinable @inline(__always)
  public var isForked: Bool { forkCount.pointee != forkCountAtOpen }

  var fairnessLock: WriterFairnessLock { WriterFairnessLock(descriptor: file.anchor) }

  @usableFromInline
  func failure(_ code: Int32, _ call: StaticString) -> LMDBError {
    LMDBError(code, context: "\(call) \(path)")
  }

  @usableFromInline
  func admit(_ storageCall: StorageCall, _ call: StaticString) throws(LMDBError) {
    try Self.admit(storageCall, call, path, configuration)
  }

  private static func admit(
    _ storageCall: StorageCall, _ call: StaticString, _ path: String,
    _ configuration: EnvironmentConfiguration
  ) throws(LMDBError) {
    let code = configuration.faultInjector?(storageCall) ?? 0
    if code != 0 { throw LMDBError(code, context: "\(call) \(path)") }
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

extension [UInt8] {
  /// The commit number in a header page; 0 if the array is too short.
  fileprivate var transactionID: UInt64 { load(FileHeader.transactionOffset, as: UInt64.self) }
}
