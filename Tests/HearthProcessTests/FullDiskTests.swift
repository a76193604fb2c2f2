import Foundation
import Testing

@testable import Hearth

@Suite struct FullDiskTests {
  @Test func `when the file may not grow, writes fail, reads go on, and writes work again later`()
    throws
  {
    let folder = TemporaryFolder()
    let helper = try Helper("fill", folder.path + "/full.hearth", 3 << 20)
    try expectStory(helper) {}
  }

  @Test(.enabled(if: geteuid() == 0))
  func `when the disk is full, writes fail, reads go on, and writes work again later`() throws {
    let folder = TemporaryFolder()
    let disk = folder.path + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    guard mount("tmpfs", disk, "tmpfs", 0, "size=6m") == 0 else { return }
    defer { umount2(disk, Int32(MNT_DETACH)) }
    // Takes a third, to give it back later.
    let ballast = disk + "/ballast"
    try Data(count: 2 << 20).write(to: URL(fileURLWithPath: ballast))
    let helper = try Helper("fill", disk + "/full.hearth", 0)
    try expectStory(helper) { try FileManager.default.removeItem(atPath: ballast) }
  }

  private func expectStory(_ helper: Helper, makeRoom: () throws -> Void) throws {
    let exhausted = "failed \(FirestoreErrorCode.resourceExhausted.rawValue) "
    let first = try #require(helper.line())
    #expect(first.hasPrefix(exhausted), "\(first)")
    #expect(helper.line() == "reads true")
    let second = try #require(helper.line())
    #expect(second.hasPrefix(exhausted), "\(second)")
    try makeRoom()
    helper.say("room")
    #expect(helper.line() == "writes again true")
    #expect(helper.lines() == [])
  }
}
