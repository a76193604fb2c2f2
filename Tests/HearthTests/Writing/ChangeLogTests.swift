import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct ChangeLogTests {
  private func logBytes(_ fixture: StoreFixture) throws -> (records: Int, pages: Int) {
    try fixture.store.read { snapshot in
      var bytes = 0
      var cursor = try snapshot.lmdb.cursor(snapshot.tables.changes)
      while try cursor.next() { bytes += cursor.value.count + 8 }
      let statistics = try snapshot.lmdb.statistics(snapshot.tables.changes)
      let pages = statistics.branchPages + statistics.leafPages + statistics.overflowPages
      return (bytes, pages * fixture.store.pageSizeBytes)
    }
  }

  private func firstLogged(_ fixture: StoreFixture) throws -> UInt64 {
    try fixture.store.read { try $0.state().firstLoggedSequence }
  }

  private func commit(_ fixture: StoreFixture, _ mutations: [Mutation]) throws {
    for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
  }

  @Test func `a created document costs the log its id and two bytes`() throws {
    let fixture = try StoreFixture()
    let count = 10_000
    for start in stride(from: 0, to: count, by: 500) {
      try commit(
        fixture,
        try (start..<start + 500).map { try fixture.set("books/\($0 + 10_000)", ("n", .null)) })
    }
    let (records, pages) = try logBytes(fixture)
    let perDocument = Double(records) / Double(count)
    // Five bytes of id, two before it, and a share of the record's frame.
    #expect(perDocument < 7.5)
    #expect(Double(pages) / Double(count) < 9)
  }

  @Test func `the log keeps as many bytes as it may, and few more`() throws {
    let limit = 256 << 10
    let fixture = try StoreFixture { $0.retention.limitBytes = limit }
    let text = Value.string(String(repeating: "x", count: 300))
    for round in 0..<200 {
      try commit(
        fixture,
        try (0..<10).map {
          try fixture.set("a/\($0)", ("n", .integer(Int64(round))), ("text", text))
        })
    }
    let pages = try logBytes(fixture).pages
    #expect((limit * 3 / 4...limit * 5 / 4).contains(pages), "\(pages)")
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `a file's retention holds, whatever the settings of a writer`() throws {
    let fixture = try StoreFixture { $0.retention.limitBytes = 0 }
    let own = ChangeLogRetention(age: .seconds(60), limitBytes: 1 << 30)
    try fixture.store.setRetention(own)
    for number in 0..<5 { try commit(fixture, [try fixture.set("a/\(number)", ("n", .null))]) }
    #expect(try firstLogged(fixture) == 1)
    try fixture.reopen { $0.retention.age = .zero }
    #expect(try fixture.store.read { try $0.retention() } == own)
    try commit(fixture, [try fixture.set("a/5", ("n", .null))])
    #expect(try firstLogged(fixture) == 1)
    fixture.clock.advance(by: 61_000_000)
    try fixture.reopen { $0.retention.age = .seconds(1 << 30) }
    try commit(fixture, [try fixture.set("a/6", ("n", .null))])
    #expect(try firstLogged(fixture) == 7)
    // A default is set once, and nothing is stored twice.
    try fixture.store.setRetention(
      ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: true)
    #expect(try fixture.store.read { try $0.retention() } == own)
    try fixture.store.setRetention(nil)
    #expect(try fixture.store.read { try $0.retention() }.limitBytes == 0)
    try commit(fixture, [try fixture.set("a/7", ("n", .null))])
    #expect(try firstLogged(fixture) == 8)
    #expect(try fixture.store.check().problems == [])
    for wrong in [
      ChangeLogRetention(age: .seconds(-1), limitBytes: 1),
      ChangeLogRetention(age: .zero, limitBytes: -1),
    ] {
      let refused = #expect(throws: Status.self) { try fixture.store.setRetention(wrong) }
      #expect(refused?.code == .invalidArgument)
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `a read at the oldest readable time succeeds, and one before it names that time`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture()
    try fixture.store.setRetention(
      ChangeLogRetention(age: .seconds(1), limitBytes: seed % 2 == 0 ? 1 << 30 : 6_000))
    let text = Value.string(String(repeating: "x", count: 400))
    var trimmed = 0
    for number in 0..<120 {
      fixture.clock.advance(by: Int64.random(in: -50...100_000, using: &random))
      if number % 10 == 0 { try fixture.reopen() }
      try commit(
        fixture,
        try (0..<Int.random(in: 1...3, using: &random)).map {
          try fixture.set("a/\($0)", ("n", .integer(Int64(number))), ("text", text))
        })
      try fixture.store.read { snapshot in
        guard let oldest = try snapshot.oldestReadableTime() else {
          #expect(try snapshot.sequence(at: .earliest) == 0)
          return
        }
        trimmed += 1
        let sequence = try snapshot.sequence(at: oldest)
        #expect(try snapshot.document(at: fixture.path("a/0"), asOf: sequence) != nil)
        let before = Instant(microseconds: oldest.microseconds - 1)
        let refused = #expect(throws: Status.self) { _ = try snapshot.sequence(at: before) }
        #expect(refused?.code == .outOfRange)
        #expect(refused?.message.contains(oldest.text) == true, "\(seed)")
      }
    }
    #expect(trimmed > 50, "\(seed)")
  }

  @Test func `what is older than the window goes, with its tombstones, and tokens with it`() throws
  {
    let fixture = try StoreFixture { $0.retention.age = .seconds(60) }
    try commit(
      fixture, [try fixture.set("a/1", ("n", .null)), try fixture.set("a/2", ("n", .null))])
    try commit(fixture, [fixture.delete("a/1")])
    fixture.clock.advance(by: 30_000_000)
    try commit(fixture, [fixture.delete("a/2")])
    fixture.clock.advance(by: 45_000_000)
    // A writer that was just made looks at the log with its first commit. Records go whole.
    try fixture.reopen()
    try commit(fixture, [try fixture.set("a/3", ("n", .null))])
    #expect(try firstLogged(fixture) == 4)
    #expect(try fixture.store.check().tombstones == 1)
    #expect(try fixture.store.check().problems == [])
    try fixture.store.read { snapshot in
      #expect(try snapshot.change(3) == nil)
      #expect(try snapshot.change(4)?.kind == .deleted)
      var seen: [UInt64] = []
      try snapshot.changes(after: 3) {
        seen.append($0.sequence)
        return true
      }
      #expect(seen == [4, 5])
      for token: UInt64 in [0, 2] {
        do {
          try snapshot.changes(after: token) { _ in true }
          Issue.record("a token older than the log was taken")
        } catch let status as Status {
          #expect(status.code == .outOfRange)
        }
      }
      try snapshot.changes(after: .max) { _ in true }
    }
    // Made again after its tombstone went, a document has no change before.
    try commit(fixture, [try fixture.set("a/1", ("n", .null))])
    let again = try fixture.store.read { try $0.change(6)?.previousSequence }
    #expect(again == 0)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `the log stays within its bytes, whatever is written at once`() throws {
    let limit = 128 << 10
    let fixture = try StoreFixture { $0.retention.limitBytes = limit }
    let text = String(repeating: "x", count: 400)
    var largest = 0
    for round in 0..<40 {
      // Ten times the limit in one commit now and then.
      let count = round % 8 == 7 ? 3000 : 40
      try commit(
        fixture,
        try (0..<count).map {
          try fixture.set("a/\($0)", ("n", .integer(Int64(round))), ("t", .string(text)))
        })
      if count == 40 { largest = try logBytes(fixture).pages }
    }
    // Behind the last large commit it went down in portions.
    for round in 100..<130 {
      try commit(fixture, [try fixture.set("a/1", ("n", .integer(Int64(round))))])
    }
    #expect(try logBytes(fixture).pages <= limit + 8 * fixture.store.pageSizeBytes)
    #expect(largest < 4 << 20)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `one commit trims a portion only`() throws {
    let fixture = try StoreFixture()
    for start in 0..<30 {
      try commit(
        fixture,
        try (0..<100).map {
          try fixture.set("a/\(start)-\($0)", ("t", .string(String(repeating: "x", count: 900))))
        })
      try commit(fixture, (0..<100).map { fixture.delete("a/\(start)-\($0)") })
    }
    try fixture.reopen { $0.retention.limitBytes = 0 }
    let before = try fixture.store.read { try $0.lmdb.statistics($0.tables.changes).entries }
    try commit(fixture, [try fixture.set("b/1", ("n", .null))])
    let after = try fixture.store.read { try $0.lmdb.statistics($0.tables.changes).entries }
    #expect(before - after == ChangeLogTrim.recordsPerCommit - 1)
    #expect(try fixture.store.check().problems == [])
  }
}
