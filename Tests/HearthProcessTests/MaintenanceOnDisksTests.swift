import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Copies onto disks that are full or may not be written.
@Suite(.ownThreads) struct MaintenanceOnDisksTests {
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
    try await db.maintenance.export(to: folder.path + "/a.jsonl")
    for compacting in [false, true] {
      let failure = await code {
        try await db.maintenance.backup(to: target, compacting: compacting, replacing: true)
      }
      #expect(failure == .resourceExhausted)
    }
    #expect(
      await code { try await db.maintenance.export(to: target, replacing: true) }
        == .resourceExhausted)
    try await db.terminate()
    let source = folder.path + "/a.hearth"
    #expect(
      await code {
        _ = try await onceAlone { try await FirestoreFile(at: source).repair(to: target + "2") }
      } == .resourceExhausted)
    let lines = folder.path + "/a.jsonl"
    #expect(
      await code { try await FirestoreFile(at: target + "2").import(from: lines) }
        == .resourceExhausted)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["b"])
    #expect(try await FirestoreFile(at: source).check().isIntact)
  }

  /// The first file of a copy may be the one that finds no room: another process, or a child that is being started, may
  /// still have the former one open.
  @Test(.enabled(if: SmallDisk.canBeMade))
  func `what finds not even room for its first page is told alike`() async throws {
    let disk = try SmallDisk()
    let source = folder.path + "/a.hearth"
    let lines = folder.path + "/a.jsonl"
    let db = try Firestore.open(at: source)
    try await db.document("a/b").setData(["n": 1])
    try await db.maintenance.export(to: lines)
    try disk.fill()
    let target = disk.path + "/b"
    for compacting in [false, true] {
      #expect(
        await code { try await db.maintenance.backup(to: target, compacting: compacting) }
          == .resourceExhausted)
    }
    #expect(await code { try await db.maintenance.export(to: target) } == .resourceExhausted)
    try await db.terminate()
    #expect(
      await code {
        _ = try await onceAlone { try await FirestoreFile(at: source).repair(to: target) }
      } == .resourceExhausted)
    #expect(
      await code { try await FirestoreFile(at: target).import(from: lines) } == .resourceExhausted)
    #expect(
      await code {
        _ = try await onceAlone { try await FirestoreFile(at: target).restore(from: source) }
      } == .resourceExhausted)
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["ballast"])
  }

  @Test(.enabled(if: SmallDisk.canBeMade))
  func `a database that finds no room when it is created leaves no file`() async throws {
    let disk = try SmallDisk()
    var failures: [String] = []
    // A page more each time: every step of the creation is the first that finds no room.
    for pages in 0..<40 {
      try disk.fill(leaving: pages * 4096)
      let path = disk.path + "/new/a.hearth"
      do {
        let db = try Firestore.open(at: path)
        try await db.terminate()
        #expect(try await FirestoreFile(at: path).check().isIntact, "\(pages)")
      } catch {
        failures.append(error.localizedDescription)
        #expect(
          (error as NSError).code == FirestoreErrorCode.resourceExhausted.rawValue, "\(error)")
        #expect((error as NSError).localizedDescription.contains("a.hearth"), "\(error)")
        let left = try? FileManager.default.contentsOfDirectory(atPath: disk.path + "/new")
        #expect(left ?? [] == [], "\(pages)")
      }
      try? FileManager.default.removeItem(atPath: disk.path + "/new")
    }
    #expect((3...39).contains(failures.count), "\(failures.last ?? "")")
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
    #expect(try await FirestoreFile(at: path).check().documents == 50)
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    let read = try Firestore.open(at: path, settings: settings)
    #expect(try await read.maintenance.check().isIntact)
    try await read.maintenance.backup(to: folder.path + "/b.hearth")
    #expect(try await read.maintenance.export(to: folder.path + "/b.jsonl") == 50)
    await #expect(throws: NSError.self) {
      try await read.maintenance.backup(to: disk.path + "/b.hearth")
    }
    await #expect(throws: NSError.self) {
      try await read.maintenance.export(to: disk.path + "/b.jsonl")
    }
    try await read.terminate()
    _ = try await onceAlone {
      try await FirestoreFile(at: path).repair(to: folder.path + "/c.hearth")
    }
    await #expect(throws: NSError.self) { try await FirestoreFile(at: path).compact() }
    for name in ["b", "c"] {
      #expect(try await FirestoreFile(at: "\(folder.path)/\(name).hearth").check().documents == 50)
    }
  }
}
