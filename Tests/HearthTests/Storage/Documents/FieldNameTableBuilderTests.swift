import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Documents with the same names of fields have them in common.
@Suite struct FieldNameTableBuilderTests {
  private func nameTables(_ fixture: StoreFixture) throws -> [[UInt8]] {
    try fixture.store.read { snapshot in
      var keys: [[UInt8]] = []
      var cursor = try snapshot.lmdb.cursor(snapshot.tables.nameTables)
      while try cursor.next() { keys.append(Array(cursor.key)) }
      return keys
    }
  }

  private func commit(_ fixture: StoreFixture, _ mutations: [Mutation]) throws {
    for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
  }

  private func storedBytes(_ fixture: StoreFixture, _ path: String) throws -> [UInt8] {
    try fixture.store.read { snapshot in
      let record = try #require(try snapshot.record(of: fixture.name(path)))
      return Array(try DocumentRecord(parsing: record).storedBody)
    }
  }

  private func hasNameTable(_ fixture: StoreFixture, _ path: String) throws -> Bool {
    try storedBytes(fixture, path).withUnsafeBytes { StoredBody.nameTableID($0) != nil }
  }

  @Test func `the second document with the same names shares them, in one group or two`() throws {
    let fixture = try StoreFixture()
    try commit(fixture, [try fixture.set("a/1", ("left", .integer(1)), ("right", .null))])
    #expect(try nameTables(fixture).isEmpty)
    try commit(fixture, [try fixture.set("b/1", ("right", .integer(5)), ("left", .string("x")))])
    #expect(try nameTables(fixture).count == 1)
    #expect(try !hasNameTable(fixture, "a/1") && hasNameTable(fixture, "b/1"))
    try commit(
      fixture,
      [
        try fixture.set("c/1", ("up", .integer(1))), try fixture.set("c/2", ("up", .integer(2))),
        try fixture.set("c/3", ("up", .integer(2)), ("down", .integer(2))),
        try fixture.set("a/1", ("left", .integer(2)), ("right", .null)),
      ])
    #expect(try nameTables(fixture).count == 2)
    #expect(try !hasNameTable(fixture, "c/1") && hasNameTable(fixture, "c/2"))
    #expect(try !hasNameTable(fixture, "c/3") && hasNameTable(fixture, "a/1"))
    #expect(
      try fixture.document("b/1")?.body.map()
        == MapValue([("left", .string("x")), ("right", .integer(5))]))
    #expect(try fixture.document("c/2")?.body.map() == MapValue([("up", .integer(2))]))
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `a document that stays as it is is not written, however it is stored`() throws {
    let fixture = try StoreFixture()
    let books = ["books/1", "books/2"]
    try commit(fixture, try books.map { try fixture.set($0, ("n", .integer(1))) })
    let before = try books.map { try fixture.document($0)?.sequence }
    for book in books.reversed() {
      try commit(fixture, [try fixture.set(book, ("n", .integer(1)))])
    }
    #expect(try books.map { try fixture.document($0)?.sequence } == before)
  }

  @Test func `names that come once are not kept`() throws {
    let fixture = try StoreFixture()
    for portion in 0..<20 {
      try commit(
        fixture,
        try (0..<100).map {
          try fixture.set("a/\(portion)-\($0)", ("f\(portion * 100 + $0)", .null))
        })
    }
    #expect(try nameTables(fixture).isEmpty)
  }

  @Test func `a file has so many name tables, and documents beyond have their names`() throws {
    let fixture = try StoreFixture()
    let kinds = FieldNameTableCache.limit + 150
    for first in stride(from: 0, to: kinds, by: 200) {
      let range = first..<min(first + 200, kinds)
      try commit(
        fixture,
        try range.flatMap { kind in
          try (0..<2).map { try fixture.set("a/\(kind)-\($0)", ("f\(kind)", .integer(7))) }
        })
    }
    #expect(try nameTables(fixture).count == FieldNameTableCache.limit)
    #expect(try hasNameTable(fixture, "a/0-1") && !hasNameTable(fixture, "a/\(kinds - 1)-1"))
    try fixture.reopen()
    for kind in 0..<kinds {
      let found = try fixture.document("a/\(kind)-1")?.body.map()
      #expect(found == MapValue([("f\(kind)", .integer(7))]))
    }
    #expect(try fixture.store.check().problems == [])
  }

  /// The lists of names of maps inside that a stored document's name table has; nil without one.
  private func innerCount(_ fixture: StoreFixture, _ path: String) throws -> Int? {
    try fixture.store.read { snapshot in
      let record = try #require(try snapshot.record(of: fixture.name(path)))
      return try snapshot.body(DocumentRecord.storedBody(of: record)).nameTable?.pointee.inner.count
    }
  }

  private func room(_ number: Int) -> [(String, Value)] {
    let size = MapValue([("height", .double(2.5)), ("width", .integer(Int64(number)))])
    let list: [Value] = [.map(MapValue([("x", .integer(Int64(number)))])), .map(MapValue())]
    return [("name", .string("room \(number)")), ("size", .map(size)), ("list", .array(list))]
  }

  @Test(arguments: [1, 3, 9])
  func `the fourth document with the same names in its maps shares them`(together: Int) throws {
    let fixture = try StoreFixture()
    for first in stride(from: 0, to: 9, by: together) {
      try commit(
        fixture,
        try (first..<first + together).map { number in
          let fields = room(number)
          return try fixture.set("rooms/\(number)", fields[0], fields[1], fields[2])
        })
    }
    let found = try (0..<9).map { try innerCount(fixture, "rooms/\($0)") }
    #expect(found == [nil, 0, 0, 2, 2, 2, 2, 2, 2])
    for _ in 0..<2 {
      for number in 0..<9 {
        #expect(try fixture.document("rooms/\(number)")?.body.map() == MapValue(room(number)))
      }
      #expect(try fixture.store.check().problems == [])
      try fixture.reopen()
    }
    // A document that stays as it is is not written, however it is stored.
    let before = try fixture.document("rooms/0")?.sequence
    let fields = room(0)
    try commit(fixture, [try fixture.set("rooms/0", fields[0], fields[1], fields[2])])
    #expect(try fixture.document("rooms/0")?.sequence == before)
  }

  @Test func `a document that is written again and again is one document`() throws {
    let fixture = try StoreFixture()
    for round in 0..<20 {
      for path in ["members/a", "members/b", "members/c"] {
        try commit(
          fixture,
          [try fixture.set(path, ("roles", .map(MapValue([("u1", .integer(Int64(round)))]))))])
      }
    }
    #expect(try nameTables(fixture).count == 1)
    #expect(try innerCount(fixture, "members/a") == 0)
    try commit(fixture, [try fixture.set("members/d", ("roles", .map(MapValue([("u1", .null)]))))])
    #expect(try nameTables(fixture).count == 2)
    #expect(try innerCount(fixture, "members/d") == 1)
  }

  @Test func `maps whose names are data use up no tables that others need`() throws {
    let fixture = try StoreFixture()
    let kinds = FieldNameTableCache.limit
    for first in stride(from: 0, to: kinds, by: 100) {
      try commit(
        fixture,
        try (first..<min(first + 100, kinds)).flatMap { kind in
          let roles = MapValue([("user \(kind)", .integer(Int64(kind)))])
          return try (0..<4).map { try fixture.set("a/\(kind)-\($0)", ("roles", .map(roles))) }
        })
    }
    #expect(try nameTables(fixture).count == FieldNameTableCache.limit / 4 * 3)
    #expect(try innerCount(fixture, "a/0-3") == 1)
    #expect(try innerCount(fixture, "a/\(kinds - 1)-3") == 0)
    try commit(fixture, try (0..<2).map { try fixture.set("b/\($0)", ("other", .null)) })
    #expect(try hasNameTable(fixture, "b/1"))
    try fixture.reopen()
    for kind in 0..<kinds {
      let roles = MapValue([("user \(kind)", .integer(Int64(kind)))])
      #expect(try fixture.document("a/\(kind)-3")?.body.map() == MapValue([("roles", .map(roles))]))
    }
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `maps with too many or too long names have them in the document`() throws {
    let fixture = try StoreFixture()
    let manyLists = (0...FieldNameTable.innerLimit).map {
      Value.map(MapValue([("n\($0)", .null)]))
    }
    let longNames = (0..<3).map {
      Value.map(MapValue([(String(repeating: "\($0)", count: 800), .null)]))
    }
    for list in [manyLists, longNames] {
      for number in 0..<6 {
        try commit(fixture, [try fixture.set("a/\(number)", ("list", .array(list)))])
        let found = try fixture.document("a/\(number)")?.body.map()
        #expect(found == MapValue([("list", .array(list))]))
      }
      #expect(try innerCount(fixture, "a/5") == 0)
    }
    for number in 0..<6 {
      let list = Array(manyLists.dropFirst())
      try commit(fixture, [try fixture.set("a/\(number)", ("list", .array(list)))])
    }
    #expect(try innerCount(fixture, "a/5") == FieldNameTable.innerLimit)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `names with one hash stay apart`() throws {
    // So many that some have the same 32 bits.
    var seen: [UInt32: String] = [:]
    var pair: (String, String)?
    for number in 0..<1_000_000 where pair == nil {
      let name = "field\(number)"
      let id = try DocumentBody(encoding: MapValue([(name, .null)])).withView {
        map throws(Status) in
        FieldNameTable.id(map.names, inner: [])
      }
      if let other = seen.updateValue(name, forKey: id) { pair = (other, name) }
    }
    let (one, other) = try #require(pair)
    let fixture = try StoreFixture()
    for round in 0..<3 {
      try commit(
        fixture,
        [
          try fixture.set("a/\(round)", (one, .integer(Int64(round)))),
          try fixture.set("b/\(round)", (other, .integer(Int64(round)))),
        ])
    }
    for round in 0..<3 {
      #expect(
        try fixture.document("a/\(round)")?.body.map()
          == MapValue([(one, .integer(Int64(round)))]))
      #expect(
        try fixture.document("b/\(round)")?.body.map()
          == MapValue([(other, .integer(Int64(round)))]))
    }
    #expect(try nameTables(fixture).count == 1)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `names damaged in one place are read in the other, and told`() throws {
    let fixture = try StoreFixture()
    let fields = [("left", Value.integer(1)), ("right", .null)]
    try commit(
      fixture, try (0..<9).map { try fixture.set("a/\($0)", fields[0], fields[1]) })
    let key = try #require(try nameTables(fixture).first)
    let copy = FieldNameTableRecord.copyPrefix + key
    for (table, key) in [(fixture.store.tables.nameTables, key), (fixture.store.tables.meta, copy)]
    {
      try fixture.damage(table, key)
      try fixture.reopen()
      for number in 0..<9 {
        #expect(try fixture.document("a/\(number)")?.body.map() == MapValue(fields))
      }
      #expect(try fixture.store.check().problemCount > 0)
      // It is written to, too: with names, where those in common cannot be relied on.
      try commit(fixture, [try fixture.set("a/10", fields[0], fields[1])])
      #expect(try fixture.document("a/10")?.body.map() == MapValue(fields))
      try commit(fixture, [fixture.delete("a/10")])
      try fixture.damage(table, key)
    }
    #expect(try fixture.store.check().problems == [])
  }

  @Test func `documents whose names are lost are data loss, and no others`() throws {
    let fixture = try StoreFixture()
    try commit(
      fixture, try (0..<9).map { try fixture.set("a/\($0)", ("left", .integer(1))) })
    try commit(fixture, [try fixture.set("b/1", ("up", .integer(1)))])
    let key = try #require(try nameTables(fixture).first)
    try fixture.damage(fixture.store.tables.nameTables, key)
    try fixture.damage(fixture.store.tables.meta, FieldNameTableRecord.copyPrefix + key)
    try fixture.reopen()
    #expect(try fixture.document("a/0")?.body.map() == MapValue([("left", .integer(1))]))
    #expect(try fixture.document("b/1")?.body.map() == MapValue([("up", .integer(1))]))
    #expect {
      try fixture.document("a/1")
    } throws: { ($0 as? Status)?.code == .dataLoss }
    #expect(try fixture.store.check().problemCount >= 9)
    // Nor is it deleted: a repair may yet find its names.
    for outcome in fixture.commitTogether([[fixture.delete("a/1")]]) {
      #expect(throws: Status.self) { try outcome.get() }
    }
  }

  @Test func `a repair has the names of both places`() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/whole.hearth"
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    let writer = Writer(store, logger: .silent)
    let done = DispatchGroup()
    let limit = store.keyLimit
    for number in 0..<500 {
      done.enter()
      let inner = MapValue([("deep", .integer(Int64(number)))])
      let fields = MapValue([("left", .integer(Int64(number))), ("right", .map(inner))])
      let name = DocumentName(ResourcePath(["a", "\(number)"]), limit: limit)
      writer.submit([Mutation(path: name.path, operation: .set(try DocumentBody(encoding: fields)))]
      ) {
        _ in done.leave()
      }
    }
    done.wait()
    writer.close()
    var transaction = try store.environment.beginWrite()
    let keys: [[UInt8]] = try {
      var keys: [[UInt8]] = []
      var cursor = try transaction.snapshot.cursor(store.tables.nameTables)
      while try cursor.next() { keys.append(Array(cursor.key)) }
      return keys
    }()
    #expect(keys.count == 2)
    for key in keys { try transaction.delete(store.tables.nameTables, key) }
    try transaction.commit()
    store.close()
    let target = folder.path + "/new.hearth"
    let report = try FileRepair.run(from: path, to: target, DamageWorld.configuration)
    #expect(report.documents == 500 && report.unreadableDocuments == 0)
    #expect(try FileCheck.run(at: target, DamageWorld.configuration).problems == [])
    let repaired = try Store(path: target, configuration: DamageWorld.configuration)
    defer { repaired.close() }
    let found = try repaired.read {
      try $0.document(DocumentName(ResourcePath(["a", "77"]), limit: limit))?.body.map()
    }
    let inner = MapValue([("deep", .integer(77))])
    #expect(found == MapValue([("left", .integer(77)), ("right", .map(inner))]))
  }

  @Test func `a scan by several threads knows name tables that nobody has read`() throws {
    let fixture = try StoreFixture { $0.scanThreads = 4 }
    let kinds = 40
    try commit(
      fixture,
      try (0..<8000).map { number in
        try fixture.set(
          "a/\(number)", ("n", .integer(Int64(number))), ("f\(number % kinds)", .null))
      })
    #expect(try nameTables(fixture).count == kinds)
    // Nothing is known of the file now.
    try fixture.reopen()
    var question = StructuredQuery(.collection(ResourcePath(["a"])))
    question.filters = [
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["n"]), operator: .greaterThanOrEqual, operand: .integer(7990)))
    ]
    let query = EffectiveQuery(question)
    let found = try fixture.store.read { try $0.documents(matching: query) }
    #expect(found.count == 10)
    for document in found {
      let fields = try document.body.map()
      guard case .integer(let number)? = fields["n"] else { throw Status(.internal, "no number") }
      #expect(fields == MapValue([("n", .integer(number)), ("f\(number % 40)", .null)]))
    }
  }
}
