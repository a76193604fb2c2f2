/// Remembers for each type where its fields are in maps with the names of the last map.
///
/// The names of most maps are those of the last one: they are compared at once, and not searched.
struct FieldLayouts {
  /// Names of more bytes are not remembered.
  private static let nameByteLimit = 8 << 10
  /// In an order: the map lacks the field.
  static let missing = UInt16.max
  private static let slotCount = 128

  fileprivate struct Slot {
    /// Nil for an unused slot.
    var table: UnsafePointer<DocumentFieldTable>?
    /// The names of the last map, with their ends before them.
    var names: UnsafeMutableRawPointer?
    var endBytes = 0
    var nameBytes = 0
    var capacity = 0
    var order: UnsafeMutablePointer<UInt16>?
    /// How many maps are being read in this order. It does not change meanwhile.
    var readers = 0
  }

  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount)

  init() { slots.initialize(repeating: Slot(), count: FieldLayouts.slotCount) }

  /// Calls `body` with the position of each field in the map.
  @inline(__always)
  func withOrder<Result>(
    of table: UnsafePointer<DocumentFieldTable>, in map: MapView,
    _ body: (UnsafePointer<UInt16>) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    let slot = slots + (table.pointee.number & (FieldLayouts.slotCount - 1))
    if !slot.pointee.matches(table, map) {
      let nameBytes = map.nameEndBytes.count + map.nameBytes.count
      guard slot.pointee.readers == 0, nameBytes <= FieldLayouts.nameByteLimit else {
        return try withOwnOrder(of: table, in: map, body)
      }
      try slot.pointee.learn(table, map)
    }
    guard let order = slot.pointee.order else { throw UseCodable() }
    slot.pointee.readers += 1
    defer { slot.pointee.readers -= 1 }
    return try body(order)
  }

  /// An enclosing map is read in the slot's order: it is of the same type and has other names, or
  /// its type has the same slot. Or the names are too many.
  @inline(never)
  private func withOwnOrder<Result>(
    of table: UnsafePointer<DocumentFieldTable>, in map: MapView,
    _ body: (UnsafePointer<UInt16>) throws(UseCodable) -> Result
  ) throws(UseCodable) -> Result {
    var slot = Slot()
    defer { slot.deallocate() }
    try slot.learn(table, map)
    guard let order = slot.order else { throw UseCodable() }
    return try body(order)
  }
}

extension FieldLayouts.Slot {
  @inline(__always)
  fileprivate func matches(
    _ table: UnsafePointer<DocumentFieldTable>, _ map: MapView
  ) -> Bool {
    let (ends, names) = (map.nameEndBytes, map.nameBytes)
    guard self.table == table, endBytes == ends.count, nameBytes == names.count,
      let known = self.names
    else { return false }
    return UTF8Order.areEqual(ends, UnsafeRawBufferPointer(start: known, count: ends.count))
      && UTF8Order.areEqual(
        names, UnsafeRawBufferPointer(start: known + ends.count, count: names.count))
  }

  /// Both names and fields are sorted: one walk over both finds all.
  @inline(never)
  fileprivate mutating func learn(
    _ table: UnsafePointer<DocumentFieldTable>, _ map: MapView
  ) throws(UseCodable) {
    let (ends, names) = (map.nameEndBytes, map.nameBytes)
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

  fileprivate func deallocate() {
    names?.deallocate()
    order?.deallocate()
  }
}
