import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct FieldTransformApplyTests {
  private let time = Instant(microseconds: 0)

  private func applied(_ transform: FieldTransform, to old: [Value]) -> [Value]? {
    guard case .array(let elements)? = transform.apply(to: .array(old), at: time).value else {
      return nil
    }
    return elements
  }

  /// Values of which many are equal, and some are equal without being the same.
  private func values(_ random: inout RandomValues, count: Int) -> [Value] {
    var values: [Value] = [
      .integer(0), .double(-0.0), .double(0), .integer(1), .double(1), .double(.nan), .null,
      .string("é"), .string("e\u{301}"), .array([.integer(1)]), .array([.double(1)]),
      .map(MapValue([("a", .integer(2))])), .map(MapValue([("a", .double(2))])),
      .integer(.max), .double(0x1p63), .double(-0x1p63), .integer(.min),
    ]
    while values.count < count {
      let value = random.value(depth: 2)
      values.append(value)
      values.append(random.neighbour(of: value))
    }
    return (0..<count).map { _ in random.generator.pick(values) }
  }

  @Test(arguments: [UInt64](1...40))
  func `a union and a removal compare elements as queries do`(seed: UInt64) {
    var random = RandomValues(seed: seed)
    let old = values(&random, count: random.generator.below(60))
    let elements = values(&random, count: random.generator.below(seed % 2 == 0 ? 12 : 60))

    var union = old
    for element in elements where !union.contains(where: { Value.compare($0, element) == 0 }) {
      union.append(element)
    }
    #expect(applied(.arrayUnion(elements), to: old) == union, "seed \(seed)")

    let rest = old.filter { kept in !elements.contains { Value.compare($0, kept) == 0 } }
    #expect(applied(.arrayRemove(elements), to: old) == rest, "seed \(seed)")
  }

  @Test func `a union keeps the repeated elements that were there`() {
    let old: [Value] = [.integer(1), .double(1), .string("a"), .string("a")]
    #expect(
      applied(.arrayUnion([.double(1), .string("b"), .string("b")]), to: old) == old + [
        .string("b")
      ])
    #expect(applied(.arrayRemove([.integer(1)]), to: old) == [.string("a"), .string("a")])
  }
}
