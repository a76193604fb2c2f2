#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// What a server of Firestore's clients needs of the backend behind it.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresServedTests {
    private static let path = ResourcePath(["counters", "one"])

    private static func open(_ url: String) throws -> RemoteBackend {
      let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      var settings = EmbeddedBackend.Settings()
      settings.store.ttlSweepInterval = nil
      settings.transactionPatience = .seconds(60)
      let retention = ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30)
      return try RemoteBackend(
        PostgresStore(url, retention: retention, logger: logger), settings, logger: logger)
    }

    private static func set(_ n: Int64) throws -> Mutation {
      Mutation(path: path, operation: try .set(encoding: MapValue([("n", .integer(n))])))
    }

    /// As Google's clients do it: five attempts, each of which names the one before.
    private static func increment(_ backend: RemoteBackend) async throws {
      var start = TransactionStart(at: CallSite(file: #fileID, line: #line))
      for attempt in 1...5 {
        let id = try await backend.awaiting { backend.beginTransaction(start, .lent, $0) }
        let context = RequestContext(thread: .lent, transaction: id)
        let found = try await backend.awaiting { backend.read(.documents(at: [path]), context, $0) }
          .answer.documents
        // The way to the client and back.
        try await Task.sleep(for: .milliseconds(.random(in: 1...5)))
        guard case .integer(let n)? = try found[0]?.body.map()["n"] else { return }
        let request = CommitRequest([try set(n + 1)], in: id)
        do {
          _ = try await backend.awaiting { backend.commit(request, .lent, $0) }
          return
        } catch let error as Status where error.isContention && attempt < 5 {
          start.retrying = id
        }
      }
    }

    @Test func `transactions of many clients take turns, and none gives up`() async throws {
      let backend = try Self.open(try PostgresServer.newURL())
      defer { backend.close() }
      _ = try await backend.commit([try Self.set(0)])
      let (clients, increments) = (16, Soak.isOn ? 100 : 10)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<clients {
          group.addTask { for _ in 0..<increments { try await Self.increment(backend) } }
        }
        try await group.waitForAll()
      }
      let document = try #require(try await backend.document(at: Self.path))
      #expect(try document.body.map()["n"] == .integer(Int64(clients * increments)))
    }

    @Test func `a query without its index has the index that it wants`() async throws {
      let backend = try Self.open(try PostgresServer.newURL())
      defer { backend.close() }
      _ = try await backend.commit([try Self.set(0)])
      var query = StructuredQuery(.collection(ResourcePath(["counters"])))
      query.filters = [
        .comparison(.init(field: FieldSegments(["n"]), operator: .equal, operand: .integer(0)))
      ]
      query.orders = [.init(field: FieldSegments(["m"]))]
      func missingIndexes(of query: StructuredQuery) async throws -> [String] {
        let request = ReadRequest.explanation(of: .results(EffectiveQuery(query)))
        return try await backend.read(request).explanation.missingIndexes
      }
      let missing = try await missingIndexes(of: query)
      #expect(missing.count == 1 && missing[0].contains(#""fieldPath":"n""#), "\(missing)")
      try await backend.declare([
        IndexDefinition(
          "counters", scope: .collection,
          [
            .init(field: FieldSegments(["n"]), kind: .ascending),
            .init(field: FieldSegments(["m"]), kind: .ascending),
          ])
      ])
      try await backend.waitForIndexes()
      #expect(try await missingIndexes(of: query) == [])
      let all = StructuredQuery(.collection(ResourcePath(["counters"])))
      #expect(try await missingIndexes(of: all) == [])
    }

    /// As after a failover to a replica that did not have the last declaration.
    @Test func `a declaration that is lost stops no reads`() async throws {
      let url = try PostgresServer.newURL()
      let backend = try Self.open(url)
      defer { backend.close() }
      let time = try await backend.commit([try Self.set(0)]).commitTime
      let connection = try PostgresConnection.forWriting(url)
      let before =
        try connection.run([PostgresStatement("SELECT generation FROM hearth_store")])
        .first?.integer(0, 0) ?? 0
      let index = IndexDefinition(
        "counters", scope: .collection, [.init(field: FieldSegments(["n"]), kind: .ascending)])
      try await backend.declare([index])
      try await backend.waitForIndexes()
      _ = try connection.run([PostgresStatement("DELETE FROM hearth_indexes")])
      _ = try connection.run([PostgresStatement("DELETE FROM hearth_entries")])
      _ = try connection.run([
        PostgresStatement("UPDATE hearth_store SET generation = \(before)")
      ])
      var query = StructuredQuery(.collection(ResourcePath(["counters"])))
      query.filters = [
        .comparison(.init(field: FieldSegments(["n"]), operator: .equal, operand: .integer(0)))
      ]
      #expect(try await backend.read(.results(EffectiveQuery(query))).results.count == 1)
      #expect(
        try await backend.versioned(.results(EffectiveQuery(query)), at: Timestamp(time)).answer
          .results.count
          == 1)
      _ = try await backend.commit([try Self.set(1)])
      #expect(try await backend.read(.results(EffectiveQuery(query))).results.isEmpty)
      // Another declaration is not taken for the one that was lost.
      let other = try Self.open(url)
      defer { other.close() }
      try await other.declare([index])
      try await other.waitForIndexes()
      _ = try await backend.commit([try Self.set(0)])
      #expect(try await other.read(.results(EffectiveQuery(query))).results.count == 1)
    }

    @Test func `a notification that came with an answer is not waited for`() throws {
      let url = try PostgresServer.newURL()
      let listening = try PostgresConnection.forReading(url)
      let notifying = try PostgresConnection.forWriting(url)
      _ = try listening.run([PostgresStatement("LISTEN hearth_test")])
      _ = try notifying.run([PostgresStatement("NOTIFY hearth_test")])
      _ = try listening.run([PostgresStatement("SELECT 1::bigint")])
      // Both may have come.
      Thread.sleep(forTimeInterval: 0.2)
      _ = try listening.run([PostgresStatement("SELECT 1::bigint")])
      let began = ContinuousClock.now
      #expect(try listening.waitForNotification(milliseconds: 120_000))
      #expect(ContinuousClock.now - began < .seconds(60))
    }

    @Test func `a login that the server refuses has its code`() throws {
      let url = try #require(PostgresServer.url)
      var user = try #require(URLComponents(string: url))
      user.user = "nobody"
      var database = try #require(URLComponents(string: url))
      database.path = "/none"
      for (parts, code) in [
        (user, Status.Code.permissionDenied), (database, .failedPrecondition),
      ] {
        let refused = #expect(throws: Status.self) { try Self.open(try #require(parts.string)) }
        #expect(refused?.code == code, "\(refused.debugDescription)")
      }
    }
  }
#endif
