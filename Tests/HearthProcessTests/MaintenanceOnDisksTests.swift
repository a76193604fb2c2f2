import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Copies onto disks that are full or may not be written.
@Suite struct MaintenanceOnDisksTests {
  private let folder = TemporaryFolder()

  private func filled() async throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: folder.path + "/a.hearth", settings: settings)
    let text = String(repeating: "x", count: 100_000)
    for index in 0..<120 {
      try await db.document("a/\(index)").setData(["n": index, "text": text])
    }
    return db
  }

  @Test(.enabled(if: SmallDisk.canBeMade))
  func `what does not fit on a disk is told, and leaves what was there`() async throws {
    let disk = try SmallDisk()
    let db = try await filled()
    let target = disk.path + "/b"
    let before = Data("what was there".utf8)
    try before.write(to: URL(fileURLWithPath: target))
    try await db.export(to: folder.path + "/a.jsonl")
    for compacting in [false, true] {
      let failure = await code {
        try await db.backup(to: target, compacting: compacting, replacing: true)
      }
      #expect(failure == .resourceExhausted)
    }
    #expect(await code { try await db.export(to: target, replacing: true) } == .resourceExhausted)
    try await db.terminate()
    let source = folder.path + "/a.hearth"
    #expect(
      await code { _ = try await Firestore.repair(at: source, to: target + "2") }
        == .resourceExhausted)
    let lines = folder.path + "/a.jsonl"
    #expect(
      await code { try await Firestore.importDocuments(from: lines, toNew: target + "2") }
        == .resourceExhausted)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["b"])
    #expect(try await Firestore.check(at: source).isWhole)
  }

  @Test(.enabled(if: SmallDisk.canBeMade))
  func `a file on a disk that may not be written is checked, copied and exported`() async throws {
    let disk = try SmallDisk()
    let path = disk.path + "/a.hearth"
    let db = try Firestore.open(at: path)
    for index in 0..<50 { try await db.document("a/\(index)").setData(["n": index]) }
    try await db.terminate()
    try FileManager.default.removeItem(atPath: path + "-lock")
    try FileManager.default.removeItem(atPath: path + "-presence")
    try disk.forbidWriting()
    #expect(try await Firestore.check(at: path).documents == 50)
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    let read = try Firestore.open(at: path, settings: settings)
    #expect(try await read.check().isWhole)
    try await read.backup(to: folder.path + "/b.hearth")
    #expect(try await read.export(to: folder.path + "/b.jsonl") == 50)
    await #expect(throws: NSError.self) { try await read.backup(to: disk.path + "/b.hearth") }
    await #expect(throws: NSError.self) { try await read.export(to: disk.path + "/b.jsonl") }
    try await read.terminate()
    _ = try await Firestore.repair(at: path, to: folder.path + "/c.hearth")
    await #expect(throws: NSError.self) { try await Firestore.compact(at: path) }
    for name in ["b", "c"] {
      #expect(try await Firestore.check(at: "\(folder.path)/\(name).hearth").documents == 50)
    }
  }
}
