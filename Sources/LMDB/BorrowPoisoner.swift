import Synchronization

/// Borrowed bytes in the poisoning test mode: copies that turn to 0xDB when the borrow ends.
///
/// A poisoned copy is freed when its cell next ends a transaction, so that a late reader finds the
/// poison, not reused memory.
final class BorrowPoisoner: Sendable {
  private struct Ledger {
    var lent: [UnsafeMutableRawBufferPointer] = []
    var poisoned: [UnsafeMutableRawBufferPointer] = []
  }

  // Unchecked: the pointers are followed only under the lock, or by the borrower.
  private struct Books: @unchecked Sendable { var ledgers: [CellPointer: Ledger] = [:] }

  private let books = Mutex(Books())

  func lend(_ bytes: UnsafeRawBufferPointer, by cell: CellPointer) -> UnsafeRawBufferPointer {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    copy.copyMemory(from: bytes)
    // Unchecked, like `Books`.
    nonisolated(unsafe) let (lender, lent) = (cell, copy)
    books.withLock { $0.ledgers[lender, default: Ledger()].lent.append(lent) }
    return UnsafeRawBufferPointer(copy)
  }

  /// Ends the borrows of `cell`: at the transaction's next change, and finally with its end.
  func end(by cell: CellPointer, isFinal: Bool) {
    // Unchecked, like `Books`.
    nonisolated(unsafe) let cell = cell
    books.withLock { books in
      guard var ledger = books.ledgers[cell] else { return }
      if isFinal {
        for bytes in ledger.poisoned { bytes.deallocate() }
        ledger.poisoned = []
      }
      for bytes in ledger.lent {
        for index in bytes.indices { bytes[index] = 0xDB }
      }
      ledger.poisoned += ledger.lent
      ledger.lent = []
      books.ledgers[cell] = ledger
    }
  }

  deinit {
    books.withLock { books in
      for ledger in books.ledgers.values {
        for bytes in ledger.lent + ledger.poisoned { bytes.deallocate() }
      }
    }
  }
}
