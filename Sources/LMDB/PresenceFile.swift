import Glibc

/// A lock file that says which data file is in use, and from which pid namespace.
///
/// LMDB knows its readers by process id. Two containers, each with its own process 1, would take
/// each other's slots for their own and never clear those of the dead. And LMDB finds its lock file by
/// path: a process that opens another file at the path of one that is in use would take the readers and the
/// last commit of that one for those of its own file.
///
///     enter ─▶ alone?  ─ yes ─▶ write namespace and data file ─▶ open the file ─▶ share ─▶ present
///                 └──── no ──▶ share ─▶ same namespace and data file? ─ yes ──────────────▶ present
///
/// Changing an exclusive `flock` into a shared one lets go in between. Whoever comes in then finds the
/// data file in use (`OpenFileLock`), and tries again.
///
/// It is also the doorbell: written after a commit, so that whoever watches it hears of the commit when
/// readers can see it. The data file is written before that: who looks then may look too early.
///
/// A process that watches says so before, with a shared lock on a byte that the file does not have; who
/// commits asks whether anybody else does, and rings only then. The kernel takes the lock back when the
/// process ends. Law: who watches and looks after saying so misses nothing: a commit that it does not
/// see then asks later.
struct PresenceFile: ~Copyable {
  private let descriptor: Int32
  private let path: String
  private let namespace: String
  /// This process made the file.
  private let isNew: Bool
  let identity: FileIdentity
  /// Nobody else uses the database, and nobody can begin to before `share`.
  private(set) var isAlone = false

  /// Waits while somebody is alone. Throws `notAPlainFile` if a link is in the file's place.
  static func enter(at path: String, namespace: String) throws(LMDBError) -> PresenceFile {
    for _ in 0..<100 {
      var presence = PresenceFile(try OwnFile.open(path), path, namespace)
      presence.isAlone = try presence.lock(LOCK_EX | LOCK_NB)
      if !presence.isAlone { _ = try presence.lock(LOCK_SH) }
      // Somebody may have removed the file since it was opened: others then lock another one.
      if presence.isInPlace { return presence }
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

  /// Says which data file is in use, or compares it with what the others said.
  ///
  /// Throws `foreignProcessNamespace`, and `openElsewhere` if the others have another file open.
  func admit(_ file: FileIdentity) throws(LMDBError) {
    let own = namespace + " " + file.text
    let present = read()
    if present == own { return }
    // Mostly it is there already, from the last time. To make it anew costs a block of the disk.
    if isAlone { return try write(own) }
    // Empty: who was alone ended before it wrote. Then somebody is alone again soon.
    guard present.isEmpty || present.hasPrefix(namespace + " ") else {
      throw LMDBError.foreignProcessNamespace.adding("\(path): \(present), here \(namespace)")
    }
    throw LMDBError(
      LMDBError.openElsewhere.code, context: "open \(path)", processIDs: otherProcesses)
  }

  /// Lets the others in.
  mutating func share() throws(LMDBError) {
    guard isAlone else { return }
    _ = try lock(LOCK_SH)
    isAlone = false
  }

  /// Removes the file if this process made it and nobody else has come: opening failed.
  func withdraw() {
    if isNew, isAlone, isInPlace { unlink(path) }
  }

  /// Other processes that use the database, as far as the kernel says.
  var otherProcesses: [Int32] {
    ProcessLocks.holders(of: identity).filter { $0 != getpid() }
  }

  // MARK: Without entering

  /// Runs `body` while nobody uses the database at `path` and nobody can begin to: who opens it waits.
  /// `nil`, and nothing done, if somebody uses it.
  static func alone<R>(at path: String, _ body: () throws -> R) throws -> R? {
    let presence: PresenceFile?
    do throws(LMDBError) {
      presence = try enterAlone(path, isMaking: true)
    } catch {
      guard error == .accessDenied || error == LMDBError(EROFS) else { throw error }
      return try OpenFileLock.whileReadUnlocked(path, body)
    }
    guard let presence else { return nil }
    let before = FileIdentity(at: path)
    let result = try body()
    // Those who wait to open it are not to take each other for users of the old file.
    if let file = FileIdentity(at: path), file != before {
      try? presence.write(currentProcessNamespace() + " " + file.text)
    }
    return result
  }

  /// Runs `body` while nobody uses the database at `path`. False, and nothing done, if somebody does.
  static func whileAbsent(
    from path: String, _ body: () throws(LMDBError) -> Void
  ) throws(LMDBError) -> Bool {
    if FileIdentity(at: path + "-presence") == nil {
      guard try !OpenFileLock.isHeld(onFileAt: path) else { return false }
      try body()
      return true
    }
    let presence = try enterAlone(path, isMaking: false)
    guard presence != nil else { return false }
    try body()
    return true
  }

  /// `nil` if somebody uses the database.
  private static func enterAlone(_ path: String, isMaking: Bool) throws(LMDBError) -> PresenceFile?
  {
    let place = path + "-presence"
    // A process that is just being started has the locks of the one that starts it, for a moment.
    var patience = Backoff(.milliseconds(60))
    repeat {
      let file: OwnFile? = isMaking ? try OwnFile.open(place) : try OwnFile.openExisting(place)
      guard let file else { return nil }
      let presence = PresenceFile(file, place)
      if try presence.lock(LOCK_EX | LOCK_NB), presence.isInPlace,
        try !OpenFileLock.isHeld(onFileAt: path)
      {
        return presence
      }
    } while patience.wait()
    return nil
  }

  // MARK: The doorbell

  /// From now on other processes ring. False if the file system has no such locks: then they always do.
  @discardableResult
  func listen() -> Bool { DescriptionLock.listening.set(F_RDLCK, on: descriptor) }

  /// Whether somebody else may be listening: another process, or whoever opened the file again.
  var isHeard: Bool { DescriptionLock.listening.isHeldElsewhere(than: descriptor) ?? true }

  /// Writes the first byte again: nothing else changes, and a full disk does not matter.
  func ring() {
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

  /// Ends with a newline, so that half a line is not taken for a whole one.
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

  /// `pid:[4026531836]`; without `/proc`, a word that equals itself. A process stays in its namespace, a child may be
  /// born into another one.
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
