#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import Logging
  import TestSupport
  import Testing

  @testable import HearthServer

  /// A strict server refuses the queries that Cloud Firestore refuses.
  @Suite struct ServedIndexesTests {
    private typealias Query = ProtoStructuredQuery

    private static func query(
      equal: [String] = [], above: String? = nil, orders: [String] = [], inGroup: Bool = false
    ) -> Query {
      let filters =
        equal.map { (field: $0, op: Query.FieldFilter.Operator.equal) }
        + (above.map { [(field: $0, op: .greaterThan)] } ?? [])
      return .with {
        $0.from = [
          .with {
            $0.collectionID = "books"
            $0.allDescendants = inGroup
          }
        ]
        $0.where.compositeFilter.op = .and
        $0.where.compositeFilter.filters = filters.map { filter in
          .with {
            $0.fieldFilter.field.fieldPath = filter.field
            $0.fieldFilter.op = filter.op
            $0.fieldFilter.value.integerValue = 0
          }
        }
        if filters.isEmpty { $0.clearWhere() }
        $0.orderBy = orders.map { field in .with { $0.field.fieldPath = field } }
      }
    }

    private static func run(_ query: Query, on server: TestServer) async throws {
      try await server.client.runQuery(
        .with {
          $0.parent = TestServer.root
          $0.structuredQuery = query
        }
      ) { for try await _ in $0.messages {} }
    }

    @Test func `queries without their composite index are refused, with the entry that they want`()
      async throws
    {
      let refused = [
        Self.query(equal: ["a"], orders: ["b"]), Self.query(equal: ["a"], above: "b"),
        Self.query(orders: ["a", "b"]), Self.query(equal: ["a"], inGroup: true),
      ]
      let answered = [
        Self.query(), Self.query(equal: ["a"]), Self.query(above: "a"), Self.query(orders: ["a"]),
        Self.query(equal: ["a", "b"]), Self.query(inGroup: true),
      ]
      try await TestServer.run(indexes: ServedIndexes(areRequired: true)) { server in
        try await server.set(TestServer.root + "/books/dune", 1)
        for query in answered { try await Self.run(query, on: server) }
        for query in refused {
          let error = await #expect(throws: RPCError.self) { try await Self.run(query, on: server) }
          #expect(error?.code == .failedPrecondition)
          #expect(error?.message.contains(#"{"collectionGroup":"books""#) == true)
        }
        let listened = try await server.firstChange(of: refused[0])
        #expect(listened.cause.code == 9 && listened.cause.message.contains("requires an index"))
      }
      try await TestServer.run { server in
        for query in refused { try await Self.run(query, on: server) }
      }
      let json =
        #"{"fieldOverrides":[],"indexes":[{"collectionGroup":"books","queryScope":"COLLECTION","#
        + #""fields":[{"fieldPath":"a","order":"ASCENDING"},{"fieldPath":"b","order":"ASCENDING"}]}]}"#
      try await TestServer.run(indexes: ServedIndexes(json: json, areRequired: true)) { server in
        for query in refused[..<3] { try await Self.run(query, on: server) }
        await #expect(throws: RPCError.self) { try await Self.run(refused[3], on: server) }
      }
    }

    @Test func `indexes are replaced while the server runs`() async throws {
      let query = Self.query(equal: ["a"], orders: ["b"])
      let json =
        #"{"fieldOverrides":[],"indexes":[{"collectionGroup":"books","queryScope":"COLLECTION","#
        + #""fields":[{"fieldPath":"a","order":"ASCENDING"},{"fieldPath":"b","order":"ASCENDING"}]}]}"#
      try await TestServer.run(indexes: ServedIndexes(areRequired: true)) { server in
        try await server.set(TestServer.root + "/books/dune", 1)
        await #expect(throws: RPCError.self) { try await Self.run(query, on: server) }
        for text in ["", "{"] {
          #expect(throws: HearthEngine.Status.self) {
            try server.catalog.replaceIndexes(json: text)
          }
        }
        try server.catalog.replaceIndexes(json: json)
        // The next request waits for them.
        try await Self.run(query, on: server)
        // An entry that cannot be declared leaves what there is.
        try server.catalog.replaceIndexes(
          json: json.replacing("ASCENDING", with: "SIDEWAYS"))
        try await Self.run(query, on: server)
        try server.catalog.replaceIndexes(json: #"{"indexes":[],"fieldOverrides":[]}"#)
        await #expect(throws: RPCError.self) { try await Self.run(query, on: server) }
      }
    }

    @Test func `a text that is not a list of indexes is refused`() throws {
      for text in ["", "[]", "{"] {
        var options = FirestoreServer.Options()
        options.indexes = text
        #expect(throws: HearthEngine.Status.self) { try options.check() }
      }
    }
  }

  extension TestServer {
    /// The first change of a target that is not its addition.
    fileprivate func firstChange(of query: ProtoStructuredQuery) async throws -> ProtoTargetChange {
      try await client.listen { writer in
        try await writer.write(
          .with {
            $0.database = Self.database
            $0.addTarget.targetID = 1
            $0.addTarget.query.parent = Self.root
            $0.addTarget.query.structuredQuery = query
          })
        await untilCancelled()
      } onResponse: { response in
        for try await message in response.messages
        where message.targetChange.targetChangeType != .add {
          return message.targetChange
        }
        return ProtoTargetChange()
      }
    }
  }
#endif
