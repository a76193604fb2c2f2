internal import CXXHash

/// Many single values, found by a hash of their keys: an entry that has none of them costs one hash,
/// where a search among ranges costs a dozen comparisons.
///
///     slots   2 │ - │ 0 │ - │ 1 │ - …     positions in `points`, from the one that the hash gives
struct PointSet {
  private static let fewest = 8

  private let points: [[UInt8]]
  /// As long as a power of two, at most half full. -1 is empty.
  private let slots: [Int32]

  /// Nil if there are few ranges, or if one is not a single value.
  init?(_ ranges: KeyRanges) {
    guard ranges.arePoints, ranges.ranges.count >= PointSet.fewest,
      ranges.ranges.allSatisfy({ !$0.lower.isEmpty && $0.isPrefix })
    else { return nil }
    let points = ranges.ranges.map(\.lower)
    var slots = [Int32](
      repeating: -1, count: 1 << (Int.bitWidth - points.count.leadingZeroBitCount + 1))
    for (position, point) in points.enumerated() {
      var slot = point.withUnsafeBytes { PointSet.slot($0, slots.count) }
      while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = Int32(position)
    }
    self.points = points
    self.slots = slots
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    var slot = PointSet.slot(key, slots.count)
    while slots[slot] >= 0 {
      let point = points[Int(slots[slot])]
      if point.withUnsafeBytes({ UTF8Order.areEqual($0, key) }) { return true }
      slot = (slot + 1) & (slots.count - 1)
    }
    return false
  }

  private static func slot(_ key: UnsafeRawBufferPointer, _ count: Int) -> Int {
    Int(truncatingIfNeeded: XXH3_64bits(key.baseAddress, key.count)) & (count - 1)
  }
}
