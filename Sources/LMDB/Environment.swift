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
/// Beside the data file `path` lie `path-lock` (LMDB's readers) and `path-presence` (which pid namespace
/// uses it; written after every commit). Each is readable by its owner only. Several processes of one
/// host may use the file; within one process it is open once.
///
///     read {}  ─▶ a reader from the pool ─▶ renew ─▶ body ─▶ reset ─▶ back
///     grow, reopen, close ─▶ alone behind the gate
public final class Environment: Sendable {
  public let path: String
  public let configuration: EnvironmentConfiguration

  /// `ForkGuard.count`, which only the handler writes, in a child that has one thread.
  @usableFromInline nonisolated(unsafe) let forkCount: UnsafeMutablePointer<UInt>
  @usableFromInline let forkCountAtOpen: UInt

  let loans: BorrowPoisoner?
  private let file: DataFile
  private let tables: [String: Table]
  @usableFromInline let gate: EnvironmentLock

  /// Changed only by who is alone behind the gate; used by who is inside.
  nonisolated(unsafe) private(set) var handle: OpaquePointer?
  /// `nil` if this process may not write beside the file: its readers are not registered, and no process may write.
  /// Changed by `close` alone; rung by the writer.
  nonisolated(unsafe) private(set) var presence: PresenceFile?
  /// Changed only by `close`, alone behind the gate.
  nonisolated(unsafe) private var lockFile: LockFile?
  /// The newest header that this environment has seen. Touched by the writer.
  nonisolated(unsafe) private var knownHeader: [UInt8] = []
  /// Touched by the writer.
  nonisolated(unsafe) private var folderWatch: FolderWatch
  /// Nothing is written any more; see `LMDBError.fileReplaced`.
  private let isReplaced = Atomic(false)
  private let pageSize: Int
  /// Nanoseconds; when dead readers were last looked for.
  private let lastStaleCheck = Atomic<UInt64>(0)

  // MARK: Opening

  /// Opens the file, or makes it.
  ///
  /// Throws `alreadyOpen` if this process has it open already; `openElsewhere`, after half a second, if another has
  /// the file open that was there before, or this one under another name; `readElsewhere` and `writtenElsewhere` if
  /// one process may not write the files beside it, and another may; `notAPlainFile` if a link is in their place.
  ///
  /// - Parameter namedPath: The path by which a person named the file, if `path` is not that: nothing is
  ///   written any more once it leads to another file.
  public static func open(
    at path: String, named namedPath: String? = nil, configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> Environment {
    let forkCount = ForkGuard.count
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw LMDBError.invalidArgument.adding("open \(path)")
    }
    try admit(.open, "open", path, configuration)
    var patience = Backoff(configuration.openElsewherePatience)
    var attempts = 0
    while true {
      do throws(LMDBError) {
        return try open(path, namedPath ?? path, configuration, forkCount)
      } catch {
        switch error {
        // Another file was put in its place while this waited for whoever did it.
        case .fileReplaced where attempts < 100: attempts += 1
        // Another process may just be opening or closing it; one that is just being started has the locks of
        // whoever starts it.
        case .foreignProcessNamespace, .openElsewhere, .readElsewhere, .writtenElsewhere:
          guard patience.wait() else { throw error }
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
    var presence = try enter(path, exists: exists, configuration)
    // Whoever was alone may have made it meanwhile.
    if !exists { exists = FileIdentity(at: path) != nil }
    if !exists, presence?.isAlone == false {
      throw LMDBError(
        LMDBError.openElsewhere.code, context: "open \(path)",
        processIDs: presence?.otherProcesses ?? [])
    }
    do throws(LMDBError) {
      let file = try DataFile.open(
        path, named: namedPath, isReadOnly: configuration.isReadOnly,
        mayCreate: !exists && presence?.isAlone == true)
      guard OpenFiles.reserve(file.identity) else {
        _ = Glibc.close(file.anchor)
        throw LMDBError.alreadyOpen.adding("open \(file.path)")
      }
      do throws(LMDBError) {
        return try Environment(file, &presence, configuration, forkCount)
      } catch {
        file.release()
        throw error
      }
    } catch {
      presence?.withdraw()
      throw error
    }
  }

  /// `nil` if the file is only to be read, and nothing may be written beside it.
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
    _ file: DataFile, _ presence: inout PresenceFile?, _ configuration: EnvironmentConfiguration,
    _ forkCount: UnsafeMutablePointer<UInt>
  ) throws(LMDBError) {
    var lockFile = try Self.lock(file, &presence)
    let opened: OpenedFile
    do throws(LMDBError) {
      opened = try OpenedFile.open(
        file, configuration, isUnlocked: lockFile == nil, isAlone: presence?.isAlone ?? true
      ) { () throws(LMDBError) in
        // Reading all pages takes long: others need not wait for it.
        try presence?.share()
      }
    } catch {
      if presence?.isAlone == true { lockFile?.withdraw() }
      throw error
    }
    lockFile?.reserve()
    do throws(LMDBError) {
      guard file.isInPlace, lockFile?.isInPlace ?? true, presence?.isInPlace ?? true else {
        throw LMDBError.fileReplaced.adding("open \(file.path)")
      }
      try presence?.share()
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
    self.presence = presence.take()
    self.lockFile = lockFile.take()
    tables = opened.tables
    let isInstrumented = configuration.faultInjector != nil || configuration.poisonsBorrowedBytes
    loans = configuration.poisonsBorrowedBytes ? BorrowPoisoner() : nil
    let readers = max(1, min(configuration.readerPoolLimit, opened.maximumReaders))
    gate = EnvironmentLock(
      readers: readers, nested: max(1, min(readers, opened.maximumReaders - readers)),
      isInstrumented: isInstrumented)
    gate.attach(self)
    lastStaleCheck.store(Self.now(), ordering: .relaxed)
  }

  /// Makes known that the file is in use, and opens LMDB's lock file; `nil` where it may not be written.
  private static func lock(
    _ file: DataFile, _ presence: inout PresenceFile?
  ) throws(LMDBError) -> LockFile? {
    guard presence != nil else {
      try OpenFileLock.readUnlocked(file.anchor, file.path)
      return nil
    }
    try presence?.admit(file.identity)
    try OpenFileLock.share(file.anchor, file.path)
    let lockPath = file.path + "-lock"
    // Another process has the file open, and its locks are not the files that are here.
    if OpenFileLock.isShared(elsewhereThan: file.anchor),
      presence?.isAlone == true || FileIdentity(at: lockPath) == nil
    {
      throw LMDBError.openElsewhere.adding("open \(file.path)")
    }
    return try LockFile(lockPath)
  }

  deinit { close() }

  /// A table named in the configuration.
  public func table(_ name: String) -> Table {
    guard let table = tables[name] else {
      preconditionFailure("The table is not named in the environment's configuration.")
    }
    return table
  }

  /// Removes the file and those beside it. False, and all of them kept, if it is open in any process.
  public static func remove(at path: String) throws(LMDBError) -> Bool {
    try PresenceFile.whileAbsent(from: path) { () throws(LMDBError) in
      for suffix in ["", "-lock", "-presence"]
      where unlink(path + suffix) != 0 && errno != ENOENT {
        throw LMDBError(errno, context: "remove \(path + suffix)")
      }
    }
  }

  /// Removes what opening a file leaves beside it, unless it is open in any process.
  public static func removeLocks(beside path: String) throws(LMDBError) {
    let real = try DataFile.realPath(path)
    _ = try PresenceFile.whileAbsent(from: real) { () throws(LMDBError) in
      for suffix in ["-lock", "-presence"] { unlink(real + suffix) }
    }
  }

  /// Whether opening a file has left something beside it.
  public static func hasLocks(beside path: String) throws(LMDBError) -> Bool {
    let real = try DataFile.realPath(path)
    return ["-lock", "-presence"].contains { access(real + $0, F_OK) == 0 }
  }

  /// Runs `body` while no process has the file open; who opens it meanwhile waits. `nil`, and nothing
  /// done, if one has.
  public static func whileClosed<R>(_ path: String, _ body: () throws -> R) throws -> R? {
    try PresenceFile.alone(at: try DataFile.realPath(path), body)
  }

  /// As `whileClosed`, also where there is no file yet.
  public static func whileUnused<R>(_ path: String, _ body: () throws -> R) throws -> R? {
    try PresenceFile.alone(at: try DataFile.place(of: path), body)
  }

  /// A file that is written after every commit of another process, once readers see the commit, if
  /// `listen` was called before. See `PresenceFile`.
  public var doorbellPath: String { path + "-presence" }

  /// Asks other processes to ring, until the environment is closed.
  public func listen() throws {
    // Inside a transaction: the file is not closed meanwhile.
    try read { _ in _ = presence?.listen() }
  }

  // MARK: Alone behind the gate

  /// Waits for this process's transactions to end, and closes. Later calls throw `closed`.
  ///
  /// A thread must end its own transactions first. In a forked child this does nothing: the
  /// environment is the parent's.
  public func close() {
    guard !isForked else { return }
    do throws(LMDBError) {
      try gate.alone { (condition) throws(LMDBError) in
        if condition == .closed { return }
        condition = .closed
        closeHandle()
        // LMDB's locks go with it.
        lockFile = nil
        // Whoever is alone finds the file unused.
        file.release()
        presence = nil
      }
    } catch {
      preconditionFailure("A thread closes an environment in which it has a transaction open.")
    }
  }

  /// Makes the map hold at least `bytes`, and twice what it did, in steps of 256 GiB at most. Does
  /// nothing if it holds them already.
  ///
  /// Waits for this process's transactions; throws `transactionOpen` if one is this thread's, and
  /// `outOfMemory`, with the old size kept, if the address space does not suffice.
  public func grow(toAtLeast bytes: Int) throws(LMDBError) {
    try alone("grow") { (condition) throws(LMDBError) in
      let old = self.mapSizeBytes
      if bytes <= old { return }
      let geometric = old + min(old, 256 << 30)
      try self.setMapSize(max(bytes, geometric), keeping: old, &condition)
    }
  }

  /// Another process grew the map: takes its size over.
  func adoptMapSize() throws(LMDBError) {
    try alone("adopt the map size") { (condition) throws(LMDBError) in
      try self.setMapSize(0, keeping: self.mapSizeBytes, &condition)
    }
  }

  /// Closes and opens the file again, after a failed commit or flush. What the failed commit left
  /// behind can then be read.
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
      try gate.alone { (condition) throws(LMDBError) in
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
    // LMDB unmaps before it maps: there is no map now.
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
    gate.forEachReaderCell { cell in
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

  /// Whether the file is still the one at its path, and the files beside it are those that are open.
  public var isInPlace: Bool { !isReplaced.load(ordering: .relaxed) && hasItsFiles }

  private var hasItsFiles: Bool {
    file.isInPlace && lockFile?.isInPlace ?? true && presence?.isInPlace ?? true
  }

  /// Throws `fileReplaced`, for good, unless what is at the paths is what is open: the same files, and in the
  /// data file the header of the last commit, which `cp` over it does not leave.
  ///
  /// For the writer, which has LMDB's mutex.
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

  /// As `checkPlace(before:)`, for the writer after its commit: others may have committed since.
  func checkPlace(afterCommit commit: UInt64) throws(LMDBError) {
    let header = header(of: commit)
    guard folderWatch.isUnchanged({ hasItsFiles }) else { throw replaced("commit") }
    if header.transactionID == commit {
      knownHeader = header.bytes
    } else if header.transactionID < commit {
      // A commit of nothing writes no header.
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

  /// Of the two headers the one that a commit writes, and the number of the commit in the other.
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

  /// Of the file that is open, whatever is at its path.
  func openPages() throws(LMDBError) -> PageReader { try PageReader(copying: file.anchor) }

  /// The process that holds LMDB's mutex for writing; `nil` if none does or it cannot be told.
  ///
  /// Waits for nobody. Not to be called beside `close`.
  public var writingProcess: Int32? { lockFile?.writingProcess }

  // MARK: Beside transactions

  /// Flushes what weaker durabilities have not.
  public func sync() throws(LMDBError) {
    try visiting("sync") { (handle) throws(LMDBError) in
      try self.admit(.sync, "sync")
      let code = mdb_env_sync(handle, 1)
      guard code == MDB_SUCCESS else {
        if code > 0 { self.gate.refuseWriting() }
        throw self.failure(code, "sync")
      }
    }
  }

  /// Frees the slots of readers whose process died. Says how many. Also done at open, every ten
  /// seconds of writing, and when slots run out.
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
    let interval = configuration.staleReaderInterval.components
    let nanoseconds =
      UInt64(clamping: interval.seconds) &* 1_000_000_000
      &+ UInt64(clamping: interval.attoseconds / 1_000_000_000)
    if Self.now() &- lastStaleCheck.load(ordering: .relaxed) >= nanoseconds { clearStaleReaders() }
  }

  func visiting<R>(
    _ call: StaticString, _ body: (OpaquePointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    guard !isForked else { throw failure(LMDBError.forked.code, call) }
    do throws(LMDBError) {
      return try gate.visiting { () throws(LMDBError) in
        guard let handle else { throw .needsReopen }
        return try body(handle)
      }
    } catch {
      throw error.context.isEmpty ? failure(error.code, call) : error
    }
  }

  // MARK: Small things

  /// This process is a fork of the one that opened the file, and may do nothing with it.
  @inlinable @inline(__always)
  public var isForked: Bool { forkCount.pointee != forkCountAtOpen }

  var turnstile: WriterFairnessLock { WriterFairnessLock(descriptor: file.anchor) }

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
  /// Of a header's page; 0 if these are no bytes.
  fileprivate var transactionID: UInt64 { load(FileHeader.transactionOffset, as: UInt64.self) }
}
