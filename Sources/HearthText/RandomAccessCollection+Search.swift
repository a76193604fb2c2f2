extension RandomAccessCollection where Index == Int {
  /// The first index whose element has the property, which all elements after it have, too.
  @inlinable @inline(__always)
  package func partitioningIndex(
    _ belongsInSecondPart: (Element) throws -> Bool
  ) rethrows -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if try belongsInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The index of the only element whose order is zero, or where it would be inserted: the orders of
  /// elements before it are negative, and of those after it positive.
  @inlinable @inline(__always)
  package func position(_ order: (Element) -> Int) -> (index: Int, isThere: Bool) {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      let order = order(self[middle])
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}
