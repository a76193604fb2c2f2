import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct FileFormatTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/a.hearth" }

  private func configuration(_ format: FileFormat = .current) -> StoreConfiguration {
    var configuration = StoreConfiguration()
    configuration.durability = .unsafeWithoutFlushing
    configuration.format = format
    return configuration
  }

  private func open(_ format: FileFormat = .current, readOnly: Bool = false) throws -> Store {
    var configuration = configuration(format)
    configuration.isReadOnly = readOnly
    return try Store(path: path, configuration: configuration)
  }

  /// A version that does not exist: it remembers that it was there.
  private func madeUp(_ version: UInt8, fails: Bool = false) -> FileFormat {
    var steps: [UInt8: FileFormat.Step] = [:]
    for before in 1..<version {
      steps[before] = { transaction, tables in
        try transaction.put(
          tables.meta, Array("step \(before)".utf8), Array("was here".utf8))
        if fails, before == version - 1 { throw Status(.internal, "It does not work.") }
      }
    }
    return FileFormat(version: version, steps: steps)
  }

  private func text(_ store: Store, _ key: String) throws -> String? {
    try store.read { snapshot in
      try Array(key.utf8).withUnsafeBytes {
        try snapshot.lmdb.get(store.tables.meta, $0).map { String(decoding: $0, as: UTF8.self) }
      }
    }
  }

  @Test func `an older file is brought up step by step, once`() throws {
    try open(madeUp(1)).close()
    let store = try open(madeUp(3))
    #expect(try text(store, "step 1") == "was here")
    #expect(try text(store, "step 2") == "was here")
    store.close()
    // It is of version 3 now: nothing is done again, and an older version refuses it.
    let again = try open(FileFormat(version: 3, steps: [:]))
    again.close()
    #expect {
      _ = try open(madeUp(2))
    } throws: { error in
      (error as? Status)?.code == .failedPrecondition
        && "\(error)".contains("has format version 3 and was written by a newer Hearth")
    }
  }

  @Test func `an older file that may not be written is refused`() throws {
    try open().close()
    #expect {
      _ = try open(madeUp(FileFormat.current.version + 1), readOnly: true)
    } throws: { ($0 as? Status)?.code == .failedPrecondition }
    try open(readOnly: true).close()
  }

  @Test func `a step that fails leaves the file as it was`() throws {
    try open(madeUp(1)).close()
    #expect(throws: (any Error).self) { _ = try open(madeUp(3, fails: true)) }
    let store = try open(madeUp(1))
    #expect(try text(store, "step 1") == nil)
    store.close()
    #expect(throws: (any Error).self) { _ = try open(FileFormat(version: 2, steps: [:])) }
    try open(madeUp(1)).close()
  }

  /// As another process does that has a newer version.
  private func upgrade(_ store: Store, to version: UInt8) throws {
    var writing = try store.environment.beginWrite()
    var record = try FileFormat.key.withUnsafeBytes { key in
      try writing.snapshot.get(store.tables.meta, key).map { Array($0) } ?? []
    }
    record[0] = record[0] & 0xF0 | version
    RecordFrame.seal(&record, key: FileFormat.key)
    try writing.put(store.tables.meta, FileFormat.key, record)
    try writing.commit()
  }

  @Test func `an open file that is upgraded is neither written nor read`() throws {
    let store = try open()
    let key = Array("mark".utf8)
    try store.write { try $0.put(store.tables.meta, key, [1]) }
    #expect(try text(store, "mark") != nil)
    let other = FileFormat.current.version + 1
    try upgrade(store, to: other)
    for _ in 0..<2 {
      #expect {
        try store.write { try $0.put(store.tables.meta, key, [2]) }
      } throws: { error in
        (error as? Status)?.code == .failedPrecondition
          && "\(error)".contains("format version \(other)")
          && "\(error)".contains("supports version \(FileFormat.current.version). Restart it")
      }
      #expect {
        _ = try text(store, "mark")
      } throws: { ($0 as? Status)?.code == .failedPrecondition }
    }
    // An older version than it was opened with is not written either, and can be read.
    try upgrade(store, to: FileFormat.current.version - 1)
    #expect(try text(store, "mark") == "\u{1}")
    #expect {
      try store.write { try $0.put(store.tables.meta, key, [2]) }
    } throws: { ($0 as? Status)?.code == .failedPrecondition }
    try upgrade(store, to: FileFormat.current.version)
    try store.write { try $0.put(store.tables.meta, key, [2]) }
    #expect(try text(store, "mark") == "\u{2}")
    store.close()
  }

  private let resources = Bundle.module.bundleURL.appendingPathComponent("Resources")

  private func copyGolden(_ version: UInt8) throws {
    try Data(contentsOf: resources.appendingPathComponent("format-\(version).hearth"))
      .write(to: URL(fileURLWithPath: path))
  }

  /// A file that an earlier version wrote: what stands in it is read forever.
  @Test(arguments: 1..<FileFormat.current.version)
  func `the golden file of an earlier version is read`(version: UInt8) async throws {
    try copyGolden(version)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    // Looked at, it stays as it is.
    let found = try await FirestoreFile(at: path).check()
    #expect(found.isIntact, "\(found.problems)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    let db = try Firestore.open(at: path)
    let exported = folder.path + "/golden.jsonl"
    try await db.maintenance.export(to: exported)
    let lines = try String(contentsOfFile: exported, encoding: .utf8)
    let expected = resources.appendingPathComponent("format-\(version).jsonl")
    #expect(try lines == String(contentsOf: expected, encoding: .utf8))
    #expect(try await db.ttl.policies() == [.init(collectionGroup: "sessions", field: "until")])
    let changes = try db.database().store.read { store in
      var kinds: [Change.Kind] = []
      try store.changes(after: 0) { change in
        kinds.append(change.kind)
        return true
      }
      return kinds
    }
    #expect(Set(changes) == [.created, .updated, .deleted])
    let report = try await db.maintenance.check()
    #expect(report.isIntact, "\(report.problems)")
    // And written, until the index of the log has all of it.
    for number in 0..<200 { try await db.document("books/new").setData(["n": number]) }
    #expect(try await db.maintenance.check().isIntact)
    let state = try db.database().store.read { try $0.state() }
    #expect(state.indexedSequence > 100)
    try await db.terminate()
  }

  @Test func `a rule of version 6 is kept, and may be declared with documents that must exist`()
    async throws
  {
    try copyGolden(6)
    let db = try Firestore.open(at: path)
    func descriptions() async throws -> [String] {
      try await db.indexes.list().map(\.description).filter { $0.contains("→") }
    }
    #expect(try await descriptions() == ["all sessions: book ↑ → books, on delete restrict"])
    let session = db.document("sessions/b")
    try await session.setData(["book": db.document("books/none")])
    let rule = FirestoreReferenceRule(
      "sessions", field: "book", to: "books", onDelete: .restrict, mustExist: true)
    try await db.references.declare(rule)
    await expectRefused(.failedPrecondition) { try await db.indexes.waitUntilReady() }
    try await session.setData(["book": db.document("books/dune")])
    try await db.references.declare(rule)
    try await db.indexes.waitUntilReady()
    #expect(try await descriptions() == [rule.description])
    await expectRefused(.failedPrecondition) {
      try await session.setData(["book": db.document("books/none")])
    }
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
    // Nobody takes the rule for another one.
    #expect {
      _ = try open(FileFormat(version: 6, steps: [:]))
    } throws: { ($0 as? Status)?.code == .failedPrecondition }
  }

  @Test(arguments: 1..<FileFormat.current.version)
  func `the golden file of an earlier version is read as it is where nobody may write`(
    version: UInt8
  ) throws {
    try copyGolden(version)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    let store = try open(readOnly: true)
    try store.read { snapshot in
      let state = try snapshot.state()
      #expect(version < 3 ? state.indexedSequence == 0 : state.indexedSequence > 100)
      for scope: StructuredQuery.Scope in [
        .collection(ResourcePath(["books"])), .group("books", below: .root),
        .subtree(below: .root),
      ] {
        var all: [UInt64] = []
        try snapshot.changes(after: state.firstLoggedSequence - 1) { change in
          if scope.contains(change.path) { all.append(change.sequence) }
          return true
        }
        var found: [UInt64] = []
        try snapshot.changes(after: state.firstLoggedSequence - 1, in: scope) { change in
          found.append(change.sequence)
          return true
        }
        #expect(!all.isEmpty && found == all)
      }
      // Before `books/emma` got longer, and `books/gone` came and went.
      let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["books"]))))
      let then = try StoreView(snapshot, .asOf(state.lastSequence - 3)).answer(
        .results(query)
      ).results
      let emma = try #require(then.first { $0.path.id == "emma" })
      #expect(try emma.body.map().value(at: ["n"]) == nil)
      let now = try snapshot.documents(matching: query).first { $0.path.id == "emma" }
      #expect(try now?.body.map().value(at: ["n"]) == .integer(2))
    }
    #expect(try store.check().isIntact)
    store.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  /// Writes the golden file of this version, where HEARTH_GOLDEN says: with the last code of the
  /// version, before the next one changes it.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["HEARTH_GOLDEN"] != nil))
  func `the golden file is written`() async throws {
    let target = try #require(ProcessInfo.processInfo.environment["HEARTH_GOLDEN"])
    let settings = FirestoreSettings()
    settings.clock = { Timestamp(seconds: 1_767_225_600, nanoseconds: 0) }
    let db = try Firestore.open(at: path, settings: settings)
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    // Enough that the index of the log has them, and that all their names are stored once.
    for number in 0..<200 {
      try await db.document("shelves/\(number % 10)").setData([
        "room": ["name": "room \(number)", "size": ["width": number, "height": 2.5]],
        "rows": [["first": "a", "last": "f"], ["first": number, "last": NSNull()]],
      ])
    }
    let every: [String: Any] = [
      "null": NSNull(), "yes": true, "integer": Int64.min, "double": 0.1, "zero": -0.0,
      "nan": Double.nan, "infinite": Double.infinity, "text": "Dune 🏜 e\u{301}",
      "time": Timestamp(seconds: -1, nanoseconds: 999_999_000), "bytes": Data(0...255),
      "reference": db.document("books/emma"), "point": GeoPoint(latitude: 59.91, longitude: -10),
      "list": [1, 1.0, ["deep": ["deeper": [NSNull()]]]] as [Any], "empty": [String: Any](),
      "vector": VectorValue([0.25, -1]),
    ]
    try await db.document("books/dune").setData(every)
    try await db.document("books/emma").setData(["text": String(repeating: "long ", count: 2000)])
    try await db.document("books/__id7__/pages/\(String(repeating: "é", count: 400))")
      .setData(["n": 1])
    try await db.document("sessions/a").setData([
      "until": Timestamp(seconds: 4_000_000_000, nanoseconds: 0)
    ])
    try await db.document("books/emma").updateData(["n": 2])
    try await db.document("books/gone").setData(["n": 1])
    try await db.document("books/gone").delete()
    try await db.indexes.declare(
      FirestoreIndex("books", .ascending("text"), .descending("n")),
      FirestoreIndex("books", scope: .collectionGroup, .contains("list")))
    try await db.indexes.declare(FirestoreIndex(unique: "books", .ascending("text")))
    try await db.references.declare(
      FirestoreReferenceRule(
        "sessions", field: "book", to: "books", onDelete: .restrict, mustExist: true))
    try await db.indexes.declare(
      FirestoreIndex("books", .cells("point")),
      FirestoreIndex(words: "books", in: SearchFields("text", language: "en")))
    try await db.indexes.waitUntilReady()
    try await db.maintenance.backup(
      to: target + "/format-\(FileFormat.current.version).hearth", compacting: true, replacing: true
    )
    try await db.maintenance.export(
      to: target + "/format-\(FileFormat.current.version).jsonl", replacing: true)
    try await db.terminate()
  }
}
