import HearthGeometry
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Which keys comparisons leave, without an index.
@Suite struct KeyRangesTests {
  private static func inverted(_ key: [UInt8]) -> [UInt8] { key.map { ~$0 } }

  private static func contains(_ ranges: KeyRanges, _ key: [UInt8]) -> Bool {
    key.withUnsafeBytes(ranges.contains)
  }

  @Test(arguments: [UInt64](1...20))
  func `ranges intersect in any order`(seed: UInt64) {
    var random = RandomValues(seed: seed)
    let values = (0..<12).map { _ in random.value(depth: 1) }
    let all = (0..<random.generator.below(9)).map { _ in
      KeyRanges(
        StructuredQuery.Comparison(
          field: FieldSegments(["a"]),
          operator: random.generator.pick([
            .notEqual, .lessThan, .greaterThanOrEqual, .notIn, .inSet,
          ]), operand: random.generator.one(in: 2) ? .array(values) : random.generator.pick(values))
      )
    }
    let together = KeyRanges.intersection(of: all)
    #expect(together == all.reduce(.everything) { $0.intersection($1) }, "seed \(seed)")
    for value in values {
      let key = value.componentKey
      #expect(Self.contains(together, key) == all.allSatisfy { Self.contains($0, key) })
    }
  }

  @Test func `a value passes a comparison if and only if its key is in the ranges`() {
    var random = RandomValues(seed: 17)
    let values = (0..<20).flatMap { _ in
      let value = random.value(depth: 1)
      return [value, random.neighbour(of: value)]
    }
    let kinds: [StructuredQuery.Comparison.Operator] = [
      .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .in,
      .notIn, .isNull, .isNaN, .isNotNull, .isNotNaN,
    ]
    let books = ResourcePath(["books"])
    let documents = values.map {
      ReferenceQuery.Document((books.appending("1"), MapValue([("a", $0)])))
    }
    let keys = values.map(\.componentKey)
    for operand in values {
      for kind in kinds {
        let comparison = StructuredQuery.Comparison(
          field: FieldSegments(["a"]), operator: kind,
          operand: kind.takesList
            ? .array([operand, random.generator.pick(values)]) : operand)
        let ranges = KeyRanges(comparison)
        var query = StructuredQuery(.collection(books))
        query.add(.comparison(comparison))
        let reference = ReferenceQuery(query: query)
        for (key, document) in zip(keys, documents) {
          let passes = !reference.run([document]).isEmpty
          if Self.contains(ranges, key) != passes
            || Self.contains(ranges.inverted, Self.inverted(key)) != passes
          {
            Issue.record("\(document.fields) \(kind) \(comparison.constant): \(passes) is right")
          }
        }
      }
    }
  }

  /// The keys of entries that a document has in indexes on a field.
  private static func entries(of value: Value) -> [EntryKind: [[UInt8]]] {
    var entries: [EntryKind: [[UInt8]]] = [.value: [value.componentKey]]
    if case .array(let elements) = value { entries[.element] = elements.map(\.componentKey) }
    if case .geoPoint(let point) = value {
      entries[.cell] = [
        GeoCell.key(GeoCell.leaf(latitude: point.latitude, longitude: point.longitude))
      ]
    }
    return entries
  }

  @Test
  func `what a comparison implies is true of documents that pass, and decides where it says so`()
    throws
  {
    var (seen, decided): ([StructuredQuery.Comparison.Operator: Int], Int) = ([:], 0)
    for seed in 0..<60 as Range<UInt64> {
      var random = RandomQueries(seed: seed)
      let world = random.world(60)
      let documents = world.map { ReferenceQuery.Document($0) }
      for query in random.validQueries(150, world) {
        for comparison in query.comparisons
        where !comparison.isNegated && !comparison.field.isDocumentID {
          var one = StructuredQuery(query.scope)
          one.add(.comparison(comparison))
          let passing = Set(ReferenceQuery(query: one).run(documents).map(\.path))
          var implied: [(EntryKind, KeyRanges)] = []
          comparison.forEachImplied { implied.append(($0, $1)) }
          for document in documents where query.scope.contains(document.path) {
            let entries = document.find(comparison.field).map { Self.entries(of: $0.value) } ?? [:]
            let isImplied = implied.allSatisfy { kind, keys in
              entries[kind]?.contains { Self.contains(keys, $0) } ?? false
            }
            let passes = passing.contains(document.path)
            let isRight = comparison.isDecidedByKeys ? passes == isImplied : !passes || isImplied
            #expect(isRight, "\(comparison) of \(document.fields), seed \(seed)")
            if passes, comparison.isDecidedByKeys { decided += 1 }
          }
          if !passing.isEmpty { seen[comparison.operator, default: 0] += 1 }
        }
      }
    }
    // All but relative times and the results of queries.
    #expect(decided > 1000 && seen.count >= 22, "\(decided) \(seen)")
  }

  @Test func `each operator has its own row`() {
    let unlike: [StructuredQuery.Comparison.Operator: String] = [
      .isNull: "equal", .isNaN: "equal", .isNotNull: "notEqual", .isNotNaN: "notEqual",
    ]
    for kind in StructuredQuery.Comparison.Operator.allCases {
      let names = [
        "withinRegion": "isWithin", "afterNow": "isAfterNow", "beforeNow": "isBeforeNow",
        "inResults": "isInResultsOf", "arrayContainsAnyInResults": "arrayContainsAnyInResultsOf",
      ]
      #expect(kind.clientName == unlike[kind] ?? names["\(kind)"] ?? "\(kind)")
    }
    #expect(StructuredQuery.Comparison.Operator.arrayContainsAny.serverName == "ARRAY_CONTAINS_ANY")
    #expect(StructuredQuery.Comparison.Operator.in.serverName == "IN")
    #expect(StructuredQuery.Comparison.Operator.notIn.serverName == "NOT_IN")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `values in order, in any order and repeated are the same ranges`(seed: UInt64) {
    var random = RandomValues(seed: seed)
    let points = (0..<random.generator.below(12)).map { _ in
      KeyRange(prefix: random.value(depth: 1).componentKey)
    }
    let sorted = points.sorted { UTF8Order.compare($0.lower, $1.lower) < 0 }
    var distinct: [KeyRange] = []
    for point in sorted where point != distinct.last { distinct.append(point) }
    for order in [points, sorted, distinct, distinct + distinct] {
      #expect(KeyRanges(points: order).ranges == distinct)
    }
    let empty = KeyRange(lower: [0xFE], upper: [0xFE])
    #expect(KeyRanges(points: distinct + [empty]).ranges == distinct)
    let ranges = KeyRanges(points: distinct)
    #expect(ranges.intersection(.everything) == ranges)
    #expect(KeyRanges.everything.intersection(ranges) == ranges)
  }

  @Test(arguments: 0..<2000 as Range<UInt64>)
  func `a range is one of a prefix if it ends where the keys with the prefix end`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func bytes() -> [UInt8] {
      (0..<random.below(4)).map { _ in random.pick([0, 1, 0x7F, 0xFE, 0xFF] as [UInt8]) }
    }
    let lower = bytes()
    for upper in [bytes(), lower, KeyRange.end(lower), nil] {
      let range = KeyRange(lower: lower, upper: upper)
      #expect(range.isPrefix == (upper == KeyRange.end(lower)), "\(range)")
    }
  }

  @Test func `the inverted key of one value is all that keys are said to begin with`() {
    // The end of a key may be a byte that has no next one.
    let values = (0..<600).map { Value.timestamp(Instant(microseconds: $0)) } + [.string("a")]
    #expect(values.contains { $0.componentKey.last == 0xFF })
    for value in values {
      let key = Self.inverted(value.componentKey)
      #expect(KeyRanges(points: [value]).inverted.ranges == [KeyRange(prefix: key)])
    }
  }

  @Test func `places of names stand between the names of entries as the names do`() {
    var random = RandomQueries(seed: 5)
    let paths = random.world(60).map(\.path)
    let scopes: [StructuredQuery.Scope] =
      [.group("a", below: .root)] + Set(paths.map(\.parent)).map { .collection($0) }
    var deeper = 0
    for scope in scopes {
      let places = NamePosition(scope: scope)
      let own = paths.filter {
        switch scope {
        case .collection(let collection): $0.parent == collection
        default: $0.parent.id == "a"
        }
      }
      for document in own {
        var key = KeyBuffer()
        if case .collection = scope {
          key.append(id: document.id)
        } else {
          key.append(path: document)
        }
        for path in paths {
          let order = ReferenceOrder.compare(
            ReferenceOrder.terms(.reference(document)), ReferenceOrder.terms(.reference(path)))
          if path.segments.count > document.segments.count { deeper += 1 }
          for isBefore in [true, false] {
            let place = places.position(of: path, isBefore: isBefore)
            let isLess = KeyRange.isBefore(key.bytes, place)
            #expect(
              isLess == (isBefore ? order < 0 : order <= 0), "\(document), \(path), \(scope)")
          }
        }
      }
    }
    #expect(deeper > 0)
  }
}
