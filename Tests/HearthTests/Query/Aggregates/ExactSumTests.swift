import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

@Suite struct ExactSumTests {
  private func double(_ generator: inout SeededGenerator) -> Double {
    switch generator.below(8) {
    case 0: Double(bitPattern: generator.next()).isFinite ? 1e300 : -1e-300
    case 1: Double(sign: .minus, exponent: generator.below(1000) - 900, significand: 1.5)
    case 2: Double.leastNonzeroMagnitude * Double(generator.below(9))
    case 3: 1e16
    case 4: -1e16
    default: Double(generator.below(2_000_000) - 1_000_000) / 1024
    }
  }

  @Test(arguments: 0..<50)
  func `what is added can be taken away, in any order, to the last bit`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let kept = (0..<generator.below(6)).map { _ in double(&generator) }
    let passing = (0..<200).map { _ in double(&generator) } + [.infinity, .nan, -.infinity, -0.0]
    var sum = ExactSum()
    for value in (kept + passing).shuffled(using: &generator) { sum.add(value) }
    for value in passing.shuffled(using: &generator) { sum.add(value, sign: -1) }
    var alone = ExactSum()
    for value in kept { alone.add(value) }
    #expect(sum.value == alone.value)
    if kept.isEmpty { #expect(sum.value == 0) }
    if kept.count == 1 { #expect(sum.value == kept[0]) }
    if kept.count == 2 { #expect(sum.value == kept[0] + kept[1]) }
  }

  @Test(
    arguments: [
      ([9_007_199_254_740_993], -9_007_199_254_740_992.0, 1.0),
      ([.max, .max, .max], -2.7670116110564327e19, -3.0),
      ([.min, .min, .min, 1], 2.7670116110564327e19, 1.0),
    ] as [([Int64], Double, Double)])
  func `integers beside doubles lose no bit`(
    integers: [Int64], double: Double, expected: Double
  ) throws {
    var total = NumberTotal()
    for integer in integers { total.add(.integer(integer)) }
    total.add(.double(double))
    #expect(total.sumValue == .double(expected))
    #expect(total.averageValue == .double(expected / Double(integers.count + 1)))
    // The plain reference, too.
    let documents = (integers.map(Value.integer) + [.double(double)]).enumerated().map {
      ReferenceQuery.Document(
        (ResourcePath(["n", "\($0.offset)"]), MapValue([("n", $0.element)])))
    }
    let query = ReferenceQuery(query: StructuredQuery(.collection(ResourcePath(["n"]))))
    let n = FieldSegments(["n"])
    #expect(
      query.aggregate([Aggregation(.sum(n)), Aggregation(.average(n))], documents)
        == [total.sumValue, total.averageValue])
  }

  @Test func `infinities and NaN count while they are there`() {
    var sum = ExactSum()
    sum.add(1.5)
    sum.add(.infinity)
    #expect(sum.value == .infinity)
    sum.add(-.infinity)
    #expect(sum.value.isNaN)
    sum.add(.infinity, sign: -1)
    #expect(sum.value == -.infinity)
    sum.add(-.infinity, sign: -1)
    #expect(sum.value == 1.5)
    sum.add(.nan)
    #expect(sum.value.isNaN)
    sum.add(.nan, sign: -1)
    for _ in 0..<10 { sum.add(.greatestFiniteMagnitude) }
    #expect(sum.value == .infinity)
    for _ in 0..<10 { sum.add(.greatestFiniteMagnitude, sign: -1) }
    #expect(sum.value == 1.5)
  }
}
