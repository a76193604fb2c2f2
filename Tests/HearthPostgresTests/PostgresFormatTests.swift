#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// The tables are upgraded by one process while another one has them open.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresFormatTests {
    private func integer(_ sql: String, _ connection: PostgresConnection) throws -> Int64 {
      try #require(try connection.run([PostgresStatement(sql)]).first?.integer(0, 0))
    }

    private final class Counts: Sendable {
      let acknowledged = Guarded(0)
      let refused = Guarded(0)
    }

    /// All that is stored, as numbers that any write changes.
    private func content(_ connection: PostgresConnection) throws -> [Int64] {
      try [
        "SELECT sequence FROM hearth_store", "SELECT time FROM hearth_store",
        "SELECT read_time FROM hearth_store", "SELECT generation FROM hearth_store",
        "SELECT first_logged FROM hearth_store", "SELECT count(*) FROM hearth_documents",
        "SELECT coalesce(sum(sequence), 0)::bigint FROM hearth_documents",
        "SELECT count(*) FROM hearth_log", "SELECT count(*) FROM hearth_commits",
        "SELECT count(*) FROM hearth_indexes", "SELECT count(*) FROM hearth_entries",
      ].map { try integer($0, connection) }
    }

    private func expectRefused(
      _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
      _ body: () async throws -> Void
    ) async {
      do {
        try await body()
        Issue.record("\(name) succeeds.", sourceLocation: sourceLocation)
      } catch let error as NSError {
        let text = error.localizedDescription
        #expect(
          error.code == FirestoreErrorCode.failedPrecondition.rawValue
            && text.contains("upgraded the tables to format 99")
            && text.contains("supports format \(PostgresSchema.format). Restart it"),
          "\(name): \(error)", sourceLocation: sourceLocation)
      }
    }

    @Test(arguments: [false, true])
    func `nothing is written or read after another process has upgraded the tables`(
      readsFirst: Bool
    ) async throws {
      let url = try PostgresServer.newURL()
      let connection = try PostgresConnection.forWriting(url)
      let db = try PostgresServer.open(url, as: "old")
      let backend = try #require(try db.database().backend as? RemoteBackend)
      backend.writer.readsFirst.withLock { $0 = readsFirst }
      try await db.document("c/1").setData(["n": 1])
      try await db.document("c/2").setData(["n": 2])
      try await db.indexes.declare(FirestoreIndex("c", .ascending("n"), .ascending("m")))
      try await db.indexes.waitUntilReady()
      let token = try await db.changeToken()
      _ = try connection.run([
        PostgresStatement("UPDATE hearth_commits SET made = made - interval '2 days'"),
        PostgresStatement("UPDATE hearth_store SET format = 99"),
      ])
      let before = try content(connection)

      let one = db.document("c/1")
      await expectRefused("set") { try await one.setData(["n": 3]) }
      await expectRefused("update") { try await one.updateData(["n": FieldValue.increment(1)]) }
      await expectRefused("delete") { try await one.delete() }
      await expectRefused("many waves") {
        try await withThrowingTaskGroup { group in
          for n in 0..<200 { group.addTask { try await one.setData(["n": n]) } }
          try await group.waitForAll()
        }
      }
      await expectRefused("batch") {
        let batch = db.batch()
        for n in 0..<100 { batch.setData(["n": n], forDocument: db.document("d/\(n)")) }
        try await batch.commit()
      }
      await expectRefused("transaction") {
        try await db.inTransaction { $0.updateData(["n": 4], forDocument: one) }
      }
      await expectRefused("closure") { try await db.write { try $0.deleteDocument(one) } }
      await expectRefused("index") {
        try await db.indexes.declare(FirestoreIndex("d", .ascending("n"), .ascending("m")))
      }
      await expectRefused("drop") {
        try await db.indexes.drop(FirestoreIndex("c", .ascending("n"), .ascending("m")))
      }
      await expectRefused("policy") {
        try await db.ttl.setPolicy(collectionGroup: "c", field: "until")
      }
      let failures = Guarded<[NSError]>([])
      let bulk = db.bulkWriter { failure in failures.withLock { $0.append(failure.error) } }
      for n in 0..<10 { await bulk.enqueueSet(["n": n], forDocument: db.document("e/\(n)")) }
      #expect(await bulk.finish().failed == 10)
      for failure in failures.withLock(\.self) { await expectRefused("bulk") { throw failure } }
      // What the writer does by itself.
      #expect(
        try backend.store.write { writing throws(Status) in
          try writing.removeOldCommitIDs()
        } == false)
      await expectRefused("settling a read") {
        try reporting { _ = try backend.writer.settle(Instant.now(), RemoteRead()) }
      }

      await expectRefused("document") { _ = try await one.getDocument() }
      await expectRefused("query") { _ = try await db.collection("c").getDocuments() }
      await expectRefused("count") {
        _ = try await db.collection("c").count.getAggregation(source: .server)
      }
      await expectRefused("closure that reads") {
        try await db.read { _ = try $0.getDocument(one) }
      }
      await expectRefused("changes") { for try await _ in db.changes(since: token) { break } }
      await expectRefused("listener") { for try await _ in one.snapshots { break } }
      #expect(try content(connection) == before)

      // Its connections are as good as before.
      _ = try connection.run([
        PostgresStatement("UPDATE hearth_store SET format = \(PostgresSchema.format)")
      ])
      try await one.updateData(["n": 5])
      #expect(try await one.getDocument()["n"] as? Int == 5)
      try await db.terminate()
    }

    @Test(arguments: [false, true])
    func `of the writes under way, none is acknowledged that comes after an upgrade`(
      readsFirst: Bool
    ) async throws {
      let url = try PostgresServer.newURL()
      let connection = try PostgresConnection.forWriting(url)
      let db = try PostgresServer.open(url, as: "old")
      let backend = try #require(try db.database().backend as? RemoteBackend)
      backend.writer.readsFirst.withLock { $0 = readsFirst }
      let counts = Counts()
      try await withThrowingTaskGroup { group in
        for task in 0..<8 {
          group.addTask {
            do {
              for n in 0..<100_000 {
                try await db.document("c/\(task)-\(n)").setData(["n": n])
                counts.acknowledged.withLock { $0 += 1 }
              }
            } catch FirestoreErrorCode.failedPrecondition {
              counts.refused.withLock { $0 += 1 }
            }
          }
        }
        try await eventually { counts.acknowledged.withLock(\.self) >= 50 }
        _ = try connection.run([PostgresStatement("UPDATE hearth_store SET format = 99")])
        try await group.waitForAll()
      }
      #expect(counts.refused.withLock(\.self) == 8)
      #expect(
        try integer("SELECT count(*) FROM hearth_documents", connection)
          == Int64(counts.acknowledged.withLock(\.self)))
      try await db.terminate()
    }

    @Test func `a column that a newer version has removed is explained`() async throws {
      let url = try PostgresServer.newURL()
      let connection = try PostgresConnection.forWriting(url)
      let db = try PostgresServer.open(url, as: "old")
      try await db.document("c/1").setData(["n": 1])
      _ = try connection.run([
        PostgresStatement("ALTER TABLE hearth_store DROP COLUMN logged_bytes"),
        PostgresStatement("ALTER TABLE hearth_store DROP COLUMN read_time"),
      ])
      await #expect {
        try await db.document("c/1").setData(["n": 2])
      } throws: { error in
        FirestoreErrorCode.failedPrecondition ~= error
          && "\(error)".contains("a newer one may have upgraded them")
      }
      try await db.terminate()
    }
  }
#endif
