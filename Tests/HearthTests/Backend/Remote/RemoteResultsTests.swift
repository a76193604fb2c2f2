import TestSupport
import Testing

@testable import HearthEngine
@testable import HearthReference

/// Agreement: what is found among fetched documents is what the plain reference finds.
@Suite struct RemoteResultsTests {
  private static func stored(
    _ documents: [(path: ResourcePath, fields: MapValue)], _ random: inout SeededGenerator
  ) throws -> [StoredDocument] {
    try documents.map { path, fields in
      var fields = fields
      let dimension = random.one(in: 5) ? 3 : 2
      if !random.one(in: 4) {
        fields["vector"] = .vector((0..<dimension).map { _ in Double(random.below(5) - 2) })
      }
      return StoredDocument(
        path: path, sequence: 1, createTime: Instant(microseconds: 1),
        updateTime: Instant(microseconds: 1), body: try DocumentBody(encoding: fields))
    }
  }

  @Test func `results, distances and totals are those of the reference`() throws {
    var counts = (results: 0, nearest: 0, totals: 0)
    for seed in 0..<20 as Range<UInt64> { try compare(seed, &counts) }
    // Otherwise the run has proved nothing.
    #expect(counts.results > 2000 && counts.nearest > 200 && counts.totals > 2000, "\(counts)")
  }

  private func compare(
    _ seed: UInt64, _ counts: inout (results: Int, nearest: Int, totals: Int)
  ) throws {
    var random = RandomQueries(seed: seed &* 17 &+ 11)
    var generator = SeededGenerator(seed: seed)
    let world = random.world(45)
    let documents = try Self.stored(world, &generator)
    for var query in random.validQueries(120, world) {
      if generator.one(in: 3) {
        (query.isLimitToLast, query.orders, query.start, query.end) = (false, [], nil, nil)
        query.question = .nearest(
          StructuredQuery.Nearest(
            field: FieldSegments(["vector"]), vector: [Double(generator.below(5)), 1],
            limit: 1 + generator.below(8),
            measure: generator.pick([.euclidean, .cosine, .dotProduct]),
            distanceField: generator.one(in: 2) ? FieldSegments(["distance"]) : nil,
            threshold: generator.one(in: 3) ? 1.5 : nil))
      }
      let effective = EffectiveQuery(query)
      let found = try RemoteResults(effective).documents(documents)
      let expected = try MemoryAnswer(effective).documents(documents)
      try #require(found.map(\.path) == expected.map(\.path), "\(query)")
      try #require(
        zip(found, expected).allSatisfy { try $0.body.isNear($1.body) }, "\(query)")
      counts.results += found.count
      if query.nearest != nil { counts.nearest += found.count }
      let aggregations = random.aggregations()
      let aggregating = EffectiveQuery(query, aggregating: aggregations)
      let values = try RemoteResults(aggregating).aggregate(aggregations, documents)
      let others = try MemoryAnswer(aggregating).aggregate(aggregations, documents)
      try #require(
        zip(values, others).allSatisfy { $0.isNear($1) },
        "\(query) \(aggregations): \(values), not \(others)")
      counts.totals += values.count
    }
  }
}

extension DocumentBody {
  /// Distances are sums in another order.
  fileprivate func isNear(_ other: DocumentBody) throws -> Bool {
    if self == other { return true }
    var (one, other) = (try map(), try other.map())
    guard let a = one["distance"], let b = other["distance"], a.isNear(b) else { return false }
    (one["distance"], other["distance"]) = (nil, nil)
    return one == other
  }
}

extension Value {
  /// Sums that cancel or overflow depend on their order.
  fileprivate func isNear(_ other: Value) -> Bool {
    guard case .double(let a) = self, case .double(let b) = other else { return self == other }
    return self == other || !a.isFinite || !b.isFinite || abs(a - b) <= 1e-9 * max(1, abs(a))
      || max(abs(a), abs(b)) > 0x1p52
  }
}
