import Foundation
import Glibc
import LMDB
import Testing

@testable import Hearth

@Suite struct FileRepairTests {
  let folder = TemporaryFolder()

  private func documents(_ path: String) throws -> [String: UInt64] {
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    defer {
      store.close()
      for suffix in ["-lock", "-presence"] { unlink(path + suffix) }
    }
    return try store.read { snapshot in
      var found: [String: UInt64] = [:]
      var cursor = try snapshot.lmdb.cursor(store.tables.documents)
      while try cursor.next() {
        let path = try snapshot.path(of: StoredEntry(key: cursor.key, record: cursor.value))
        found[path.text] = try DocumentRecord(parsing: cursor.value).sequence
      }
      return found
    }
  }

  private func repair(
    _ bytes: Data
  ) throws -> (report: RepairReport, documents: [String: UInt64], whole: CheckReport) {
    let (damaged, repaired) = (folder.path + "/damaged.hearth", folder.path + "/new.hearth")
    try bytes.write(to: URL(fileURLWithPath: damaged))
    defer {
      for path in [damaged, repaired] {
        for suffix in ["", "-lock", "-presence"] { unlink(path + suffix) }
      }
    }
    let report = try FileRepair.run(from: damaged, to: repaired, DamageWorld.configuration)
    #expect(try Data(contentsOf: URL(fileURLWithPath: damaged)) == bytes)
    return (
      report, try documents(repaired), try FileCheck.run(at: repaired, DamageWorld.configuration)
    )
  }

  private func made(_ kind: Int, _ seed: UInt64) throws -> (
    bytes: Data, documents: [String: UInt64]
  ) {
    var random = SeededGenerator(seed: seed)
    let whole = try DamageWorld.make(kind, in: folder, &random)
    let path = folder.path + "/read.hearth"
    try whole.write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    return (whole, try documents(path))
  }

  @Test func `a whole file is repaired into one with the same documents`() throws {
    let (whole, documents) = try made(1, 7)
    let (report, repaired, check) = try repair(whole)
    #expect(report.problemCount == 0 && report.foundLost == 0 && report.losses.isEmpty)
    #expect(repaired == documents && report.documents == documents.count)
    // The rules of expiry are there, and the next to open the file follows them.
    #expect(check.problems == [])
    // Both indexes are there and built: each document of theirs has an entry.
    let indexed = documents.keys.count { $0.hasPrefix("books/") }
    #expect(check.entries == indexed && indexed > 50)
  }

  @Test func `a damaged branch loses nothing, a damaged header neither`() throws {
    let (whole, documents) = try made(1, 8)
    let map = try PageMap(whole)
    // Branches of any table and both headers, one after the other.
    for page in map.vitalPages {
      var damaged = whole
      for offset in 0..<64 { damaged[page * 4096 + offset] = 0xA5 }
      let (report, repaired, _) = try repair(damaged)
      #expect(report.problemCount > 0)
      let missing = documents.filter { repaired[$0.key] != $0.value }
      #expect(missing.isEmpty, "page \(page): \(missing.keys)")
      // What was deleted may come back where the list of free pages or the way to the tombstones is gone.
      let extra = repaired.count - documents.count
      #expect(extra <= report.foundLost, "page \(page)")
    }
  }

  @Test func `random damage loses what it hits, and says so`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let (whole, documents) = try made(1, seed)
    var lost = 0
    for _ in 0..<(isSoak ? 500 : 25) {
      var damaged = whole
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        damaged[place] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        damaged = damaged.prefix(Int.random(in: 8192...damaged.count, using: &random))
      }
      let (report, repaired, check) = try repair(damaged)
      #expect(check.problems == [], "seed \(seed)")
      let missing = documents.keys.filter { repaired[$0] == nil }.count
      if missing > 0 { #expect(report.problemCount > 0, "seed \(seed)") }
      lost += missing
      for (path, sequence) in repaired where documents[path] != nil {
        #expect(sequence <= documents[path] ?? 0, "seed \(seed), \(path)")
      }
    }
    print("repair: \(lost) documents lost")
  }

  @Test func `nothing that is thrown at it traps`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    for length in [0, 1, 100, 4096, 8192, 20_000, 65_536] {
      var bytes = Data((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
      for _ in 0..<3 {
        _ = try? repair(bytes)
        // Pages that look like leaves.
        for page in 0..<(length / 4096) {
          bytes[page * 4096 + 10] = 2
          bytes[page * 4096 + 11] = 0
        }
      }
    }
  }
}
