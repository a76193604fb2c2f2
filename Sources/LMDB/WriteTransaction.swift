import CLMDB
import Glibc

/// The one write transaction of the file. Aborts at the end of its scope unless committed.
///
///     var writing = try environment.beginWrite()
///     try writing.put(table, key, value)
///     try writing.commit()
///
/// Belongs to the thread that began it and must end there. After a failed put or delete, every
/// further one throws `badTransaction`: abort.
public struct WriteTransaction: ~Copyable {
  @usableFromInline let environment: Environment
  /// The state that the transaction sees, with its own changes.
  public let snapshot: Snapshot

  init(environment: Environment, snapshot: Snapshot) {
    self.environment = environment
    self.snapshot = snapshot
  }

  /// Writes an entry. With `append` the key must be above every other; otherwise this throws `keyExists`.
  @inlinable
  public mutating func put(
    _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    append: Bool = false
  ) throws(LMDBError) {
    guard isValidKey(key) else { throw snapshot.failure(MDB_BAD_VALSIZE, "put") }
    try beforeChange(.put, "put")
    let flags = append ? UInt32(MDB_APPEND) : 0
    var rawKey = MDB_val(key)
    var rawValue = MDB_val(value)
    let code = mdb_put(snapshot.transaction, table.handle, &rawKey, &rawValue, flags)
    guard code == MDB_SUCCESS else { throw snapshot.failure(code, "put") }
  }

  /// Deletes an entry. Returns false if there was none.
  @inlinable @discardableResult
  public mutating func delete(
    _ table: Table, _ key: UnsafeRawBufferPointer
  ) throws(LMDBError) -> Bool {
    guard isValidKey(key) else { throw snapshot.failure(MDB_BAD_VALSIZE, "delete") }
    try beforeChange(.delete, "delete")
    var rawKey = MDB_val(key)
    let code = mdb_del(snapshot.transaction, table.handle, &rawKey, nil)
    if code == MDB_NOTFOUND { return false }
    guard code == MDB_SUCCESS else { throw snapshot.failure(code, "delete") }
    return true
  }

  /// Commits. When it returns, the commit is as durable as the environment's `durability` says.
  /// After a system error the environment refuses writes until `reopen()`.
  ///
  /// - Parameter ringing: If false, the caller notifies later, with `Environment.notifyCommit`.
  public consuming func commit(ringing: Bool = true) throws(LMDBError) {
    try environment.commit(snapshot, ringing: ringing)
  }

  /// Ends the transaction without committing.
  public consuming func abort() {}

  deinit { environment.abort(snapshot) }

  @inlinable @inline(__always)
  mutating func beforeChange(
    _ storageCall: StorageCall, _ call: StaticString
  ) throws(LMDBError) {
    if snapshot.cell.pointee.isInstrumented {
      try snapshot.admit(storageCall, call)
      environment.endBorrows(by: snapshot.cell, isFinal: false)
    }
    snapshot.cell.pointee.noteChange()
  }
}
