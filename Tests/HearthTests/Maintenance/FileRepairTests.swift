import Foundation
import Glibc
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.ownThreads) struct FileRepairTests {
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
    #expect(report.problemCount == 0 && report.recoveredDocuments == 0 && report.losses.isEmpty)
    #expect(repaired == documents && report.documents == documents.count)
    // The rules of expiry are there, and the next to open the file follows them.
    #expect(check.problems == [])
    // Both indexes are there and built: each document of theirs has an entry.
    let indexed = documents.keys.count { $0.hasPrefix("books/") }
    #expect(check.indexEntries == indexed && indexed > 50)
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
      #expect(extra <= report.recoveredDocuments, "page \(page)")
    }
  }

  @Test func `a document that cannot be read is told, and what its collection lost`() throws {
    let path = folder.path + "/few.hearth"
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    let writer = Writer(store, logger: .silent)
    let name = { DocumentName(ResourcePath(relative: $0), limit: store.keyLimit) }
    for id in ["a/1", "a/2", "a/3", "b/1"] {
      let done = DispatchSemaphore(value: 0)
      let body = try DocumentBody(encoding: MapValue([("n", .integer(1))]))
      writer.submit([Mutation(path: name(id).path, operation: .set(body))]) { _ in done.signal() }
      done.wait()
    }
    try store.write { transaction in
      for id in ["a/2", "b/1"] {
        let key = name(id).key.bytes
        var record = try key.withUnsafeBytes {
          try transaction.snapshot.get(store.tables.documents, $0).map { Array($0) } ?? []
        }
        // A byte of the body, and the version.
        record[id == "a/2" ? record.count - 1 : 0] ^= 2
        try transaction.put(store.tables.documents, key, record)
      }
    }
    writer.close()
    store.close()
    let (report, repaired, check) = try repair(Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(Set(repaired.keys) == ["a/1", "a/3"] && check.problems == [])
    #expect(
      report.documents == 2 && report.unreadableDocuments == 2 && report.recoveredDocuments == 0)
    #expect(
      report.losses == [
        RepairReport.Loss(collection: "a", documents: 2, lost: 1),
        RepairReport.Loss(collection: "b", documents: 0, lost: 1),
      ])
  }

  @Test func `a sequence that no commit has given is damage, of a document or of the state`() throws
  {
    let path = folder.path + "/few.hearth"
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    let writer = Writer(store, logger: .silent)
    let body = try DocumentBody(encoding: MapValue([("n", .integer(1))]))
    for id in ["a/1", "a/2"] {
      let done = DispatchSemaphore(value: 0)
      let name = DocumentName(ResourcePath(relative: id), limit: store.keyLimit)
      writer.submit([Mutation(path: name.path, operation: .set(body))]) { _ in done.signal() }
      done.wait()
    }
    let name = DocumentName(ResourcePath(["a", "2"]), limit: store.keyLimit)
    try store.replaceRecord(store.tables.documents, name.key.bytes) { record in
      record = body.withBytes { body in
        name.key.bytes.withUnsafeBytes { key in
          DocumentRecord.encode(
            sequence: .max, updateTime: Instant(microseconds: 1),
            createTime: Instant(microseconds: 1), path: nil, body: BodyParts(body), key: key)
        }
      }
    }
    var state = try store.read { try $0.state() }
    state.lastSequence = .max
    try store.replaceRecord(store.tables.meta, StoreState.key) { $0 = state.encoded() }
    writer.close()
    store.close()
    let (report, repaired, check) = try repair(Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(Set(repaired.keys) == ["a/1"] && check.problems == [])
    #expect(report.unreadableDocuments == 1 && report.problemCount >= 2)
  }

  @Test func `what was deleted stays so, where old pages cannot be told from lost ones`() throws {
    let path = folder.path + "/few.hearth"
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    let writer = Writer(store, logger: .silent)
    for step in 0..<6 {
      let id = step < 5 ? "a/\(step)" : "a/2"
      let name = DocumentName(ResourcePath(relative: id), limit: store.keyLimit)
      let body = try DocumentBody(encoding: MapValue([("n", .integer(1))]))
      let done = DispatchSemaphore(value: 0)
      writer.submit([Mutation(path: name.path, operation: step < 5 ? .set(body) : .delete)]) { _ in
        done.signal()
      }
      done.wait()
    }
    writer.close()
    store.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    func number(_ offset: Int) -> Int {
      (0..<8).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    // The root of the newer list of free pages.
    let root = number((number(144) > number(4096 + 144) ? 0 : 4096) + 80)
    for offset in 0..<64 { bytes[root * 4096 + offset] = 0xA5 }
    let (report, repaired, check) = try repair(bytes)
    #expect(report.problemCount > 0 && report.losses.isEmpty && check.problems == [])
    #expect(Set(repaired.keys) == ["a/0", "a/1", "a/3", "a/4"])
  }

  @Test func `random damage loses what it hits, and says so`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let (whole, documents) = try made(1, seed)
    var lost = 0
    for _ in 0..<(Soak.isOn ? 500 : 25) {
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
        do {
          let repaired = try repair(bytes)
          #expect(repaired.whole.isIntact, "seed \(seed)")
        } catch let error as Status {
          #expect(
            error.code == .dataLoss || error.code == .invalidArgument, "seed \(seed): \(error)")
        }
        // Pages that look like leaves.
        for page in 0..<(length / 4096) {
          bytes[page * 4096 + 10] = 2
          bytes[page * 4096 + 11] = 0
        }
      }
    }
  }
}
