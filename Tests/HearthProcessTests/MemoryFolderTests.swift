import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Databases in memory leave nothing in the temporary directory, however their process ends.
@Suite(.ownThreads) struct MemoryFolderTests {
  private let folder = TemporaryFolder()

  private func helper(_ ending: String = "return") throws -> Helper {
    let helper = try Helper("memory", "-", ending, environment: ["TMPDIR": folder.path])
    #expect(helper.line() == "open")
    return helper
  }

  private func left() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  @Test func `what kill -9 leaves, the next process removes`() throws {
    let first = try helper()
    let folders = try left()
    #expect(folders.count == 1)
    first.kill(SIGKILL)
    #expect(first.wasKilled)
    #expect(try left() == folders)
    let second = try helper()
    let others = try left()
    #expect(others.count == 1 && others != folders)
    second.say("end")
    _ = second.lines()
  }

  @Test(arguments: ["return", "exit"])
  func `a process that ends without terminating its database leaves nothing`(ending: String) throws
  {
    let process = try helper(ending)
    #expect(try left().count == 1)
    process.say("end")
    _ = process.lines()
    #expect(try left() == [])
  }

  @Test func `what other processes use stays`() throws {
    let first = try helper()
    let second = try helper()
    #expect(try left().count == 2)
    MemoryFolder.sweep(folder.path)
    #expect(try left().count == 2)
    for process in [first, second] {
      process.say("read")
      #expect(process.line() == "7")
    }
    first.kill(SIGKILL)
    #expect(first.wasKilled)
    MemoryFolder.sweep(folder.path)
    #expect(try left().count == 1)
    second.say("read")
    #expect(second.line() == "7")
    second.say("end")
    _ = second.lines()
    #expect(try left() == [])
  }
}
