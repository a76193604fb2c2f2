import Synchronization

/// The shapes of one file that this process has met. An id is a hash of the names, so that what was once
/// met under an id is right for ever.
///
/// Reading takes no lock.
///
///     id ─▶ slots (open addressing) ─▶ position ─▶ shapes (only added to)
final class FieldNameTableCache: Sendable {
  /// How many a file may have. What comes beyond is stored with its names.
  static let limit = 4096
  private static let capacity = 2 * limit
  private static let slotCount = 2 * capacity

  // Room for all, which the system gives where it is touched. What a slot points at does not change.
  nonisolated(unsafe) private let shapes = UnsafeMutablePointer<FieldNameTable>.allocate(
    capacity: capacity)
  nonisolated(unsafe) private let slots = UnsafeMutablePointer<Atomic<UInt16>>.allocate(
    capacity: slotCount)
  /// The bytes that shapes point into.
  private let heads = Guarded<[PinnedBytes]>([])
  /// Hashes of names that were to be stored once, and got no shape for that.
  private let sightings = Guarded<Set<UInt32>>([])
  private static let sightingLimit = 1024

  init() {
    for index in 0..<FieldNameTableCache.slotCount {
      (slots + index).initialize(to: Atomic<UInt16>(0))
    }
  }

  deinit {
    shapes.deallocate()
    slots.deallocate()
  }

  subscript(id: UInt32) -> UnsafePointer<FieldNameTable>? { lookup[id] }

  /// For as long as the memory is there.
  var lookup: Lookup { Lookup(shapes: UnsafePointer(shapes), slots: UnsafePointer(slots)) }

  /// Finds shapes without counting references to the memory: threads that do wait for each other.
  struct Lookup {
    fileprivate let shapes: UnsafePointer<FieldNameTable>
    fileprivate let slots: UnsafePointer<Atomic<UInt16>>

    @inline(__always)
    subscript(id: UInt32) -> UnsafePointer<FieldNameTable>? {
      var slot = Int(id)
      while true {
        slot &= FieldNameTableCache.slotCount - 1
        let position = slots[slot].load(ordering: .acquiring)
        guard position > 0 else { return nil }
        let shape = shapes + Int(position - 1)
        if shape.pointee.id == id { return shape }
        slot += 1
      }
    }

    /// A body with the names that do not stand in it; nil if they are not known.
    @inline(__always)
    func body(_ stored: UnsafeRawBufferPointer) -> StoredBody? {
      guard let id = StoredBody.shapeID(stored) else { return StoredBody(stored) }
      return self[id].map { StoredBody(stored, $0) }
    }
  }

  /// Keeps what the file has under this id.
  func learn(_ id: UInt32, _ head: UnsafeRawBufferPointer) throws(Status) -> UnsafePointer<
    FieldNameTable
  > {
    let pinned = PinnedBytes(copying: head)
    guard try FieldNameTable(parsing: pinned.buffer).id == id else {
      throw .dataLoss("A stored shape is filed under another's id.")
    }
    try heads.withLock { heads throws(Status) in
      if self[id] == nil { try add(pinned, to: &heads) }
    }
    guard let shape = self[id] else { throw .unknownShape }
    return shape
  }

  private func add(_ head: PinnedBytes, to heads: inout [PinnedBytes]) throws(Status) {
    guard heads.count < FieldNameTableCache.capacity else {
      throw Status(.resourceExhausted, "The file has too many shapes.")
    }
    let shape = try FieldNameTable(parsing: head.buffer)
    (shapes + heads.count).initialize(to: shape)
    heads.append(head)
    var slot = Int(shape.id)
    while slots[slot & (FieldNameTableCache.slotCount - 1)].load(ordering: .relaxed) > 0 {
      slot += 1
    }
    slots[slot & (FieldNameTableCache.slotCount - 1)].store(
      UInt16(heads.count), ordering: .releasing)
  }

  /// Whether these names came before.
  func isMetAgain(_ id: UInt32) -> Bool {
    sightings.withLock { sightings in
      if sightings.count >= FieldNameTableCache.sightingLimit { sightings = [] }
      return !sightings.insert(id).inserted
    }
  }
}
