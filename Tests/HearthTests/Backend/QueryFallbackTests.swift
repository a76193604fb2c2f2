import Logging
import Testing

@testable import Hearth
@testable import HearthEngine

/// Agreement: over a backend that lacks a capability the answers are those of one that has it.
@Suite struct QueryFallbackTests {
  private func backend(_ capabilities: BackendCapabilities) -> MemoryBackend {
    let clock = TestClock()
    return MemoryBackend(
      history: Instant(microseconds: 1), now: { clock.now }, logger: Logger(label: "test"),
      capabilities: capabilities)
  }

  private let books = ResourcePath(["books"])

  private func query(_ change: (inout StructuredQuery) -> Void) -> StructuredQuery {
    var query = StructuredQuery(.collection(books))
    query.nearest = StructuredQuery.Nearest(
      field: FieldSegments(["v"]), vector: [3, 1], limit: 4, measure: .euclidean,
      distanceField: FieldSegments(["d"]))
    change(&query)
    return query
  }

  private func queries() -> [StructuredQuery] {
    [
      query { _ in },
      query {
        $0.filters = [
          .comparison(
            StructuredQuery.Comparison(
              field: FieldSegments(["even"]), operator: .equal, operand: .boolean(true)))
        ]
      },
      query { $0.projection = [FieldSegments(["d"])] },
      query { $0.nearest?.limit = 1 },
      query {
        $0.nearest = nil
        $0.limit = 3
      },
    ]
  }

  @Test func `what a backend cannot find is found among what it can`() async throws {
    let (limited, able) = (backend([]), backend(.all))
    let fallback = QueryFallback(limited)
    for n in 0..<20 {
      let fields = MapValue([
        ("even", .boolean(n % 2 == 0)), ("v", .vector([Double(n * 7 % 20), 1])),
      ])
      let mutation = Mutation(
        path: books.appending("\(n)"), operation: try .set(encoding: fields))
      try await able.commit([mutation])
      // Through it, too.
      try await fallback.commit([mutation])
    }
    for query in queries() {
      let expected = try await able.documents(matching: query)
      let found = try await fallback.documents(matching: query)
      #expect(!expected.isEmpty)
      #expect(found.map(\.path) == expected.map(\.path))
      #expect(try found.map { try $0.body.map() } == expected.map { try $0.body.map() })
      let blocking = try await onBlockingThread {
        try fallback.waiting { fallback.documents(matching: query, .blocked, $0) }
      }
      #expect(blocking.map(\.path) == expected.map(\.path))
      let decoded = try await fallback.decoded(matching: query, .lent, isParallel: true) {
        _, body in body.bytes.count
      }
      #expect(decoded.count == expected.count)
      let aggregations = [Aggregation(.count(upTo: nil))]
      let counts = try await able.awaiting {
        able.aggregate(aggregations, over: query, .lent, $0)
      }
      let others = try await fallback.awaiting {
        fallback.aggregate(aggregations, over: query, .lent, $0)
      }
      #expect(others == counts)
      let plan = try await fallback.explain(query, analyzes: true)
      #expect(plan.plan.contains("nearest neighbours") == (query.nearest != nil))
      #expect(plan.isServed == false && plan.execution != nil)
      // The backend alone says that it cannot.
      guard query.nearest != nil else { continue }
      await #expect { try await limited.documents(matching: query) } throws: {
        ($0 as? Status)?.code == .unimplemented
      }
    }
  }
}
