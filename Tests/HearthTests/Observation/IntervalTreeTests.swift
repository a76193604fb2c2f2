import TestSupport
import Testing

@testable import HearthEngine

@Suite struct IntervalTreeTests {
  private final class Owner {}

  @Test func `of an owner's intervals, the one that is removed is no longer found`() {
    var random = SeededGenerator(seed: 3)
    let owners = (0..<4).map { _ in Owner() }
    var tree = IntervalTree<Owner>()
    var model: [(interval: IntervalTree<Owner>.Interval, owner: Owner)] = []
    for _ in 0..<3000 {
      if random.below(5) < 3 || model.isEmpty {
        // Many have the same lower end, and some are equal.
        let lower = UInt8(random.below(4))
        let interval = IntervalTree<Owner>.Interval(
          lower: [lower], upper: [lower + UInt8(random.below(4))])
        let owner = random.pick(owners)
        tree.insert(interval, owner)
        model.append((interval, owner))
      } else {
        let (interval, owner) = model.remove(at: random.below(model.count))
        tree.remove(interval, owner)
      }
      #expect(tree.count == model.count)
      let point = [UInt8(random.below(8))]
      var found: [ObjectIdentifier: Int] = [:]
      point.withUnsafeBytes { bytes in
        tree.forEach(holding: bytes) { found[ObjectIdentifier($0), default: 0] += 1 }
      }
      var expected: [ObjectIdentifier: Int] = [:]
      for (interval, owner) in model
      where UTF8Order.compare(interval.lower, point) <= 0
        && UTF8Order.compare(interval.upper, point) >= 0
      {
        expected[ObjectIdentifier(owner), default: 0] += 1
      }
      #expect(found == expected)
    }
  }
}
