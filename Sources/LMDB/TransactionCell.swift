import CLMDB
import Glibc
import Synchronization

/// A place for one running transaction, a cache line to itself.
///
///     ┌───────┬────────┬─────────────┬────────────┬─────────┬──────────────┬───────┐
///     │ state │ holder │ transaction │ generation │ changes │ instrumented │ owner │
///     └───────┴────────┴─────────────┴────────────┴─────────┴──────────────┴───────┘
///
/// `state` and `holder` are for everybody. The rest belongs to whoever made `state` taken.
@usableFromInline
struct TransactionCell: ~Copyable {
  @usableFromInline static var free: UInt { 0 }
  @usableFromInline static var taken: UInt { 1 }

  @usableFromInline let state: Atomic<UInt>

  /// The thread that began the transaction; 0 when free.
  @usableFromInline let holder: Atomic<UInt>

  // Relaxed atomics cost what plain words do, and let the other threads' looks at `state` stand
  // beside changes of these.
  @usableFromInline let heldTransaction: Atomic<OpaquePointer?>
  @usableFromInline let currentGeneration: Atomic<UInt>
  @usableFromInline let changeCount: Atomic<UInt>

  /// Faults are injected or borrowed bytes poisoned: take the slow way.
  @usableFromInline let isInstrumented: Bool

  /// Owns the cell, so it is there as long as the cell is.
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

  /// Rises when the transaction ends, so that what is left of it can be told.
  @inlinable
  var generation: UInt { currentGeneration.load(ordering: .relaxed) }

  @inlinable
  func endGeneration() { currentGeneration.store(generation &+ 1, ordering: .relaxed) }

  /// Rises with each put and delete.
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
