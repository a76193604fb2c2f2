import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Law: a query with a remembered plan finds what the reference finds, and the plan is what the planner
/// would choose.
@Suite struct PlanMemoryTests {
  private static let (a, b, n) = (FieldSegments(["a"]), FieldSegments(["b"]), FieldSegments(["n"]))

  private static func ascending(_ fields: FieldSegments...) -> IndexDefinition {
    IndexDefinition("books", fields.map { .init(field: $0, kind: .ascending) })
  }

  private static let operands: [Value] = [
    .string("x"), .string("y"), .string(""), .string(String(repeating: "long", count: 40)),
    .string(String(repeating: "long", count: 40) + "er"), .integer(1), .integer(-7), .double(1),
    .double(0.5), .double(.nan), .null, .boolean(true), .boolean(false),
    .reference(ResourcePath(["books", "b1"])),
    .reference(ResourcePath(["books", String(repeating: "far", count: 30)])),
    .timestamp(Instant(microseconds: 5)), .array([.string("x")]),
  ]

  @Test(arguments: [511, 24], 0..<UInt64(Soak.isOn ? 60 : 3))
  func `remembered plans are those of the planner`(keyLimit: Int, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(keyLimit))
    let documents = (0..<200).map { number in
      var fields = MapValue()
      for name in ["a", "b", "n"] where !random.one(in: 12) {
        fields[name] =
          random.one(in: 4)
          ? .array([random.pick(Self.operands.dropLast()), random.pick(Self.operands.dropLast())])
          : random.pick(Self.operands)
      }
      return (path: ResourcePath(["books", "b\(number)"]), fields: fields)
    }
    let reference = documents.map(ReferenceQuery.Document.init)
    let (a, b, n) = (Self.a, Self.b, Self.n)
    let world = try await QueryWorld(
      documents, keyLimit: KeyLimit(keyLimit),
      indexes: [
        Self.ascending(a), Self.ascending(a, n), Self.ascending(b, a),
        IndexDefinition(
          "books",
          [
            .init(field: b, kind: .ascending), .init(field: a, kind: .descending),
            .init(field: n, kind: .descending),
          ]),
        IndexDefinition(
          "books", [.init(field: a, kind: .contains), .init(field: n, kind: .ascending)]),
      ])
    var remembered = 0
    var bounds = 0
    for _ in 0..<80 {
      // A shape, with several values of its last filter.
      var shape = StructuredQuery(.collection(ResourcePath(["books"])))
      if random.one(in: 2) {
        shape.filters = [
          .comparison(.init(field: b, operator: .equal, operand: random.pick(Self.operands)))
        ]
      }
      if random.one(in: 2) {
        shape.orders = [.init(field: random.pick([n, n, a]), isDescending: random.one(in: 2))]
      }
      if random.one(in: 3) { shape.limit = 1 + random.below(5) }
      if random.one(in: 5) { shape.offset = random.below(3) }
      if random.one(in: 6) { shape.isLimitToLast = shape.limit != nil && !shape.orders.isEmpty }
      let comparison: StructuredQuery.Comparison.Operator = random.pick([
        .equal, .equal, .arrayContains, .lessThan, .lessThanOrEqual, .greaterThan,
        .greaterThanOrEqual,
      ])
      for _ in 0..<4 {
        var query = shape
        query.filters.append(
          .comparison(
            .init(field: a, operator: comparison, operand: random.pick(Self.operands))))
        guard (try? query.check()) != nil else { continue }
        let effective = EffectiveQuery(query)
        let (found, count) = try world.database.store.read { snapshot in
          let trace = QueryTrace()
          let found = try snapshot.run(effective, trace: trace).documents()
          let best = try snapshot.planner(effective).best()
          if trace.plan?.source != best.source || trace.plan?.isOrdered != best.isOrdered {
            Issue.record("seed \(seed): \(query)\n\(trace.plan?.description ?? "") not \(best)")
          }
          let memory = snapshot.store.planMemory.last
          let shape = PlanMemory.Shape(
            effective, requiring: [], needsOrder: true, countsOnly: false)
          if let memory, let shape, memory.plan(for: effective, shape) != nil {
            remembered += 1
            if ![.equal, .arrayContains].contains(comparison) { bounds += 1 }
          }
          return (
            found, try snapshot.aggregate([Aggregation(.count(upTo: nil))], over: effective)
          )
        }
        let expected = ReferenceQuery(query: query).run(reference)
        guard found.map(\.path.text) == expected.map(\.path.text),
          count == [.integer(Int64(expected.count))]
        else {
          Issue.record(
            """
            seed \(seed), key limit \(keyLimit): \(query)
            found \(found.map(\.path.text)), not \(expected.map(\.path.text))
            """)
          return
        }
      }
    }
    #expect(remembered > 40 && bounds > 5, "\(remembered), \(bounds)")
  }

  private static func world(_ count: Int, _ indexes: [IndexDefinition]) async throws -> QueryWorld {
    try await QueryWorld(
      (0..<count).map { number in
        (
          path: ResourcePath(["books", "b\(number)"]),
          fields: MapValue([("b", .integer(1)), ("n", .integer(Int64(number)))])
        )
      }, indexes: indexes)
  }

  /// Books of a value of `b`, from a value of `n` on.
  private static func query(b: Int64, from: Int64, limit: Int) -> EffectiveQuery {
    var query = StructuredQuery(.collection(ResourcePath(["books"])))
    query.filters = [
      .comparison(.init(field: Self.b, operator: .equal, operand: .integer(b))),
      .comparison(.init(field: n, operator: .greaterThanOrEqual, operand: .integer(from))),
    ]
    query.limit = limit
    return EffectiveQuery(query)
  }

  private static func isRemembered(
    _ query: EffectiveQuery, _ snapshot: borrowing StoreSnapshot
  ) -> Bool {
    let memory = snapshot.store.planMemory.last
    let shape = PlanMemory.Shape(query, requiring: [], needsOrder: true, countsOnly: false)
    guard let memory, let shape else { return false }
    return memory.plan(for: query, shape) != nil
  }

  @Test func `one plan too many drops one plan`() async throws {
    let world = try await Self.world(500, [Self.ascending(Self.b, Self.n)])
    try world.database.store.read { snapshot in
      let queries = (0..<Int64(PlanMemory.capacity) + 20).map {
        Self.query(b: $0, from: 5, limit: 1)
      }
      for query in queries { _ = try snapshot.run(query).documents() }
      #expect(queries.count { Self.isRemembered($0, snapshot) } == PlanMemory.capacity)
      #expect(queries.last.map { Self.isRemembered($0, snapshot) } == true)
    }
  }

  @Test func `a large part of what lies behind a bound is planned for each bound`() async throws {
    let (b, n) = (Self.b, Self.n)
    let world = try await Self.world(4000, [Self.ascending(b), Self.ascending(b, n)])
    try world.database.store.read { snapshot in
      func plans(limit: Int) throws {
        for from in [3990, 0, 3995] as [Int64] {
          let query = Self.query(b: 1, from: from, limit: limit)
          let trace = QueryTrace()
          let found = try snapshot.run(query, trace: trace).documents().count
          #expect(found == min(limit, 4000 - Int(from)))
          #expect(try trace.plan?.source == snapshot.planner(query).best().source)
          #expect(Self.isRemembered(query, snapshot) == (limit < 100), "\(limit), \(from)")
        }
      }
      try plans(limit: 3000)
      try plans(limit: 3)
    }
  }

  @Test func `plans are forgotten when the indexes change`() async throws {
    let documents = (0..<500).map { number in
      (
        path: ResourcePath(["books", "b\(number)"]),
        fields: MapValue([
          ("a", .string(number % 2 == 0 ? "x" : "y")), ("n", .integer(Int64(number))),
        ])
      )
    }
    let world = try await QueryWorld(documents, indexes: [Self.ascending(Self.a)])
    func query(_ operand: Value) -> StructuredQuery {
      var query = StructuredQuery(.collection(ResourcePath(["books"])))
      query.filters = [.comparison(.init(field: Self.a, operator: .equal, operand: operand))]
      return query
    }
    func plan(_ operand: Value) throws -> QueryPlan? {
      try world.database.store.read { snapshot in
        let trace = QueryTrace()
        let count = try snapshot.run(EffectiveQuery(query(operand)), trace: trace).documents().count
        #expect(count == 250)
        return trace.plan
      }
    }
    #expect(try plan(.string("x"))?.usesIndexes == true)
    #expect(try plan(.string("y"))?.usesIndexes == true)
    try await world.database.drop([Self.ascending(Self.a)])
    #expect(try plan(.string("x"))?.usesIndexes == false)
    try await world.database.declare([Self.ascending(Self.a)])
    try await world.database.waitForIndexes()
    #expect(try plan(.string("y"))?.usesIndexes == true)
  }
}
