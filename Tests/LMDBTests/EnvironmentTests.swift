import Foundation
import TestSupport
import Testing

@testable import LMDB

struct EnvironmentTests {
  @Test func `what was committed is read, also after closing and opening`() throws {
    let file = try TestFile()
    let environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    #expect(try environment.text("t", "a") == "1")
    #expect(try environment.text("t", "b") == nil)
    environment.close()
    #expect(throws: LMDBError.closed) { try environment.read { _ in } }
    #expect(throws: LMDBError.closed) { _ = try environment.beginWrite() }
    #expect(throws: LMDBError.closed) { _ = try environment.info }
    #expect(environment.clearStaleReaders() == 0)
    environment.close()
    let again = try file.open()
    #expect(try again.text("t", "a") == "1")
  }

  @Test func `an environment that is let go is closed`() throws {
    let file = try TestFile()
    do { _ = try file.open() }
    _ = try file.open()
  }

  @Test func `L-13: a file is open once in a process, by whatever name`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let names = ["symbolic", "hard"].map { file.directory + "/" + $0 }
    try FileManager.default.createSymbolicLink(atPath: names[0], withDestinationPath: file.path)
    try FileManager.default.linkItem(atPath: file.path, toPath: names[1])
    for name in [file.path, file.directory + "/./data"] + names {
      #expect(throws: LMDBError.alreadyOpen) {
        _ = try Environment.open(
          at: name, configuration: EnvironmentConfiguration(tables: ["t"]))
      }
    }
    environment.close()
    // A symbolic link leads to the same lock file.
    let again = try Environment.open(
      at: names[0], configuration: EnvironmentConfiguration(tables: ["t"]))
    #expect(again.path == (file.directory as NSString).resolvingSymlinksInPath + "/data")
  }

  @Test func `L-13: an opening that fails leaves the file to be opened`() throws {
    let file = try TestFile()
    let failing = Script([.open: 1])
    #expect(throws: LMDBError.inputOutput) {
      _ = try file.open { $0.faultInjector = { failing.code(for: $0, EIO) } }
    }
    #expect(throws: LMDBError.remoteFileSystem) {
      _ = try file.open { $0.fileSystemType = { _ in 0x6969 } }
    }
    try Data("no database at all".utf8).write(to: URL(fileURLWithPath: file.path))
    #expect(throws: LMDBError.notADatabase) { _ = try file.open() }
    try FileManager.default.removeItem(atPath: file.path)
    _ = try file.open()
  }

  @Test func `L-04: a hundred environments are open at once`() throws {
    let files = try (0..<100).map { _ in try TestFile() }
    let mapSize = hasThreadSanitizer ? 1 << 30 : 64 << 30
    let environments = try files.map { try $0.open(mapSizeBytes: mapSize) }
    for environment in environments {
      try environment.write { try $0.put(environment.table("t"), "a", "1") }
      #expect(try environment.text("t", "a") == "1")
    }
    // Without them the files are removed, and writing to them is refused.
    withExtendedLifetime(files) {}
  }

  @Test func `L-14: a remote file system is refused unless allowed`() throws {
    let file = try TestFile()
    for type in FileSystemKind.remoteTypes.keys {
      #expect(throws: LMDBError.remoteFileSystem) {
        _ = try file.open { $0.fileSystemType = { _ in type } }
      }
    }
    #expect(!FileManager.default.fileExists(atPath: file.path))
    // ext4, xfs, btrfs, tmpfs, overlay, zfs.
    for local: UInt32 in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
      try file.open { $0.fileSystemType = { _ in local } }.close()
    }
    _ = try file.open {
      $0.fileSystemType = { _ in 0x6969 }
      $0.allowsRemoteFileSystem = true
    }
  }

  @Test func `L-18: durability is what the name says`() throws {
    #expect(EnvironmentConfiguration(tables: []).durability == .full)
    let flags = { (durability: Durability) in
      var configuration = EnvironmentConfiguration(tables: [])
      configuration.durability = durability
      return configuration.flags
    }
    #expect(flags(.lastCommitMayBeLost) == flags(.full) | 0x40000)
    #expect(flags(.unsafeNoSync) == flags(.full) | 0x10000)
    // MDB_WRITEMAP and MDB_MAPASYNC never: L-16.
    for durability in [Durability.full, .lastCommitMayBeLost, .unsafeNoSync] {
      #expect(flags(durability) & (0x80000 | 0x100000) == 0)
    }
    let file = try TestFile()
    let environment = try file.open { $0.durability = .lastCommitMayBeLost }
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    try environment.sync()
  }

  @Test func `L-24: tables are opened once, and only plain ones`() throws {
    let file = try TestFile()
    let environment = try file.open(tables: ["a", "b", "a"])
    #expect(environment.table("a") != environment.table("b"))
    try environment.write {
      try $0.put(environment.table("a"), "k", "in a")
      try $0.put(environment.table("b"), "k", "in b")
    }
    environment.close()
    #expect(throws: LMDBError.notFound) {
      _ = try file.open(tables: ["a", "c"]) { $0.isReadOnly = true }
    }
    // Ten thousand collections are keys in one table, not tables.
    let again = try file.open(tables: ["b", "c", "a"])
    #expect(try again.text("a", "k") == "in a")
    #expect(try again.text("b", "k") == "in b")
    try again.write { writing in
      for number in 0..<10_000 { try writing.put(again.table("c"), "collection \(number)", "") }
    }
    #expect(try again.read { try $0.statistics(again.table("c")).entries } == 10_000)
    try again.reopen()
    #expect(try again.text("b", "k") == "in b")
  }

  @Test func `new files are for their owner only`() throws {
    let file = try TestFile()
    let environment = try file.open()
    for name in ["", "-lock", "-presence"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: environment.path + name)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func `the bell is written by commits, and not by opening again`() throws {
    let file = try TestFile()
    var environment = try file.open()
    let signal = environment.commitNotificationPath
    func forgetRings() throws {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: signal)
    }
    func hasRung() throws -> Bool {
      let date =
        try FileManager.default.attributesOfItem(atPath: signal)[.modificationDate] as? Date
      return date != Date(timeIntervalSince1970: 0)
    }
    let content = FileManager.default.contents(atPath: signal)
    environment.close()
    // As another process does.
    let namespace = PresenceFile.currentProcessNamespace()
    var listener = try PresenceFile.enter(at: signal, namespace: namespace)
    try listener.share()
    let isListening = listener.listen()
    #expect(isListening)
    try forgetRings()
    environment = try file.open()
    #expect(try !hasRung())
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    #expect(try hasRung())
    try forgetRings()
    var writing = try environment.beginWrite()
    try writing.put(environment.table("t"), "a", "2")
    try writing.commit(ringing: false)
    #expect(try !hasRung())
    environment.notifyCommit()
    #expect(try hasRung())
    #expect(FileManager.default.contents(atPath: signal) == content)
    environment.close()
    try forgetRings()
    environment.notifyCommit()
    #expect(try !hasRung())
    _ = consume listener
  }

  @Test func `a read-only environment creates and changes nothing`() throws {
    let file = try TestFile()
    #expect(throws: LMDBError.noSuchFile) { _ = try file.open { $0.isReadOnly = true } }
    let environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    environment.close()
    let reading = try file.open { $0.isReadOnly = true }
    #expect(try reading.text("t", "a") == "1")
    #expect(throws: LMDBError.readOnly) { _ = try reading.beginWrite() }
  }

  @Test func `nothing a caller gives as a path or size traps`() throws {
    let file = try TestFile()
    let configuration = EnvironmentConfiguration(tables: ["t"])
    for path in ["", "/nowhere/at/all", file.directory, file.path + "\0x", "/dev/null"] {
      #expect(throws: LMDBError.self) {
        _ = try Environment.open(at: path, configuration: configuration)
      }
    }
    for size in [Int.min, -1, 0, 1] {
      let environment = try file.open(mapSizeBytes: size) {
        $0.maximumReaders = size
        $0.readerPoolLimit = size
      }
      try environment.write { try $0.put(environment.table("t"), "a", "1") }
      #expect(try environment.text("t", "a") == "1")
      try environment.grow(toAtLeast: size)
      environment.close()
    }
    #expect(throws: LMDBError.outOfMemory) { _ = try file.open(mapSizeBytes: .max) }
  }

  @Test func `info tells sizes, commits and readers`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let before = try environment.info
    let info = try environment.read { _ in
      for number in 0..<3 {
        try environment.write { try $0.put(environment.table("t"), "a", "\(number)") }
      }
      return try environment.info
    }
    #expect(info.mapSizeBytes == 1 << 30)
    #expect(info.lastTransactionID == before.lastTransactionID + 3)
    #expect(info.readersInUse == 1)
    #expect(info.oldestReaderLag == 3)
    #expect(info.maximumReaders == 1024)
    #expect(info.fileSizeBytes >= info.lastPage * info.pageSizeBytes)
    #expect(try environment.info.readersInUse == 0)
    #expect(try environment.info.oldestReaderLag == 0)
  }
}
