import Foundation
import Synchronization
import Testing

@testable import Hearth

/// Copies, exports and repairs of whole databases, as people ask for them.
@Suite struct FirestoreCareTests {
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
      let name = database.name(ResourcePath(relative: "\(collection)/\(index)\(long)"))
      let size = Int.random(in: 0...(index % 30 == 0 ? 20_000 : 200), using: &random)
      let body = try DocumentBody(
        encoding: MapValue([
          ("n", .integer(Int64(index))), ("text", .string(String(repeating: "x", count: size))),
          ("value", .double(Double(index) / 7)),
        ]))
      mutations.append(Mutation(name: name, operation: .set(body)))
    }
    for portion in stride(from: 0, to: count, by: 50) {
      _ = try await database.writer.commit(
        Array(mutations[portion..<min(portion + 50, count)]))
    }
    for index in stride(from: 1, to: count, by: 9) {
      _ = try await database.writer.commit([
        Mutation(name: mutations[index].name, operation: .delete)
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
          "\(record.createTime.text) \(record.updateTime.text) \(Array(record.body).hashValue)"
      }
      return found
    }
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  // MARK: Check

  @Test func `a file is checked open and closed`() async throws {
    let db = try open()
    try await fill(db)
    let open = try await db.check()
    #expect(open.isWhole && open.documents > 200 && open.pages > 0, "\(open.problems)")
    #expect(
      await code { _ = try await Firestore.check(at: path("a.hearth")) } == .failedPrecondition)
    try await db.terminate()
    let steps = Mutex<Set<CareProgress.Step>>([])
    let closed = try await Firestore.check(at: path("a.hearth")) { progress in
      #expect((0...progress.total).contains(progress.done))
      steps.withLock { _ = $0.insert(progress.step) }
    }
    #expect(closed.isWhole && closed.documents == open.documents, "\(closed.problems)")
    #expect(steps.withLock { $0 } == [.pages, .records])
    let copy = path("alone.hearth")
    try FileManager.default.copyItem(atPath: path("a.hearth"), toPath: copy)
    #expect(try await Firestore.check(at: copy).isWhole)
    let beside = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(beside.filter { $0.hasPrefix("alone") } == ["alone.hearth"])
    #expect(await code { _ = try await Firestore.check(at: path("none.hearth")) } == .notFound)
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
      let report = try await db.check()
      #expect(report.isWhole, "\(report.problems)")
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
      let report = try await db.backup(to: target, compacting: compacting, replacing: round > 0)
      #expect(report.isWhole && report.documents > 200)
      let copy = try Firestore.open(at: target)
      let twins = try await copy.collection("twins").getDocuments().documents
      #expect(twins.first?["n"] as? Int == twins.last?["n"] as? Int)
      try await copy.document("twins/a").setData(["own": true])
      #expect(
        await code { try await db.backup(to: target, replacing: true) } == .failedPrecondition)
      try await copy.terminate()
    }
    isDone.store(true, ordering: .relaxed)
    try await writing
    #expect(await code { try await db.backup(to: target) } == .alreadyExists)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains("unfinished") })
    // The times and everything else are the same.
    try await db.backup(to: path("same.hearth"), compacting: compacting)
    let copy = try Firestore.open(at: path("same.hearth"))
    #expect(try documents(copy) == documents(db))
    try await copy.terminate()
    try await db.terminate()
  }

  @Test func `a cancelled backup leaves nothing behind`() async throws {
    let db = try open()
    try await fill(db, 2000)
    let target = path("copy.hearth")
    let task = Task {
      try await db.backup(to: target) { _ in withUnsafeCurrentTask { $0?.cancel() } }
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
      await code { try await Firestore.compact(at: path("a.hearth")) } == .failedPrecondition)
    try await db.terminate()
    let sizes = try await Firestore.compact(at: path("a.hearth"))
    #expect(sizes.bytesAfter < sizes.bytesBefore)
    #expect(try await Firestore.check(at: path("a.hearth")).isWhole)
    let again = try open()
    #expect(try documents(again) == before)
    try await again.document("books/new").setData(["n": 1])
    #expect(try await again.check().isWhole)
    try await again.terminate()
  }

  @Test func `opening waits for a compaction and gets the new file`() async throws {
    let db = try open()
    try await fill(db, 400)
    let before = try documents(db)
    try await db.terminate()
    for _ in 0..<8 {
      async let compacting: Any = Firestore.compact(at: path("a.hearth"))
      let again = try open()
      #expect(try documents(again) == before)
      try await again.terminate()
      _ = try? await compacting
    }
    #expect(try await Firestore.check(at: path("a.hearth")).isWhole)
  }

  // MARK: Export and import

  @Test func `an export imported is the same database, with its times`() async throws {
    let db = try open()
    try await fill(db)
    let count = try await db.export(to: path("a.jsonl"))
    #expect(await code { try await db.export(to: path("a.jsonl")) } == .alreadyExists)
    let report = try await Firestore.importDocuments(
      from: path("a.jsonl"), toNew: path("b.hearth"))
    #expect(report.documents == count && report.faultCount == 0)
    let copy = try open("b.hearth")
    #expect(try documents(copy) == documents(db))
    #expect(try await copy.check().isWhole)
    // Written over itself it changes nothing.
    let again = try await copy.importDocuments(from: path("a.jsonl"))
    #expect(again.documents == count)
    #expect(try documents(copy) == documents(db))
    try await copy.export(to: path("b.jsonl"))
    let lines = try [path("a.jsonl"), path("b.jsonl")].map {
      try String(contentsOfFile: $0, encoding: .utf8).split(separator: "\n").dropFirst()
    }
    #expect(lines[0] == lines[1])
    try await copy.terminate()
    try await db.terminate()
  }

  @Test func `a line that is no document is told by its number`() async throws {
    let good = #"{"name":"a/1","fields":{"n":{"integerValue":"1"}}}"#
    let faults: [(String, String)] = [
      ("{", "not valid"), (#"{"name":"a","fields":{}}"#, "even number"),
      (#"{"name":"a/b","fields":{"x":{"integerValue":"1.5"}}}"#, "an integer"),
      (#"{"name":"a/b","fields":{"x":{"stringValue":"a","nullValue":null}}}"#, "a value"),
      (#"{"name":"a/__b__","fields":{}}"#, "reserved"), (#"{"fields":{}}"#, "lacks a name"),
      (#"{"name":"a/b","fields":{"x":{"timestampValue":"2026-02-30T00:00:00Z"}}}"#, "a time"),
      (#"{"name":"a/b","fields":{"x":{"bytesValue":"*"}}}"#, "base64"),
    ]
    for (index, (line, sentence)) in faults.enumerated() {
      let db = try open("f\(index).hearth")
      let file = path("\(index).jsonl")
      try [good, "", line, good.replacingOccurrences(of: "a/1", with: "a/2")]
        .joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
      do {
        _ = try await db.importDocuments(from: file)
        Issue.record("\(line) was taken.")
      } catch {
        let text = (error as NSError).localizedDescription
        #expect(text.hasPrefix("Line 3: ") && text.contains(sentence), "\(text)")
      }
      let report = try await db.importDocuments(from: file, skippingFaults: true)
      #expect(report.documents == 2 && report.faultCount == 1 && report.faults[0].line == 3)
      #expect(try documents(db).count == 2)
      try await db.terminate()
    }
  }

  @Test func `an export that was cut is noticed`() async throws {
    let db = try open()
    try await fill(db, 50)
    try await db.export(to: path("a.jsonl"))
    let text = try String(contentsOfFile: path("a.jsonl"), encoding: .utf8)
    let lines = text.split(separator: "\n")
    try lines.dropLast().joined(separator: "\n")
      .write(toFile: path("cut.jsonl"), atomically: true, encoding: .utf8)
    let other = try open("b.hearth")
    #expect(
      await code { try await other.importDocuments(from: path("cut.jsonl")) } == .invalidArgument)
    try (lines.prefix(10) + lines.suffix(1)).joined(separator: "\n")
      .write(toFile: path("gap.jsonl"), atomically: true, encoding: .utf8)
    #expect(
      await code { try await other.importDocuments(from: path("gap.jsonl")) } == .invalidArgument)
    try await other.importDocuments(from: path("a.jsonl"))
    #expect(try documents(other).keys == documents(db).keys)
    try await other.terminate()
    try await db.terminate()
  }
}
