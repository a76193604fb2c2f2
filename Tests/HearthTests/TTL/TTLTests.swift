import Foundation
import LMDB
import ProcessorTime
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

struct TTLTests {
  private func dueCount(_ store: Store) throws -> Int {
    try store.read { try $0.lmdb.statistics(store.tables.expirations).entries }
  }

  private func sweeper(_ fixture: StoreFixture) -> TTLSweeper {
    TTLSweeper(fixture.store, fixture.writer, logger: .silent)
  }

  @Test func `the table of due documents agrees with the documents after any run of writes`() throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    // Most keys are cut.
    let fixture = try StoreFixture { $0.keyLimit = KeyLimit(24) }
    for round in 0..<(Soak.isOn ? 400 : 40) {
      var requests: [[Mutation]] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        var mutations: [Mutation] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          let path =
            "\(["s", "a/1/s", "t"].randomElement(using: &random) ?? "s")/"
            + String(repeating: "long", count: Int.random(in: 0...5, using: &random))
          let name = fixture.name(path + "\(Int.random(in: 0..<12, using: &random))")
          let times: [Value] = [
            .timestamp(Instant(microseconds: 5)), .timestamp(Instant(microseconds: -5)),
            .integer(5), .null, .string("5"),
          ]
          let fields = MapValue([
            ("until", times.randomElement(using: &random) ?? .null),
            ("map", .map(MapValue([("x", times.randomElement(using: &random) ?? .null)]))),
            ("n", .integer(Int64(round))),
          ])
          mutations.append(
            Bool.random(using: &random)
              ? Mutation(path: name.path, operation: .set(try DocumentBody(encoding: fields)))
              : Mutation(path: name.path, operation: .delete))
        }
        requests.append(mutations)
      }
      for outcome in fixture.commitTogether(requests) { _ = try outcome.get() }
      if round % 5 == 0 {
        let fields: [FieldSegments?] = [
          FieldSegments(["until"]), FieldSegments(["map", "x"]), nil,
        ]
        try fixture.store.setTTL(
          ["s", "t"].randomElement(using: &random) ?? "s",
          fields.randomElement(using: &random) ?? nil)
      }
      try #require(try fixture.store.check().problems == [], "seed \(seed), round \(round)")
    }
  }

  @Test func `a time in the past makes a document due, and nothing else does`() throws {
    let fixture = try StoreFixture()
    let now = fixture.clock.now
    let past = Value.timestamp(Instant(microseconds: now.microseconds - 1))
    let future = Value.timestamp(Instant(microseconds: now.microseconds + 1_000_000))
    let values: [(String, Value)] = [
      ("past", past), ("now", .timestamp(now)), ("future", future), ("integer", .integer(1)),
      ("null", .null), ("text", .string("1970-01-01T00:00:00Z")), ("array", .array([past])),
      ("map", .map(MapValue([("until", past)]))),
    ]
    for (id, value) in values {
      _ = try fixture.commitTogether([[try fixture.set("s/\(id)", ("until", value))]])[0].get()
      _ = try fixture.commitTogether([[try fixture.set("s/\(id)/below/1", ("n", .null))]])[0].get()
      _ = try fixture.commitTogether([[try fixture.set("other/\(id)", ("until", value))]])[0].get()
    }
    _ = try fixture.commitTogether([[try fixture.set("s/none", ("n", .null))]])[0].get()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    #expect(try dueCount(fixture.store) == 3)
    // It stays readable until it is swept.
    #expect(try fixture.document("s/past") != nil)
    let sweeper = sweeper(fixture)
    defer { sweeper.close() }
    let last = try fixture.store.read { try $0.state().lastSequence }
    #expect(try sweeper.sweep() == 2)
    for (id, _) in values {
      #expect(try (fixture.document("s/\(id)") == nil) == (id == "past" || id == "now"), "\(id)")
      #expect(
        try fixture.document("s/\(id)/below/1") != nil && fixture.document("other/\(id)") != nil)
    }
    // A change like any other.
    var deleted: [String] = []
    try fixture.store.read {
      try $0.changes(after: last) { change in
        if change.kind == .deleted { deleted.append(change.path.text) }
        return true
      }
    }
    #expect(Set(deleted) == ["s/past", "s/now"])
    #expect(try sweeper.sweep() == 0)
    fixture.clock.advance(by: 2_000_000)
    #expect(try sweeper.sweep() == 1)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `many documents are swept in portions, and a rule that is taken away holds no more`()
    throws
  {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    var mutations: [Mutation] = []
    for index in 0..<1200 {
      mutations.append(
        try fixture.set("s/\(index)", ("until", .timestamp(Instant(microseconds: 7)))))
    }
    _ = try fixture.commitTogether([mutations])[0].get()
    #expect(try dueCount(fixture.store) == 1200)
    try fixture.store.setTTL("s", nil)
    #expect(try dueCount(fixture.store) == 0)
    let sweeper = sweeper(fixture)
    defer { sweeper.close() }
    #expect(try sweeper.sweep() == 0)
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    #expect(try sweeper.sweep() == 1200)
    #expect(try dueCount(fixture.store) == 0)
    #expect(try fixture.store.check().problems == [])
  }

  private func due(_ fixture: StoreFixture, _ count: Int) throws -> [Mutation] {
    try (0..<count).map {
      try fixture.set("s/\($0)", ("until", .timestamp(Instant(microseconds: 7))))
    }
  }

  @Test func `a damaged entry keeps no other document, and its error is thrown at the end`() throws
  {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    _ = try fixture.commitTogether([try due(fixture, 300)])[0].get()
    let table = fixture.store.tables.expirations
    let first = try fixture.store.read { snapshot in
      var cursor = try snapshot.lmdb.cursor(table)
      #expect(try cursor.next())
      return Array(cursor.key)
    }
    try fixture.store.replaceRecord(table, first) { $0[$0.count - 1] ^= 1 }
    let sweeper = sweeper(fixture)
    defer { sweeper.close() }
    let error = #expect(throws: Status.self) { try sweeper.sweep() }
    #expect(error?.code == .dataLoss)
    #expect(try fixture.store.read { try $0.lmdb.statistics($0.tables.documents).entries } == 1)
    // Nor does a key that is none.
    let past = Value.timestamp(Instant(microseconds: 7))
    _ = try fixture.commitTogether([[try fixture.set("s/x", ("until", past))]])[0].get()
    try fixture.store.replaceRecord(table, [0]) { $0 = [1] }
    #expect(throws: Status.self) { try sweeper.sweepIfElected() }
    #expect(try fixture.document("s/x") == nil)
  }

  @Test func `a damaged document keeps no policy from being set, nor others from being deleted`()
    throws
  {
    let fixture = try StoreFixture()
    _ = try fixture.commitTogether([try due(fixture, 10)])[0].get()
    let table = fixture.store.tables.documents
    try fixture.store.replaceRecord(table, fixture.name("s/5").key.bytes) { $0 = [1, 2, 3] }
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    #expect(try dueCount(fixture.store) == 9)
    let sweeper = sweeper(fixture)
    defer { sweeper.close() }
    #expect(try sweeper.sweep() == 9)
    #expect(try fixture.store.read { try $0.lmdb.statistics($0.tables.documents).entries } == 1)
  }

  @Test func `planning many expiring documents takes linear time`() throws {
    let fixture = try StoreFixture()
    func plan(_ count: Int) throws {
      try fixture.store.read { snapshot in
        var changes = ExpirationChanges(snapshot, TTLPolicies())
        for number in 0..<count {
          try changes.change(
            key: Array("\(number)".utf8), from: nil, to: Instant(microseconds: Int64(number)))
        }
        #expect(changes.steps.count == count)
      }
    }
    let exponent = try ProcessorTime.exponent(
      of: { try plan(32_000) }, to: { try plan(2_000) }, factor: 16)
    #expect(exponent < 1.5)
  }

  @Test func `an entry that its document does not have deletes nothing`() throws {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    _ = try fixture.commitTogether([[try fixture.set("s/1", ("until", .null))]])[0].get()
    let document = fixture.name("s/1").key.bytes
    let key = ExpirationTable.prefix(Instant(microseconds: 7), document) + [0]
    try fixture.store.replaceRecord(fixture.store.tables.expirations, key) {
      $0 = RecordFrame.record(under: key) { $0 += document }
    }
    let sweeper = sweeper(fixture)
    defer { sweeper.close() }
    #expect(try sweeper.sweep() == 0)
    #expect(try fixture.document("s/1") != nil)
  }

  @Test func `a document that was changed after it was found due is not deleted`() throws {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    let past = Value.timestamp(Instant(microseconds: 7))
    _ = try fixture.commitTogether([[try fixture.set("s/1", ("until", past))]])[0].get()
    let found = try fixture.store.read {
      try $0.expiredDocuments(at: fixture.clock.now, from: [0], limit: 10).documents
    }
    #expect(found.map(\.path.text) == ["s/1"])
    _ = try fixture.commitTogether([[try fixture.set("s/1", ("until", .null))]])[0].get()
    let stale = Mutation(
      path: fixture.name("s/1").path, operation: .delete,
      precondition: .updateTime(found[0].updateTime))
    #expect(throws: Status.self) { try fixture.commitTogether([[stale]])[0].get() }
    #expect(try fixture.document("s/1") != nil)
  }

  @Test func `a sweep does not delete what is changed behind its back`() throws {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    let sweeper = sweeper(fixture)
    // Goes through what was there before the rule, so that the next one begins with what is due.
    #expect(try sweeper.sweep() == 0)
    let past = Value.timestamp(Instant(microseconds: 7))
    _ = try fixture.commitTogether([[try fixture.set("s/1", ("until", past))]])[0].get()
    // The change waits for the writer's thread, and the sweep behind it.
    let (isShut, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    fixture.writer.submit([]) { _ in
      isShut.signal()
      gate.wait()
    }
    // Else it may take the next one into its group.
    isShut.wait()
    fixture.writer.submit([try fixture.set("s/1", ("until", .null))]) { _ in }
    let swept = Guarded<Int?>(nil)
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      let count = try? sweeper.sweep()
      swept.withLock { $0 = count }
      done.signal()
    }
    try blockUntil { fixture.writer.waitingCount >= 2 }
    gate.signal()
    done.wait()
    #expect(swept.withLock { $0 } == 0)
    #expect(try fixture.document("s/1") != nil)
  }

  @Test func `one process sweeps at a time, and a dead one's lease runs out`() throws {
    let fixture = try StoreFixture()
    try fixture.store.setTTL("s", FieldSegments(["until"]))
    func fill() throws {
      let due = try (0..<200).map {
        try fixture.set("s/\($0)", ("until", .timestamp(Instant(microseconds: 7))))
      }
      _ = try fixture.commitTogether([due])[0].get()
    }
    let clock = TestClock()
    func lease(_ holder: UInt64) -> Lease { Lease(.sweep, holder: holder, now: { clock.now }) }
    func sweeper(_ holder: UInt64) -> TTLSweeper {
      TTLSweeper(fixture.store, fixture.writer, logger: .silent, lease: lease(holder))
    }
    try fill()
    // Dead in the midst of it.
    try fixture.store.write { try lease(1).take(&$0, in: fixture.store) }
    #expect(try sweeper(2).sweepIfElected() == 0)
    clock.advance(by: Lease.microseconds - 1)
    #expect(try sweeper(2).sweepIfElected() == 0 && dueCount(fixture.store) == 200)
    clock.advance(by: 1)
    #expect(try sweeper(2).sweepIfElected() == 200)
    // Given back when all is done, and not taken where nothing is.
    #expect(try sweeper(1).sweepIfElected() == 0)
    #expect(try fixture.store.read { try lease(3).state(in: $0) } == .available)
    try fill()
    #expect(try sweeper(1).sweepIfElected() == 200)
    // Who asks for it does not wait for others.
    try fill()
    try fixture.store.write { try lease(1).take(&$0, in: fixture.store) }
    #expect(try sweeper(2).sweep() == 200)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `policies come in the order of their collections, however they were set`() throws {
    var policies = TTLPolicies()
    for id in ["b", "é", "a", "Z", "ab", "a"] {
      policies[id] = TTLPolicies.Rule(collectionID: id, field: FieldSegments(["until"]))
    }
    #expect(policies.rules.map(\.collectionID) == ["Z", "a", "ab", "b", "é"])
  }

  @Test func `expired documents go by themselves, and listeners hear of it`() async throws {
    let folder = TemporaryFolder()
    let settings = FirestoreSettings()
    settings.ttlSweepInterval = .milliseconds(20)
    let db = try Firestore.open(at: folder.path + "/a.hearth", settings: settings)
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    #expect(try await db.ttl.policies() == [.init(collectionGroup: "sessions", field: "until")])
    try await db.document("sessions/old").setData([
      "until": Timestamp(date: Date(timeIntervalSinceNow: 0.2))
    ])
    try await db.document("sessions/young").setData([
      "until": Timestamp(date: Date(timeIntervalSinceNow: 1000))
    ])
    for try await snapshot in db.collection("sessions").snapshots
    where snapshot.documents.map(\.documentID) == ["young"] {
      break
    }
    await #expect(throws: (any Error).self) {
      try await db.ttl.setPolicy(collectionGroup: "a/b", field: "until")
    }
    await #expect(throws: (any Error).self) {
      try await db.ttl.setPolicy(collectionGroup: "a", field: "..")
    }
    #expect(try await db.ttl.deleteExpired() == 0)
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
  }
}
