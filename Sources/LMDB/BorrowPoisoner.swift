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
    let lent = UnsafeRawBufferPointer(copy)
    let address = Int(bitPattern: cell)
    let copyAddress = Int(bitPattern: copy.baseAddress)
    let count = copy.count
    books.withLock { books in
      guard let cell = CellPointer(bitPattern: address) else { return }
      let start = UnsafeMutableRawPointer(bitPattern: copyAddress)
      books.ledgers[cell, default: Ledger()].lent.append(
        UnsafeMutableRawBufferPointer(start: start, count: count))
    }
    return lent
  }

  /// Ends the borrows of `cell`: at the transaction's next change, and finally with its end.
  func end(by cell: CellPointer, isFinal: Bool) {
    let address = Int(bitPattern: cell)
    books.withLock { books in
      guard let cell = CellPointer(bitPattern: address), var ledger = books.ledgers[cell]
      else { return }
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
