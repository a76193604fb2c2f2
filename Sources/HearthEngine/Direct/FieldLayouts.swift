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
    fileprivate var table: UnsafePointer<DocumentFieldTable>?
    /// The tag of a whole map with the names of the last map, without the width of values.
    fileprivate var tag: UInt8 = 0
    /// Of the names, if they are in a name table.
    fileprivate var serial: UInt32 = 0
    /// The number of the map's fields.
    fileprivate(set) var count = 0
    /// As in a whole map: the count and the ends of the names; behind them, the names.
    fileprivate var memory: UnsafeMutableRawPointer?
    fileprivate var headBytes = 0
    fileprivate var nameBytes = 0
    fileprivate var capacity = 0
    fileprivate var order: UnsafeMutablePointer<UInt16>?
    /// For each field, its index in the map.
    var positions: UnsafePointer<UInt16> {
      guard let order else { preconditionFailure("A slot in use has an order.") }
      return UnsafePointer(order)
    }
    /// Of one map only.
    fileprivate var isOwn = false
    /// How many maps are being read in this order. It does not change meanwhile.
    var readers = 0
  }

  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount)

  init() { slots.initialize(repeating: Slot(), count: FieldLayouts.slotCount) }

  @inline(__always)
  func slot(of table: UnsafePointer<DocumentFieldTable>) -> UnsafeMutablePointer<Slot> {
    slots + (table.pointee.number & (FieldLayouts.slotCount - 1))
  }

  /// The slot with the positions of the fields in a map. They do not change until `end`, which
  /// follows each `begin`.
  func begin(
    _ table: UnsafePointer<DocumentFieldTable>, in map: MapView
  ) throws(UseCodable) -> UnsafeMutablePointer<Slot> {
    let slot = slot(of: table)
    if !slot.pointee.matches(table, map.names) {
      let nameBytes = map.names.headByteCount
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
  /// The values of a map, if it is whole and has the names of the last map: the usual case.
  @inline(__always)
  func values(
    of table: UnsafePointer<DocumentFieldTable>, in bytes: UnsafeRawBufferPointer
  ) -> MapValues? {
    guard self.table == table, let start = bytes.baseAddress, bytes.count > headBytes,
      let memory
    else { return nil }
    let widthCode = start.load(as: UInt8.self) & 3
    guard start.load(as: UInt8.self) & ~3 == tag, widthCode < 3 else { return nil }
    let ends = start + 1 + headBytes
    let names = ends + count << widthCode
    let values = names + nameBytes
    // The values end where the bytes end, and some of them come before the last end.
    guard values <= start + bytes.count,
      UTF8Order.areEqual(
        UnsafeRawBufferPointer(start: start + 1, count: headBytes),
        UnsafeRawBufferPointer(start: memory, count: headBytes)),
      UTF8Order.areEqual(
        UnsafeRawBufferPointer(start: names, count: nameBytes),
        UnsafeRawBufferPointer(start: memory + headBytes, count: nameBytes))
    else { return nil }
    let byteCount = count == 0 ? 0 : MapView.end(at: ends, index: count - 1, widthCode: widthCode)
    guard values + byteCount == start + bytes.count else { return nil }
    return MapValues(ends: ends, values: values, byteCount: byteCount, widthCode: widthCode)
  }

  /// The values of a map whose names are in the document's name table, if they are those of the last
  /// map: the usual case for documents in a file.
  @inline(__always)
  func valuesWithoutNames(
    of table: UnsafePointer<DocumentFieldTable>, in bytes: UnsafeRawBufferPointer,
    _ nameTable: UnsafePointer<FieldNameTable>
  ) -> MapValues? {
    guard self.table == table, let start = bytes.baseAddress, bytes.count >= 2 else { return nil }
    let tag = start.load(as: UInt8.self)
    let widthCode = tag & 3
    guard widthCode < 3 else { return nil }
    let names: FieldNames
    let ends: UnsafeRawPointer
    switch tag & ~3 {
    case DocumentFormat.Tag.mapWithoutNames:
      names = nameTable.pointee.names
      ends = start + StoredBody.headBytes
    case DocumentFormat.Tag.innerMapWithoutNames:
      let index = Int(start.load(fromByteOffset: 1, as: UInt8.self))
      guard index < nameTable.pointee.inner.count else { return nil }
      names = nameTable.pointee.inner[index]
      ends = start + 2
    default: return nil
    }
    let values = ends + count << widthCode
    guard serial > 0, names.serial == serial, count > 0, values <= start + bytes.count else {
      return nil
    }
    let byteCount = MapView.end(at: ends, index: count - 1, widthCode: widthCode)
    guard values + byteCount == start + bytes.count else { return nil }
    return MapValues(ends: ends, values: values, byteCount: byteCount, widthCode: widthCode)
  }

  fileprivate mutating func matches(
    _ table: UnsafePointer<DocumentFieldTable>, _ names: FieldNames
  ) -> Bool {
    guard self.table == table else { return false }
    if serial > 0, serial == names.serial { return true }
    let ends = names.endBytes
    guard count == names.count, nameBytes == names.byteCount,
      tag == DocumentFormat.Tag.map | names.widthCode << 2, let memory,
      UTF8Order.areEqual(
        ends, UnsafeRawBufferPointer(start: memory + headBytes - ends.count, count: ends.count)),
      UTF8Order.areEqual(
        names.nameBytes, UnsafeRawBufferPointer(start: memory + headBytes, count: nameBytes))
    else { return false }
    serial = names.serial
    return true
  }

  /// Both names and fields are sorted: one walk over both finds all.
  @inline(never)
  fileprivate mutating func learn(
    _ table: UnsafePointer<DocumentFieldTable>, _ map: MapView
  ) throws(UseCodable) {
    let names = map.names
    let fieldCount = table.pointee.count
    guard map.count < Int(FieldLayouts.missing) else { throw UseCodable() }
    // Until all of it is right.
    self.table = nil
    order?.deallocate()
    let order = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, fieldCount))
    self.order = order
    var positions = [UInt16](repeating: FieldLayouts.missing, count: fieldCount)
    var position = 0
    var rank = 0
    while position < map.count, rank < fieldCount {
      guard let name = try? map.name(at: position) else { throw UseCodable() }
      let difference = UTF8Order.compare(name, table.pointee.nameBytes(atRank: rank))
      if difference == 0 { positions[rank] = UInt16(truncatingIfNeeded: position) }
      if difference <= 0 { position += 1 }
      if difference >= 0 { rank += 1 }
    }
    for index in 0..<fieldCount { order[index] = positions[Int(table.pointee.ranks[index])] }

    let head = names.head.dropFirst()
    if capacity < head.count {
      memory?.deallocate()
      capacity = 2 * head.count
      memory = .allocate(byteCount: capacity, alignment: 8)
    }
    head.withUnsafeBytes { head in
      if let source = head.baseAddress { memory?.copyMemory(from: source, byteCount: head.count) }
    }
    tag = DocumentFormat.Tag.map | names.widthCode << 2
    serial = names.serial
    count = names.count
    nameBytes = names.byteCount
    headBytes = head.count - nameBytes
    self.table = table
  }

  func deallocate() {
    memory?.deallocate()
    order?.deallocate()
  }
}
