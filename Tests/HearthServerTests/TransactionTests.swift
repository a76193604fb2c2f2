#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import Logging
  import MetricsTestKit
  import SwiftProtobuf
  import TestSupport
  import Testing

  @testable import HearthEngine
  @testable import HearthServer

  @Suite struct TransactionTests {
    private static let name = TestServer.root + "/counters/one"

    @Test func `a transaction whose reads have changed is aborted, and its retry commits`()
      async throws
    {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let transaction = try await server.begin(.init())
        let read = try await server.get(Self.name, in: transaction)
        #expect(read.fields["n"]?.integerValue == 1)
        try await server.set(Self.name, 2)
        let aborted = await #expect(throws: RPCError.self) {
          try await server.set(Self.name, 3, in: transaction)
        }
        #expect(aborted?.code == .aborted)
        let retry = try await server.begin(.with { $0.readWrite.retryTransaction = transaction })
        _ = try await server.get(Self.name, in: retry)
        try await server.set(Self.name, 4, in: retry)
        #expect(try await server.get(Self.name).fields["n"]?.integerValue == 4)
      }
    }

    @Test func `a transaction that looked for a reserved name commits`() async throws {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let transaction = try await server.begin(.init())
        let missing = await #expect(throws: RPCError.self) {
          try await server.get(TestServer.root + "/counters/__reserved__", in: transaction)
        }
        #expect(missing?.code == .notFound)
        try await server.set(Self.name, 2, in: transaction)
        #expect(try await server.get(Self.name).fields["n"]?.integerValue == 2)
      }
    }

    /// As Google's client for Python does.
    @Test func `a client that names its first attempt again repeats its last one`() async throws {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let first = try await server.begin(.init())
        var transaction = first
        for attempt in 0..<4 {
          _ = try await server.get(Self.name, in: transaction)
          try await server.set(Self.name, Int64(10 + attempt))
          let aborted = await #expect(throws: RPCError.self) {
            try await server.set(Self.name, 3, in: transaction)
          }
          #expect(aborted?.code == .aborted)
          transaction = try await server.begin(
            .with { $0.readWrite.retryTransaction = first })
          #expect(server.catalog.openTransactions == 1)
        }
        _ = try await server.get(Self.name, in: transaction)
        try await server.set(Self.name, 4, in: transaction)
        #expect(server.catalog.openTransactions == 0)
      }
    }

    @Test func `an attempt that has failed holds up no other transaction`() async throws {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        // Fails twice, the second time with a turn at the document.
        var transaction = try await server.begin(.init())
        for attempt in 0..<2 {
          _ = try await server.get(Self.name, in: transaction)
          try await server.set(Self.name, Int64(10 + attempt))
          await #expect(throws: RPCError.self) {
            try await server.set(Self.name, 3, in: transaction)
          }
          if attempt > 0 { break }
          transaction = try await server.begin(
            .with { $0.readWrite.retryTransaction = transaction })
        }
        let backend = try #require(server.backend as? EmbeddedBackend)
        #expect(backend.transactions.queues.count == 0)
        let other = try await server.begin(.init())
        _ = try await server.get(Self.name, in: other)
        try await server.set(Self.name, 4, in: other)
      }
    }

    @Test func `of two commits of a transaction at the same time, one is applied`() async throws {
      try await TestServer.run { server in
        let rounds = 200
        for _ in 0..<rounds {
          let transaction = try await server.begin(.init())
          let commit = ProtoCommitRequest.with {
            $0.database = TestServer.database
            $0.transaction = transaction
            $0.writes = [
              .with {
                $0.transform.document = Self.name
                $0.transform.fieldTransforms = [
                  .with {
                    $0.fieldPath = "n"
                    $0.increment.integerValue = 1
                  }
                ]
              }
            ]
          }
          async let first = Result { try await server.client.commit(commit) }
          async let second = Result { try await server.client.commit(commit) }
          let results = await [first, second]
          #expect(results.filter { (try? $0.get()) != nil }.count == 1)
        }
        #expect(try await server.get(Self.name).fields["n"]?.integerValue == Int64(rounds))
      }
    }

    @Test func `a commit has a result for each of its writes, and none for what was read`()
      async throws
    {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let transaction = try await server.begin(.init())
        _ = try await server.get(Self.name, in: transaction)
        let response = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.transaction = transaction
            $0.writes = [
              .with {
                $0.update.name = Self.name
                $0.updateMask.fieldPaths = ["other"]
                $0.updateTransforms = [
                  .with {
                    $0.fieldPath = "n"
                    $0.increment.integerValue = 4
                  }
                ]
              }
            ]
          })
        #expect(response.writeResults.count == 1)
        #expect(response.writeResults.first?.transformResults.map(\.integerValue) == [5])
        #expect(response.writeResults.first?.updateTime == response.commitTime)
      }
    }

    @Test func `a document that would be a new result aborts a transaction`() async throws {
      try await TestServer.run { server in
        let transaction = try await server.begin(.init())
        let request = ProtoRunQueryRequest.with {
          $0.parent = TestServer.root
          $0.structuredQuery.from = [.with { $0.collectionID = "counters" }]
          $0.transaction = transaction
        }
        let count = try await server.client.runQuery(request) { response in
          try await response.messages.reduce(0) { $0 + ($1.hasDocument ? 1 : 0) }
        }
        #expect(count == 0)
        try await server.set(Self.name, 1)
        let aborted = await #expect(throws: RPCError.self) {
          try await server.set(TestServer.root + "/other/x", 1, in: transaction)
        }
        #expect(aborted?.code == .aborted)
      }
    }

    @Test func `an aggregate is part of what a transaction has read`() async throws {
      try await TestServer.run { server in
        let transaction = try await server.begin(.init())
        let request = ProtoRunAggregationQueryRequest.with {
          $0.parent = TestServer.root
          $0.structuredAggregationQuery.structuredQuery.from = [
            .with { $0.collectionID = "counters" }
          ]
          $0.structuredAggregationQuery.aggregations = [.with { $0.count = .init() }]
          $0.transaction = transaction
        }
        let count = try await server.client.runAggregationQuery(request) { response in
          try await response.messages.reduce(Int64(-1)) {
            $1.result.aggregateFields["field_1"]?.integerValue ?? $0
          }
        }
        #expect(count == 0)
        try await server.set(Self.name, 1)
        let aborted = await #expect(throws: RPCError.self) {
          try await server.set(TestServer.root + "/other/x", 1, in: transaction)
        }
        #expect(aborted?.code == .aborted)
      }
    }

    @Test func `a read-only transaction reads one state, and writes nothing`() async throws {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let transaction = try await server.begin(.with { $0.readOnly = .init() })
        try await server.set(Self.name, 2)
        let read = try await server.get(Self.name, in: transaction)
        #expect(read.fields["n"]?.integerValue == 1)
        let refused = await #expect(throws: RPCError.self) {
          try await server.set(Self.name, 3, in: transaction)
        }
        #expect(refused?.code == .invalidArgument)
        #expect(refused?.message == "Cannot modify entities in a read-only transaction.")
      }
    }

    @Test func `a read-only transaction with a time reads the state at this time`() async throws {
      try await TestServer.run { server in
        let time = try await server.set(Self.name, 1).commitTime
        try await server.set(Self.name, 2)
        try await server.set(TestServer.root + "/counters/two", 2)
        let transaction = try await server.begin(.with { $0.readOnly.readTime = time })
        let read = try await server.get(Self.name, in: transaction)
        #expect(read.fields["n"]?.integerValue == 1)
        let request = ProtoRunQueryRequest.with {
          $0.parent = TestServer.root
          $0.structuredQuery.from = [.with { $0.collectionID = "counters" }]
          $0.transaction = transaction
        }
        let found = try await server.client.runQuery(request) { response in
          try await response.messages.reduce(into: [String: Int64]()) {
            if $1.hasDocument { $0[$1.document.path] = $1.document.fields["n"]?.integerValue }
          }
        }
        #expect(found == ["counters/one": 1])
      }
    }

    @Test func `a transaction that has ended is not used again`() async throws {
      try await TestServer.run { server in
        let committed = try await server.begin(.init())
        try await server.set(Self.name, 1, in: committed)
        let rolledBack = try await server.begin(.init())
        _ = try await server.client.rollback(
          .with {
            $0.database = TestServer.database
            $0.transaction = rolledBack
          })
        for id in [committed, rolledBack, Data("unknown".utf8)] {
          let refused = await #expect(throws: RPCError.self) {
            _ = try await server.get(Self.name, in: id)
          }
          #expect(refused?.code == .invalidArgument)
          #expect(refused?.message.contains("transaction has expired") == true)
        }
      }
    }
  }

  /// What becomes of the transactions of clients that go, or do not come back.
  @Suite struct AbandonedTransactionTests {
    private static let name = TestServer.root + "/counters/one"

    /// The bytes of a call with one message.
    private static func call(_ method: String, _ message: some SwiftProtobuf.Message) throws
      -> [UInt8]
    {
      let bytes: [UInt8] = try message.serializedBytes()
      let prefix = [0] + withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) }
      return Frame.call(1, method).bytes + Frame.data(1, prefix + bytes).bytes
    }

    /// A transaction whose commit has failed.
    private static func failed(_ server: TestServer) async throws -> Data {
      let transaction = try await server.begin(.init())
      _ = try await server.get(name, in: transaction)
      try await server.set(name, .random(in: 0 ... .max))
      await #expect(throws: RPCError.self) { try await server.set(name, 0, in: transaction) }
      return transaction
    }

    @Test func `a client that goes while it waits for its turn leaves nothing behind`() async throws
    {
      try await TestServer.run { server in
        try await server.set(Self.name, 1)
        let second = try await Self.failed(server)
        let first = try await Self.failed(server)
        let turn = try await server.begin(.with { $0.readWrite.retryTransaction = first })
        let request = ProtoBeginTransactionRequest.with {
          $0.database = TestServer.database
          $0.options.readWrite.retryTransaction = second
        }
        let name = try DatabaseName(TestServer.database)
        let transactions = try await server.catalog.use(name, for: .writing).transactions
        func wait(for count: Int) async throws {
          try await server.eventually {
            if transactions.beginning != count { throw CancellationError() }
          }
        }
        // Waits for its turn, and closes its connection.
        let bytes = try Self.call("BeginTransaction", request)
        let client = Task {
          try await RawConnection.send(
            [Frame.preface, Frame(kind: .settings, flags: 1, stream: 0).bytes, bytes],
            port: server.port)
        }
        try await wait(for: 1)
        client.cancel()
        try await wait(for: 0)
        #expect(server.catalog.openTransactions == 1)
        _ = try await server.client.rollback(
          .with {
            $0.database = TestServer.database
            $0.transaction = turn
          })
        #expect(server.catalog.openTransactions == 0)
        let backend = try #require(server.backend as? EmbeddedBackend)
        #expect(backend.transactions.queues.count == 0)
        let next = try await server.begin(.init())
        _ = try await server.get(Self.name, in: next)
        try await server.set(Self.name, 2, in: next)
      }
    }

    private func sessions(
      limit: Int = 10, idle: Duration = .seconds(60), longest: Duration = .seconds(60),
      now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws -> (TransactionSessions, EmbeddedBackend) {
      let backend = try EmbeddedBackend(
        inMemory: EmbeddedBackend.Settings(), logger: Logger(label: "test"))
      return (
        TransactionSessions(
          backend, limit: limit, idleTime: idle, longestTime: longest, now: now), backend
      )
    }

    @Test func `a database has at most so many transactions, and those that end make room`()
      async throws
    {
      let (sessions, backend) = try sessions(limit: 2)
      defer { backend.close() }
      let first = try await sessions.begin(.init(), isReadOnly: false, "a")
      _ = try await sessions.begin(.init(), isReadOnly: true, "b")
      let refused = await #expect(throws: HearthEngine.Status.self) {
        try await sessions.begin(.init(), isReadOnly: false, "c")
      }
      #expect(refused?.code == .resourceExhausted && sessions.open == 2)
      try sessions.rollback(first)
      _ = try await sessions.begin(.init(), isReadOnly: false, "c")
      sessions.endTransactions(of: "b")
      #expect(sessions.open == 1)
    }

    @Test func `at the limit, a retry takes the place of its former attempt`() async throws {
      let (sessions, backend) = try sessions(limit: 2)
      defer { backend.close() }
      var attempt = try await sessions.begin(.init(), isReadOnly: false, "a")
      let other = try await sessions.begin(.init(), isReadOnly: false, "b")
      for _ in 0..<3 {
        let retry = ProtoTransactionOptions.with { $0.readWrite.retryTransaction = attempt }
        attempt = try await sessions.begin(retry, isReadOnly: false, "a")
        #expect(sessions.open == 2 && backend.transactions.count == 2)
      }
      // The other one has ended: its retry is a transaction more.
      try sessions.rollback(other)
      _ = try await sessions.begin(.init(), isReadOnly: false, "c")
      let retry = ProtoTransactionOptions.with { $0.readWrite.retryTransaction = other }
      await #expect(throws: HearthEngine.Status.self) {
        try await sessions.begin(retry, isReadOnly: false, "b")
      }
      #expect(sessions.open == 2 && backend.transactions.count == 2)
    }

    private final class TestClock: Sendable {
      private let start = ContinuousClock.now
      private let passed = Guarded(Duration.zero)
      var now: ContinuousClock.Instant { start + passed.withLock(\.self) }
      func advance(by time: Duration) { passed.withLock { $0 += time } }
    }

    @Test(arguments: [true, false]) func `a transaction ends when it is idle, and when it is old`(
      isIdle: Bool
    ) async throws {
      let clock = TestClock()
      let (sessions, backend) = try sessions(
        idle: .seconds(isIdle ? 10 : 60), longest: .seconds(isIdle ? 60 : 10), now: { clock.now })
      defer { backend.close() }
      let used = try await sessions.begin(.init(), isReadOnly: false, "a")
      let unused = try await sessions.begin(.init(), isReadOnly: false, "a")
      _ = try sessions.consistency(of: used, "a")
      clock.advance(by: .seconds(10))
      _ = try sessions.consistency(of: used, "a")
      clock.advance(by: .seconds(11))
      // By its use, and by the clock.
      let refused = #expect(throws: HearthEngine.Status.self) {
        try sessions.consistency(of: used, "a")
      }
      #expect(refused?.message.contains("transaction has expired") == true)
      #expect(sessions.open == 1)
      sessions.expire()
      #expect(sessions.open == 0)
      #expect(throws: HearthEngine.Status.self) { try sessions.rollback(unused) }
    }

    @Test func `a transaction that is used is not idle, however long it goes on`() async throws {
      let clock = TestClock()
      let (sessions, backend) = try sessions(idle: .seconds(1), now: { clock.now })
      defer { backend.close() }
      let used = try await sessions.begin(.init(), isReadOnly: false, "a")
      let unused = try await sessions.begin(.init(), isReadOnly: false, "a")
      for _ in 0..<50 {
        clock.advance(by: .seconds(1))
        _ = try sessions.consistency(of: used, "a")
      }
      sessions.expire()
      #expect(sessions.open == 1)
      _ = try sessions.consistency(of: used, "a")
      #expect(throws: HearthEngine.Status.self) {
        try sessions.consistency(of: unused, "a")
      }
    }

    @Test func `a transaction over REST outlives its connection, over HTTP 2 as well`() async throws
    {
      let metrics = TestMetrics()
      try await TestServer.run({ $0.metrics = metrics }) { server in
        try await server.set(Self.name, 1)
        let frames = try await RawConnection.send(
          [
            .request(1, "POST", "/v1/\(TestServer.root):beginTransaction", ends: false),
            .data(1, Array("{}".utf8)),
          ], until: { $0.haveEnded(1) }, port: server.port)
        let body = frames.filter { $0.kind == .data }.flatMap(\.payload)
        let answer = try JSONDecoder().decode([String: String].self, from: Data(body))
        let transaction = try #require(answer["transaction"])
        // The client's connection is left.
        let connections = try metrics.expectMeter("hearth_server_connections")
        try await eventually { connections.values.last == 1 }
        let commit = try await server.rest(
          "POST", "/v1/\(TestServer.root):commit",
          #"{"transaction": "\#(transaction)", "writes": [{"delete": "\#(Self.name)"}]}"#)
        #expect(commit.status == 200, "\(commit)")
      }
    }
  }

  extension TestServer {
    func begin(_ options: ProtoTransactionOptions) async throws -> Data {
      try await client.beginTransaction(
        .with {
          $0.database = Self.database
          $0.options = options
        }
      ).transaction
    }

    @discardableResult
    func set(
      _ name: String, _ number: Int64, in transaction: Data = Data()
    ) async throws -> ProtoCommitResponse {
      try await client.commit(
        .with {
          $0.database = Self.database
          $0.writes = [
            .with {
              $0.update.name = name
              $0.update.fields["n"] = .with { $0.integerValue = number }
            }
          ]
          $0.transaction = transaction
        })
    }

    func get(_ name: String, in transaction: Data? = nil) async throws -> ProtoDocument {
      try await client.getDocument(
        .with {
          $0.name = name
          if let transaction { $0.transaction = transaction }
        })
    }
  }

  extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
      do { self = .success(try await body()) } catch { self = .failure(error) }
    }
  }
#endif
