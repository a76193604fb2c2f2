/// Remembers for each type where its fields are in maps with the names of the last map.
///
/// The names of most maps are those of the last one: they are compared at once, and not searched.
struct FieldLayouts {
  /// Names of more bytes are not remembered.
  private static let nameByteLimit = 8 << 10
  /// In an order: the map lacks the field.
  static let missing = UInt16.max
  private static let slotCount = 128

  struct Slot {
    /// Nil for an unused slot.
    var table: UnsafePointer<DocumentFieldTable>?
    /// The names of the last map, with their ends before them.
    var names: UnsafeMutableRawPointer?
    /// Of the names, if they are in a name table.
    var serial = 0
    var endBytes = 0
    var nameBytes = 0
    var capacity = 0
    var order: UnsafeMutablePointer<UInt16>?
    /// For each field, its index in the map.
    var positions: UnsafePointer<UInt16> {
      guard let order else { preconditionFailure("A slot in use has an order.") }
      return UnsafePointer(order)
    }
    /// Of one map only.
    var isOwn = false
    /// How many maps are being read in this order. It does not change meanwhile.
    var readers = 0
  }

  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount)

  init() { slots.initialize(repeating: Slot(), count: FieldLayouts.slotCount) }

  /// The positions of the fields in a map. They do not change until `end`, which follows each
  /// `begin`.
  @inline(__always)
  func begin(
    _ table: UnsafePointer<DocumentFieldTable>, in map: MapView
  ) throws(UseCodable) -> UnsafeMutablePointer<Slot> {
    let slot = slots + (table.pointee.number & (FieldLayouts.slotCount - 1))
    if !slot.pointee.matches(table, map) {
      let nameBytes = map.names.endBytes.count + map.names.byteCount
      guard slot.pointee.readers == 0, nameBytes <= FieldLayouts.nameByteLimit else {
        return try ownSlot(for: table, in: map)
      }
      try slot.pointee.learn(table, map)
    }
    slot.pointee.readers += 1
    return slot
  }

  /// An enclosing map is read in the slot's order: it is of the same type and has other names, or
  /// its type has the same slot. Or the names are too many.
  @inline(never)
  private func ownSlot(
    for table: UnsafePointer<DocumentFieldTable>, in map: MapView
  ) throws(UseCodable) -> UnsafeMutablePointer<Slot> {
    var own = Slot()
    own.isOwn = true
    do throws(UseCodable) {
      try own.learn(table, map)
    } catch {
      own.deallocate()
      throw error
    }
    let slot = UnsafeMutablePointer<Slot>.allocate(capacity: 1)
    slot.initialize(to: own)
    return slot
  }

  @inline(__always)
  static func end(_ slot: UnsafeMutablePointer<Slot>) {
    if slot.pointee.isOwn {
      slot.pointee.deallocate()
      slot.deallocate()
    } else {
      slot.pointee.readers -= 1
    }
  }
}

extension FieldLayouts.Slot {
  @inline(__always)
  fileprivate mutating func matches(
    _ table: UnsafePointer<DocumentFieldTable>, _ map: MapView
  ) -> Bool {
    guard self.table == table else { return false }
    if serial > 0, serial == map.names.serial { return true }
    let (ends, names) = (map.names.endBytes, map.names.nameBytes)
    guard endBytes == ends.count, nameBytes == names.count, let known = self.names else {
      return false
    }
    guard UTF8Order.areEqual(ends, UnsafeRawBufferPointer(start: known, count: ends.count)),
      UTF8Order.areEqual(
        names, UnsafeRawBufferPointer(start: known + ends.count, count: names.count))
    else { return false }
    serial = map.names.serial
    return true
  }

  /// Both names and fields are sorted: one walk over both finds all.
  @inline(never)
  fileprivate mutating func learn(
    _ table: UnsafePointer<DocumentFieldTable>, _ map: MapView
  ) throws(UseCodable) {
    let (ends, names) = (map.names.endBytes, map.names.nameBytes)
    let count = table.pointee.count
    guard map.count < Int(FieldLayouts.missing) else { throw UseCodable() }
    // Until all of it is right.
    self.table = nil
    order?.deallocate()
    let order = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, count))
    self.order = order
    if capacity < ends.count + names.count {
      self.names?.deallocate()
      capacity = 2 * (ends.count + names.count)
      self.names = .allocate(byteCount: capacity, alignment: 8)
    }
    var positions = [UInt16](repeating: FieldLayouts.missing, count: count)
    var position = 0
    var rank = 0
    while position < map.count, rank < count {
      guard let name = try? map.name(at: position) else { throw UseCodable() }
      let difference = UTF8Order.compare(name, table.pointee.nameBytes(atRank: rank))
      if difference == 0 { positions[rank] = UInt16(truncatingIfNeeded: position) }
      if difference <= 0 { position += 1 }
      if difference >= 0 { rank += 1 }
    }
    for index in 0..<count { order[index] = positions[Int(table.pointee.ranks[index])] }
    serial = map.names.serial
    endBytes = ends.count
    nameBytes = names.count
    if let known = self.names {
      if let source = ends.baseAddress { known.copyMemory(from: source, byteCount: ends.count) }
      if let source = names.baseAddress {
        (known + ends.count).copyMemory(from: source, byteCount: names.count)
      }
    }
    self.table = table
  }

  func deallocate() {
    names?.deallocate()
    order?.deallocate()
  }
}
