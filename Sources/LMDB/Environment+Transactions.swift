import CLMDB
import Glibc

extension Environment {
  // MARK: Reading

  /// Runs `body` in a new read transaction, which sees the newest commit.
  ///
  /// Waits while `readerPoolLimit` reads are running.
  @inlinable
  public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    let snapshot = try beginSnapshot()
    defer { endSnapshot(snapshot) }
    return try body(snapshot)
  }

  @inlinable @inline(__always)
  func beginSnapshot() throws(LMDBError) -> Snapshot {
    let thread = pthread_self()
    if !isForked, let cell = lock.claimQuickly(for: thread) {
      if let transaction = cell.pointee.transaction, !cell.pointee.isInstrumented,
        mdb_txn_renew(transaction) == MDB_SUCCESS
      {
        return Snapshot(cell: cell, transaction: transaction)
      }
      return try beginSnapshot(in: cell, for: thread)
    }
    return try beginSnapshot(in: nil, for: thread)
  }

  @inlinable @inline(__always)
  func endSnapshot(_ snapshot: Snapshot) {
    // In a forked child the slot in the lock file belongs to the parent.
    if isForked { return }
    let cell = snapshot.cell
    if cell.pointee.isInstrumented { endBorrows(by: cell, isFinal: true) }
    mdb_txn_reset(snapshot.transaction)
    cell.pointee.endGeneration()
    lock.release(cell)
  }

  @usableFromInline
  func endBorrows(by cell: CellPointer, isFinal: Bool) { borrows?.end(by: cell, isFinal: isFinal) }

  /// The slow path: the first use of a cell, a full pool, a shut lock, a full lock file.
  @usableFromInline
  func beginSnapshot(
    in claimed: CellPointer?, for thread: pthread_t
  ) throws(LMDBError) -> Snapshot {
    guard !isForked else { throw failure(LMDBError.forked.code, "begin reading") }
    var claimed = claimed
    var backoff = Backoff(configuration.readersFullBackoff)
    while true {
      let cell: CellPointer
      if let claimed {
        cell = claimed
      } else {
        do { cell = try lock.claim(for: thread) } catch {
          throw failure(error.code, "begin reading")
        }
      }
      claimed = nil
      let code = renew(cell)
      if code == MDB_SUCCESS, let transaction = cell.pointee.transaction {
        return Snapshot(cell: cell, transaction: transaction)
      }
      lock.release(cell)
      switch code {
      case MDB_READERS_FULL:
        if clearStaleReaders() > 0 { continue }
        claimed = lock.claimPrepared(for: thread)
        if claimed == nil && !backoff.wait() { throw failure(code, "begin reading") }
      case EAGAIN:
        throw failure(LMDBError.sharedProcessID.code, "begin reading")
      default:
        try recover(from: code, "begin reading")
      }
    }
  }

  private func renew(_ cell: CellPointer) -> Int32 {
    do { try admit(.begin, "begin reading") } catch { return error.code }
    if let transaction = cell.pointee.transaction { return mdb_txn_renew(transaction) }
    return begin(cell, UInt32(MDB_RDONLY))
  }

  // MARK: Writing

  /// Begins a write transaction. Waits for other writers, in this and other processes.
  ///
  /// Throws `nestedWrite` if this thread already has one, `needsReopen` after a failed commit,
  /// `readOnly`, and `fileReplaced`.
  public func beginWrite() throws(LMDBError) -> WriteTransaction {
    guard !isForked else { throw failure(LMDBError.forked.code, "begin writing") }
    guard !configuration.isReadOnly else {
      throw failure(LMDBError.readOnly.code, "begin writing")
    }
    clearStaleReadersNowAndThen()
    let thread = pthread_self()
    while true {
      do { try lock.enterAsWriter(thread) } catch {
        throw failure(error.code, "begin writing")
      }
      let cell = lock.writerCell
      let code = begin(cell)
      if code == MDB_SUCCESS, let transaction = cell.pointee.transaction {
        cell.pointee.holder.store(UInt(thread), ordering: .relaxed)
        let snapshot = Snapshot(cell: cell, transaction: transaction)
        do { try checkPlace(before: transaction) } catch {
          abort(snapshot)
          throw error
        }
        return WriteTransaction(environment: self, snapshot: snapshot)
      }
      lock.leaveAsWriter()
      try recover(from: code, "begin writing")
    }
  }

  /// Prepares another attempt to begin a transaction, after one that failed; throws if there can be none.
  private func recover(from code: Int32, _ call: StaticString) throws(LMDBError) {
    switch code {
    case MDB_MAP_RESIZED:
      do { try adoptMapSize() } catch {
        throw error == .transactionOpen ? failure(MDB_MAP_RESIZED, call) : error
      }
    case MDB_PANIC:
      lock.refuseWriting()
      throw failure(LMDBError.needsReopen.code, call)
    default:
      throw failure(code, call)
    }
  }

  private func begin(_ cell: CellPointer) -> Int32 {
    do { try admit(.begin, "begin writing") } catch { return error.code }
    fairnessLock.enter()
    defer { fairnessLock.leave() }
    return begin(cell, 0)
  }

  private func begin(_ cell: CellPointer, _ flags: UInt32) -> Int32 {
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, flags, &transaction)
    if code == MDB_SUCCESS { cell.pointee.hold(transaction) }
    return code
  }

  func commit(_ snapshot: Snapshot, ringing: Bool) throws(LMDBError) {
    guard !isForked else { throw failure(LMDBError.forked.code, "commit") }
    checkThread(snapshot)
    do { try admit(.commit, "commit") } catch {
      mdb_txn_abort(snapshot.transaction)
      if error.code > 0 { lock.refuseWriting() }
      leave(snapshot)
      throw error
    }
    let commit = UInt64(mdb_txn_id(snapshot.transaction))
    let code = mdb_txn_commit(snapshot.transaction)
    // A system error means that writing or flushing failed, but not how much was written.
    if code > 0 || code == MDB_PANIC { lock.refuseWriting() }
    defer { leave(snapshot) }
    guard code == MDB_SUCCESS else { throw failure(code, "commit") }
    try checkPlace(afterCommit: commit)
    if ringing { presenceFile?.notifyCommit() }
  }

  /// Sends the notification of a commit that was made without one (`ringing: false`).
  public func notifyCommit() {
    _ = try? visiting("ring") { (_) throws(LMDBError) in presenceFile?.notifyCommit() }
  }

  /// Flushes the commits that a weaker `durability` has not flushed.
  public func sync() throws(LMDBError) {
    try visiting("sync") { (handle) throws(LMDBError) in
      try self.admit(.sync, "sync")
      let code = mdb_env_sync(handle, 1)
      guard code == MDB_SUCCESS else {
        if code > 0 { self.lock.refuseWriting() }
        throw self.failure(code, "sync")
      }
    }
  }

  /// Does nothing if the transaction has ended.
  func abort(_ snapshot: Snapshot) {
    guard snapshot.isLive, !isForked else { return }
    checkThread(snapshot)
    mdb_txn_abort(snapshot.transaction)
    leave(snapshot)
  }

  private func leave(_ snapshot: Snapshot) {
    let cell = snapshot.cell
    endBorrows(by: cell, isFinal: true)
    cell.pointee.endGeneration()
    cell.pointee.hold(nil)
    cell.pointee.holder.store(0, ordering: .relaxed)
    lock.leaveAsWriter()
  }

  private func checkThread(_ snapshot: Snapshot) {
    precondition(
      snapshot.cell.pointee.holder.load(ordering: .relaxed) == UInt(pthread_self()),
      "A write transaction ends on the thread that began it.")
  }
}
