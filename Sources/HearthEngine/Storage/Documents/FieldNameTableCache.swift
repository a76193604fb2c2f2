import Synchronization

/// The name tables of one file that this process has read. An id is a hash of the names, so a table
/// never changes under its id.
///
/// Reading takes no lock.
///
///     id ─▶ slots (open addressing) ─▶ position ─▶ name tables (only added to)
final class FieldNameTableCache: Sendable {
  /// How many name tables a file may have. Documents with other names are stored with their names.
  static let limit = 4096
  private static let capacity = 2 * limit
  private static let slotCount = 2 * capacity

  // Space for all; the system provides memory on first use. A slot never points at another table.
  nonisolated(unsafe) private let nameTables = UnsafeMutablePointer<FieldNameTable>.allocate(
    capacity: capacity)
  nonisolated(unsafe) private let slots = UnsafeMutablePointer<Atomic<UInt16>>.allocate(
    capacity: slotCount)
  /// The memory that the name tables borrow.
  private let pinned = Guarded<[PinnedNameTable]>([])
  let sightings = NameSightings()

  init() {
    for index in 0..<FieldNameTableCache.slotCount {
      (slots + index).initialize(to: Atomic<UInt16>(0))
    }
  }

  deinit {
    nameTables.deallocate()
    slots.deallocate()
  }

  subscript(id: UInt32) -> UnsafePointer<FieldNameTable>? { lookup[id] }

  /// Valid while this cache exists.
  var lookup: Lookup { Lookup(nameTables: UnsafePointer(nameTables), slots: UnsafePointer(slots)) }

  /// Finds name tables without reference counting, at which threads would wait for each other.
  struct Lookup {
    fileprivate let nameTables: UnsafePointer<FieldNameTable>
    fileprivate let slots: UnsafePointer<Atomic<UInt16>>

    @inline(__always)
    subscript(id: UInt32) -> UnsafePointer<FieldNameTable>? {
      var slot = Int(id)
      while true {
        slot &= FieldNameTableCache.slotCount - 1
        let position = slots[slot].load(ordering: .acquiring)
        guard position > 0 else { return nil }
        let nameTable = nameTables + Int(position - 1)
        if nameTable.pointee.id == id { return nameTable }
        slot += 1
      }
    }

    /// A body with its names if they are not in its bytes; nil if its name table is not in the
    /// cache.
    @inline(__always)
    func body(_ stored: UnsafeRawBufferPointer) -> StoredBody? {
      guard let id = StoredBody.nameTableID(stored) else { return StoredBody(stored) }
      return self[id].map { StoredBody(stored, $0) }
    }
  }

  /// Caches the name table that the file has under this id.
  func learn(_ id: UInt32, _ head: UnsafeRawBufferPointer) throws(Status) -> UnsafePointer<
    FieldNameTable
  > {
    let new = try PinnedNameTable(copying: head, isNumbered: true)
    guard new.table.id == id else {
      throw .dataLoss("A stored name table is under another's id.")
    }
    try pinned.withLock { pinned throws(Status) in
      if self[id] == nil { try add(new, to: &pinned) }
    }
    guard let nameTable = self[id] else { throw .unknownNameTable }
    return nameTable
  }

  private func add(
    _ new: PinnedNameTable, to pinned: inout [PinnedNameTable]
  ) throws(Status) {
    guard pinned.count < FieldNameTableCache.capacity else {
      throw Status(.resourceExhausted, "The file has too many name tables.")
    }
    (nameTables + pinned.count).initialize(to: new.table)
    pinned.append(new)
    var slot = Int(new.table.id)
    while slots[slot & (FieldNameTableCache.slotCount - 1)].load(ordering: .relaxed) > 0 {
      slot += 1
    }
    slots[slot & (FieldNameTableCache.slotCount - 1)].store(
      UInt16(pinned.count), ordering: .releasing)
  }
}

/// Counts the documents with the same names that have no name table yet. Bounded: names that occur
/// rarely make room for others.
final class NameSightings: Sendable {
  /// How many documents are distinguished.
  static let limit = SIMD4<UInt32>.scalarCount
  private static let slotCount = 1024

  private struct Slot {
    var id: UInt32 = 0
    /// Hashes of the documents' keys.
    var documents = SIMD4<UInt32>()
    var count = 0
  }

  private let slots = Guarded([Slot](repeating: Slot(), count: slotCount))

  /// The number of different documents with these names so far, this one included; at most `limit`.
  /// - Parameter id: The names' hash.
  func count(_ id: UInt32, of document: UInt32) -> Int {
    slots.withLock { slots in
      let index = Int(id) & (NameSightings.slotCount - 1)
      if slots[index].id != id { slots[index] = Slot(id: id) }
      let count = slots[index].count
      guard count < NameSightings.limit,
        !(0..<count).contains(where: { slots[index].documents[$0] == document })
      else { return count }
      slots[index].documents[count] = document
      slots[index].count = count + 1
      return count + 1
    }
  }
}
