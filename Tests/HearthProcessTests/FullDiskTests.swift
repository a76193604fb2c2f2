import Foundation
import HearthDataConnect
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.ownThreads) struct FullDiskTests {
  @Test func `when the file may not grow, writes fail, reads go on, and writes work again later`()
    throws
  {
    let folder = TemporaryFolder()
    let helper = try Helper("fill", folder.path + "/full.hearth", 3 << 20)
    try expectStory(helper) {}
  }

  @Test(.enabled(if: SmallDisk.canBeMade))
  func `when the disk is full, writes fail, reads go on, and writes work again later`() throws {
    let disk = try SmallDisk()
    // Takes a third, to give it back later.
    let ballast = disk.path + "/ballast"
    try Data(count: 2 << 20).write(to: URL(fileURLWithPath: ballast))
    let helper = try Helper("fill", disk.path + "/full.hearth", 0)
    try expectStory(helper) { try FileManager.default.removeItem(atPath: ballast) }
  }

  @Test func `an object that finds no room on the disk exceeds the quota, and others are read`()
    throws
  {
    let folder = TemporaryFolder()
    let helper = try Helper("fill-with-objects", folder.path + "/full.hearth", 3 << 20)
    let failure = try #require(helper.line())
    // Parse's exceededQuota.
    #expect(failure.hasPrefix("failed 140 "), "\(failure)")
    #expect(helper.lines() == ["reads true", "writes again"])
  }

  @Test func `a mutation that finds no room on the disk says so, and queries go on`() throws {
    let folder = TemporaryFolder()
    let result = DataConnectCompiler().compile(
      CompilerInput(
        serviceID: "films", location: "local", connectorID: "movies",
        schema: [
          SourceFile(
            path: "schema.gql",
            text: "type Film @table(key: \"number\") { number: Int!  title: String }")
        ],
        connector: [
          SourceFile(
            path: "operations.gql",
            text: """
              mutation CreateLongFilm($number: Int!, $title: String) {
                film_insert(data: {number: $number, title: $title})
              }
              query CountFilms { films { _count } }
              """)
        ]))
    let connector = try #require(result.connector, "\(result.diagnostics)")
    let path = folder.path + "/connector.json"
    try JSONEncoder().encode(connector).write(to: URL(fileURLWithPath: path))
    let helper = try Helper("fill-with-films", folder.path + "/full.hearth", path, 3 << 20)
    let failure = try #require(helper.line())
    #expect(failure.hasPrefix("full true film_insert: "), "\(failure)")
    #expect(!failure.contains("Error Domain"), "\(failure)")
    #expect(helper.lines() == ["reads true", "writes again"])
  }

  /// Two hundred slots are four pages of the lock file.
  @Test(.enabled(if: SmallDisk.canBeMade))
  func `many can read on a full disk`() throws {
    let disk = try SmallDisk()
    let helper = try Helper("read-on-full-disk", disk.path + "/full.lmdb", 200)
    #expect(helper.lines() == ["reads"])
  }

  private func expectStory(_ helper: Helper, makeRoom: () throws -> Void) throws {
    let exhausted = "failed \(FirestoreErrorCode.resourceExhausted.rawValue) "
    let first = try #require(helper.line())
    #expect(first.hasPrefix(exhausted), "\(first)")
    #expect(helper.line() == "reads true")
    let second = try #require(helper.line())
    #expect(second.hasPrefix(exhausted), "\(second)")
    #expect(helper.line() == "closures 1, attempts 1, exhausted 4, bulk 1, first 0")
    try makeRoom()
    helper.say("room")
    #expect(helper.line() == "writes again true")
    #expect(helper.lines() == [])
  }
}

/// A disk of six megabytes in memory, gone with this.
final class SmallDisk {
  private let folder = TemporaryFolder()
  let path: String

  static let canBeMade: Bool = (try? SmallDisk()) != nil

  init() throws {
    path = folder.path + "/disk"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=6m") == 0 else { throw POSIXError(.EPERM) }
  }

  func forbidWriting() throws {
    let flags = UInt(MS_REMOUNT) | UInt(MS_RDONLY)
    try blockUntil {
      if mount("tmpfs", path, "tmpfs", flags, "size=6m") == 0 { return true }
      // A child that another test starts has all open files until it is another program.
      guard errno == EBUSY else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM) }
      return false
    }
  }

  /// Takes what is free, except for so many bytes, with one file.
  func fill(leaving rest: Int = 0) throws {
    let ballast = path + "/ballast"
    try? FileManager.default.removeItem(atPath: ballast)
    var information = statvfs()
    guard statvfs(path, &information) == 0 else { throw POSIXError(.EIO) }
    let free = Int(information.f_bfree) * Int(information.f_frsize)
    try Data(count: max(0, free - rest)).write(to: URL(fileURLWithPath: ballast))
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }
}
