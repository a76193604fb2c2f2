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

  let loans: Loans?
  private let file: DataFile
  private let tables: [String: Table]
  @usableFromInline let gate: Gate

  /// Changed only by who is alone behind the gate; used by who is inside.
  nonisolated(unsafe) private(set) var handle: OpaquePointer?
  /// Changed only by who is alone behind the gate; rung by the writer.
  nonisolated(unsafe) private(set) var presence: Presence?
  /// Changed only by who is alone behind the gate.
  nonisolated(unsafe) private var lockFile: LockFile?
  /// Changed only by who is alone behind the gate; used by the writer.
  nonisolated(unsafe) private(set) var turnstile: Turnstile?
  /// Nanoseconds; when dead readers were last looked for.
  private let lastStaleCheck = Atomic<UInt64>(0)

  // MARK: Opening

  /// Opens the file, or makes it. Throws `alreadyOpen` if this process has it open already.
  public static func open(
    at path: String, configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> Environment {
    let forkCount = ForkGuard.count
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw LMDBError.invalidArgument.adding("open \(path)")
    }
    try admit(.open, "open", path, configuration)
    var attempts = 0
    while true {
      do throws(LMDBError) {
        return try open(path, configuration, forkCount)
      } catch {
        // Another file was put in its place while this waited for whoever did it.
        guard error == .fileReplaced, attempts < 100 else { throw error }
        attempts += 1
      }
    }
  }

  private static func open(
    _ path: String, _ configuration: EnvironmentConfiguration,
    _ forkCount: UnsafeMutablePointer<UInt>
  ) throws(LMDBError) -> Environment {
    let file = try DataFile.locate(
      path, configuration: configuration, mayCreate: !configuration.isReadOnly)
    guard OpenFiles.reserve(file.identity) else {
      _ = Glibc.close(file.anchor)
      throw LMDBError.alreadyOpen.adding("open \(file.path)")
    }
    do throws(LMDBError) {
      return try Environment(file, configuration, forkCount)
    } catch {
      file.release()
      throw error
    }
  }

  private init(
    _ file: DataFile, _ configuration: EnvironmentConfiguration,
    _ forkCount: UnsafeMutablePointer<UInt>
  ) throws(LMDBError) {
    let presence = try Presence.enter(
      at: file.path + "-presence", namespace: configuration.processNamespace())
    guard file.isInPlace else { throw LMDBError.fileReplaced.adding("open \(file.path)") }
    let opened = try OpenedFile.open(file.path, configuration)
    self.path = file.path
    self.configuration = configuration
    self.forkCount = forkCount
    forkCountAtOpen = forkCount.pointee
    self.file = file
    handle = opened.handle
    self.presence = presence
    lockFile = LockFile(reserving: file.path + "-lock")
    turnstile = configuration.isReadOnly ? nil : Turnstile(file.path)
    tables = opened.tables
    let isInstrumented = configuration.faultInjector != nil || configuration.poisonsBorrowedBytes
    loans = configuration.poisonsBorrowedBytes ? Loans() : nil
    let readers = max(1, min(configuration.readerPoolLimit, opened.maximumReaders))
    gate = Gate(
      readers: readers, nested: max(1, min(readers, opened.maximumReaders - readers)),
      isInstrumented: isInstrumented)
    gate.attach(self)
    lastStaleCheck.store(Self.now(), ordering: .relaxed)
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
    try Presence.whileAbsent(from: path + "-presence") { () throws(LMDBError) in
      for suffix in ["", "-lock", "-presence"]
      where unlink(path + suffix) != 0 && errno != ENOENT {
        throw LMDBError(errno, context: "remove \(path + suffix)")
      }
    }
  }

  /// Removes what opening a file leaves beside it, unless it is open in any process.
  public static func removeLocks(beside path: String) throws(LMDBError) {
    let real = try DataFile.realPath(path)
    _ = try Presence.whileAbsent(from: real + "-presence") { () throws(LMDBError) in
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
    let real = try DataFile.realPath(path)
    return try Presence.alone(at: real + "-presence") { try body() }
  }

  /// As `whileClosed`, also where there is no file yet. False, and nothing done, if it is open.
  public static func whileUnused(_ path: String, _ body: () throws -> Void) throws -> Bool {
    guard access(path, F_OK) == 0 else {
      try body()
      return true
    }
    return try whileClosed(path) {
      try body()
      return true
    } ?? false
  }

  /// A file that is written after every commit of another process, once readers see the commit, if
  /// `listen` was called before. See `Presence`.
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
        presence = nil
        turnstile = nil
        file.release()
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
    _ body: (inout Gate.Condition) throws(LMDBError) -> Void
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
    _ bytes: Int, keeping old: Int, _ condition: inout Gate.Condition
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
    mapSizeBytes: Int, _ condition: inout Gate.Condition
  ) throws(LMDBError) {
    condition = .broken
    try admit(.open, "reopen")
    let file = try DataFile.locate(path, configuration: configuration, mayCreate: false)
    _ = Glibc.close(file.anchor)
    guard file.identity == self.file.identity else {
      throw failure(LMDBError.fileReplaced.code, "reopen")
    }
    closeHandle()
    var configuration = configuration
    configuration.mapSizeBytes = max(mapSizeBytes, configuration.mapSizeBytes)
    let opened = try OpenedFile.open(path, configuration)
    handle = opened.handle
    lockFile = LockFile(reserving: path + "-lock")
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
    lockFile = nil
    self.handle = nil
  }

  private var mapSizeBytes: Int {
    guard let handle else { return configuration.mapSizeBytes }
    var raw = MDB_envinfo()
    mdb_env_info(handle, &raw)
    return Int(clamping: raw.me_mapsize)
  }

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
