import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.embedded("It repairs files.")) struct TimeRepairTests {
  private let folder = TemporaryFolder()
  private let clock = TestClock()
  private var path: String { folder.path + "/a.hearth" }

  private static let year: Int64 = 365 * 86_400 * 1_000_000

  private func open() throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.clock = { [clock] in Timestamp(clock.now) }
    return try Firestore.open(at: path, settings: settings)
  }

  private func repair() async throws -> Int {
    var settings = EmbeddedBackend.Settings()
    settings.store.now = { [clock] in clock.now }
    return try await EmbeddedBackend.FileMaintenance(settings).repairTimes(at: path, nil)
  }

  /// The times of all documents, by path.
  private func times(
    _ db: Firestore
  ) async throws -> [String: (create: Instant, update: Instant)] {
    let backend = try db.database().backend
    let query = StructuredQuery(.subtree(below: .root))
    return Dictionary(
      uniqueKeysWithValues: try await backend.read(.results(EffectiveQuery(query))).results.map {
        ($0.path.text, ($0.createTime, $0.updateTime))
      })
  }

  @Test func `corrected times are not after now, and keep their order`() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let now = Int64.random(in: 0...1_000_000, using: &random)
      var repair = TimeRepair(now: Instant(microseconds: now))
      let last = Bool.random(using: &random) ? 2_000_000 : Int64.max
      let times =
        (0..<10).map { _ in Int64.random(in: -1000...last, using: &random) }
        + [Int64.random(in: 0...1_500_000, using: &random)]
      for time in times { repair.note(time) }
      let sorted = times.sorted()
      let corrected = sorted.map { repair.corrected($0) }
      #expect(corrected == corrected.sorted(), "\(now) \(sorted)")
      for (time, new) in zip(sorted, corrected) {
        #expect(time <= now ? new == time : (0...now).contains(new), "\(now) \(sorted)")
      }
      if repair.isNeeded { #expect(corrected.last == now, "\(now) \(sorted)") }
    }
  }

  @Test func `times that were ahead are now or before, and everything else is as it was`()
    async throws
  {
    let start = clock.now
    var db = try open()
    try await db.indexes.declare(FirestoreIndex("c", .ascending("n"), .descending("m")))
    try await db.indexes.declare(FirestoreIndex(unique: "c", .ascending("u")))
    try await db.ttl.setPolicy(collectionGroup: "s", field: "until")
    let until = Timestamp(seconds: 40_000_000_000, nanoseconds: 0)
    try await db.document("s/1").setData(["until": until])
    for n in 0..<50 {
      clock.advance(by: 1_000_000)
      try await db.document("c/good\(n)").setData(["n": n % 5, "m": n, "u": n])
    }
    let good = try await times(db)
    // The clock is ahead for a while, during which time goes on.
    clock.advance(by: 474 * Self.year)
    for n in 0..<50 {
      clock.advance(by: 1_000_000)
      try await db.document("c/bad\(n)").setData(["n": n % 5, "m": n, "u": 100 + n])
    }
    try await db.document("c/good7").updateData(["more": true])
    try await db.document("c/good8").delete()
    let long = String(repeating: "é", count: 400)
    try await db.document("c/\(long)/d/\(long)").setData(["n": 1])
    clock.now = Instant(microseconds: start.microseconds + 200_000_000)
    try await db.document("c/frozen").setData(["n": 1, "u": 200])
    let token = try await db.changeToken()
    let export = folder.path + "/before.jsonl"
    try await db.maintenance.export(to: export)
    #expect(try await times(db).values.filter { $0.update > clock.now }.count == 53)
    // Not while it is open.
    await #expect {
      _ = try await repair()
    } throws: { ($0 as? Status)?.code == .failedPrecondition }
    try await db.terminate()

    #expect(try await repair() == 53)

    db = try open()
    let report = try await db.maintenance.check()
    #expect(report.isIntact, "\(report.problems)")
    let repaired = try await times(db)
    for (path, times) in repaired {
      #expect(times.create <= times.update && times.update <= clock.now)
      if let old = good[path], path != "c/good7" {
        #expect(times == old, "\(path)")
      }
    }
    // In the order in which they were made, each as long after the one before.
    for n in 1..<50 {
      let (before, after) = (repaired["c/bad\(n - 1)"], repaired["c/bad\(n)"])
      #expect(
        (after?.update.microseconds ?? 0) - (before?.update.microseconds ?? 0) == 1_000_000)
    }
    #expect(repaired["c/good7"]?.create == good["c/good7"]?.create)
    #expect(repaired["c/frozen"]?.update == clock.now)
    // The documents, without their times, and the definitions.
    let other = folder.path + "/after.jsonl"
    try await db.maintenance.export(to: other)
    let timeMembers = try Regex(#""(createTime|updateTime|commitTime|readTime|time)":"[^"]*",?"#)
    func content(_ path: String) throws -> [String] {
      try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
        String($0).replacing(timeMembers, with: "")
      }
    }
    #expect(try content(other) == content(export))
    #expect(try await db.indexes.list().count == 2)
    #expect(try await db.ttl.policies().count == 1)
    let query = db.collection("c").whereField("n", isEqualTo: 3).order(by: "m", descending: true)
    let found = try await query.getDocuments().documents
    #expect(found.count == 19 && found[0]["m"] as? Int == 48)
    await #expect {
      try await db.document("c/twice").setData(["u": 100])
    } throws: { FirestoreErrorCode.alreadyExists ~= $0 }
    // Commits are of now again, and what resumes begins again.
    clock.advance(by: 1_000_000)
    try await db.document("c/new").setData(["n": 1, "u": 300])
    let new = try await db.document("c/new").getDocument()
    #expect(try await times(db)["c/new"]?.update == clock.now)
    #expect(new.exists)
    await #expect {
      for try await _ in db.changes(since: token) { break }
    } throws: { FirestoreErrorCode.outOfRange ~= $0 }
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
    // A second time there is nothing to do, and the file is not touched.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(try await repair() == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
  }

  /// As an earlier version committed them.
  @Test func `documents of years after 9999 are readable again`() async throws {
    var db = try open()
    try await db.document("c/1").setData(["n": 1])
    try await db.document("c/2").setData(["n": 2])
    let store = try db.database().store
    let late = clock.now.microseconds + 8000 * Self.year
    var writing = try store.environment.beginWrite()
    let name = store.name(ResourcePath(["c", "1"]))
    let (key, stored) = try #require(
      try StoreSnapshot(writing.snapshot, store).storedEntry(of: name))
    let record = try #require(
      try key.withUnsafeBytes { try DocumentRecord.record(stored, key: $0) { _ in late } })
    var state = try StoreState.read(writing.snapshot, store.tables)
    state.lastCommitTime = Instant(microseconds: late)
    try writing.put(store.tables.documents, key, record)
    try writing.put(store.tables.meta, StoreState.key, state.encoded())
    try writing.commit()
    await #expect {
      try await db.document("c/1").getDocument()
    } throws: { FirestoreErrorCode.dataLoss ~= $0 }
    await #expect {
      try await db.document("c/2").updateData(["n": 3])
    } throws: { FirestoreErrorCode.failedPrecondition ~= $0 }
    try await db.terminate()
    clock.advance(by: 5_000_000)
    #expect(try await repair() == 1)
    db = try open()
    #expect(try await db.document("c/1").getDocument()["n"] as? Int == 1)
    try await db.document("c/2").updateData(["n": 3])
    let times = try await times(db)
    #expect(times["c/1"]?.update == clock.now)
    #expect(times["c/2"]?.update == Instant(microseconds: clock.now.microseconds + 1))
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
  }

  @Test func `a damaged file is not repaired, and stays as it is`() async throws {
    let db = try open()
    clock.advance(by: Self.year)
    try await db.document("c/1").setData(["text": "Dune"])
    clock.advance(by: -Self.year)
    try await db.terminate()
    let url = URL(fileURLWithPath: path)
    var bytes = try Data(contentsOf: url)
    var position = bytes.startIndex
    while let found = bytes.range(of: Data("Dune".utf8), in: position..<bytes.endIndex) {
      bytes[found.lowerBound] ^= 0x20
      position = found.upperBound
    }
    try bytes.write(to: url)
    await #expect {
      _ = try await repair()
    } throws: { ($0 as? Status)?.code == .dataLoss }
    #expect(try Data(contentsOf: url) == bytes)
    #expect(!FileManager.default.fileExists(atPath: path + "-unfinished"))
  }
}
