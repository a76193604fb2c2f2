import CLMDB

/// Walks a table in key order.
///
///     var cursor = try snapshot.cursor(table)
///     var found = try cursor.seek(to: lowest)
///     while found {
///       print(cursor.key.count, cursor.value.count)
///       found = try cursor.next()
///     }
///
/// Each move returns whether there is an entry. `key` and `value` are empty if there is none, and
/// after a put or delete until the next move. After an entry is deleted, `next()` moves to the one
/// that followed it.
public struct Cursor: ~Copyable {
  @usableFromInline let snapshot: Snapshot
  /// Nil if the table does not exist.
  @usableFromInline let cursor: OpaquePointer?
  /// Keeps the environment, and with it the cell, alive.
  @usableFromInline let environment: Environment
  @usableFromInline var currentKey = MDB_val()
  @usableFromInline var currentValue = MDB_val()
  @usableFromInline var changes: UInt = 0

  @usableFromInline
  init(snapshot: Snapshot, cursor: OpaquePointer?) {
    self.snapshot = snapshot
    self.cursor = cursor
    environment = snapshot.cell.pointee.environment
  }

  deinit {
    // LMDB closes a writer's cursors with the transaction; a reader's are always ours to close.
    if snapshot.isLive || snapshot.cell != environment.lock.writerCell { mdb_cursor_close(cursor) }
  }

  /// Moves to the first entry.
  @inlinable
  public mutating func first() throws(LMDBError) -> Bool { try move(MDB_FIRST) }

  /// Moves to the last entry.
  @inlinable
  public mutating func last() throws(LMDBError) -> Bool { try move(MDB_LAST) }

  /// Moves to the next entry; from a new cursor, to the first.
  @inlinable
  public mutating func next() throws(LMDBError) -> Bool { try move(MDB_NEXT) }

  /// Moves to the previous entry; from a new cursor, to the last.
  @inlinable
  public mutating func previous() throws(LMDBError) -> Bool { try move(MDB_PREV) }

  /// Moves to the first entry whose key is at or above `key`.
  @inlinable
  public mutating func seek(to key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
    try seek(key, MDB_SET_RANGE)
  }

  /// Moves to the entry whose key is `key`.
  @inlinable
  public mutating func seek(exactly key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
    try seek(key, MDB_SET_KEY)
  }

  /// The key of the current entry.
  @inlinable
  public var key: UnsafeRawBufferPointer {
    isCurrent ? currentKey.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The value of the current entry.
  @inlinable
  public var value: UnsafeRawBufferPointer {
    isCurrent ? currentValue.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
  }

  @inlinable
  var isCurrent: Bool { snapshot.isLive && snapshot.cell.pointee.changes == changes }

  @inlinable
  mutating func seek(
    _ key: UnsafeRawBufferPointer, _ operation: MDB_cursor_op
  ) throws(LMDBError) -> Bool {
    guard isValidKey(key) else { throw snapshot.failure(MDB_BAD_VALSIZE, "seek") }
    currentKey = MDB_val(key)
    return try move(operation)
  }

  /// Like `next`, for a walk that reads every value: also prefetches the entry that probably
  /// follows. Entries put in order lie one below the other in their page.
  @inlinable
  public mutating func nextAhead() throws(LMDBError) -> Bool {
    guard try move(MDB_NEXT) else { return false }
    let size = currentKey.mv_size + currentValue.mv_size + 8
    guard size >= 128, size < 2048, let key = currentKey.mv_data else { return true }
    let below = key - size - 8
    for line in 0..<5 { hearth_prefetch(below + line * 64) }
    return true
  }

  @inlinable
  mutating func move(_ operation: MDB_cursor_op) throws(LMDBError) -> Bool {
    guard snapshot.isLive else {
      throw snapshot.failure(LMDBError.transactionEnded.code, "cursor")
    }
    if snapshot.cell.pointee.isInstrumented { try snapshot.admit(.cursor, "cursor") }
    let code = mdb_cursor_get(cursor, &currentKey, &currentValue, operation)
    changes = snapshot.cell.pointee.changes
    if code == MDB_SUCCESS {
      if snapshot.cell.pointee.isInstrumented {
        currentKey = MDB_val(snapshot.lend(currentKey.bytes))
        currentValue = MDB_val(snapshot.lend(currentValue.bytes))
      }
      return true
    }
    currentKey = MDB_val()
    currentValue = MDB_val()
    guard code == MDB_NOTFOUND || cursor == nil else { throw snapshot.failure(code, "cursor") }
    return false
  }
}
