import CLMDB
import Glibc
import Synchronization

/// A slot for one running transaction, in its own cache line.
///
///     ┌───────┬────────┬─────────────┬────────────┬─────────┬──────────────┬───────┐
///     │ state │ holder │ transaction │ generation │ changes │ instrumented │ owner │
///     └───────┴────────┴─────────────┴────────────┴─────────┴──────────────┴───────┘
///
/// Any thread may use `state` and `holder`. The rest belongs to the thread that set `state` to
/// taken.
@usableFromInline
struct TransactionCell: ~Copyable {
  @usableFromInline static var free: UInt { 0 }
  @usableFromInline static var taken: UInt { 1 }

  @usableFromInline let state: Atomic<UInt>

  /// The thread that began the transaction; 0 when free.
  @usableFromInline let holder: Atomic<UInt>

  // Relaxed atomics cost as much as plain words. Plain ones would conflict with other threads that
  // read `state` at the same time.
  @usableFromInline let heldTransaction: Atomic<OpaquePointer?>
  @usableFromInline let currentGeneration: Atomic<UInt>
  @usableFromInline let changeCount: Atomic<UInt>

  /// Faults are injected or borrowed bytes poisoned: take the slow path.
  @usableFromInline let isInstrumented: Bool

  /// Owns the cell, so it lives as long as the cell.
  @usableFromInline var owner: Unmanaged<Environment>?

  /// Fills the cache line.
  private let padding: UInt = 0

  init(isInstrumented: Bool) {
    state = Atomic(Self.free)
    holder = Atomic(0)
    heldTransaction = Atomic(nil)
    currentGeneration = Atomic(0)
    changeCount = Atomic(0)
    self.isInstrumented = isInstrumented
    owner = nil
  }

  // Methods instead of setters: assigning through a pointer would count as changing the whole cell.

  /// A reader keeps its LMDB transaction, reset, between two uses.
  @inlinable
  var transaction: OpaquePointer? { heldTransaction.load(ordering: .relaxed) }

  @inlinable
  func hold(_ transaction: OpaquePointer?) {
    heldTransaction.store(transaction, ordering: .relaxed)
  }

  /// Increases when the transaction ends, so that later use of its snapshots is detected.
  @inlinable
  var generation: UInt { currentGeneration.load(ordering: .relaxed) }

  @inlinable
  func endGeneration() { currentGeneration.store(generation &+ 1, ordering: .relaxed) }

  /// Increases with each put and delete.
  @inlinable
  var changes: UInt { changeCount.load(ordering: .relaxed) }

  @inlinable
  func noteChange() { changeCount.store(changes &+ 1, ordering: .relaxed) }

  @usableFromInline
  var environment: Environment {
    guard let owner else { preconditionFailure("A cell is used before its environment is there.") }
    return owner.takeUnretainedValue()
  }
}

@usableFromInline typealias CellPointer = UnsafeMutablePointer<TransactionCell>
