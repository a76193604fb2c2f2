internal import LMDB

/// Knows the last key of a table, so that records with greater keys can be appended.
///
/// LMDB's ordinary puts in ascending order leave out the last record that would fit on each page:
/// with documents of half a kilobyte, every seventh slot.
struct AppendDetector {
  private var last: [UInt8] = []
  private var isEmpty = true

  init(_ table: Table, in snapshot: Snapshot) throws {
    var cursor = try snapshot.cursor(table)
    if try cursor.last() { advance(to: cursor.key) }
  }

  /// True if the key is greater than every key in the table and every key passed before.
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
