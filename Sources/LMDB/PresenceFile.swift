import Glibc

/// A lock file that records which data file is in use, and from which pid namespace.
///
/// LMDB identifies its readers by process id. Two containers, each with its own process 1, would
/// take each other's slots for their own and never clear those of dead readers. And LMDB finds its
/// lock file by path: a process that opens another file at the path of one that is in use would
/// take the readers and the last commit of that one for those of its own file.
///
///     enter ─▶ alone?  ─ yes ─▶ write namespace and data file ─▶ open the file ─▶ share ─▶ present
///                 └──── no ──▶ share ─▶ same namespace and data file? ─ yes ─────────────▶ present
///
/// Changing an exclusive `flock` into a shared one releases the lock in between. A process that
/// enters then finds the data file in use (`OpenFileLock`), and tries again.
///
/// The file also carries commit notifications: it is written after a commit, so that a process that
/// watches it learns of the commit when readers can see it. The data file is written before that: a
/// process that watched the data file might read too early.
///
/// A process first takes a shared lock on a byte beyond the file's end, which means that it
/// listens. A process that commits checks for such a lock of another process, and notifies only
/// then. The kernel releases the lock when the process ends. Law: a process that takes the lock and
/// then reads misses nothing: a commit that it does not see checks for the lock later.
struct PresenceFile: ~Copyable {
  private let descriptor: Int32
  private let path: String
  private let namespace: String
  /// Whether this process created the file.
  private let isNew: Bool
  let identity: FileIdentity
  /// No other process uses the database, and none can begin to before `share`.
  private(set) var isAlone = false

  /// Waits while another process has exclusive access. Throws `notAPlainFile` if a link is in the
  /// file's place.
  static func enter(at path: String, namespace: String) throws(LMDBError) -> PresenceFile {
    for _ in 0..<100 {
      var presenceFile = PresenceFile(try OwnFile.open(path), path, namespace)
      presenceFile.isAlone = try presenceFile.lock(LOCK_EX | LOCK_NB)
      if !presenceFile.isAlone { _ = try presenceFile.lock(LOCK_SH) }
      // The file may have been removed since it was opened: other processes then lock another one.
      if presenceFile.isInPlace { return presenceFile }
    }
    throw LMDBError(EAGAIN, context: "flock \(path)")
  }

  private init(_ file: OwnFile, _ path: String, _ namespace: String = "") {
    descriptor = file.descriptor
    identity = file.identity
    isNew = file.isNew
    self.path = path
    self.namespace = namespace
  }

  deinit { _ = Glibc.close(descriptor) }

  var isInPlace: Bool { FileIdentity(at: path) == identity }

  /// Records which data file is in use, or compares it with the record of the other processes.
  ///
  /// Throws `foreignProcessNamespace`, or `openElsewhere` if they have another file open.
  func admit(_ file: FileIdentity) throws(LMDBError) {
    let own = namespace + " " + file.text
    let present = read()
    if present == own { return }
    // Usually the record is already there from the last time. Writing it again costs a disk block.
    if isAlone { return try write(own) }
    // Empty: the process with exclusive access ended before it wrote. A later attempt will succeed.
    guard present.isEmpty || present.hasPrefix(namespace + " ") else {
      throw LMDBError.foreignProcessNamespace.adding("\(path): \(present), here \(namespace)")
    }
    throw LMDBError(
      LMDBError.openElsewhere.code, context: "open \(path)", processIDs: otherProcesses)
  }

  /// Gives up exclusive access, so that other processes can enter.
  mutating func share() throws(LMDBError) {
    guard isAlone else { return }
    _ = try lock(LOCK_SH)
    isAlone = false
  }

  /// Removes the file if this process created it and no other has entered. Called if opening
  /// failed.
  func withdraw() {
    if isNew, isAlone, isInPlace { unlink(path) }
  }

  /// Other processes that use the database, as far as the kernel lists them.
  var otherProcesses: [Int32] {
    ProcessLocks.holders(of: identity).filter { $0 != getpid() }
  }

  // MARK: Without entering

  /// Runs `body` while no process uses the database at `path`, and none can begin to: opening it
  /// waits. Returns `nil`, without running `body`, if a process uses it.
  static func alone<R>(at path: String, _ body: () throws -> R) throws -> R? {
    let presenceFile: PresenceFile?
    do throws(LMDBError) {
      presenceFile = try enterAlone(path, isMaking: true)
    } catch {
      guard error == .accessDenied || error == LMDBError(EROFS) else { throw error }
      return try OpenFileLock.whileReadUnlocked(path, body)
    }
    guard let presenceFile else { return nil }
    let before = FileIdentity(at: path)
    let result = try body()
    // Processes that wait to open it must not take each other for users of the old file.
    if let file = FileIdentity(at: path), file != before {
      try? presenceFile.write(currentProcessNamespace() + " " + file.text)
    }
    return result
  }

  /// Runs `body` while no process uses the database at `path`. Returns false, without running
  /// `body`, if one does.
  static func whileAbsent(
    from path: String, _ body: () throws(LMDBError) -> Void
  ) throws(LMDBError) -> Bool {
    if FileIdentity(at: path + "-presence") == nil {
      guard try !OpenFileLock.isHeld(onFileAt: path) else { return false }
      try body()
      return true
    }
    let presenceFile = try enterAlone(path, isMaking: false)
    guard presenceFile != nil else { return false }
    try body()
    return true
  }

  /// `nil` if a process uses the database.
  private static func enterAlone(_ path: String, isMaking: Bool) throws(LMDBError) -> PresenceFile?
  {
    let position = path + "-presence"
    // A process that is being started briefly holds the locks of its parent.
    var backoff = Backoff(.milliseconds(60))
    repeat {
      let file: OwnFile? =
        isMaking ? try OwnFile.open(position) : try OwnFile.openExisting(position)
      guard let file else { return nil }
      let presenceFile = PresenceFile(file, position)
      if try presenceFile.lock(LOCK_EX | LOCK_NB), presenceFile.isInPlace,
        try !OpenFileLock.isHeld(onFileAt: path)
      {
        return presenceFile
      }
    } while backoff.wait()
    return nil
  }

  // MARK: Commit notifications

  /// From now on other processes notify. False if the file system has no such locks: then they
  /// always do.
  @discardableResult
  func listen() -> Bool { DescriptionLock.listening.set(F_RDLCK, on: descriptor) }

  /// Whether another process, or another open file in this one, may be listening.
  var isHeard: Bool { DescriptionLock.listening.isHeldElsewhere(than: descriptor) ?? true }

  /// Writes the first byte again: nothing else changes, and a full disk does not matter.
  func notifyCommit() {
    guard isHeard else { return }
    var byte = namespace.utf8.first ?? 0
    _ = pwrite(descriptor, &byte, 1, 0)
  }

  // MARK: The file

  private func lock(_ operation: Int32) throws(LMDBError) -> Bool {
    while flock(descriptor, operation) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw LMDBError(errno, context: "flock \(path)") }
    }
    return true
  }

  /// Ends with a newline, so that a partial line is not taken for a complete one.
  private func write(_ text: String) throws(LMDBError) {
    let line = Array((text + "\n").utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, line, line.count, 0) == line.count
    else { throw LMDBError(errno == 0 ? EIO : errno, context: "write \(path)") }
  }

  private func read() -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0, bytes[count - 1] == UInt8(ascii: "\n") else { return "" }
    return String(decoding: bytes[..<(count - 1)], as: UTF8.self)
  }

  private static let monitor = Monitor()
  /// Guarded by `monitor`.
  nonisolated(unsafe) private static var lastNamespace: (text: String, forkCount: UInt)?

  /// `pid:[4026531836]`; `unknown` without `/proc`. A process stays in its namespace; a child may
  /// be created in another one.
  static func currentProcessNamespace() -> String {
    let forkCount = ForkGuard.count.pointee
    monitor.lock()
    defer { monitor.unlock() }
    if let last = lastNamespace, last.forkCount == forkCount { return last.text }
    let text = readProcessNamespace()
    lastNamespace = (text, forkCount)
    return text
  }

  private static func readProcessNamespace() -> String {
    var name = [CChar](repeating: 0, count: 128)
    let count = readlink("/proc/self/ns/pid", &name, name.count)
    guard count > 0 else { return "unknown" }
    return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
