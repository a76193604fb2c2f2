import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct MemoryFolderTests {
  private let folder = TemporaryFolder()

  private func make(_ name: String, _ files: String...) throws {
    let path = folder.path + "/" + name
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    for file in files { try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/" + file)) }
  }

  private func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: folder.path + "/" + name)
  }

  @Test func `a sweep takes what nobody holds, and nothing that is not ours`() throws {
    try make("hearth-Left01", "owner", "memory.hearth", "memory.hearth-lock")
    try make("hearth-Left02", "owner")
    try make("hearth-NoLock", "memory.hearth")
    try make("hearth-Others", "owner", "memory.hearth", "diary")
    try make("hearth-longer01", "owner", "memory.hearth")
    try make("hearth-a.b-c1", "owner", "memory.hearth")
    try make("elsewhere", "owner", "memory.hearth")
    try make("target", "owner", "memory.hearth")
    #expect(symlink(folder.path + "/target", folder.path + "/hearth-Linked") == 0)
    try make("hearth-LinkIn")
    #expect(
      symlink(folder.path + "/target/owner", folder.path + "/hearth-LinkIn/owner") == 0)
    MemoryFolder.sweep(folder.path)
    #expect(!exists("hearth-Left01") && !exists("hearth-Left02"))
    for kept in [
      "hearth-NoLock/memory.hearth", "hearth-Others/memory.hearth", "hearth-Others/diary",
      "hearth-longer01/owner", "hearth-a.b-c1/owner", "elsewhere/owner", "target/owner",
      "target/memory.hearth", "hearth-Linked", "hearth-LinkIn/owner",
    ] { #expect(exists(kept), "\(kept)") }
  }

  @Test func `a folder that was never finished goes after an hour`() throws {
    try make(".hearth-Unfin1", "owner")
    try make(".hearth-Unfin2")
    MemoryFolder.sweep(folder.path)
    #expect(exists(".hearth-Unfin1/owner") && exists(".hearth-Unfin2"))
    for name in [".hearth-Unfin1", ".hearth-Unfin2"] {
      let early: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSinceNow: -3700)]
      try FileManager.default.setAttributes(early, ofItemAtPath: folder.path + "/" + name)
    }
    MemoryFolder.sweep(folder.path)
    #expect(!exists(".hearth-Unfin1") && !exists(".hearth-Unfin2"))
  }

  @Test func `a folder goes with its database, and with the object`() throws {
    let kept = try MemoryFolder.make()
    MemoryFolder.sweep(NSTemporaryDirectory())
    #expect(FileManager.default.fileExists(atPath: kept.path + "/owner"))
    var mode = stat()
    #expect(stat(kept.path, &mode) == 0 && mode.st_mode & 0o777 == 0o700)
    kept.remove()
    #expect(!FileManager.default.fileExists(atPath: kept.path))
    var dropped: MemoryFolder? = try MemoryFolder.make()
    let path = try #require(dropped?.path)
    #expect(FileManager.default.fileExists(atPath: path))
    dropped = nil
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
