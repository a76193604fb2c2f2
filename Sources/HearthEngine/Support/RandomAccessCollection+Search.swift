extension RandomAccessCollection where Index == Int {
  /// The first index whose element has the property, which all elements after it have, too.
  package func partitioningIndex(_ belongsInSecondPart: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if belongsInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
