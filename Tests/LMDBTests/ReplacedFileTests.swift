import Foundation
import Glibc
import TestSupport
import Testing

@testable import LMDB

/// A file and the files beside it that are no longer what they were, or never were what they seem.
@Suite(.ownThreads) struct ReplacedFileTests {
  private func makeEnvironment(_ file: TestFile) throws -> Environment {
    let environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    return environment
  }

  private func copy(_ file: TestFile) throws -> String {
    let copy = file.directory + "/copy"
    try FileManager.default.copyItem(atPath: file.path, toPath: copy)
    return copy
  }

  @Test(arguments: ["", "-lock", "-presence"])
  func `nothing is written once a file is removed, and reads go on`(suffix: String) throws {
    let file = try TestFile()
    let environment = try makeEnvironment(file)
    unlink(file.path + suffix)
    #expect(!environment.isInPlace)
    for _ in 0..<2 {
      #expect(throws: LMDBError.fileReplaced) { _ = try environment.beginWrite() }
    }
    #expect(try environment.text("t", "a") == "1")
    // Not even when something is there again.
    try Data().write(to: URL(fileURLWithPath: file.path + suffix))
    #expect(throws: LMDBError.fileReplaced) { _ = try environment.beginWrite() }
    environment.close()
  }

  @Test func `nothing is written to a file that another was copied over`() throws {
    let file = try TestFile()
    let environment = try makeEnvironment(file)
    let older = try Data(contentsOf: URL(fileURLWithPath: copy(file)))
    try environment.write { try $0.put(environment.table("t"), "a", "2") }
    let descriptor = Glibc.open(file.path, O_WRONLY)
    _ = older.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    Glibc.close(descriptor)
    #expect(throws: LMDBError.fileReplaced) { _ = try environment.beginWrite() }
    #expect(throws: LMDBError.fileReplaced) { try environment.reopen() }
    environment.close()
    let again = try file.open()
    #expect(try again.text("t", "a") == "1")
    try again.write { try $0.put(again.table("t"), "a", "3") }
  }

  @Test func `a commit into a file that is replaced meanwhile is not acknowledged`() throws {
    let file = try TestFile()
    let environment = try makeEnvironment(file)
    let copy = try copy(file)
    #expect(throws: LMDBError.fileReplaced) {
      try environment.write {
        try $0.put(environment.table("t"), "a", "2")
        try #require(rename(copy, file.path) == 0)
      }
    }
    environment.close()
    let again = try file.open()
    #expect(try again.text("t", "a") == "1")
  }

  @Test func `a commit of nothing is a commit`() throws {
    let file = try TestFile()
    let environment = try makeEnvironment(file)
    for _ in 0..<3 { try environment.write { _ in } }
    try environment.write { try $0.put(environment.table("t"), "a", "2") }
    #expect(environment.isInPlace)
  }

  @Test func `the link by which a file was named must lead to it still`() throws {
    let file = try TestFile()
    let link = file.directory + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
    let environment = try Environment.open(
      at: file.path, named: link, configuration: EnvironmentConfiguration(tables: ["t"]))
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    let copy = try copy(file)
    unlink(link)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: copy)
    #expect(throws: LMDBError.fileReplaced) { _ = try environment.beginWrite() }
    environment.close()
  }

  @Test
  func `whoever opens what took the place of an open file is told which process has the old one`()
    throws
  {
    let file = try TestFile()
    let helper = try Helper(["open", file.path])
    #expect(helper.line() == "ready")
    let copy = try copy(file)
    try #require(rename(copy, file.path) == 0)
    func expectRefusal(_ code: LMDBError, names: Bool) {
      let error = #expect(throws: LMDBError.self) {
        _ = try file.open { $0.openElsewhereBackoff = .milliseconds(20) }
      }
      #expect(error == code)
      if names { #expect(error?.message.contains("\(helper.process.processIdentifier)") == true) }
    }
    expectRefusal(.openElsewhere, names: true)
    unlink(file.path)
    expectRefusal(.openElsewhere, names: true)
    #expect(access(file.path, F_OK) != 0, "Nothing is made in its place.")
    helper.goOn()
    _ = helper.rest()
    _ = try file.open()
  }

  @Test(arguments: [["-lock"], ["-presence"], ["-lock", "-presence"]])
  func `a file that is open is not opened with other locks`(removed: [String]) throws {
    let file = try TestFile()
    let helper = try Helper(["open", file.path])
    #expect(helper.line() == "ready")
    for suffix in removed { unlink(file.path + suffix) }
    #expect(throws: LMDBError.openElsewhere) {
      _ = try file.open { $0.openElsewhereBackoff = .milliseconds(20) }
    }
    // Nor under a second name, nor removed, nor rebuilt.
    let second = file.directory + "/second"
    try #require(link(file.path, second) == 0)
    #expect(throws: LMDBError.openElsewhere) {
      var configuration = EnvironmentConfiguration(tables: ["t"])
      configuration.openElsewhereBackoff = .milliseconds(20)
      _ = try Environment.open(at: second, configuration: configuration)
    }
    #expect(try !Environment.remove(at: second))
    #expect(try Environment.whileClosed(second) { 1 } == nil)
    helper.goOn()
    _ = helper.rest()
    _ = try file.open()
  }

  // MARK: Links

  enum Trap: CaseIterable { case symbolicLink, hardLink, pipe, folder }

  @Test(arguments: ["-lock", "-presence", "-unfinished"], Trap.allCases)
  func `nothing is written through what somebody put beside the file`(
    suffix: String, trap: Trap
  ) throws {
    let file = try TestFile()
    let victim = file.directory + "/victim"
    try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
    let place = file.path + suffix
    switch trap {
    case .symbolicLink: symlink(victim, place)
    case .hardLink: link(victim, place)
    case .pipe: mkfifo(place, 0o600)
    case .folder: mkdir(place, 0o700)
    }
    #expect(throws: LMDBError.notAPlainFile) {
      if suffix == "-unfinished" {
        _ = try NewFile(for: file.path, replacing: true)
      } else {
        _ = try file.open()
      }
    }
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
  }

  @Test func `the data file may be a link, also one that leads nowhere yet`() throws {
    let file = try TestFile()
    let link = file.directory + "/link"
    symlink("data", link)
    let configuration = EnvironmentConfiguration(tables: ["t"])
    for _ in 0..<2 {
      let environment = try Environment.open(at: link, configuration: configuration)
      try environment.write { try $0.put(environment.table("t"), "a", "1") }
      #expect(environment.path.hasSuffix("/data"))
      environment.close()
    }
    #expect(access(file.path + "-lock", F_OK) == 0)
    #expect(access(link + "-lock", F_OK) != 0)
  }

  @Test func `what was left unfinished is removed, and what is being written is not`() throws {
    let file = try TestFile()
    try Data("old".utf8).write(to: URL(fileURLWithPath: file.path + "-unfinished"))
    let new = try NewFile(for: file.path, replacing: false)
    #expect(try Data(contentsOf: URL(fileURLWithPath: new.path)).isEmpty)
    #expect(throws: LMDBError.alreadyOpen) { _ = try NewFile(for: file.path, replacing: false) }
    try new.takePlace()
    #expect(access(file.path, F_OK) == 0)
  }

  @Test func `a file that was being moved to its place when its writer was killed is moved again`()
    throws
  {
    let file = try TestFile()
    try makeEnvironment(file).close()
    try #require(link(file.path, file.path + "-unfinished") == 0)
    let new = try NewFile(for: file.path, replacing: true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: new.path)).isEmpty)
    #expect(try file.open().text("t", "a") == "1")
  }

  @Test func `opening that fails leaves nothing beside a file`() throws {
    let file = try TestFile()
    try Data("hello".utf8).write(to: URL(fileURLWithPath: file.path))
    #expect(throws: LMDBError.notADatabase) { _ = try file.open() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: file.directory) == ["data"])
  }

  @Test func `whoever waits for a file that is replaced by its owner gets the new one`()
    async throws
  {
    let file = try TestFile()
    try makeEnvironment(file).close()
    let copy = try copy(file)
    // Its presence file stays, and names the old one.
    var opened: [Task<String?, any Error>]?
    // A child that another test starts has all files of this process until it is another program.
    try await eventually {
      opened = try Environment.whileClosed(file.path) {
        let openers = (0..<20).map { _ in
          Task.detached { try file.open(tables: ["t"]).text("t", "a") }
        }
        usleep(50_000)
        try #require(rename(copy, file.path) == 0)
        return openers
      }
      return opened != nil
    }
    var (found, refused) = (0, 0)
    for opener in try #require(opened) {
      switch await opener.result {
      case .success(let text):
        #expect(text == "1")
        found += 1
      // Within a process a file is open once.
      case .failure(let error):
        #expect(error as? LMDBError == .alreadyOpen)
        refused += 1
      }
    }
    #expect(found > 0 && found + refused == 20)
  }

  // MARK: Without permission

  @Test func `who may only read the file reads it alone`() throws {
    guard getuid() == 0 else { return print("skipped: needs root, to give up its rights") }
    let file = try TestFile()
    chmod(file.directory, 0o755)
    let environment = try makeEnvironment(file)
    chmod(file.path, 0o644)
    // Readers that are not registered could lose their pages to a writer.
    #expect(
      try Helper(["read-as-nobody", file.path]).rest() == [
        "error \(LMDBError.writtenElsewhere.code)"
      ])
    environment.close()
    let reader = try Helper(["read-as-nobody", file.path])
    #expect(reader.line() == "reads 1")
    let second = try Helper(["read-as-nobody", file.path])
    #expect(second.line() == "reads 1")
    #expect(throws: LMDBError.readElsewhere) {
      _ = try file.open { $0.openElsewhereBackoff = .milliseconds(20) }
    }
    for helper in [reader, second] {
      helper.goOn()
      _ = helper.rest()
    }
    _ = try file.open()
  }
}
