#if Server && Postgres
  import FirestoreProtocol
  import Foundation
  import HearthPostgres
  import Logging
  import PostgresTestServer
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthEngine
  @testable import HearthServer

  /// What calls of clients cost where the database is on a PostgreSQL server.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct ServedRoundTripTests {
    private static let collection = TestServer.root + "/books"
    private static let documents = 20

    private static func open(_ url: String) throws -> RemoteBackend {
      let logger = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      var settings = EmbeddedBackend.Settings()
      settings.store.ttlSweepInterval = nil
      settings.transactionPatience = FirestoreServer.transactionPatience
      let store = try PostgresStore(
        url, retention: FirestoreServer.defaultRetention, logger: logger)
      return try RemoteBackend(store, settings, logger: logger)
    }

    /// Runs `body` with a server whose database is behind a proxy that counts.
    private static func run(
      _ body: @Sendable (TestServer, PostgresProxy, _ url: String) async throws -> Void
    ) async throws {
      let url = try PostgresServer.newURL()
      let proxy = try PostgresProxy(to: PostgresServer.port)
      defer { proxy.close() }
      let backend = try open(PostgresServer.url(url, through: proxy))
      try await TestServer.run(over: backend) { server in
        for n in 0..<documents { try await server.set("\(collection)/\(n)", Int64(n)) }
        // Each of the reading threads has made its connection, and has its statements prepared.
        for call in [get, query, list, sum] {
          try await withThrowingTaskGroup { group in
            for _ in 0..<64 { group.addTask { try await call(server, Data()) } }
            try await group.waitForAll()
          }
        }
        try await body(server, proxy, url)
      }
    }

    // MARK: Calls

    private typealias Call = @Sendable (TestServer, _ transaction: Data) async throws -> Void

    private static let get: Call = { server, transaction in
      let document = try await server.get(
        "\(collection)/1", in: transaction.isEmpty ? nil : transaction)
      #expect(document.fields["n"]?.integerValue ?? 0 > 0)
    }

    private static let batchGet: Call = { server, transaction in
      let request = ProtoBatchGetDocumentsRequest.with {
        $0.database = TestServer.database
        $0.documents = (0..<10).map { "\(collection)/\($0)" }
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      let found = try await server.client.batchGetDocuments(request) { response in
        try await response.messages.reduce(0) { $0 + ($1.found.name.isEmpty ? 0 : 1) }
      }
      #expect(found == 10)
    }

    private static let query: Call = { server, transaction in
      let request = ProtoRunQueryRequest.with {
        $0.parent = TestServer.root
        $0.structuredQuery.from = [.with { $0.collectionID = "books" }]
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      let found = try await server.client.runQuery(request) { response in
        try await response.messages.reduce(0) { $0 + ($1.hasDocument ? 1 : 0) }
      }
      #expect(found == documents)
    }

    private static let list: Call = { server, transaction in
      let request = ProtoListDocumentsRequest.with {
        $0.parent = TestServer.root
        $0.collectionID = "books"
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      let found = try await server.client.listDocuments(request).documents.count
      #expect(found == documents)
    }

    private static let sum: Call = { server, transaction in
      let request = ProtoRunAggregationQueryRequest.with {
        $0.parent = TestServer.root
        $0.structuredAggregationQuery.structuredQuery.from = [.with { $0.collectionID = "books" }]
        $0.structuredAggregationQuery.aggregations = [
          .with {
            $0.alias = "sum"
            $0.sum.field.fieldPath = "n"
          }
        ]
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      let sum = try await server.client.runAggregationQuery(request) { response in
        try await response.messages.reduce(into: Int64(0)) {
          $0 += $1.result.aggregateFields["sum"]?.integerValue ?? 0
        }
      }
      #expect(sum > 0)
    }

    // MARK: Tests

    @Test(arguments: ["get", "batch get", "query", "list", "sum"])
    func `a call takes one round trip, and a list two`(name: String) async throws {
      try await Self.run { server, proxy, _ in
        let calls = [
          "get": Self.get, "batch get": Self.batchGet, "query": Self.query, "list": Self.list,
          "sum": Self.sum,
        ]
        let call = try #require(calls[name])
        let count = try await proxy.fewestRoundTrips { try await call(server, Data()) }
        // A page is one message: a list reads four documents, and then as many as have room in it.
        #expect(count == (name == "list" ? 2 : 1))
      }
    }

    @Test func `a transaction takes one round trip for each read and one for its commit`()
      async throws
    {
      try await Self.run { server, proxy, _ in
        let reads = [Self.get, Self.batchGet, Self.query, Self.sum]
        for count in 1...reads.count {
          let trips = try await proxy.fewestRoundTrips {
            let transaction = try await server.begin(.init())
            for read in reads.prefix(count) { try await read(server, transaction) }
            try await server.set("\(Self.collection)/1", 1, in: transaction)
          }
          #expect(trips == count + 1, "\(count) reads")
        }
      }
    }

    private final class Commits: Sendable {
      let count = Atomic(0)
    }

    /// Writers on another way than the one that counts.
    @Test func `a query under 64 writers is never begun again`() async throws {
      try await Self.run { server, proxy, url in
        let writing = try Self.open(url)
        defer { writing.close() }
        let commits = Commits()
        try await withThrowingTaskGroup { group in
          for writer in 0..<64 {
            let path = ResourcePath(["books", "\(writer % Self.documents)"])
            group.addTask {
              var n: Int64 = 1
              while !Task.isCancelled {
                n += 1
                let operation = try Mutation.Operation.set(
                  encoding: MapValue([("n", .integer(n))]))
                _ = try await writing.commit([Mutation(path: path, operation: operation)])
                commits.count.wrappingAdd(1, ordering: .relaxed)
              }
            }
          }
          while commits.count.load(ordering: .relaxed) < 64 { await Task.yield() }
          let (before, committed) = (proxy.roundTrips, commits.count.load(ordering: .relaxed))
          for _ in 0..<50 { try await Self.query(server, Data()) }
          #expect(proxy.roundTrips - before == 50)
          // They went on meanwhile.
          #expect(commits.count.load(ordering: .relaxed) > committed)
          group.cancelAll()
          while let _ = try? await group.next() {}
        }
      }
    }
  }
#endif
