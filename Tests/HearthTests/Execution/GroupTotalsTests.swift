import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

@Suite struct GroupTotalsTests {
  /// Some documents lack a field, or have another type there; sums overflow at times.
  private static func fields(_ random: inout SeededGenerator, isComplete: Bool) -> MapValue {
    let numbers: [Value] = [
      .integer(1), .double(1), .double(-0.0), .double(0.5), .integer(.max), .integer(-3),
      .double(.nan), .integer(Int64(random.below(5))),
    ]
    let keys: [Value] = [
      .string("a"), .string("b"), .integer(2), .double(2), .null, .array([.integer(1)]),
      .boolean(true), .timestamp(Instant(microseconds: 5)),
    ]
    var fields = MapValue()
    if isComplete || random.below(30) > 0 { fields["k"] = random.pick(keys) }
    if isComplete || random.below(30) > 0 { fields["m"] = random.pick(keys) }
    if isComplete || random.below(30) > 0 {
      fields["n"] = random.one(in: 8) ? .string("x") : random.pick(numbers)
    }
    return fields
  }

  @Test(arguments: 0..<UInt64(Soak.isOn ? 200 : 12))
  func `groups from entries are the groups of documents`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let documents = (0..<80).map { number in
      (
        path: ResourcePath(["books", "b\(number)"]),
        fields: Self.fields(&random, isComplete: seed % 3 != 0)
      )
    }
    let (k, m, n) = (FieldSegments(["k"]), FieldSegments(["m"]), FieldSegments(["n"]))
    let world = try await QueryWorld(
      documents,
      indexes: [
        IndexDefinition(
          "books", [.init(field: k, kind: .ascending), .init(field: n, kind: .descending)]),
        IndexDefinition(
          "books",
          [
            .init(field: k, kind: .ascending), .init(field: m, kind: .ascending),
            .init(field: n, kind: .ascending),
          ]),
      ])
    let reference = documents.map(ReferenceQuery.Document.init)
    for keys in [[k], [k, m], [m], []] {
      let aggregations: [[Aggregation]] = [
        [.init(.count(upTo: nil))], [.init(.count(upTo: nil)), .init(.sum(n))],
        [.init(.average(n)), .init(.minimum(n)), .init(.maximum(n)), .init(.distinct(n))],
        [.init(.values(n)), .init(.distinctSum(n)), .init(.distinctAverage(n))],
      ]
      for aggregations in aggregations {
        let grouped = GroupedQuery(
          StructuredQuery(.collection(ResourcePath(["books"]))), by: keys, aggregations)
        let trace = QueryTrace()
        let found = try world.database.store.read {
          try $0.groupTotals(grouped, isLive: false, trace: trace).results()
        }
        let expected = ReferenceQuery.groups(grouped, reference)
        #expect(found.map(\.keys) == expected.map(\.keys), "\(grouped)")
        #expect(
          found.map { "\($0.values)" } == expected.map { "\($0.values)" }, "\(grouped)")
        if seed % 3 != 0, keys == [k], aggregations.count > 1 {
          // An array has its exact values in the document.
          #expect(trace.plan?.usesIndexes == true)
        }
      }
    }
  }
}
