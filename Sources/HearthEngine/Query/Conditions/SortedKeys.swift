internal import HearthText

/// Distinct values as keys, in order: 1 and 1.0 have one key.
///
/// Stored one behind another, so that thousands of them are two allocations.
final class SortedKeys: Hashable, Sendable {
  private let bytes: [UInt8]
  /// The offset at which each key ends.
  private let ends: [Int]

  fileprivate init(_ bytes: [UInt8], ends: [Int]) {
    self.bytes = bytes
    self.ends = ends
  }

  var count: Int { ends.count }

  /// Calls `body` with each key, in order. Borrowed.
  func forEach<E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
    let result: Result<Void, E> = bytes.withUnsafeBytes { bytes in
      do throws(E) {
        var start = 0
        for end in ends {
          try body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
          start = end
        }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  func map<Output, E: Error>(
    _ transform: (UnsafeRawBufferPointer) throws(E) -> Output
  ) throws(E) -> [Output] {
    var outputs: [Output] = []
    outputs.reserveCapacity(count)
    try forEach { (key) throws(E) in outputs.append(try transform(key)) }
    return outputs
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    bytes.withUnsafeBytes { bytes in
      ends.indices.position { index in
        let start = index > 0 ? ends[index - 1] : 0
        return UTF8Order.compare(
          UnsafeRawBufferPointer(rebasing: bytes[start..<ends[index]]), key)
      }.isThere
    }
  }

  static func == (lhs: SortedKeys, rhs: SortedKeys) -> Bool {
    lhs === rhs || lhs.ends == rhs.ends && lhs.bytes == rhs.bytes
  }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Collects keys for `SortedKeys`, in any order and repeatedly.
struct KeyCollector {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The keys so far are distinct and in order, as those of an index are.
  private var isAscending = true

  mutating func add(_ key: UnsafeRawBufferPointer) {
    if let last = ends.last {
      let start = ends.count > 1 ? ends[ends.count - 2] : 0
      let order = bytes.withUnsafeBytes {
        UTF8Order.compare(UnsafeRawBufferPointer(rebasing: $0[start..<last]), key)
      }
      if order == 0 { return }
      if order > 0 { isAscending = false }
    }
    bytes.append(contentsOf: key)
    ends.append(bytes.count)
  }

  mutating func add(_ key: [UInt8]) { key.withUnsafeBytes { add($0) } }

  func finish() -> SortedKeys {
    let keys = SortedKeys(bytes, ends: ends)
    if isAscending { return keys }
    var sorted = KeyCollector()
    let ordered = keys.map { $0 }.sorted { UTF8Order.compare($0, $1) < 0 }
    withExtendedLifetime(keys) { for key in ordered { sorted.add(key) } }
    return SortedKeys(sorted.bytes, ends: sorted.ends)
  }
}
