import CLMDB

/// A table of an environment.
public struct Table: Sendable, Hashable {
  /// The name of the table in the file.
  public let name: String
  @usableFromInline let handle: MDB_dbi
  /// The handle of a table that does not exist. LMDB rejects it.
  @usableFromInline static let noHandle = MDB_dbi.max

  @usableFromInline var isThere: Bool { handle != Self.noHandle }

  init(name: String, handle: MDB_dbi) {
    self.name = name
    self.handle = handle
  }
}

/// The state of the file that a transaction sees.
///
///     let value = try environment.read { try $0.get(table, key).map(Array.init) }
///
/// Valid as long as its transaction. Borrowed bytes are valid until the transaction ends; in a
/// write transaction, only until the next put or delete. They are not aligned: use
/// unaligned loads. A call after the transaction's end throws `transactionEnded`.
public struct Snapshot {
  @usableFromInline let cell: CellPointer
  @usableFromInline let transaction: OpaquePointer
  @usableFromInline let generation: UInt

  @inlinable @inline(__always)
  init(cell: CellPointer, transaction: OpaquePointer) {
    self.cell = cell
    self.transaction = transaction
    generation = cell.pointee.generation
  }

  @inlinable @inline(__always)
  var isLive: Bool { cell.pointee.generation == generation }

  /// The value of a key; nil if there is none.
  @inlinable
  public func get(
    _ table: Table, _ key: UnsafeRawBufferPointer
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    guard isLive else { throw failure(LMDBError.transactionEnded.code, "get") }
    guard isValidKey(key) else { throw failure(MDB_BAD_VALSIZE, "get") }
    if cell.pointee.isInstrumented { try admit(.get, "get") }
    var lookedFor = MDB_val(key)
    var found = MDB_val()
    let code = mdb_get(transaction, table.handle, &lookedFor, &found)
    guard code == MDB_SUCCESS else {
      if code == MDB_NOTFOUND || !table.isThere { return nil }
      throw failure(code, "get")
    }
    return cell.pointee.isInstrumented ? lend(found.bytes) : found.bytes
  }

  /// A cursor before the first entry.
  @inlinable
  public func cursor(_ table: Table) throws(LMDBError) -> Cursor {
    guard isLive else { throw failure(LMDBError.transactionEnded.code, "cursor") }
    if cell.pointee.isInstrumented { try admit(.cursor, "cursor") }
    var cursor: OpaquePointer?
    let code = mdb_cursor_open(transaction, table.handle, &cursor)
    guard code == MDB_SUCCESS || !table.isThere else { throw failure(code, "cursor") }
    return Cursor(snapshot: self, cursor: cursor)
  }

  /// The counts of a table's tree.
  public func statistics(_ table: Table) throws(LMDBError) -> TableStatistics {
    guard isLive else { throw failure(LMDBError.transactionEnded.code, "statistics") }
    var raw = MDB_stat()
    let code = mdb_stat(transaction, table.handle, &raw)
    guard code == MDB_SUCCESS || !table.isThere else { throw failure(code, "statistics") }
    return TableStatistics(raw)
  }

  /// The number of the last commit this sees; in a write transaction, the number of the commit it
  /// will be. 0 after the transaction has ended.
  public var transactionID: Int { isLive ? mdb_txn_id(transaction) : 0 }

  // MARK: Slow path

  @usableFromInline
  func failure(_ code: Int32, _ call: StaticString) -> LMDBError {
    cell.pointee.environment.failure(code, call)
  }

  /// Asks the fault injector.
  @usableFromInline
  func admit(_ storageCall: StorageCall, _ call: StaticString) throws(LMDBError) {
    try cell.pointee.environment.admit(storageCall, call)
  }

  /// In the poisoning test mode, a copy that is poisoned when the borrow ends.
  @usableFromInline
  func lend(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    cell.pointee.environment.borrows?.lend(bytes, by: cell) ?? bytes
  }
}

/// LMDB's limit: 1 to 511 bytes.
@inlinable @inline(__always)
func isValidKey(_ key: UnsafeRawBufferPointer) -> Bool { UInt(bitPattern: key.count &- 1) < 511 }

extension MDB_val {
  @inlinable @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(
      mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  @inlinable @inline(__always)
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}
