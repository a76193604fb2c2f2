import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Agreement: what a write closure reads of its own writes is what is read once they are stored.
@Suite struct DocumentOverlayTests {
  @Test(arguments: [511, 24], 0..<QueryAgreementTests.worlds)
  func `a query finds in what is planned what it finds when that is stored`(
    keyLimit: Int, seed: UInt64
  ) async throws {
    let start = RandomQueries(seed: seed &* 131 &+ UInt64(keyLimit))
    let random = Guarded(start)
    var setup = start
    let documents = setup.world(40)
    let world = try await QueryWorld(documents, keyLimit: KeyLimit(keyLimit))
    let asked = Guarded<[(query: StructuredQuery, found: [StoredDocument])]>([])
    let added = Guarded<[([Aggregation], query: StructuredQuery, found: [Value])]>([])
    _ = try await world.database.writer.perform { live in
      try random.withLock { random in
        let changes = try Self.change(documents, live, world, &random)
        for _ in 0..<QueryAgreementTests.queries {
          let query = random.query(documents + changes)
          guard (try? query.check()) != nil else { continue }
          let found = try live.answer(.results(EffectiveQuery(query))).results
          asked.withLock { $0.append((query, found)) }
          let aggregations = random.aggregations()
          var whole = query
          whole.projection = []
          guard (try? whole.check(aggregations)) != nil else { continue }
          let values = try live.answer(.values(aggregations, over: EffectiveQuery(whole))).values
          added.withLock { $0.append((aggregations, whole, values)) }
        }
      }
    }
    for (query, found) in asked.withLock(\.self) {
      let stored = try world.documents(query)
      let isSame =
        stored.map(\.path) == found.map(\.path) && stored.map(\.body) == found.map(\.body)
        && stored.map(\.updateTime) == found.map(\.updateTime)
        && stored.map(\.createTime) == found.map(\.createTime)
      #expect(
        isSame,
        "seed \(seed): \(query) found \(found.map(\.path.text)), not \(stored.map(\.path.text))")
    }
    for (aggregations, query, found) in added.withLock(\.self) {
      let stored = try world.aggregate(aggregations, over: query)
      let isSame = zip(stored, found).allSatisfy { one, other in
        guard case .double(let a) = one, case .double(let b) = other else { return one == other }
        // Doubles are added in another order.
        return one == other || !a.isFinite || !b.isFinite || abs(a - b) <= 1e-9 * max(1, abs(a))
          || max(abs(a), abs(b)) > 0x1p52
      }
      #expect(isSame, "seed \(seed): \(aggregations) \(query): \(found), not \(stored)")
    }
    #expect(asked.withLock(\.count) > 50 && added.withLock(\.count) > 20)
  }

  /// Changes, deletes and adds some, and some of them again.
  private static func change(
    _ documents: [(path: ResourcePath, fields: MapValue)], _ live: any LocalWriter,
    _ world: QueryWorld, _ random: inout RandomQueries
  ) throws -> [(path: ResourcePath, fields: MapValue)] {
    var changes: [(path: ResourcePath, fields: MapValue)] = []
    for _ in 0..<2 {
      for (path, _) in documents where random.values.generator.one(in: 4) {
        try live.write(Mutation(path: world.database.store.name(path).path, operation: .delete))
      }
      let added = random.world(12)
      let targets = added.map(\.path) + documents.map(\.path)
      for (_, fields) in added {
        let path = random.values.generator.pick(targets)
        let name = world.database.store.name(path)
        if random.values.generator.one(in: 3) {
          try live.write(
            Mutation(
              path: name.path,
              operation: .patch(fields, mask: fields.fields.map { FieldSegments([$0.name]) })
            ))
        } else {
          try live.write(Mutation(path: name.path, operation: .set(DocumentBody(fields))))
        }
        changes.append((path, fields))
      }
    }
    return changes
  }

  @Test func `the nearest vectors are found in what is planned`() async throws {
    func vector(_ x: Double) -> MapValue { MapValue([("v", .vector([x, 1]))]) }
    let paths = (0..<6).map { ResourcePath(["a", "\($0)"]) }
    let world = try await QueryWorld(paths.enumerated().map { ($1, vector(Double($0) * 10)) })
    var query = StructuredQuery(.collection(ResourcePath(["a"])))
    query.question = .nearest(
      StructuredQuery.Nearest(
        field: FieldSegments(["v"]), vector: [0, 1], limit: 3, measure: .euclidean,
        distanceField: FieldSegments(["d"])))
    let effective = EffectiveQuery(query)
    let found = Guarded<[StoredDocument]>([])
    _ = try await world.database.writer.perform { live in
      try live.write(Mutation(path: world.database.store.name(paths[0]).path, operation: .delete))
      try live.write(
        Mutation(
          path: world.database.store.name(paths[5]).path, operation: .set(DocumentBody(vector(5)))))
      let documents = try live.answer(.results(effective)).results
      found.withLock { $0 = documents }
    }
    let stored = try world.documents(query)
    #expect(stored.map(\.path.id) == ["5", "1", "2"])
    #expect(found.withLock { $0.map(\.path.id) } == ["5", "1", "2"])
    #expect(found.withLock { $0.map(\.body) } == stored.map(\.body))
  }
}
