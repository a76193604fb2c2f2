import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Times of commits under a clock that is wrong.
@Suite struct CommitTimeTests {
  private let folder = TemporaryFolder()
  private let clock = TestClock()

  private static let year: Int64 = 365 * 86_400 * 1_000_000

  private func open(
    _ name: String = "a", maximumLead: Duration? = nil
  ) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.maximumClockLead = maximumLead
    settings.clock = { [clock] in Timestamp(clock.now) }
    return try Firestore.open(at: "\(folder.path)/\(name).hearth", settings: settings)
  }

  /// Every form of a write that changes something, each to a document of its own.
  private static let forms: [(String, @Sendable (Firestore) async throws -> Void)] = [
    ("set", { try await $0.document("c/set").setData(["n": 1]) }),
    (
      "server timestamp",
      { try await $0.document("c/time").setData(["t": FieldValue.serverTimestamp()]) }
    ),
    ("update", { try await $0.document("c/old").updateData(["n": FieldValue.increment(1)]) }),
    ("delete", { try await $0.document("c/old").delete() }),
    (
      "batch",
      { db in
        let batch = db.batch()
        for n in 0..<20 { batch.setData(["n": n], forDocument: db.document("c/batch\(n)")) }
        try await batch.commit()
      }
    ),
    (
      "transaction",
      { db in
        try await db.runTransaction { transaction, _ in
          transaction.updateData(["n": 2], forDocument: db.document("c/old"))
          return nil
        }
      }
    ),
    (
      "closure",
      { db in
        try await db.write { tx in
          _ = try tx.getDocument(db.document("c/old"))
          try tx.setData(["t": FieldValue.serverTimestamp()], forDocument: db.document("c/closure"))
        }
      }
    ),
    (
      "many at once",
      { db in
        try await withThrowingTaskGroup { group in
          for n in 0..<30 {
            group.addTask { try await db.document("c/many\(n)").setData(["n": n]) }
          }
          try await group.waitForAll()
        }
      }
    ),
  ]

  private func expectRefused(_ db: Firestore, _ sentence: String) async throws {
    let before = try await db.collection("c").getDocuments().documents.map(\.documentID)
    for (name, form) in Self.forms {
      do {
        try await form(db)
        Issue.record("\(name) succeeds.")
      } catch let error as NSError {
        #expect(
          error.code == FirestoreErrorCode.failedPrecondition.rawValue
            && error.localizedDescription.contains(sentence)
            && error.localizedDescription.contains("Nothing was applied"), "\(name): \(error)")
      }
    }
    let after = try await db.collection("c").getDocuments().documents
    #expect(after.map(\.documentID) == before)
    #expect(try await db.document("c/old").getDocument()["n"] as? Int == 1)
  }

  @Test func `no commit gets a time after the year 9999, and all that is acknowledged is read`()
    async throws
  {
    let db = try open()
    clock.now = Instant(microseconds: Instant.latest.microseconds - 1)
    try await db.document("c/old").setData(["n": 1])
    try await db.document("c/last").setData(["n": 1])
    // The newest commit has the last time there is.
    try await expectRefused(db, "the last one possible is in the year 9999")
    // A write that changes nothing needs no time.
    try await db.document("c/old").setData(["n": 1])
    clock.now = Instant(microseconds: 1_767_225_600_000_000)
    try await expectRefused(db, "the last one possible is in the year 9999")
    try await db.terminate()
  }

  @Test(.embedded("It sets the engine's own clock."))
  func `a clock that is beyond the year 9999 gives no time`() async throws {
    var settings = EmbeddedBackend.Settings()
    settings.store.durability = .unsafeWithoutFlushing
    settings.store.now = { [clock] in clock.now }
    settings.queueLimitBytes = 1 << 20
    settings.indexPolicy = .declared
    let backend = try EmbeddedBackend(
      path: folder.path + "/late.hearth", settings, logger: .silent)
    defer { backend.close() }
    let path = ResourcePath(["c", "1"])
    func set(_ n: Int64) throws -> Mutation {
      Mutation(path: path, operation: try .set(encoding: MapValue([("n", .integer(n))])))
    }
    try await backend.commit([set(1)])
    let good = clock.now
    clock.now = Instant(microseconds: good.microseconds + 8000 * Self.year)
    await #expect {
      try await backend.commit([set(2)])
    } throws: { error in
      (error as? Status)?.code == .failedPrecondition && "\(error)".contains("Set the clock")
    }
    #expect(try await backend.document(at: path)?.updateTime == good)
    // It leaves nothing behind.
    clock.now = Instant(microseconds: good.microseconds + 5)
    try await backend.commit([set(3)])
    #expect(try await backend.document(at: path)?.updateTime == clock.now)
  }

  @Test(.embedded("The reference has no such setting."))
  func `with a maximum lead, commits are refused until the clock has caught up`() async throws {
    let start = clock.now
    var db = try open()
    try await db.document("c/old").setData(["n": 0])
    clock.now = Instant(microseconds: start.microseconds + 474 * Self.year)
    try await db.document("c/old").setData(["n": 1])
    clock.now = start
    // Without one, they get the next microseconds.
    try await db.document("d/1").setData(["n": 1])
    try await db.terminate()

    db = try open(maximumLead: .seconds(60))
    try await expectRefused(db, "further ahead of the clock than maximumClockLead allows")
    try await db.document("c/old").setData(["n": 1])
    #expect(try await db.document("c/old").getDocument()["n"] as? Int == 1)
    // Less ahead than allowed.
    clock.now = Instant(microseconds: start.microseconds + 474 * Self.year - 30_000_000)
    for (name, form) in Self.forms {
      do { try await form(db) } catch {
        // The document was deleted by the form before.
        #expect(name == "transaction", "\(name): \(error)")
      }
    }
    try await db.terminate()
  }

  @Test(.embedded("The reference has no such setting."))
  func `expired documents that a lead keeps from being deleted are an error`() async throws {
    let start = clock.now
    var db = try open()
    try await db.ttl.setPolicy(collectionGroup: "c", field: "due")
    clock.now = Instant(microseconds: start.microseconds + 474 * Self.year)
    try await db.document("d/1").setData(["n": 1])
    clock.now = start
    let due = Timestamp(Instant(microseconds: start.microseconds - 1_000_000))
    try await db.document("c/old").setData(["n": 1, "due": due])
    try await db.terminate()

    db = try open(maximumLead: .seconds(60))
    let error = await #expect(throws: (any Error).self) { _ = try await db.ttl.deleteExpired() }
    #expect((error as NSError?)?.localizedDescription.contains("maximumClockLead") == true)
    #expect(try await db.document("c/old").getDocument().exists)
    try await db.terminate()
  }

  @Test func `a maximum lead of less than a second is refused`() throws {
    let settings = FirestoreSettings()
    settings.maximumClockLead = .milliseconds(999)
    #expect(settings.validationError?.code == .invalidArgument)
    settings.maximumClockLead = .seconds(1)
    #expect(settings.validationError == nil)
    #expect(
      settings.embedded.store.commitTime.latest(at: Instant(microseconds: 5))
        == Instant(microseconds: 1_000_005))
    settings.maximumClockLead = .seconds(Int64.max)
    let latest = settings.embedded.store.commitTime.latest(at: .latest)
    #expect(latest == .latest)
  }

  @Test func `a lead of more than a minute is logged when it is noticed, and once an hour`() {
    let recorder = LogRecorder()
    let watch = ClockWatch(
      of: "books", now: { [clock] in clock.now },
      logger: Logger(label: "test") { _ in recorder })
    let start = clock.now
    func logged(_ lead: Int64, after seconds: Int64) -> Bool {
      clock.now = Instant(microseconds: start.microseconds + seconds * 1_000_000)
      let before = recorder.all.count
      watch.look(at: Instant(microseconds: clock.now.microseconds + lead * 1_000_000))
      return recorder.all.count > before
    }
    #expect(!logged(-100, after: 0))
    #expect(!logged(60, after: 1))
    #expect(logged(61, after: 2))
    #expect(!logged(1000, after: 600))
    #expect(!logged(1000, after: 3601))
    #expect(logged(1000, after: 3602))
    #expect(!logged(1000, after: 3603))
    // It has caught up, and another clock was ahead then.
    #expect(!logged(0, after: 3604))
    #expect(logged(1000, after: 3605))
    // The clock was set back.
    #expect(logged(1000, after: -100))
    #expect(recorder.all.allSatisfy { $0.hasPrefix("error: The newest commit is ahead") })
    let metadata = recorder.metadata(ofLineWith: "ahead")
    #expect(metadata?["database"] == "books")
    #expect(metadata?["clock"] == "2025-12-31T23:58:20Z")
    #expect(metadata?["newest"] == "2026-01-01T00:15:00Z")
  }

  @Test(.embedded("It opens a file."))
  func `a file whose newest commit is ahead says so when it is opened`() async throws {
    let ahead = try open()
    let start = clock.now
    clock.now = Instant(microseconds: start.microseconds + 474 * Self.year)
    try await ahead.document("c/1").setData(["n": 1])
    try await ahead.terminate()
    for (lead, isReadOnly) in [(474 * Self.year, false), (474 * Self.year, true), (0, false)] {
      let recorder = LogRecorder()
      var settings = EmbeddedBackend.Settings()
      settings.store.isReadOnly = isReadOnly
      clock.now = Instant(microseconds: start.microseconds + 474 * Self.year - lead)
      settings.store.now = { [clock] in clock.now }
      let path = folder.path + "/a.hearth"
      let backend = try EmbeddedBackend(
        at: path, named: path, settings, logger: Logger(label: "test") { _ in recorder })
      backend.close()
      #expect(recorder.metadata(ofLinesWith: "ahead of the clock").count == (lead > 0 ? 1 : 0))
    }
  }
}
