import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Copies, exports and repairs of whole databases, as people ask for them.
@Suite(.embedded("It is about a file.")) struct MaintenanceTests {
  let folder = TemporaryFolder()
  func path(_ name: String) -> String { folder.path + "/" + name }

  private func open(_ name: String = "a.hearth") throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: path(name), settings: settings)
  }

  /// Documents of every type, with long names and large bodies, some of them deleted again.
  private func fill(_ db: Firestore, _ count: Int = 300, seed: UInt64 = 1) async throws {
    let database = try db.database()
    var random = SeededGenerator(seed: seed)
    var mutations: [Mutation] = []
    for index in 0..<count {
      let long = index % 20 == 0 ? String(repeating: "é", count: 300) : ""
      let collection = index % 3 == 0 ? "books/dune/pages" : "books"
      let path = ResourcePath(relative: "\(collection)/\(index)\(long)")
      let size = Int.random(in: 0...(index % 30 == 0 ? 20_000 : 200), using: &random)
      let body = try DocumentBody(
        encoding: MapValue([
          ("n", .integer(Int64(index))), ("text", .string(String(repeating: "x", count: size))),
          ("value", .double(Double(index) / 7)),
        ]))
      mutations.append(Mutation(path: path, operation: .set(body)))
    }
    for portion in stride(from: 0, to: count, by: 50) {
      _ = try await database.writer.commit(
        Array(mutations[portion..<min(portion + 50, count)]))
    }
    for index in stride(from: 1, to: count, by: 9) {
      _ = try await database.writer.commit([
        Mutation(path: mutations[index].path, operation: .delete)
      ])
    }
  }

  /// Every document with its times.
  private func documents(_ db: Firestore) throws -> [String: String] {
    try db.database().store.read { snapshot in
      var found: [String: String] = [:]
      let scan = try SubtreeScan(below: .root, in: snapshot)
      while let document = try scan.next() {
        let record = try DocumentRecord(parsing: document.record)
        found[document.path.text] =
          "\(record.createTime.text) \(record.updateTime.text) \(try DocumentBody(copying: snapshot.body(record.storedBody)).hashValue)"
      }
      return found
    }
  }

  // MARK: Check

  @Test func `a file is checked open and closed`() async throws {
    let db = try open()
    try await fill(db)
    let open = try await db.maintenance.check()
    #expect(open.isIntact && open.documents > 200 && open.pages > 0, "\(open.problems)")
    #expect(
      await code { _ = try await FirestoreFile(at: path("a.hearth")).check() }
        == .failedPrecondition)
    try await db.terminate()
    let steps = Guarded<Set<MaintenanceProgress.Step>>([])
    let closed = try await FirestoreFile(at: path("a.hearth")).check() { progress in
      #expect((0...progress.total).contains(progress.done))
      steps.withLock { _ = $0.insert(progress.step) }
    }
    #expect(closed.isIntact && closed.documents == open.documents, "\(closed.problems)")
    #expect(steps.withLock { $0 } == [.pages, .records])
    let copy = path("alone.hearth")
    try FileManager.default.copyItem(atPath: path("a.hearth"), toPath: copy)
    #expect(try await FirestoreFile(at: copy).check().isIntact)
    let beside = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(beside.filter { $0.hasPrefix("alone") } == ["alone.hearth"])
    #expect(
      await code { _ = try await FirestoreFile(at: path("none.hearth")).check() } == .notFound)
  }

  @Test func `an open database is checked while it is written to`() async throws {
    let db = try open()
    try await fill(db, 100)
    let isDone = Atomic<Bool>(false)
    async let writing: Void = {
      var index = 0
      while !isDone.load(ordering: .relaxed) {
        try await db.document("busy/\(index % 50)").setData(["n": index])
        index += 1
      }
    }()
    for _ in 0..<10 {
      let report = try await db.maintenance.check()
      #expect(report.isIntact, "\(report.problems)")
    }
    isDone.store(true, ordering: .relaxed)
    try await writing
    try await db.terminate()
  }

  // MARK: Backup

  @Test(arguments: [false, true])
  func `a backup under writes is a consistent database of its own`(compacting: Bool) async throws {
    let db = try open()
    try await fill(db)
    let isDone = Atomic<Bool>(false)
    // Two documents that always agree.
    async let writing: Void = {
      var index = 0
      while !isDone.load(ordering: .relaxed) {
        let batch = db.batch()
        batch.setData(["n": index], forDocument: db.document("twins/a"))
        batch.setData(["n": index], forDocument: db.document("twins/b"))
        try await batch.commit()
        index += 1
      }
    }()
    let target = path("copy.hearth")
    for round in 0..<4 {
      let report = try await db.maintenance.backup(
        to: target, compacting: compacting, replacing: round > 0)
      #expect(report.isIntact && report.documents > 200)
      let copy = try Firestore.open(at: target)
      let twins = try await copy.collection("twins").getDocuments().documents
      #expect(twins.first?["n"] as? Int == twins.last?["n"] as? Int)
      try await copy.document("twins/a").setData(["own": true])
      #expect(
        await code { try await db.maintenance.backup(to: target, replacing: true) }
          == .failedPrecondition)
      try await copy.terminate()
    }
    isDone.store(true, ordering: .relaxed)
    try await writing
    #expect(await code { try await db.maintenance.backup(to: target) } == .alreadyExists)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains("unfinished") })
    // The times and everything else are the same.
    try await db.maintenance.backup(to: path("same.hearth"), compacting: compacting)
    let copy = try Firestore.open(at: path("same.hearth"))
    #expect(try documents(copy) == documents(db))
    try await copy.terminate()
    try await db.terminate()
  }

  @Test func `listeners of a file that was replaced end with an error, and sequences too`()
    async throws
  {
    let db = try open()
    try await db.document("books/dune").setData(["n": 1])
    try await db.maintenance.backup(to: path("b.hearth"))
    var snapshots = db.collection("books").snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?.count == 1)
    let seen = Guarded(0)
    let changes = Task { for try await _ in db.changes(since: nil) { seen.withLock { $0 += 1 } } }
    // It waits for the next change then. A write that changes nothing would be none.
    var round = 0
    try await eventually {
      round += 1
      try await db.document("others/a").setData(["n": round])
      return seen.withLock(\.self) > 0
    }
    #expect(rename(path("b.hearth"), path("a.hearth")) == 0)
    await #expect(throws: NSError.self) { try await changes.value }
    let error = await #expect(throws: NSError.self) { _ = try await snapshots.next() }
    #expect(error.map { FirestoreErrorCode.failedPrecondition ~= $0 } == true)
    #expect(error?.localizedDescription.contains("was replaced") == true)
    // Whoever comes later hears of it, too, and whoever reads the change log.
    await #expect(throws: NSError.self) {
      for try await _ in db.collection("books").snapshots {}
    }
    await #expect(throws: NSError.self) { for try await _ in db.changes(since: nil) {} }
    let refusal = await #expect(throws: NSError.self) {
      try await db.document("books/emma").setData(["n": 2])
    }
    #expect(refusal.map { FirestoreErrorCode.failedPrecondition ~= $0 } == true)
    // Reads go on in the file that was open, until it is closed.
    #expect(try await db.document("books/dune").getDocument().exists)
    try await db.terminate()
    let again = try open()
    try await again.document("books/emma").setData(["n": 2])
    #expect(try await again.collection("books").getDocuments().count == 2)
    try await again.terminate()
  }

  @Test func `a backup is restored to where nothing is, and never damaged`() async throws {
    let db = try open()
    try await db.document("books/dune").setData(["n": 1])
    try await db.maintenance.backup(to: path("b.hearth"))
    try await db.terminate()
    let report = try await FirestoreFile(at: path("new.hearth")).restore(from: path("b.hearth"))
    #expect(report.isIntact && report.documents == 1)
    #expect(try names(in: folder.path).filter { $0.hasPrefix("new") } == ["new.hearth"])
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path("b.hearth")))
    for index in stride(from: 8192, to: bytes.count, by: 100) { bytes[index] ^= 0xFF }
    try bytes.write(to: URL(fileURLWithPath: path("damaged.hearth")))
    let before = try Data(contentsOf: URL(fileURLWithPath: path("new.hearth")))
    let error = await #expect(throws: NSError.self) {
      try await FirestoreFile(at: self.path("new.hearth")).restore(
        from: self.path("damaged.hearth"))
    }
    #expect(error.map { FirestoreErrorCode.dataLoss ~= $0 } == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path("new.hearth"))) == before)
    let missing = await #expect(throws: NSError.self) {
      try await FirestoreFile(at: self.path("new.hearth")).restore(
        from: self.path("missing.hearth"))
    }
    #expect(missing.map { FirestoreErrorCode.notFound ~= $0 } == true)
    #expect(missing?.localizedDescription.contains("missing.hearth") == true)
  }

  /// The first snapshot of the books after a token.
  private func resumed(_ db: Firestore, from token: ChangeToken) async throws -> QuerySnapshot {
    let first = try await db.collection("books").snapshots(resumingFrom: token)
      .first { _ in true }
    return try #require(first)
  }

  @Test func `a listener whose token is of lost commits begins again`() async throws {
    let db = try open()
    try await db.document("books/kept").setData(["n": 1])
    try await db.terminate()
    try FileManager.default.copyItem(atPath: path("a.hearth"), toPath: path("old.hearth"))
    let later = try open()
    for index in 0..<3 { try await later.document("books/lost\(index)").setData(["n": index]) }
    let token = try await later.changeToken()
    try await later.terminate()
    // As after a power failure in a mode without flushes: the newest commits are gone.
    try FileManager.default.removeItem(atPath: path("a.hearth"))
    try FileManager.default.copyItem(atPath: path("old.hearth"), toPath: path("a.hearth"))
    let again = try open()
    let snapshot = try await resumed(again, from: token)
    #expect(snapshot.isFullResync && snapshot.documents.map(\.documentID) == ["kept"])
    #expect(
      await code { for try await _ in again.changes(since: token) { break } } == .outOfRange)
    try await again.terminate()
  }

  private func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test func `a cancelled backup leaves nothing behind`() async throws {
    let db = try open()
    try await fill(db, 2000)
    let target = path("copy.hearth")
    let task = Task {
      try await db.maintenance.backup(to: target) { _ in withUnsafeCurrentTask { $0?.cancel() } }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!FileManager.default.fileExists(atPath: target))
    #expect(!FileManager.default.fileExists(atPath: target + "-unfinished"))
    try await db.terminate()
  }

  // MARK: Compact

  @Test func `a compacted file is smaller and holds the same`() async throws {
    let db = try open()
    try await fill(db, 1500)
    for index in 0..<1400 { db.document("books/\(index)").delete(completion: nil) }
    try await db.waitForPendingWrites()
    let before = try documents(db)
    #expect(
      await code { try await FirestoreFile(at: path("a.hearth")).compact() } == .failedPrecondition)
    try await db.terminate()
    let sizes = try await FirestoreFile(at: path("a.hearth")).compact()
    #expect(sizes.bytesAfter < sizes.bytesBefore)
    #expect(try await FirestoreFile(at: path("a.hearth")).check().isIntact)
    let again = try open()
    #expect(try documents(again) == before)
    try await again.document("books/new").setData(["n": 1])
    #expect(try await again.maintenance.check().isIntact)
    try await again.terminate()
  }

  @Test func `opening waits for a compaction and gets the new file`() async throws {
    let db = try open()
    try await fill(db, 400)
    let before = try documents(db)
    try await db.terminate()
    for _ in 0..<8 {
      async let compacting: Any = FirestoreFile(at: path("a.hearth")).compact()
      let again = try open()
      #expect(try documents(again) == before)
      try await again.terminate()
      _ = try? await compacting
    }
    #expect(try await FirestoreFile(at: path("a.hearth")).check().isIntact)
  }

  // MARK: Export and import

  @Test func `an export imported is the same database, with its times`() async throws {
    let db = try open()
    try await fill(db)
    let count = try await db.maintenance.export(to: path("a.jsonl"))
    #expect(await code { try await db.maintenance.export(to: path("a.jsonl")) } == .alreadyExists)
    let report = try await FirestoreFile(at: path("b.hearth")).import(from: path("a.jsonl"))
    #expect(report.documents == count && report.invalidLineCount == 0)
    let copy = try open("b.hearth")
    #expect(try documents(copy) == documents(db))
    #expect(try await copy.maintenance.check().isIntact)
    // Written over itself it changes nothing.
    let again = try await copy.maintenance.import(from: path("a.jsonl"))
    #expect(again.documents == count)
    #expect(try documents(copy) == documents(db))
    try await copy.maintenance.export(to: path("b.jsonl"))
    let texts = try ["a.jsonl", "b.jsonl"].map {
      try Data(contentsOf: URL(fileURLWithPath: path($0)))
    }
    #expect(texts[0] == texts[1])
    try await copy.terminate()
    try await db.terminate()
  }

  @Test func `a line that is no document is told by its number`() async throws {
    let good = #"{"name":"a/1","fields":{"n":{"integerValue":"1"}}}"#
    let faults: [(String, String)] = [
      ("{", "not valid"), (#"{"name":"a","fields":{}}"#, "even number"),
      (#"{"name":"a/b","fields":{"x":{"integerValue":"1.5"}}}"#, "integerValue cannot be \"1.5\""),
      (#"{"name":"a/b","fields":{"x":{"stringValue":"a","nullValue":null}}}"#, "one type only"),
      (#"{"name":"a/__b__","fields":{}}"#, "reserved"), (#"{"fields":{}}"#, "lacks a name"),
      (
        #"{"name":"a/b","fields":{"x":{"timestampValue":"2026-02-30T00:00:00Z"}}}"#,
        "timestampValue cannot be"
      ),
      (#"{"name":"a/b","fields":{"x":{"bytesValue":"*"}}}"#, "bytesValue cannot be"),
    ]
    for (index, (line, sentence)) in faults.enumerated() {
      let db = try open("f\(index).hearth")
      let file = path("\(index).jsonl")
      try [good, "", line, good.replacingOccurrences(of: "a/1", with: "a/2")]
        .joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
      do {
        _ = try await db.maintenance.import(from: file)
        Issue.record("\(line) was taken.")
      } catch {
        let text = (error as NSError).localizedDescription
        #expect(text.hasPrefix("Line 3: ") && text.contains(sentence), "\(text)")
      }
      let report = try await db.maintenance.import(from: file, skippingInvalidLines: true)
      #expect(
        report.documents == 2 && report.invalidLineCount == 1 && report.invalidLines[0].line == 3)
      #expect(try documents(db).count == 2)
      try await db.terminate()
    }
  }

  @Test func `documents as Firestore's REST interface gives them are imported`() async throws {
    let name = "projects/p/databases/(default)/documents/"
    let times =
      #""createTime":"2026-11-28T11:03:56.601593Z","updateTime":"2026-11-28T12:03:57+01:00""#
    let lines = [
      #"{"name":"\#(name)books/empty",\#(times)}"#,
      #"{"name":"\#(name)books/full","fields":{"n":{"integerValue":412},"#
        + #""t":{"timestampValue":"2014-10-02T15:01:23+05:30"},"b":{"bytesValue":"-_8"},"#
        + #""p":{"geoPointValue":{"longitude":10}},"l":{"arrayValue":{}}},\#(times)}"#,
    ]
    // Programs of Windows begin files with a byte order mark, some with a line of its own.
    for (index, beginning) in ["", "\u{FEFF}", "\u{FEFF}\r\n"].enumerated() {
      try (beginning + lines.joined(separator: "\r\n"))
        .write(toFile: path("a.jsonl"), atomically: true, encoding: .utf8)
      let target = path("new\(index).hearth")
      let report = try await FirestoreFile(at: target).import(from: path("a.jsonl"))
      #expect(report.documents == 2)
      let db = try Firestore.open(at: target)
      let empty = try await db.document("books/empty").getDocument()
      #expect(empty.exists && empty.data()?.isEmpty == true)
      #expect(empty.updateTime?.seconds == 1_795_863_837)
      let full = try await db.document("books/full").getDocument()
      #expect(full["n"] as? Int == 412 && (full["l"] as? [Any])?.isEmpty == true)
      #expect((full["t"] as? Timestamp)?.seconds == 1_412_242_283)
      #expect(full["b"] as? Data == Data([0xFB, 0xFF]))
      #expect(full["p"] as? GeoPoint == GeoPoint(latitude: 0, longitude: 10))
      try await db.terminate()
    }
  }

  @Test func `an export of a later version is refused, even if lines may be skipped`() async throws
  {
    let db = try open()
    try [
      #"{"hearthExport":2}"#, #"{"name":"a/1","fields":{"n":{"integerValue":"1"}}}"#,
      #"{"documents":1}"#,
    ].joined(separator: "\n").write(toFile: path("a.jsonl"), atomically: true, encoding: .utf8)
    for isSkipping in [false, true] {
      let code = await code {
        try await db.maintenance.import(from: path("a.jsonl"), skippingInvalidLines: isSkipping)
      }
      #expect(code == .invalidArgument)
    }
    #expect(try documents(db).isEmpty)
    try await db.terminate()
  }

  @Test func `skipped lines count as documents of the export`() async throws {
    let db = try open()
    try [
      #"{"hearthExport":1}"#, #"{"name":"a/1","fields":{"n":{"integerValue":"1"}}}"#,
      #"{"name":"a/2","fields":{"n":{"integerValue":"x"}}}"#, "{", #"{"documents":3}"#,
    ].joined(separator: "\n").write(toFile: path("a.jsonl"), atomically: true, encoding: .utf8)
    let report = try await db.maintenance.import(from: path("a.jsonl"), skippingInvalidLines: true)
    #expect(report.documents == 1 && report.invalidLines.map(\.line) == [3, 4])
    try await db.terminate()
  }

  @Test func `an export that was cut is noticed`() async throws {
    let db = try open()
    try await fill(db, 50)
    try await db.maintenance.export(to: path("a.jsonl"))
    let text = try String(contentsOfFile: path("a.jsonl"), encoding: .utf8)
    let lines = text.split(separator: "\n")
    try lines.dropLast().joined(separator: "\n")
      .write(toFile: path("cut.jsonl"), atomically: true, encoding: .utf8)
    let other = try open("b.hearth")
    #expect(
      await code { try await other.maintenance.import(from: path("cut.jsonl")) } == .invalidArgument
    )
    try (lines.prefix(10) + lines.suffix(1)).joined(separator: "\n")
      .write(toFile: path("gap.jsonl"), atomically: true, encoding: .utf8)
    #expect(
      await code { try await other.maintenance.import(from: path("gap.jsonl")) } == .invalidArgument
    )
    try await other.maintenance.import(from: path("a.jsonl"))
    #expect(try documents(other).keys == documents(db).keys)
    try await other.terminate()
    try await db.terminate()
  }

  // MARK: Definitions

  /// What was asked for, and how many entries its indexes have.
  private func definitions(_ path: String) async throws -> (text: [String], entries: Int) {
    let db = try Firestore.open(at: path)
    try await db.indexes.waitUntilReady()
    let report = try await db.maintenance.check()
    #expect(report.isIntact, "\(report.problems)")
    let expiry = try await db.ttl.policies()
    let text = [
      try await db.indexes.configurationJSON(),
      try await db.indexes.list().map(\.description).sorted().joined(separator: "; "),
      "\(expiry) \(report.expiringDocuments)",
    ]
    try await db.terminate()
    return (text, report.indexEntries)
  }

  @Test func `copies, repairs and exports carry indexes and rules of expiry`() async throws {
    let db = try open()
    try await fill(db)
    let later = Timestamp(seconds: 4_000_000_000, nanoseconds: 0)
    for id in ["a", "b"] { try await db.document("sessions/\(id)").setData(["a.b": later]) }
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "gone")
    try await db.ttl.removePolicy(collectionGroup: "sessions")
    try await db.document("sessions/c").setData(["until": later])
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    try await db.indexes.setConfigurationJSON(
      """
      {"indexes": [{"collectionGroup": "books", "fields": [
        {"fieldPath": "n", "order": "ASCENDING"}, {"fieldPath": "text", "order": "DESCENDING"}]}],
       "fieldOverrides": [{"collectionGroup": "pages", "fieldPath": "n", "indexes": [
        {"queryScope": "COLLECTION_GROUP", "order": "ASCENDING"}]},
        {"collectionGroup": "books", "fieldPath": "text", "ttl": true, "indexes": []}]}
      """)
    try await db.indexes.waitUntilReady()
    try await db.maintenance.backup(to: path("copy.hearth"))
    try await db.maintenance.backup(to: path("small.hearth"), compacting: true)
    try await db.maintenance.export(to: path("a.jsonl"))
    try await db.terminate()
    let expected = try await definitions(path("a.hearth"))
    #expect(expected.entries > 200)
    _ = try await FirestoreFile(at: path("a.hearth")).repair(to: path("repaired.hearth"))
    try await FirestoreFile(at: path("a.hearth")).compact()
    try await FirestoreFile(at: path("made.hearth")).import(from: path("a.jsonl"))
    // Before anybody opens them, all entries are there.
    for name in ["a", "copy", "small", "repaired", "made"] {
      let report = try await FirestoreFile(at: path(name + ".hearth")).check()
      #expect(report.isIntact && report.indexEntries == expected.entries, "\(name)")
    }
    let other = try open("other.hearth")
    try await other.maintenance.import(from: path("a.jsonl"))
    try await other.terminate()
    for name in ["a", "copy", "small", "repaired", "made", "other"] {
      // Rules begin their walk when a file is opened for writing.
      let opened = try open(name + ".hearth")
      try await opened.ttl.deleteExpired()
      try await opened.terminate()
      let found = try await definitions(path(name + ".hearth"))
      #expect(found.text == expected.text && found.entries == expected.entries, "\(name)")
    }
  }

  @Test func `what was asked for before stays when an export asks for more`() async throws {
    let db = try open()
    try await db.ttl.setPolicy(collectionGroup: "a", field: "x")
    try await db.indexes.declare(FirestoreIndex("books", .ascending("n")))
    let header =
      #"{"hearthExport":1,"expiry":[{"collectionGroup":"a","fieldPath":"y"},"#
      + #"{"collectionGroup":"b","fieldPath":"`a.b`.c"}],"indexes":{"indexes":[{"collectionGroup":"#
      + #""books","fields":[{"fieldPath":"n","order":"ASCENDING"},"#
      + #"{"fieldPath":"m","order":"ASCENDING"}]}]}}"# + "\n" + #"{"documents":0}"#
    try header.write(toFile: path("a.jsonl"), atomically: true, encoding: .utf8)
    try await db.maintenance.import(from: path("a.jsonl"))
    #expect(
      try await db.ttl.policies() == [
        .init(collectionGroup: "a", field: "x"), .init(collectionGroup: "b", field: "`a.b`.c"),
      ])
    #expect(
      Set(try await db.indexes.list().map(\.description)) == ["books: n ↑", "books: n ↑, m ↑"])
    try await db.terminate()
  }

  @Test func `a wrong entry of an index in a closed file is told`() async throws {
    let db = try open()
    try await fill(db, 50)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("n")))
    try await db.indexes.waitUntilReady()
    let store = try db.database().store
    try store.write { transaction in
      let key: [UInt8]
      do {
        var cursor = try transaction.snapshot.cursor(store.tables.entries)
        _ = try cursor.first()
        key = Array(cursor.key)
      }
      try transaction.delete(store.tables.entries, key)
    }
    await #expect(throws: (any Error).self) {
      try await db.maintenance.backup(to: path("copy.hearth"))
    }
    #expect(!FileManager.default.fileExists(atPath: path("copy.hearth")))
    try await db.terminate()
    let report = try await FirestoreFile(at: path("a.hearth")).check()
    #expect(report.problemCount > 0 && report.problems.contains { $0.contains("lacks an entry") })
    await #expect(throws: (any Error).self) {
      try await FirestoreFile(at: path("a.hearth")).compact()
    }
    _ = try await FirestoreFile(at: path("a.hearth")).repair(to: path("new.hearth"))
    #expect(try await FirestoreFile(at: path("new.hearth")).check().isIntact)
  }

  // MARK: Repair

  @Test func `repairing a whole file changes nothing`() async throws {
    let db = try open()
    try await fill(db)
    let before = try documents(db)
    let counts = try db.database().store.read {
      try $0.documentCount(inCollection: ResourcePath(relative: "books"))
    }
    try await db.terminate()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path("a.hearth")))
    let report = try await FirestoreFile(at: path("a.hearth")).repair(to: path("new.hearth"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path("a.hearth"))) == bytes)
    #expect(report.problemCount == 0 && report.documents == before.count)
    #expect(
      report.recoveredDocuments == 0 && report.unreadableDocuments == 0 && report.losses.isEmpty)
    let again = try open("new.hearth")
    #expect(try documents(again) == before)
    #expect(
      try again.database().store.read {
        try $0.documentCount(inCollection: ResourcePath(relative: "books"))
      } == counts)
    try await again.terminate()
    #expect(
      await code { _ = try await FirestoreFile(at: path("a.hearth")).repair(to: path("a.hearth")) }
        == .alreadyExists)
  }

  // MARK: Places

  @Test func `links are followed, and an open database is not written over`() async throws {
    let db = try open()
    try await fill(db, 60)
    let before = try documents(db)
    for (link, place) in [
      ("link.hearth", "a.hearth"), ("other.hearth", "b.hearth"), ("dangling", "none"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: path(link), withDestinationPath: path(place))
    }
    try await db.maintenance.backup(to: path("b.hearth"))
    for target in ["a.hearth", "link.hearth"] {
      #expect(await code { try await db.maintenance.backup(to: path(target)) } == .alreadyExists)
      #expect(
        await code { try await db.maintenance.backup(to: path(target), replacing: true) }
          == .failedPrecondition
      )
      #expect(
        await code { try await db.maintenance.export(to: path(target), replacing: true) }
          == .failedPrecondition
      )
    }
    try await db.maintenance.backup(to: path("other.hearth"), replacing: true)
    #expect(await code { try await db.maintenance.backup(to: path("dangling")) } == .alreadyExists)
    try FileManager.default.createDirectory(
      atPath: path("folder"), withIntermediateDirectories: false)
    #expect(await code { try await db.maintenance.backup(to: path("folder")) } == .alreadyExists)
    for target in ["folder", "missing/a.hearth", "", "a\0b"] {
      await #expect(throws: NSError.self) {
        try await db.maintenance.backup(to: target.isEmpty ? "" : path(target), replacing: true)
      }
      await #expect(throws: NSError.self) {
        try await db.maintenance.export(to: target.isEmpty ? "" : path(target), replacing: true)
      }
    }
    #expect(try documents(db) == before)
    try await db.terminate()
    try await FirestoreFile(at: path("link.hearth")).compact()
    for link in ["link.hearth", "other.hearth"] {
      let type = try FileManager.default.attributesOfItem(atPath: path(link))[.type]
      #expect(type as? FileAttributeType == .typeSymbolicLink, "\(link)")
      #expect(try await FirestoreFile(at: path(link)).check().documents == before.count)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(!left.contains { $0.contains("unfinished") }, "\(left)")
  }

  // MARK: Hostile imports

  private static let hostile: [(line: String, isFault: Bool?)] = {
    func value(_ value: String) -> String { #"{"name":"a/b","fields":{"x":\#(value)}}"# }
    func nested(_ count: Int, _ open: String, _ inner: String, _ close: String) -> String {
      value(
        String(repeating: open, count: count) + inner + String(repeating: close, count: count))
    }
    let (map, end) = (#"{"mapValue":{"fields":{"x":"#, "}}}")
    return [
      (String(repeating: "[", count: 100_000), true),
      (String(repeating: #"{"a":"#, count: 100_000), true),
      (nested(19, map, #"{"nullValue":null}"#, end), false),
      (nested(21, map, #"{"nullValue":null}"#, end), true),
      (nested(200, map, #"{"nullValue":null}"#, end), true),
      (nested(25, #"{"arrayValue":{"values":["#, #"{"nullValue":null}"#, "]}}"), true),
      (#"{"name":5,"fields":{}}"#, true), (#"{"name":"a/b","fields":[]}"#, true),
      (#"{"name":"a/\u0000","fields":{}}"#, nil), (#"{"name":"","fields":{}}"#, true),
      (#"{"name":"a//b/c","fields":{}}"#, true), (#"{"name":"a/..","fields":{}}"#, true),
      (#"{"name":"a/\#(String(repeating: "x", count: 1501))","fields":{}}"#, true),
      (#"{"name":"a/b","name":"c/d","fields":{}}"#, true),
      (#"{"name":"a/b","fields":{"x":{"nullValue":null},"x":{"nullValue":null}}}"#, true),
      (value(#"{"integerValue":"9223372036854775808"}"#), true),
      (value(#"{"integerValue":9223372036854775808}"#), true),
      (value(#"{"integerValue":1.0}"#), false), (value(#"{"integerValue":""}"#), true),
      (value(#"{"integerValue":" 1"}"#), true), (value(#"{"doubleValue":1e400}"#), true),
      (value(#"{"doubleValue":"1e5"}"#), false), (value(#"{"doubleValue":-1e-400}"#), nil),
      (value(#"{"booleanValue":1}"#), true), (value(#"{"stringValue":null}"#), true),
      (value(#"{"stringValue":"\ud800"}"#), true), (value(#"{"nullValue":0}"#), false),
      (value(#"{"timestampValue":"0000-01-01T00:00:00Z"}"#), true),
      (value(#"{"timestampValue":"10000-01-01T00:00:00Z"}"#), true),
      (value(#"{"timestampValue":"9999-12-31T23:59:60Z"}"#), true),
      (value(#"{"timestampValue":"9999-12-31T23:59:59.999999999Z"}"#), false),
      (value(#"{"timestampValue":5}"#), true),
      (value(#"{"geoPointValue":{"latitude":91,"longitude":0}}"#), true),
      (value(#"{"geoPointValue":{"latitude":"NaN","longitude":0}}"#), true),
      (value(#"{"geoPointValue":{"latitude":"Infinity","longitude":1e308}}"#), true),
      (value(#"{"referenceValue":"a"}"#), true), (value(#"{"referenceValue":""}"#), true),
      (value(#"{"bytesValue":"===="}"#), true), (value(#"{"bytesValue":7}"#), true),
      (value(#"{"arrayValue":{"values":[{"arrayValue":{"values":[]}}]}}"#), true),
      (value(#"{"arrayValue":{"values":{}}}"#), true), (value(#"{"arrayValue":[]}"#), true),
      (value(#"{"mapValue":{"fields":[]}}"#), true), (value(#"{"otherValue":1}"#), true),
      (value("{}"), true), (value("[]"), true), (value("null"), true),
      (value(#"{"stringValue":"\#(String(repeating: "x", count: 1_100_000))"}"#), true),
      (#"{"name":"a/b","fields":{"":{"nullValue":null}}}"#, true),
      (#"{"name":"a/b","fields":{"__x__":{"nullValue":null}}}"#, true),
      (#"{"name":"a/b","fields":{},"createTime":5}"#, true),
      (#"{"name":"a/b","fields":{},"updateTime":"soon"}"#, true),
      (#"{"documents":-1}"#, true), (#"{"documents":9223372036854775807}"#, true),
      (#"{"documents":1.5}"#, true), ("\u{FEFF}{}", true), ("null", true), ("5", true),
      ("\0", true),
      (#"{"name":"a/b","fields":{}} {}"#, true), (#"{"name":"a/b","fields":{},}"#, true),
    ]
  }()

  @Test func `hostile lines are faults with their number, and nothing traps`() async throws {
    let good = #"{"name":"good/1","fields":{"n":{"integerValue":"1"}}}"# + "\n"
    let db = try open()
    for (index, (line, isFault)) in Self.hostile.enumerated() {
      let file = path("\(index).jsonl")
      try (good + line + "\n").write(toFile: file, atomically: true, encoding: .utf8)
      for isNew in [false, true] {
        let note: Comment = "\(line.prefix(100)), \(isNew)"
        do {
          if isNew {
            try await FirestoreFile(at: path("\(index).hearth")).import(from: file)
          } else {
            try await db.maintenance.import(from: file)
          }
          #expect(isFault != true, note)
        } catch {
          let error = error as NSError
          #expect(isFault != false, "\(line.prefix(100)): \(error.localizedDescription)")
          #expect(error.code == FirestoreErrorCode.invalidArgument.rawValue, note)
          #expect(
            error.localizedDescription.hasPrefix("Line 2: "),
            "\(error.localizedDescription.prefix(200))")
          #expect(error.localizedDescription.utf8.count < 2000, note)
        }
      }
    }
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
  }

  @Test func `hostile first lines, broken text and times to come are faults`() async throws {
    let headers = [
      #""hearthExport":2"#, #""hearthExport":"1""#, #""hearthExport":1,"expiry":5"#,
      #""hearthExport":1,"expiry":[{"collectionGroup":"a/b","fieldPath":"x"}]"#,
      #""hearthExport":1,"expiry":[{"collectionGroup":"a","fieldPath":".."}]"#,
      #""hearthExport":1,"expiry":[{"collectionGroup":"a"}]"#, #""hearthExport":1,"indexes":[]"#,
      #""hearthExport":1,"indexes":{"indexes":[{"collectionGroup":"b","fields":[]}]}"#,
      #""hearthExport":1,"indexes":{"fieldOverrides":[{"collectionGroup":"b","fieldPath":""}]}"#,
    ]
    for header in headers {
      try "{\(header)}\n".write(toFile: path("h.jsonl"), atomically: true, encoding: .utf8)
      await expectFault("Line 1: ", header)
    }
    var bytes = Data("{\"name\":\"a/b\",\"fields\":{\"x\":{\"stringValue\":\"".utf8)
    bytes += [0xC3, 0x28, 0xFF] + Data("\"}}}\n".utf8)
    try (Data("\n".utf8) + bytes).write(to: URL(fileURLWithPath: path("h.jsonl")))
    await expectFault("Line 2: ", "broken UTF-8")
    // Commit times go on from the latest, which must not be the end of time.
    for name in ["createTime", "updateTime"] {
      try #"{"name":"a/b","fields":{},"\#(name)":"9999-12-31T23:59:59.999999Z"}"#
        .write(toFile: path("h.jsonl"), atomically: true, encoding: .utf8)
      await expectFault("Line 1: ", name)
    }
    try #"{"hearthExport":1,"commitTime":"9999-12-31T23:59:59.999999Z"}"#
      .write(toFile: path("h.jsonl"), atomically: true, encoding: .utf8)
    await expectFault("Line 1: ", "commitTime")
    for place in [folder.path, path("none.jsonl")] {
      await #expect(throws: NSError.self) {
        try await FirestoreFile(at: path("x.hearth")).import(from: place)
      }
    }
    #expect(!FileManager.default.fileExists(atPath: path("x.hearth")))
  }

  private func expectFault(_ prefix: String, _ note: String) async {
    do {
      try await FirestoreFile(at: path("x.hearth")).import(from: path("h.jsonl"))
      Issue.record("\(note) was taken.")
    } catch {
      let error = error as NSError
      #expect(error.code == FirestoreErrorCode.invalidArgument.rawValue, "\(note)")
      #expect(
        error.localizedDescription.hasPrefix(prefix), "\(note): \(error.localizedDescription)")
    }
  }

  @Test func `an export with random damage never traps, and what is taken is whole`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let resources = Bundle.module.bundleURL.appendingPathComponent("Resources")
    let whole = try Data(contentsOf: resources.appendingPathComponent("format-1.jsonl"))
    var (taken, faults) = (0, 0)
    for round in 0..<(Soak.isOn ? 2000 : 60) {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes.remove(at: place)
        case 2:
          bytes.insert(contentsOf: Data("\"{}[],:0e9\\".utf8.shuffled(using: &random)), at: place)
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      try bytes.write(to: URL(fileURLWithPath: path("r.jsonl")))
      let target = path("\(round).hearth")
      let report: ImportReport
      do {
        report = try await FirestoreFile(at: target).import(
          from: path("r.jsonl"), skippingInvalidLines: true)
      } catch FirestoreErrorCode.invalidArgument {
        // No line was left whole.
        #expect(!FileManager.default.fileExists(atPath: target), "seed \(seed)")
        faults += 1
        continue
      }
      (taken, faults) = (taken + report.documents, faults + report.invalidLineCount)
      for fault in report.invalidLines {
        #expect(fault.line > 0 && !fault.problem.isEmpty, "seed \(seed)")
      }
      try FileManager.default.removeItem(atPath: target)
    }
    #expect(taken > 0 && faults > 0, "seed \(seed)")
  }
}
