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
  /// The bytes that name tables point into.
  private let heads = Guarded<[PinnedBytes]>([])
  /// Hashes of names that were stored once. A name table is made when they occur again.
  private let sightings = Guarded<Set<UInt32>>([])
  private static let sightingLimit = 1024

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
    let pinned = PinnedBytes(copying: head)
    guard try FieldNameTable(parsing: pinned.buffer).id == id else {
      throw .dataLoss("A stored name table is under another's id.")
    }
    try heads.withLock { heads throws(Status) in
      if self[id] == nil { try add(pinned, to: &heads) }
    }
    guard let nameTable = self[id] else { throw .unknownNameTable }
    return nameTable
  }

  private func add(_ head: PinnedBytes, to heads: inout [PinnedBytes]) throws(Status) {
    guard heads.count < FieldNameTableCache.capacity else {
      throw Status(.resourceExhausted, "The file has too many name tables.")
    }
    let nameTable = try FieldNameTable(parsing: head.buffer)
    (nameTables + heads.count).initialize(to: nameTable)
    heads.append(head)
    var slot = Int(nameTable.id)
    while slots[slot & (FieldNameTableCache.slotCount - 1)].load(ordering: .relaxed) > 0 {
      slot += 1
    }
    slots[slot & (FieldNameTableCache.slotCount - 1)].store(
      UInt16(heads.count), ordering: .releasing)
  }

  /// Whether these names occurred before.
  func isMetAgain(_ id: UInt32) -> Bool {
    sightings.withLock { sightings in
      if sightings.count >= FieldNameTableCache.sightingLimit { sightings = [] }
      return !sightings.insert(id).inserted
    }
  }
}
