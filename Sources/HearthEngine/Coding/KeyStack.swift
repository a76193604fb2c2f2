/// The keys that lead to a value, in memory that is reused.
struct KeyStack {
  /// Uninitialized where there is an index.
  private var keys = UnsafeMutablePointer<any CodingKey>.allocate(capacity: 32)
  /// Negative where there is a key.
  private var indexes = UnsafeMutablePointer<Int>.allocate(capacity: 32)
  private var capacity = 32
  private(set) var count = 0

  @inline(__always)
  mutating func append(_ key: some CodingKey) {
    if count == capacity { grow() }
    (keys + count).initialize(to: key)
    indexes[count] = -1
    count += 1
  }

  /// An element's key. Indexes are not negative.
  @inline(__always)
  mutating func append(index: Int) {
    if count == capacity { grow() }
    indexes[count] = index
    count += 1
  }

  @inline(__always)
  mutating func truncate(to length: Int) {
    while count > length {
      count -= 1
      if indexes[count] < 0 { (keys + count).deinitialize(count: 1) }
    }
  }

  /// `index` must be below `count`.
  subscript(index: Int) -> any CodingKey {
    precondition(index >= 0 && index < count, "A key's index is below the count.")
    return indexes[index] < 0 ? keys[index] : AnyCodingKey.index(indexes[index])
  }

  func prefix(_ length: Int) -> [any CodingKey] {
    (0..<max(0, min(length, count))).map { self[$0] }
  }

  @inline(never)
  private mutating func grow() {
    let grownKeys = UnsafeMutablePointer<any CodingKey>.allocate(capacity: 2 * capacity)
    let grownIndexes = UnsafeMutablePointer<Int>.allocate(capacity: 2 * capacity)
    for index in 0..<count {
      grownIndexes[index] = indexes[index]
      if indexes[index] < 0 { (grownKeys + index).moveInitialize(from: keys + index, count: 1) }
    }
    keys.deallocate()
    indexes.deallocate()
    keys = grownKeys
    indexes = grownIndexes
    capacity *= 2
  }
}
