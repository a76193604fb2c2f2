import CStorageSpy
import Foundation
import Glibc
import Hearth
import LMDB
import Synchronization

extension HearthTestHelper {
  /// <name> <other's name> <milliseconds> <tasks>: after a line of input, writes as fast as it goes.
  /// Then says how many commits it made and documents it wrote, and after another line how many of
  /// the other's it sees.
  func writeFor() async throws {
    let db = try open()
    let (name, other) = (arguments[0], arguments[1])
    Self.say("ready")
    _ = readLine()
    spy_watch()
    let end = ContinuousClock.now + .milliseconds(number(2))
    let tasks = number(3)
    let written = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<tasks {
        group.addTask {
          var step = 0
          while ContinuousClock.now < end {
            try await db.document("\(name)/\(task)-\(step)").setData(["step": step])
            step += 1
          }
          return step
        }
      }
      return try await group.reduce(0, +)
    }
    let commits = recorded().count { $0.kind == spy_synchronous_write.rawValue }
    Self.say("committed \(commits) \(written)")
    _ = readLine()
    Self.say("sees \(try await db.collection(other).getDocuments().count)")
    try await db.terminate()
  }

  /// <key> <milliseconds>: after a line of input, begins the next transaction of LMDB as soon as the
  /// last is committed. Says how many it made, in how many turns, and how many in the longest of them.
  func commitFor() throws {
    let environment = try Environment.open(
      at: path, configuration: EnvironmentConfiguration(tables: ["t"]))
    let table = environment.table("t")
    Self.say("ready")
    _ = readLine()
    let end = ContinuousClock.now + .milliseconds(number(1))
    var (commits, turns, run, longest, last) = (0, 0, 0, 0, -1)
    let key = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
    defer { key.deallocate() }
    key.storeBytes(of: number(0), as: Int.self)
    while ContinuousClock.now < end {
      var writing = try environment.beginWrite()
      let id = writing.snapshot.transactionID
      if id != last + 1 { (turns, run) = (turns + 1, 0) }
      (last, run) = (id, run + 1)
      longest = max(longest, run)
      try writing.put(table, UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(key))
      try writing.commit()
      commits += 1
    }
    Self.say("committed \(commits) \(turns) \(longest)")
    environment.close()
  }

  /// <bytes the file may have, or 0>: writes until it fails; reads; and once there is room again,
  /// writes. Without a bound of its own it waits for a line that says that there is room.
  func fill() async throws {
    let bound = number(0)
    signal(SIGXFSZ, SIG_IGN)
    if bound > 0 { limitFiles(to: bound) }
    let db = try open()
    let text = String(repeating: "x", count: 20_000)
    var written = 0
    do {
      while written < 10_000 {
        try await db.document("filled/\(written)").setData(["n": written, "text": text])
        written += 1
      }
    } catch let error as NSError {
      Self.say("failed \(error.code) \(error.localizedDescription)")
    }
    let count = try await db.collection("filled").getDocuments().count
    // The last one failed; whether it was applied is unknown.
    Self.say("reads \(written > 10 && (count == written || count == written + 1))")
    do {
      try await db.document("filled/again").setData(["text": String(repeating: text, count: 50)])
      Self.say("wrote")
    } catch let error as NSError {
      Self.say("failed \(error.code) \(error.localizedDescription)")
    }
    await fillBy(db, String(repeating: text, count: 50))
    if bound > 0 { limitFiles(to: 1 << 30) } else { _ = readLine() }
    try await db.document("filled/later").setData(["n": -1, "text": text])
    let later = try await db.document("filled/later").getDocument()
    Self.say("writes again \(later["n"] as? Int == -1)")
    try await db.terminate()
  }

  /// By the other forms of write: each fails, a closure runs once, and what was there is read.
  private func fillBy(_ db: Firestore, _ text: String) async {
    let runs = Counted()
    let again = db.document("filled/again")
    let failures = Counted()
    do {
      try await db.write { tx in
        runs.add()
        try tx.setData(["text": text], forDocument: again)
      }
    } catch { failures.add(error) }
    do {
      try await db.batch().setData(["text": text], forDocument: again).commit()
    } catch { failures.add(error) }
    // May have been done, so that it is not tried again.
    let attempts = Counted()
    do {
      try await db.runTransaction { transaction, _ in
        attempts.add()
        transaction.setData(["text": text], forDocument: again)
        return nil
      }
    } catch { failures.add(error) }
    let bulk = db.bulkWriter { failures.add($0.error) }
    await bulk.enqueueSet(["text": text], forDocument: again)
    let summary = await bulk.finish()
    let first = try? await db.read { try $0.getDocument(db.document("filled/0"))["n"] as? Int }
    Self.say(
      """
      closures \(runs.value), attempts \(attempts.value), exhausted \(failures.value), \
      bulk \(summary.failed), first \(first ?? -1)
      """
    )
  }

  private final class Counted: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
    func add(_ error: any Error) { if FirestoreErrorCode.resourceExhausted ~= error { add() } }
  }

  /// <readers>: fills the disk with the file `ballast` beside the database, and reads that often at
  /// once.
  func readOnFullDisk() throws {
    let environment = try Environment.open(
      at: path, configuration: EnvironmentConfiguration(tables: ["t"]))
    let ballast = Glibc.open(path + "-ballast", O_WRONLY | O_CREAT, 0o600)
    let zeros = [UInt8](repeating: 0, count: 4096)
    while write(ballast, zeros, zeros.count) > 0 {}
    try read(environment, number(0))
    Self.say("reads")
    environment.close()
  }

  private func read(_ environment: Environment, _ count: Int) throws {
    try environment.read { _ in if count > 1 { try read(environment, count - 1) } }
  }

  func limitFiles(to bytes: Int) {
    var bound = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound)
    bound.rlim_cur = rlim_t(bytes)
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound)
  }

  /// A forked child uses its parent's database.
  func forkAChild() async throws {
    let db = try open()
    try await db.document("family/parent").setData(["n": 1])
    let child = fork()
    if child == 0 {
      do {
        _ = try Firestore.open(at: path)
        Self.say("the child opened it")
      } catch let error as NSError {
        Self.say("refused \(error.code) \(error.localizedDescription)")
      }
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    try await db.document("family/parent").setData(["n": 2])
    Self.say("the parent reads \(try await db.document("family/parent").getDocument()["n"] ?? 0)")
    try await db.terminate()
  }

  /// The path is not looked at.
  func useDefaultLocation() async throws {
    let db = Firestore.firestore()
    try await db.document("a/b").setData(["n": 1])
    Self.say(db === Firestore.firestore() ? "same" : "another")
    try await db.terminate()
  }
}
