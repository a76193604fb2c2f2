import Glibc
import Synchronization

/// Admits many readers, one writer and some visitors, or one thread with exclusive access.
///
///     readers   ─ take a cell ──────────────┐
///     writer    ─ the writer slot ──────────┼─▶ inside      shut: new ones queue,
///     visitors  ─ counted (info, sync) ─────┘               nested ones are let in
///     resize, reopen, close ─ shut, wait until no thread is inside ─▶ exclusive access
///
/// A thread that is inside is always admitted again, even while another thread waits for exclusive
/// access: that one waits for this thread.
///
/// A reader takes its cell with one compare-and-swap and then reads `isShut`. A thread that wants
/// exclusive access sets `isShut` and then reads the cells. All four are sequentially consistent,
/// so at least one of the two threads sees the other.
@usableFromInline
final class EnvironmentLock: @unchecked Sendable {  // Unchecked: guarded by `monitor`, or atomic.
  enum Condition {
    case open
    /// A commit failed. Reads continue.
    case refusesWriting
    /// LMDB's environment is closed; `reopen()` may open it again.
    case broken
    case closed
  }

  @usableFromInline let cells: CellPointer
  /// The number of cells for any reader. Those after them are for threads that are already inside,
  /// so that nested reads cannot deadlock a full pool.
  @usableFromInline let poolLimit: Int
  private let cellCount: Int
  let writerCell: CellPointer

  @usableFromInline let isShut = Atomic(false)
  /// The number of threads to signal when a cell becomes free.
  @usableFromInline let watchers = Atomic(0)

  private let monitor = Monitor()
  private var condition = Condition.open
  /// A thread has exclusive access, or waits for it.
  private var isClaimed = false
  private var writer: pthread_t = 0
  /// The last thread that had the writer slot. It lets waiting threads go first.
  private var lastWriter: pthread_t = 0
  private var writersWaiting = 0
  private var visitors = 0
  private var nestedWaiting = 0

  init(readers: Int, nested: Int, isInstrumented: Bool) {
    poolLimit = readers
    cellCount = readers + nested
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: (cellCount + 1) * MemoryLayout<TransactionCell>.stride, alignment: 64)
    cells = memory.bindMemory(to: TransactionCell.self, capacity: cellCount + 1)
    for index in 0...cellCount {
      (cells + index).initialize(to: TransactionCell(isInstrumented: isInstrumented))
    }
    writerCell = cells + cellCount
  }

  /// Called before the first use.
  func attach(_ environment: Environment) {
    for index in 0...cellCount { cells[index].owner = Unmanaged.passUnretained(environment) }
  }

  deinit {
    cells.deinitialize(count: cellCount + 1)
    cells.deallocate()
  }

  // MARK: Readers

  /// The cell that the thread's id maps to, if it is free and the lock is open. Takes no mutex and
  /// touches no other cell's cache line.
  @inlinable @inline(__always)
  func claimQuickly(for thread: pthread_t) -> CellPointer? {
    // Thread ids are addresses far apart; the high bits of the product are well distributed.
    let spread = (UInt(thread) >> 6 &* 0x9E37_79B9_7F4A_7C15) >> 32
    let cell = cells + Int((spread &* UInt(poolLimit)) >> 32)
    guard take(cell) else { return nil }
    if isShut.load(ordering: .sequentiallyConsistent) {
      release(cell)
      return nil
    }
    cell.pointee.holder.store(UInt(thread), ordering: .relaxed)
    return cell
  }

  /// Waits for a cell. Throws `closed`, or `needsReopen` if the environment is broken.
  func claim(for thread: pthread_t) throws(LMDBError) -> CellPointer {
    monitor.lock()
    watchers.add(1, ordering: .sequentiallyConsistent)
    defer {
      watchers.subtract(1, ordering: .sequentiallyConsistent)
      monitor.unlock()
    }
    while true {
      let isNested = isInside(thread)
      try checkCondition()
      if isClaimed && !isNested {
        monitor.wait(for: .opened)
        continue
      }
      for index in 0..<(isNested ? cellCount : poolLimit) where take(cells + index) {
        cells[index].holder.store(UInt(thread), ordering: .relaxed)
        return cells + index
      }
      if isNested { nestedWaiting += 1 }
      monitor.wait(for: .freed)
      if isNested { nestedWaiting -= 1 }
    }
  }

  /// A free cell with a transaction to renew, for when the file has no free reader slot.
  func claimPrepared(for thread: pthread_t) -> CellPointer? {
    monitor.lock()
    defer { monitor.unlock() }
    guard condition == .open || condition == .refusesWriting else { return nil }
    guard !isClaimed || isInside(thread) else { return nil }
    for index in 0..<cellCount where take(cells + index) {
      cells[index].holder.store(UInt(thread), ordering: .relaxed)
      if cells[index].transaction != nil { return cells + index }
      releaseLocked(cells + index)
    }
    return nil
  }

  @inlinable @inline(__always)
  func release(_ cell: CellPointer) {
    cell.pointee.holder.store(0, ordering: .relaxed)
    cell.pointee.state.store(TransactionCell.free, ordering: .sequentiallyConsistent)
    if watchers.load(ordering: .sequentiallyConsistent) != 0 { notifyFreed() }
  }

  @inlinable @inline(__always)
  func take(_ cell: CellPointer) -> Bool {
    cell.pointee.state.compareExchange(
      expected: TransactionCell.free, desired: TransactionCell.taken,
      ordering: .sequentiallyConsistent
    ).exchanged
  }

  private func releaseLocked(_ cell: CellPointer) {
    cell.pointee.holder.store(0, ordering: .relaxed)
    cell.pointee.state.store(TransactionCell.free, ordering: .sequentiallyConsistent)
    signalFreed()
  }

  @usableFromInline
  func notifyFreed() {
    monitor.lock()
    signalFreed()
    monitor.unlock()
  }

  private func signalFreed() {
    // A cell after `poolLimit` is only for nested readers, and a signal might wake another thread.
    if nestedWaiting > 0 { monitor.broadcast(.freed) } else { monitor.signal(.freed) }
    if isClaimed { monitor.broadcast(.drained) }
  }

  // MARK: The writer

  /// Waits for the writer slot. Throws `nestedWrite` if this thread has it.
  func enterAsWriter(_ thread: pthread_t) throws(LMDBError) {
    monitor.lock()
    defer { monitor.unlock() }
    var letsOthersGoFirst = lastWriter == thread
    while true {
      if writer == thread { throw .nestedWrite }
      do throws(LMDBError) {
        try checkCondition()
        if condition == .refusesWriting { throw .needsReopen }
      } catch {
        // A thread that let this one go first is still waiting.
        monitor.broadcast(.written)
        throw error
      }
      if isClaimed && !isInside(thread) {
        monitor.wait(for: .opened)
      } else if writer != 0 || (letsOthersGoFirst && writersWaiting > 0) {
        letsOthersGoFirst = false
        writersWaiting += 1
        monitor.wait(for: .written)
        writersWaiting -= 1
      } else {
        writer = thread
        return
      }
    }
  }

  func leaveAsWriter() {
    monitor.lock()
    lastWriter = writer
    writer = 0
    // Wakes all waiting writers: a single one might find that writing is refused and throw.
    monitor.broadcast(.written)
    if isClaimed { monitor.broadcast(.drained) }
    monitor.unlock()
  }

  // MARK: Visitors

  /// Runs `body` concurrently with readers and writer, but never with a resize, reopen or close.
  func visiting<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    let thread = pthread_self()
    monitor.lock()
    while isClaimed && !isInside(thread) { monitor.wait(for: .opened) }
    do { try checkCondition() } catch {
      monitor.unlock()
      throw error
    }
    visitors += 1
    monitor.unlock()
    defer {
      monitor.lock()
      visitors -= 1
      if isClaimed { monitor.broadcast(.drained) }
      monitor.unlock()
    }
    return try body()
  }

  // MARK: Exclusive access

  /// Waits until no thread is inside, and runs `body` alone. `body` may change the condition.
  func alone<R>(
    _ body: (inout Condition) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    let thread = pthread_self()
    monitor.lock()
    if isInside(thread) {
      monitor.unlock()
      throw .transactionOpen
    }
    while isClaimed { monitor.wait(for: .opened) }
    isClaimed = true
    watchers.add(1, ordering: .sequentiallyConsistent)
    isShut.store(true, ordering: .sequentiallyConsistent)
    while isAnyoneInside { monitor.wait(for: .drained) }
    var condition = condition
    monitor.unlock()
    defer {
      monitor.lock()
      self.condition = condition
      isClaimed = false
      watchers.subtract(1, ordering: .sequentiallyConsistent)
      let mayRead = condition == .open || condition == .refusesWriting
      isShut.store(!mayRead, ordering: .sequentiallyConsistent)
      monitor.broadcast(.opened)
      monitor.broadcast(.freed)
      monitor.broadcast(.written)
      monitor.unlock()
    }
    return try body(&condition)
  }

  func refuseWriting() {
    monitor.lock()
    if condition == .open { condition = .refusesWriting }
    monitor.unlock()
  }

  // MARK: Under the monitor

  private func checkCondition() throws(LMDBError) {
    switch condition {
    case .open, .refusesWriting: return
    case .broken: throw .needsReopen
    case .closed: throw .closed
    }
  }

  private func isInside(_ thread: pthread_t) -> Bool {
    if writer == thread { return true }
    for index in 0..<cellCount
    where cells[index].holder.load(ordering: .relaxed) == UInt(thread)
      && cells[index].state.load(ordering: .relaxed) == TransactionCell.taken
    {
      return true
    }
    return false
  }

  private var isAnyoneInside: Bool {
    if writer != 0 || visitors != 0 { return true }
    for index in 0..<cellCount
    where cells[index].state.load(ordering: .sequentiallyConsistent) != TransactionCell.free {
      return true
    }
    return false
  }

  /// Only with exclusive access.
  func forEachReaderCell(_ body: (CellPointer) -> Void) {
    for index in 0..<cellCount { body(cells + index) }
  }
}
