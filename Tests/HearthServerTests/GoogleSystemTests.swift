#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf
  import TestSupport
  import Testing

  @testable import HearthServer

  /// What the system tests of Google's clients expect of production, in cases of our own: sums, averages
  /// and deletes.
  @Suite struct GoogleSystemTests {
    private static let collection = TestServer.root + "/sets/doc/child"

    /// 25 documents: a and b from 0 to 4, and their product. Their names are in no order of these.
    private static func fill(_ server: TestServer) async throws {
      var generator = SeededGenerator(seed: 25)
      for a in 0..<5 as Range<Int64> {
        for b in 0..<5 as Range<Int64> {
          let id = String(UInt64.random(in: 1 << 60 ... .max, using: &generator), radix: 36)
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.update.name = "\(collection)/\(id)"
                  $0.update.fields["a"] = .with { $0.integerValue = a }
                  $0.update.fields["b"] = .with { $0.integerValue = b }
                  $0.update.fields["stats"] = .with {
                    $0.mapValue.fields["product"] = .with { $0.integerValue = a * b }
                  }
                }
              ]
            })
        }
      }
    }

    private typealias Kind = ProtoStructuredAggregationQuery.Aggregation

    private static func sum(_ field: String, _ alias: String = "") -> Kind {
      .with {
        $0.sum.field.fieldPath = field
        $0.alias = alias
      }
    }

    private static func average(_ field: String, _ alias: String = "") -> Kind {
      .with {
        $0.avg.field.fieldPath = field
        $0.alias = alias
      }
    }

    private static let count = Kind.with {
      $0.count = .init()
      $0.alias = "count"
    }

    private static func values(
      _ aggregations: [Kind], limit: Int32? = nil, in transaction: Data? = nil,
      where filter: ProtoStructuredQuery.Filter? = nil, on server: TestServer
    ) async throws -> [String: ProtoValue] {
      let request = ProtoRunAggregationQueryRequest.with {
        $0.parent = TestServer.root + "/sets/doc"
        $0.structuredAggregationQuery.structuredQuery.from = [.with { $0.collectionID = "child" }]
        if let limit { $0.structuredAggregationQuery.structuredQuery.limit = .init(limit) }
        if let filter { $0.structuredAggregationQuery.structuredQuery.where = filter }
        $0.structuredAggregationQuery.aggregations = aggregations
        if let transaction { $0.transaction = transaction }
      }
      return try await server.client.runAggregationQuery(request) { response in
        try await response.messages.reduce(into: [:]) {
          $0.merge($1.result.aggregateFields) { _, new in new }
        }
      }
    }

    @Test func `sums and averages of a limit take the documents in the order of the field`()
      async throws
    {
      try await TestServer.run { server in
        try await Self.fill(server)
        let product = "stats.product"
        func integer(_ number: Int64) -> ProtoValue { .with { $0.integerValue = number } }
        func double(_ number: Double) -> ProtoValue { .with { $0.doubleValue = number } }
        #expect(try await Self.values([Self.sum(product)], on: server) == ["field_1": integer(100)])
        #expect(
          try await Self.values([Self.average(product)], on: server) == ["field_1": double(4)])
        #expect(
          try await Self.values([Self.sum(product, "total"), Self.sum(product, "all")], on: server)
            == ["total": integer(100), "all": integer(100)])
        // 0 nine times, then 1, 2, 2.
        #expect(
          try await Self.values([Self.sum(product, "total")], limit: 12, on: server)
            == ["total": integer(5)])
        #expect(
          try await Self.values([Self.average(product, "total")], limit: 12, on: server)
            == ["total": double(5.0 / 12)])
        let both = [Self.average(product, "a"), Self.count, Self.sum(product, "s")]
        let expected = ["a": double(5.0 / 12), "count": integer(12), "s": integer(5)]
        #expect(try await Self.values(both, limit: 12, on: server) == expected)
        // In a transaction, too.
        let transaction = try await server.client.beginTransaction(
          .with { $0.database = TestServer.database }
        ).transaction
        #expect(
          try await Self.values(both, limit: 12, in: transaction, on: server) == expected)
        // Of documents with a greater than 2, in the order of a: all with 3, and one with 4.
        let above = ProtoStructuredQuery.Filter.with {
          $0.fieldFilter.field.fieldPath = "a"
          $0.fieldFilter.op = .greaterThan
          $0.fieldFilter.value.integerValue = 2
        }
        #expect(
          try await Self.values([Self.sum("b", "s")], limit: 6, where: above, on: server)
            == ["s": integer(10)])
        for wrong in [[], [Self.sum(product, "x"), Self.count, Self.average("a", "x")]] {
          let error = await #expect(throws: RPCError.self) {
            try await Self.values(wrong, on: server)
          }
          #expect(error?.code == .invalidArgument)
        }
      }
    }

    @Test func `a delete refuses a time in the future, and each one has a later time`() async throws
    {
      try await TestServer.run { server in
        let name = TestServer.root + "/here-to-be/deleted"
        let created = try await server.set(name, 1).commitTime
        @Sendable func delete(_ time: Google_Protobuf_Timestamp? = nil) async throws
          -> Google_Protobuf_Timestamp
        {
          try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.delete = name
                  if let time { $0.currentDocument.updateTime = time }
                }
              ]
            }
          ).commitTime
        }
        var (future, past) = (created, created)
        future.seconds += 3600
        past.seconds -= 3600
        let times = [future, past]
        for (time, code) in zip(times, [RPCError.Code.invalidArgument, .failedPrecondition]) {
          let error = await #expect(throws: RPCError.self) { try await delete(time) }
          #expect(error?.code == code)
        }
        var last = try Instant(exactly: created, "")
        for _ in 0..<5 {
          let time = try await Instant(exactly: delete(), "")
          #expect(time > last)
          last = time
        }
        #expect(try await Instant(exactly: server.set(name, 1).commitTime, "") > last)
      }
    }
  }
#endif
