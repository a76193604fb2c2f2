import LMDB
import Testing

@testable import Hearth
@testable import HearthEngine

/// What the check says of entries of indexes that are ready, and of one that is half built.
@Suite struct IndexCheckTests {
  private let year = IndexDefinition("books", [.init("year", .ascending)])
  private let tags = IndexDefinition(
    "books", scope: .group,
    [
      .init(field: FieldSegments(["tags"]), kind: .contains), .init("year", .descending),
    ])

  private func filled(_ limit: KeyLimit) throws -> StoreFixture {
    let fixture = try StoreFixture { $0.keyLimit = limit }
    for index in 0..<60 {
      try fixture.commit(
        fixture.set(
          "\(index % 2 == 0 ? "" : "shelves/1/")books/a long name \(index)",
          ("year", index % 5 == 0 ? .double(Double(index % 7)) : .integer(Int64(index % 7))),
          ("tags", .array([.string("all of them"), .string("some \(index % 3)")]))))
    }
    let keeper = IndexManager(fixture.store, policy: .declared, logger: .silent)
    try keeper.declare([year])
    let work = IndexBuilder(store: fixture.store, lease: Lease(.indexes))
    while try work.step() != .idle {}
    try keeper.declare([tags])
    let slow = IndexBuilder(
      store: fixture.store, lease: Lease(.indexes), limits: IndexBuilder.StepLimits(documents: 13))
    for _ in 0..<2 { #expect(try slow.step() == .worked(finished: nil)) }
    return fixture
  }

  private func entries(_ fixture: StoreFixture) throws -> [(key: [UInt8], value: [UInt8])] {
    try fixture.store.read { snapshot in
      var entries: [(key: [UInt8], value: [UInt8])] = []
      var cursor = try snapshot.lmdb.cursor(snapshot.tables.entries)
      while try cursor.next() { entries.append((Array(cursor.key), Array(cursor.value))) }
      return entries
    }
  }

  private func put(_ fixture: StoreFixture, _ key: [UInt8], _ value: [UInt8]?) throws {
    var transaction = try fixture.store.environment.beginWrite()
    if let value {
      try transaction.put(fixture.store.tables.entries, key, value)
    } else {
      try transaction.delete(fixture.store.tables.entries, key)
    }
    try transaction.commit()
  }

  @Test(arguments: [KeyLimit.standard, KeyLimit(24)])
  func `an entry that is gone, changed or too many is told`(_ limit: KeyLimit) throws {
    let fixture = try filled(limit)
    let report = try fixture.store.check()
    #expect(report.problems == [])
    let entries = try entries(fixture)
    #expect(report.indexEntries == entries.count && entries.count == 60 + 2 * 26)
    for (place, entry) in entries.enumerated() {
      try put(fixture, entry.key, nil)
      #expect(try fixture.store.check().problemCount > 0, "without entry \(place)")
      for byte in entry.value.indices {
        var value = entry.value
        value[byte] ^= 1 << UInt8((place + byte) % 8)
        try put(fixture, entry.key, value)
        #expect(
          try fixture.store.check().problemCount > 0, "entry \(place) with another byte \(byte)")
      }
      if entry.value.isEmpty {
        try put(fixture, entry.key, [2])
        #expect(try fixture.store.check().problemCount > 0, "entry \(place) of another type")
      }
      try put(fixture, entry.key, entry.value)
      // One that no document has, and one of an index that there is not.
      var other = entry.key
      other[other.count - 1] ^= 1
      guard !entries.contains(where: { $0.key == other }) else { continue }
      try put(fixture, other, entry.value)
      #expect(try fixture.store.check().problemCount > 0, "beside entry \(place)")
      try put(fixture, other, nil)
    }
    let unknown = KeyLayout.indexKey(77) + [1]
    try put(fixture, unknown, [])
    #expect(try fixture.store.check().problemCount > 0)
    try put(fixture, unknown, nil)
    #expect(try fixture.store.check().problems == [])
  }

  /// It may have come second to one with the same hash that went.
  @Test func `the ordinal of a cut entry means nothing`() throws {
    let fixture = try filled(KeyLimit(24))
    let truncated = try entries(fixture).filter { fixture.store.keyLimit.isTruncated($0.key) }
    #expect(truncated.count > 50)
    for entry in truncated {
      var other = entry.key
      other[other.count - 1] = 3
      try put(fixture, entry.key, nil)
      try put(fixture, other, entry.value)
    }
    #expect(try fixture.store.check().problems == [])
    for index in stride(from: 0, to: 60, by: 2) {
      try fixture.commit(fixture.delete("books/a long name \(index)"))
    }
    #expect(try fixture.store.check().problems == [])
    #expect(try entries(fixture).count < truncated.count)
  }
}
