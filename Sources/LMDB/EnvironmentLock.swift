import Glibc
import Synchronization

/// Who may be inside: many readers, one writer, or one alone who moves the walls.
///
///     readers   ─ take a cell ──────────────┐
///     writer    ─ the write place ──────────┼─▶ inside      shut: new ones queue,
///     visitors  ─ counted (info, sync) ─────┘               nested ones are let in
///     resize, reopen, close ─ shut, wait until nobody is inside ─▶ alone
///
/// A thread that is inside is always let in again, also while somebody waits to be alone: it is
/// the one who is waited for.
///
/// A reader takes its cell with one compare-and-swap and then looks at `isShut`; whoever shuts the
/// gate sets `isShut` and then looks at the cells. Both in one total order, so one sees the other.
@usableFromInline
final class EnvironmentLock: @unchecked Sendable {  // Guarded by `monitor` where not atomic.
  enum Condition {
    case open
    /// A commit failed. Reading goes on.
    case refusesWriting
    /// There is no environment any more; `reopen()` may bring it back.
    case broken
    case closed
  }

  private enum Solitude {
    case none
    case awaited
    case granted
  }

  @usableFromInline let cells: CellPointer
  /// Cells for any reader. Those behind are for threads that read already, so that nesting cannot
  /// lock up a full pool.
  @usableFromInline let poolLimit: Int
  private let cellCount: Int
  let writerCell: CellPointer

  @usableFromInline let isShut = Atomic(false)
  /// Threads to be told when a cell becomes free.
  @usableFromInline let watchers = Atomic(0)

  private let monitor = Monitor()
  private var condition = Condition.open
  private var solitude = Solitude.none
  private var writer: pthread_t = 0
  /// Who had the write place last lets those who wait go first.
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

  /// Before the first use.
  func attach(_ environment: Environment) {
    for index in 0...cellCount { cells[index].owner = Unmanaged.passUnretained(environment) }
  }

  deinit {
    cells.deinitialize(count: cellCount + 1)
    cells.deallocate()
  }

  // MARK: Readers

  /// The thread's own cell, if it is free and the gate open: no lock, no neighbour's cache line.
  @inlinable @inline(__always)
  func claimQuickly(for thread: pthread_t) -> CellPointer? {
    // Thread ids are addresses far apart; the product's high bits are well spread.
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

  /// Waits for a cell. Throws when the environment is closed or broken.
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
      if solitude != .none && !isNested {
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

  /// A free cell that has a transaction to renew, for when the file gives no new ones.
  func claimPrepared(for thread: pthread_t) -> CellPointer? {
    monitor.lock()
    defer { monitor.unlock() }
    guard condition == .open || condition == .refusesWriting else { return nil }
    guard solitude == .none || isInside(thread) else { return nil }
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
    if watchers.load(ordering: .sequentiallyConsistent) != 0 { tellFreed() }
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
  func tellFreed() {
    monitor.lock()
    signalFreed()
    monitor.unlock()
  }

  private func signalFreed() {
    // A cell behind the limit is only for nested readers: the one woken might not be one.
    if nestedWaiting > 0 { monitor.broadcast(.freed) } else { monitor.signal(.freed) }
    if solitude != .none { monitor.broadcast(.drained) }
  }

  // MARK: The writer

  /// Waits for the write place. A thread that has it gets `nestedWrite`.
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
        // Who let this thread go first waits for it.
        monitor.broadcast(.written)
        throw error
      }
      if solitude != .none && !isInside(thread) {
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
    // All of them: one that finds writing refused would keep the news to itself.
    monitor.broadcast(.written)
    if solitude != .none { monitor.broadcast(.drained) }
    monitor.unlock()
  }

  // MARK: Visitors

  /// Runs `body` beside readers and writer, and never beside a resize, a reopening or a closing.
  func visiting<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    let thread = pthread_self()
    monitor.lock()
    while solitude != .none && !isInside(thread) { monitor.wait(for: .opened) }
    do { try checkCondition() } catch {
      monitor.unlock()
      throw error
    }
    visitors += 1
    monitor.unlock()
    defer {
      monitor.lock()
      visitors -= 1
      if solitude != .none { monitor.broadcast(.drained) }
      monitor.unlock()
    }
    return try body()
  }

  // MARK: Alone

  /// Waits until nobody is inside and runs `body` alone. The condition is what `body` makes of it.
  func alone<R>(
    _ body: (inout Condition) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    let thread = pthread_self()
    monitor.lock()
    if isInside(thread) {
      monitor.unlock()
      throw .transactionOpen
    }
    while solitude != .none { monitor.wait(for: .opened) }
    solitude = .awaited
    watchers.add(1, ordering: .sequentiallyConsistent)
    isShut.store(true, ordering: .sequentiallyConsistent)
    while isAnyoneInside { monitor.wait(for: .drained) }
    solitude = .granted
    var condition = condition
    monitor.unlock()
    defer {
      monitor.lock()
      self.condition = condition
      solitude = .none
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

  /// For who is alone.
  func forEachReaderCell(_ body: (CellPointer) -> Void) {
    for index in 0..<cellCount { body(cells + index) }
  }
}
