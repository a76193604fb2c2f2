import LMDB
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct StoreCheckTests {
  private func filled() throws -> StoreFixture {
    let fixture = try StoreFixture()
    try fixture.setTTL("s", "until")
    for outcome in fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1))), try fixture.set("a/2", ("n", .integer(1)))],
      [try fixture.set("a/1", ("n", .integer(2)))],
      [try fixture.set("b/1/a/1", ("n", .integer(2)))],
      [fixture.delete("a/2")],
      [try fixture.set("s/1", ("until", .timestamp(Instant(microseconds: 5))))],
    ]) { _ = try outcome.get() }
    let report = try fixture.store.check()
    #expect(report.problems == [])
    #expect(report.documents == 3 && report.collections == 3)
    #expect(report.changes == 6 && report.tombstones == 1 && report.expiringDocuments == 1)
    return fixture
  }

  @Test(arguments: KeyLayout.Table.allCases.filter { $0 != .indexes && $0 != .entries })
  func `a turned bit in any record is found`(_ table: KeyLayout.Table) throws {
    let fixture = try filled()
    if table == .logIndex {
      // It follows the log with a distance.
      for number in 0...Int64(ChangeLogIndex.distance) {
        for outcome in fixture.commitTogether([
          [try fixture.set("a/1", ("n", .integer(number)))]
        ]) { _ = try outcome.get() }
      }
    }
    let table = fixture.store.environment.table(table.rawValue)
    var keys: [[UInt8]] = []
    try fixture.store.read { snapshot in
      var cursor = try snapshot.lmdb.cursor(table)
      while try cursor.next() { keys.append(Array(cursor.key)) }
    }
    #expect(!keys.isEmpty)
    for key in keys where key != Array("format".utf8) {
      try fixture.damage(table, key)
      #expect(try fixture.store.check().problemCount > 0)
      try fixture.damage(table, key)
      #expect(try fixture.store.check().problems == [])
    }
  }

  @Test(arguments: [
    KeyLayout.Table.documents, .collections, .changes, .tombstones, .expirations, .nameTables,
  ])
  func `a record that is gone is missed`(_ table: KeyLayout.Table) throws {
    let fixture = try filled()
    let table = fixture.store.environment.table(table.rawValue)
    var transaction = try fixture.store.environment.beginWrite()
    let key = try {
      var cursor = try transaction.snapshot.cursor(table)
      _ = try cursor.first()
      return Array(cursor.key)
    }()
    _ = try key.withUnsafeBytes { try transaction.delete(table, $0) }
    try transaction.commit()
    #expect(try fixture.store.check().problemCount > 0)
  }
}
