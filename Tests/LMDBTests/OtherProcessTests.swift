import Foundation
import TestSupport
import Testing

@testable import LMDB

/// What only shows with a second process.
@Suite(.ownThreads) struct OtherProcessTests {
  @Test func `L-06: the slot of a killed reader is freed`() throws {
    let file = try TestFile()
    let environment = try file.open { $0.staleReaderInterval = .zero }
    let helper = try Helper(["hold-readers", file.path, "3"])
    #expect(helper.line() == "ready")
    #expect(try environment.info.readersInUse == 3)
    #expect(environment.clearStaleReaders() == 0)
    helper.kill(SIGKILL)
    helper.process.waitUntilExit()
    #expect(try environment.info.readersInUse == 3)
    // A writer looks from time to time.
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    #expect(try environment.info.readersInUse == 0)
  }

  @Test func `L-07: slots taken by others are waited for, and those of the dead used`() throws {
    let file = try TestFile()
    // LMDB rounds the lock file up to a page of slots: 62 or 126 of 64 bytes.
    let environment = try file.open {
      $0.maximumReaders = 2
      $0.readersFullBackoff = .milliseconds(50)
    }
    let slots = try environment.info.maximumReaders
    let helper = try Helper(["hold-readers", file.path, "\(slots)"])
    #expect(helper.line() == "ready")
    #expect(throws: LMDBError.readersFull) { try environment.read { _ in } }
    helper.kill(SIGKILL)
    helper.process.waitUntilExit()
    try environment.read { _ in }
  }

  @Test func `L-03: a map that another process grew is taken over`() throws {
    let file = try TestFile()
    let environment = try file.open(mapSizeBytes: 1 << 20)
    let helper = try Helper(["write", file.path, "8000"])
    #expect(helper.line() == "ready")
    var key = UInt64(7999).bigEndian
    let size = try withUnsafeBytes(of: &key) { key in
      try environment.read { try $0.get(environment.table("t"), key)?.count }
    }
    #expect(size == 1024)
    #expect(try environment.info.mapSizeBytes > 8 << 20)
    helper.goOn()
  }

  @Test func `L-03: a writer takes a grown map over too`() throws {
    let file = try TestFile()
    let environment = try file.open(mapSizeBytes: 1 << 20)
    let helper = try Helper(["write", file.path, "8000"])
    #expect(helper.line() == "ready")
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    #expect(try environment.text("t", "a") == "1")
    helper.goOn()
  }

  @Test func `L-12: a forked child can use nothing and harms nothing`() throws {
    let file = try TestFile()
    let lines = try Helper(["fork", file.path]).rest()
    #expect(lines == ["refused 6", "readers 1", "writer true", "parent well"])
  }

  @Test func `L-15: a process of another pid namespace is refused`() throws {
    let file = try TestFile()
    let other = try TestFile()
    func enter(_ path: String, _ namespace: String, _ data: FileIdentity) throws -> PresenceFile {
      var presenceFile = try PresenceFile.enter(at: path, namespace: namespace)
      try presenceFile.admit(data)
      try presenceFile.share()
      return presenceFile
    }
    let data = try #require(FileIdentity(at: file.directory))
    let otherData = try #require(FileIdentity(at: "/"))
    do {
      let first = try enter(other.path, "pid:[1]", data)
      let second = try enter(other.path, "pid:[1]", data)
      #expect(throws: LMDBError.foreignProcessNamespace) {
        _ = try enter(other.path, "pid:[2]", data)
      }
      #expect(throws: LMDBError.openElsewhere) { _ = try enter(other.path, "pid:[1]", otherData) }
      _ = consume first
      _ = consume second
    }
    // Alone again: namespace and file are whoever's comes first.
    var patience = Backoff(.seconds(60))
    while (try? enter(other.path, "pid:[2]", otherData)) == nil {
      // A process that another test is starting has our locks until it is there.
      let mayGoOn = patience.wait()
      try #require(mayGoOn)
    }

    let environment = try file.open()
    #expect(throws: LMDBError.foreignProcessNamespace) {
      _ = try enter(environment.path + "-presence", "pid:[2]", data)
    }
    let unshare = "/usr/bin/unshare"
    guard getuid() == 0, FileManager.default.isExecutableFile(atPath: unshare) else { return }
    let before = [unshare, "--pid", "--fork", "--mount-proc"]
    guard (try? Helper(["open", other.path], before: before).line()) == "ready" else { return }
    let lines = try Helper(["open", file.path], before: before).rest()
    #expect(lines == ["error \(LMDBError.foreignProcessNamespace.code)"])
  }

  @Test func `the bell is rung while somebody else listens, and not for oneself`() throws {
    let file = try TestFile()
    func enter() throws -> PresenceFile {
      var presenceFile = try PresenceFile.enter(at: file.path, namespace: "pid:[1]")
      try presenceFile.share()
      return presenceFile
    }
    let ours = try enter()
    var heard = [ours.isHeard]
    let isListening = ours.listen()
    heard.append(ours.isHeard)
    #expect(isListening)
    do {
      let other = try enter()
      heard += [other.isHeard, ours.isHeard]
      other.listen()
      heard.append(ours.isHeard)
      _ = consume other
    }
    // The kernel took the other's lock back. A process that another test is starting has it until it is there.
    var patience = Backoff(.seconds(60))
    while ours.isHeard, patience.wait() {}
    heard.append(ours.isHeard)
    #expect(heard == [false, false, true, false, true, false])
    _ = consume ours
  }

  @Test func `L-15: LMDB's own refusal has a clear sentence`() throws {
    let file = try TestFile()
    let script = Script([.begin: 1])
    let environment = try file.open { $0.faultInjector = { script.code(for: $0, EAGAIN) } }
    let error = #expect(throws: LMDBError.self) { try environment.read { _ in } }
    #expect(error == .sharedProcessID)
    #expect(error?.message.contains("container") == true)
  }

  @Test func `L-26: a stopped reader keeps its slot and its view`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    try environment.write { try $0.put(table, "a", "old") }
    let helper = try Helper(["hold-readers", file.path, "1"])
    #expect(helper.line() == "ready")
    helper.kill(SIGSTOP)
    for number in 0..<200 {
      try environment.write { try $0.put(table, "a", "new \(number)") }
    }
    #expect(environment.clearStaleReaders() == 0)
    #expect(try environment.info.oldestReaderLag == 200)
    helper.kill(SIGCONT)
    helper.goOn()
    #expect(helper.rest() == ["sees old"])
    #expect(try environment.info.readersInUse == 0)
  }

  @Test func `L-16: a file that may not grow gives an error and stays readable`() throws {
    let file = try TestFile()
    let lines = try Helper(["fill", file.path, "\(4 << 20)"]).rest()
    #expect(lines.count == 5)
    #expect(["failed \(EIO)", "failed \(EFBIG)"].contains(lines.first))
    #expect(lines.dropFirst() == ["readable true", "refuses", "readable true", "writes"])
  }

  @Test func `L-16: a full disk gives an error and stays readable`() throws {
    let file = try TestFile()
    let disk = file.directory + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
    guard getuid() == 0, run("/bin/mount", "-t", "tmpfs", "-o", "size=4m", "none", disk) else {
      return
    }
    defer { _ = run("/bin/umount", disk) }
    let lines = try Helper(["fill", disk + "/data", "0"]).rest()
    #expect(lines.count == 5)
    #expect(["failed \(EIO)", "failed \(ENOSPC)"].contains(lines.first))
    #expect(lines.dropFirst() == ["readable true", "refuses", "readable true", "writes"])
  }

  @Test func `a writer killed at any moment leaves whole commits, and all it told`() throws {
    let file = try TestFile()
    for round in 0..<5 {
      let helper = try Helper(["write-forever", file.path])
      var told = 0
      let wanted = 20 + round * 7
      while told < wanted, let line = helper.line() { told = Int(line) ?? 0 }
      helper.kill(SIGKILL)
      told = helper.rest().compactMap { Int($0) }.max() ?? told
      let environment = try file.open()
      let table = environment.table("t")
      let present = try environment.read { snapshot in
        try (1...(told + 1)).map { number in
          try [number * 2, number * 2 + 1].map { key in
            try withUnsafeBytes(of: UInt64(key).bigEndian) { try snapshot.get(table, $0) } != nil
          }
        }
      }
      #expect(present.dropLast().allSatisfy { $0 == [true, true] })
      #expect(present.last.map { $0[0] == $0[1] } == true)
      environment.close()
    }
  }

  private func run(_ words: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
