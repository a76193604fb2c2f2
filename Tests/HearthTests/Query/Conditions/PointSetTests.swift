import TestSupport
import Testing

@testable import HearthEngine

@Suite
struct PointSetTests {
  /// The keys of random values, among them many that begin with the same bytes.
  private func keys(_ count: Int, _ random: inout SeededGenerator) -> [[UInt8]] {
    (0..<count).map { _ in
      let letters = (0..<Int.random(in: 0...4, using: &random)).map { _ in
        ["a", "b", "\u{0}", "é"].randomElement(using: &random) ?? "a"
      }
      return Value.string(letters.joined()).componentKey
    }
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func `it contains what the ranges contain`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let points = keys(Int.random(in: 8...200, using: &random), &random)
    let ranges = KeyRanges(points: points.map { KeyRange(prefix: $0) })
    guard ranges.ranges.count >= 8 else { return #expect(PointSet(ranges) == nil) }
    let set = try #require(PointSet(ranges))
    var found = 0
    for key in points + keys(500, &random) {
      let isThere = key.withUnsafeBytes(set.contains)
      #expect(isThere == key.withUnsafeBytes(ranges.contains))
      if isThere { found += 1 }
    }
    #expect(found >= points.count)
  }

  @Test
  func `only single values are points`() {
    let points = (0..<20).map { KeyRange(prefix: Value.integer($0).componentKey) }
    #expect(PointSet(KeyRanges(points: points)) != nil)
    #expect(PointSet(KeyRanges(points: Array(points.prefix(7)))) == nil)
    let wide = KeyRange(lower: [0xF0], upper: [0xF4])
    #expect(PointSet(KeyRanges(points: points + [wide])) == nil)
    #expect(PointSet(.everything) == nil)
  }
}
