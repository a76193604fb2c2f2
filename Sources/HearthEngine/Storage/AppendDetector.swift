internal import LMDB

/// Where a table ends, so that what comes behind all else can be appended.
///
/// LMDB's ordinary puts in ascending order leave out the last record that would fit on each page: with
/// documents of half a kilobyte, every seventh place.
struct AppendDetector {
  private var last: [UInt8] = []
  private var isEmpty = true

  init(_ table: Table, in snapshot: Snapshot) throws {
    var cursor = try snapshot.cursor(table)
    if try cursor.last() { advance(to: cursor.key) }
  }

  /// True if the key is behind all that are there and all that were asked for before.
  mutating func isPassed(by key: UnsafeRawBufferPointer) -> Bool {
    guard isEmpty || last.withUnsafeBytes({ UTF8Order.compare($0, key) < 0 }) else { return false }
    advance(to: key)
    return true
  }

  private mutating func advance(to key: UnsafeRawBufferPointer) {
    isEmpty = false
    last.removeAll(keepingCapacity: true)
    last.append(contentsOf: key)
  }
}
