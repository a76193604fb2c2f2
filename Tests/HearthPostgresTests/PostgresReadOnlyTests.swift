#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// A role that has no right but `SELECT`.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresReadOnlyTests {
    /// The same schema for a role with `SELECT` alone, whose transactions only read by default.
    private func readersURL(_ url: String) throws -> String {
      let role = "reader_\(UUID().uuidString.prefix(8).lowercased())"
      let connection = try PostgresConnection.forWriting(url)
      for statement in [
        "CREATE ROLE \(role) LOGIN",
        "ALTER ROLE \(role) SET default_transaction_read_only = on",
        "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO \(role)', current_schema()); "
          + "EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO \(role)', current_schema()); END $$",
      ] { _ = try connection.run([PostgresStatement(statement)]) }
      var parts = try #require(URLComponents(string: url))
      parts.user = role
      return try #require(parts.string)
    }

    private var readOnly: FirestoreSettings {
      let settings = FirestoreSettings()
      settings.isReadOnly = true
      return settings
    }

    @Test func `a role with SELECT alone reads, listens and is refused every write`() async throws {
      let url = try PostgresServer.newURL()
      let writer = try PostgresServer.open(url, as: "writer")
      try await writer.indexes.declare(FirestoreIndex("books", .ascending("n")))
      for n in 0..<20 { try await writer.document("books/\(n)").setData(["n": n]) }
      let reader = try Firestore.open(readersURL(url), settings: readOnly)
      let books = reader.collection("books")
      #expect(try await books.document("3").getDocument()["n"] as? Int == 3)
      #expect(try await books.whereField("n", isGreaterThan: 15).getDocuments().count == 4)
      #expect(try await books.count.getAggregation(source: .server).count == 20)
      #expect(try await reader.read { try $0.getDocument(books.document("4"))["n"] as? Int } == 4)
      #expect(try await reader.indexes.list().count == 1)
      // At a time after the newest commit, for which a writer would write.
      let past = try await reader.read(at: Timestamp(date: Date())) {
        try $0.getDocument(books.document("5"))["n"] as? Int
      }
      #expect(past == 5)
      let (news, continuation) = AsyncStream.makeStream(of: Int.self)
      let listener = books.document("new").addSnapshotListener { snapshot, _ in
        if let n = snapshot?["n"] as? Int { continuation.yield(n) }
      }
      try await writer.document("books/new").setData(["n": 100])
      #expect(await news.first { _ in true } == 100)
      listener.remove()

      for write: () async throws -> Void in [
        { try await books.document("3").setData(["n": 0]) },
        { try await books.document("3").delete() },
        {
          _ = try await reader.batch().setData(["n": 0], forDocument: books.document("3")).commit()
        },
        { try await reader.write { try $0.deleteDocument(books.document("3")) } },
        { try await reader.inTransaction { $0.deleteDocument(books.document("3")) } },
        { try await reader.indexes.declare(FirestoreIndex("books", .descending("n"))) },
        { try await reader.ttl.setPolicy(collectionGroup: "books", field: "until") },
      ] {
        do {
          try await write()
          Issue.record("A write was not refused.")
        } catch let error as NSError {
          #expect(error.code == FirestoreErrorCode.failedPrecondition.rawValue, "\(error)")
          #expect(
            error.localizedDescription == "The database is open for reading only.", "\(error)")
        }
      }
      #expect(try await writer.document("books/3").getDocument()["n"] as? Int == 3)
      try await reader.terminate()
      try await writer.terminate()
    }

    @Test func `tables that are missing or of an older format are not made by who only reads`()
      async throws
    {
      let url = try PostgresServer.newURL()
      var refused = #expect(throws: NSError.self) { try Firestore.open(url, settings: readOnly) }
      #expect(
        refused?.code == FirestoreErrorCode.failedPrecondition.rawValue,
        "\(String(describing: refused))")
      #expect(refused?.localizedDescription.contains("Open the database once for writing") == true)
      try await PostgresServer.open(url, as: "maker").terminate()
      let connection = try PostgresConnection.forWriting(url)
      for (format, sentence) in [
        (PostgresSchema.format - 1, "Open the database once for writing"),
        (PostgresSchema.format + 1, "Use a newer version of Hearth."),
      ] {
        _ = try connection.run([PostgresStatement("UPDATE hearth_store SET format = \(format)")])
        refused = #expect(throws: NSError.self) {
          try Firestore.open("\(url)&application_name=f\(format)", settings: readOnly)
        }
        #expect(refused?.code == FirestoreErrorCode.failedPrecondition.rawValue)
        #expect(refused?.localizedDescription.contains(sentence) == true)
        let stored = try connection.run([PostgresStatement("SELECT format FROM hearth_store")])
        #expect(stored.first?.integer(0, 0) == format)
      }
    }
  }
#endif
