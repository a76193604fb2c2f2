import TestSupport
import Testing

@testable import HearthEngine
@testable import HearthReference

/// Agreement: conditions over stored bytes, and the reference over decoded values.
@Suite struct MatcherTests {
  /// Each seed makes a small world. A million conditions in a soak, each of three documents.
  @Test(arguments: 0..<UInt64(Soak.isOn ? 100 : 4))
  func `any condition holds where it holds of decoded values`(seed: UInt64) throws {
    var random = RandomQueries(seed: seed &* 193 &+ 7)
    let now = Instant(microseconds: Int64(random.values.generator.below(1 << 50)))
    let times = (-5...5).map { now.adding(saturating: $0 * 1_000_000) }
    let world = random.world(40).map { path, fields in
      var fields = fields
      if random.values.generator.one(in: 3) {
        fields["a"] = .timestamp(random.values.generator.pick(times))
      }
      return (path: path, fields: fields)
    }
    let documents = world.map(ReferenceQuery.Document.init)
    let bodies = try world.map { try DocumentBody(encoding: $0.fields) }
    let count = Soak.isOn ? 10_000 : 500
    var tested = 0
    var held = 0
    var relative = 0
    while tested < count {
      var query = StructuredQuery(.collection(ResourcePath(["a"])))
      var condition = random.condition(about: world)
      if random.values.generator.one(in: 10) {
        let isAfter = random.values.generator.one(in: 2)
        let time = StructuredQuery.Comparison(
          field: FieldSegments(["a"]), operator: isAfter ? .greaterThan : .lessThanOrEqual,
          operand: .timestamp(random.values.generator.pick(times)))
        condition =
          random.values.generator.one(in: 2)
          ? .comparison(time) : .any([.comparison(time), condition])
      }
      query.add(condition)
      guard (try? query.check()) != nil else { continue }
      tested += 1
      let filters = query.filters.map { $0.relative(to: now) }
      if filters.hasRelativeTimes() { relative += 1 }
      var matcher = Matcher(filters, at: ReadTime(now))
      let reference = ReferenceQuery(query: query)
      for _ in 0..<3 {
        let index = Int(random.values.generator.below(world.count))
        let expected = query.filters.allSatisfy { reference.holds($0, documents[index]) }
        let holds = try bodies[index].withBytes { bytes in
          try matcher.matches(MapView(body: bytes)) { world[index].path }
        }
        if holds { held += 1 }
        guard holds == expected else {
          Issue.record("seed \(seed): \(filters) holds of \(world[index]): \(holds)")
          return
        }
      }
    }
    #expect(held > count / 5 && held < count * 14 / 5, "\(held) of \(count * 3)")
    #expect(relative > count / 40)
  }
}

extension StructuredQuery.Filter {
  /// The same conditions, those on times relative to one.
  fileprivate func relative(to now: Instant) -> StructuredQuery.Filter {
    mapped { comparison in
      guard case .timestamp(let time) = comparison.constant,
        [.greaterThan, .lessThanOrEqual].contains(comparison.operator)
      else { return comparison }
      var relative = comparison
      relative.operator = comparison.operator == .greaterThan ? .afterNow : .beforeNow
      relative.operand = .time(.offset(time.microseconds - now.microseconds))
      return relative
    }
  }
}
