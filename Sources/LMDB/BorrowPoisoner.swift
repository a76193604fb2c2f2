import Synchronization

/// Borrowed bytes in the poisoning test mode: copies that turn to 0xDB when their loan ends.
///
/// A poisoned copy is freed only when its cell ends another transaction, so that a late reader
/// meets the poison and not somebody else's memory.
final class BorrowPoisoner: Sendable {
  private struct Ledger {
    var lent: [UnsafeMutableRawBufferPointer] = []
    var poisoned: [UnsafeMutableRawBufferPointer] = []
  }

  // The pointers are only followed under the lock, or by who borrowed.
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

  /// Ends what `cell` lent: at its next change, and finally with its transaction.
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
