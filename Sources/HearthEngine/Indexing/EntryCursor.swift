internal import LMDB

/// A place among the stored entries of all indexes, in the order of their keys.
///
///     seek, last ─▶ cursor of LMDB ─── many steps forward ──▶ walk through the pages
///                         ▲                                          │
///                         └────────── seek, last, leavePages ────────┘
///
/// A step of a walk takes less time than a step of the cursor, but its begin takes as long as some
/// steps. Each move returns whether there is an entry. Only moves ask which of the two is in use:
/// `key` and `value` are what the last one has found.
struct EntryCursor: ~Copyable {
  private let snapshot: Snapshot
  private let table: Table
  private let stepsBeforePages: Int
  private var cursor: Cursor
  /// The steps of the cursor since it was moved to its place.
  private var steps = 0
  /// Nil while the cursor is used.
  private var pages: LeafWalk?
  /// The key of the current entry. Borrowed until the transaction ends, or changes a table.
  private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The value of the current entry. Borrowed as the key is.
  private(set) var value = UnsafeRawBufferPointer(start: nil, count: 0)

  /// - Parameter stepsBeforePages: The number of steps after which a walk replaces the cursor.
  init(_ table: Table, in snapshot: Snapshot, stepsBeforePages: Int) throws {
    self.snapshot = snapshot
    self.table = table
    self.stepsBeforePages = stepsBeforePages
    cursor = try snapshot.cursor(table)
  }

  /// Whether steps walk through the pages.
  var isInPages: Bool { pages != nil }

  /// Moves to the first entry whose key is at or above `key`.
  mutating func seek(to key: UnsafeRawBufferPointer) throws -> Bool {
    pages = nil
    steps = 0
    return hasMoved(try cursor.seek(to: key))
  }

  /// Moves to the last entry.
  mutating func last() throws -> Bool {
    pages = nil
    steps = 0
    return hasMoved(try cursor.last())
  }

  /// Moves to the next entry, by the walk after many steps.
  mutating func next() throws -> Bool {
    if pages == nil {
      steps += 1
      guard steps == stepsBeforePages, let walk = try snapshot.walk(table, from: key) else {
        return hasMoved(try cursor.next())
      }
      // The cursor's own.
      _ = try walk.next()
      pages = walk
    }
    guard let next = try pages?.next() else { return false }
    (key, value) = next
    return true
  }

  /// Moves to an entry beside the current one by the cursor, which must be in use.
  mutating func step(isBackwards: Bool) throws -> Bool {
    hasMoved(try isBackwards ? cursor.previous() : cursor.next())
  }

  /// Moves the cursor to the current entry. False if it does not find it.
  mutating func leavePages() throws -> Bool {
    if pages == nil { return true }
    pages = nil
    steps = 0
    return hasMoved(try cursor.seek(exactly: key))
  }

  @inline(__always)
  private mutating func hasMoved(_ isThere: Bool) -> Bool {
    if isThere { (key, value) = (cursor.key, cursor.value) }
    return isThere
  }
}
