#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// Times of commits under a clock that is wrong, and the way back.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresTimeTests {
    private static let year: Int64 = 365 * 86_400 * 1_000_000
    /// 2026-01-01.
    private static let start: Int64 = 1_767_225_600_000_000

    private final class Clock: Sendable {
      let microseconds = Guarded(PostgresTimeTests.start)
      var now: Int64 {
        get { microseconds.withLock(\.self) }
        set { microseconds.withLock { $0 = newValue } }
      }
    }

    private let clock = Clock()

    private func open(
      _ url: String, as name: String, maximumLead: Duration? = nil
    ) throws -> Firestore {
      let settings = FirestoreSettings()
      settings.maximumClockLead = maximumLead
      settings.clock = { [clock] in Timestamp(Instant(microseconds: clock.now)) }
      return try Firestore.open("\(url)&application_name=\(name)", settings: settings)
    }

    private func expectRefused(
      _ sentence: String, sourceLocation: SourceLocation = #_sourceLocation,
      _ body: () async throws -> Void
    ) async {
      do {
        try await body()
        Issue.record("It succeeds.", sourceLocation: sourceLocation)
      } catch let error as NSError {
        #expect(
          error.code == FirestoreErrorCode.failedPrecondition.rawValue
            && error.localizedDescription.contains(sentence), "\(error)",
          sourceLocation: sourceLocation)
      }
    }

    private func expectNoWrites(_ db: Firestore, _ sentence: String) async throws {
      let one = db.document("c/1")
      await expectRefused(sentence) { try await one.setData(["n": 2]) }
      await expectRefused(sentence) { try await one.updateData(["n": FieldValue.increment(1)]) }
      await expectRefused(sentence) { try await one.delete() }
      await expectRefused(sentence) {
        try await withThrowingTaskGroup { group in
          for n in 0..<100 { group.addTask { try await one.setData(["n": 10 + n]) } }
          try await group.waitForAll()
        }
      }
      await expectRefused(sentence) {
        try await db.inTransaction { $0.updateData(["n": 3], forDocument: one) }
      }
      await expectRefused(sentence) {
        try await db.write { try $0.setData(["n": 4], forDocument: db.document("c/4")) }
      }
      #expect(try await one.getDocument()["n"] as? Int == 1)
      #expect(try await db.collection("c").getDocuments().count == 1)
    }

    @Test func `no commit gets a time after the year 9999`() async throws {
      let url = try PostgresServer.newURL()
      let db = try open(url, as: "late")
      clock.now = Instant.latest.microseconds
      try await db.document("c/1").setData(["n": 1])
      try await expectNoWrites(db, "the last one possible is in the year 9999")
      // What changes nothing needs no time.
      try await db.document("c/1").setData(["n": 1])
      try await db.terminate()
    }

    @Test func `with a maximum lead, commits are refused until the clock has caught up`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let ahead = try open(url, as: "a")
      let careful = try open(url, as: "b", maximumLead: .seconds(60))
      clock.now = Self.start + 474 * Self.year
      try await ahead.document("c/1").setData(["n": 1])
      clock.now = Self.start
      try await expectNoWrites(careful, "further ahead of the clock than maximumClockLead allows")
      clock.now = Self.start + 474 * Self.year - 30_000_000
      try await careful.document("c/1").setData(["n": 5])
      try await careful.document("c/1").updateData(["n": FieldValue.increment(1)])
      #expect(try await ahead.document("c/1").getDocument()["n"] as? Int == 6)
      try await ahead.terminate()
      try await careful.terminate()
    }

    @Test func `times that were ahead are corrected while processes have the tables open`()
      async throws
    {
      let url = try PostgresServer.newURL()
      let (db, other) = (try open(url, as: "one"), try open(url, as: "other"))
      func times(_ db: Firestore, _ id: String) async throws -> (create: Int64, update: Int64) {
        let document = try #require(
          try await db.database().backend.document(at: ResourcePath(["c", id])))
        return (document.createTime.microseconds, document.updateTime.microseconds)
      }
      try await db.document("c/good").setData(["n": 1])
      try await db.document("c/changed").setData(["n": 1])
      let good = try await times(db, "good")
      let changed = try await times(db, "changed")
      clock.now = Self.start + 474 * Self.year
      try await db.document("c/changed").updateData(["n": 2])
      try await db.document("c/first").setData(["n": 3])
      clock.now += 1_000_000
      try await db.document("c/second").setData(["n": 4])
      clock.now = Self.start + 100_000_000
      let token = try await other.changeToken()
      let seen = Guarded<[[Int]]>([])
      let query = other.collection("c").order(by: "n")
      let registration = query.addSnapshotListener { snapshot, _ in
        let numbers = snapshot?.documents.compactMap { $0["n"] as? Int } ?? [-1]
        seen.withLock { $0.append(numbers) }
      }
      try await eventually { seen.withLock { !$0.isEmpty } }

      // A document that is new has both of its times moved.
      #expect(try await db.maintenance.repairTimes() == 3)
      #expect(try await db.maintenance.repairTimes() == 0)

      #expect(try await times(other, "good") == good)
      #expect(try await times(other, "changed").create == changed.create)
      let (first, second) = (try await times(db, "first"), try await times(db, "second"))
      #expect(second == (clock.now, clock.now))
      // It was written a microsecond after the change, under the same clock.
      #expect(first == (clock.now - 999_999, clock.now - 999_999))
      clock.now += 1_000_000
      try await other.document("c/new").setData(["n": 5])
      #expect(try await times(db, "new") == (clock.now, clock.now))
      try await db.document("c/new").updateData(["n": 6])
      #expect(try await times(db, "new").update == clock.now + 1)
      // The listener goes on; a token from before does not.
      try await eventually {
        #expect(seen.withLock { $0.last } != [-1])
        return seen.withLock { $0.last } == [1, 2, 3, 4, 6]
      }
      registration.remove()
      await #expect {
        for try await _ in other.changes(since: token) { break }
      } throws: { FirestoreErrorCode.outOfRange ~= $0 }
      try await db.terminate()
      try await other.terminate()
    }

    @Test func `a database whose newest commit is ahead says so when it is opened`() async throws {
      let url = try PostgresServer.newURL()
      let db = try open(url, as: "late")
      clock.now = Self.start + Self.year
      try await db.document("c/1").setData(["n": 1])
      try await db.terminate()
      let lines = Guarded<[String]>([])
      struct Recorder: LogHandler {
        let add: @Sendable (String) -> Void
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.error
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
          get { nil }
          set {}
        }
        func log(event: LogEvent) { add("\(event.level): \(event.message)") }
      }
      let logger = Logger(label: "test") { _ in
        Recorder { line in lines.withLock { $0.append(line) } }
      }
      for now in [Self.start, Self.start + Self.year] {
        var settings = EmbeddedBackend.Settings()
        settings.store.now = { Instant(microseconds: now) }
        let backend = try RemoteBackend(
          PostgresStore(
            url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30),
            logger: logger), settings, logger: logger)
        backend.close()
      }
      let found = lines.withLock { $0.filter { $0.contains("is ahead of the clock") } }
      #expect(found.count == 1 && found.first?.hasPrefix("error: ") == true)
    }
  }
#endif
