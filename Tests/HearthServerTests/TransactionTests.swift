#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import SwiftProtobuf
  import Testing

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
#endif
