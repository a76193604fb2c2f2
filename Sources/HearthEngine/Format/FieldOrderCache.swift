/// The names of maps that a writer has written before: in arrival order, and as stored.
///
/// Most maps are encoded from types, and come again with the same names in the same order. Their
/// names are then neither sorted again nor copied one by one, which halves the cost of ending a
/// map.
///
///     ┌────────────────┬──────────────┬───────────────────────────┬─────────────────────┐
///     │ order, 2 bytes │ lengths, 4 b.│ names, as they came       │ count, ends, names: │
///     │ per field      │ per field    │                           │ as they are stored  │
///     └────────────────┴──────────────┴───────────────────────────┴─────────────────────┘
struct FieldOrderCache {
  /// The hash of the remembered names. Before they are remembered: of the last map that came here.
  private(set) var hash: UInt64 = 0
  private(set) var count = 0
  /// The length of the names in bytes, without their ends.
  private(set) var nameBytes = 0
  /// The length of the count and the ends of the names, in bytes.
  private(set) var headBytes = 0
  private(set) var nameWidthCode = 0
  /// Whether the fields arrived in sorted order.
  private(set) var isSorted = false
  private(set) var hasUnusualNames = false
  private var memory: UnsafeMutableRawPointer?

  /// Larger maps are rarely encoded from types.
  static let fieldLimit = 256
  static let nameByteLimit = 8192

  /// The number of bytes that may be read beyond the stored names.
  static let slack = 16

  func destroy() { memory?.deallocate() }

  /// `order[index]` is the arrival position of the field with this index.
  @inline(__always)
  var order: UnsafeMutablePointer<UInt16>? { memory?.assumingMemoryBound(to: UInt16.self) }

  private static func alignedOrderBytes(_ count: Int) -> Int { (2 * count + 3) & ~3 }

  @inline(__always)
  private var lengths: UnsafeMutablePointer<UInt32>? {
    memory.map {
      ($0 + FieldOrderCache.alignedOrderBytes(count)).assumingMemoryBound(to: UInt32.self)
    }
  }

  @inline(__always)
  private func arrived(in memory: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    memory + FieldOrderCache.alignedOrderBytes(count) + 4 * count
  }

  /// The count, the names' ends, and the names.
  @inline(__always)
  func stored(in memory: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    arrived(in: memory) + nameBytes
  }

  /// The memory, if the arrived fields have these names, in this order.
  @inline(__always)
  func memory(
    ifOf fields: UnsafeMutablePointer<DocumentWriter.Field>, count: Int, hash: UInt64,
    names: UnsafeRawPointer, nameBytes: Int
  ) -> UnsafeMutableRawPointer? {
    guard let memory, let lengths, hash == self.hash, count == self.count,
      nameBytes == self.nameBytes
    else { return nil }
    for index in 0..<count where fields[index].nameLength != lengths[index] { return nil }
    let isEqual =
      UTF8Order.compare(
        UnsafeRawBufferPointer(start: names, count: nameBytes),
        UnsafeRawBufferPointer(start: arrived(in: memory), count: nameBytes)) == 0
    return isEqual ? memory : nil
  }

  /// Remembers the names when they come the second time in a row; the first time, only their hash.
  /// Ignores maps with a duplicate name. `names` are those of all fields, one after another.
  mutating func learn(
    _ fields: UnsafeMutablePointer<DocumentWriter.Field>, count: Int, hash: UInt64,
    names: UnsafeRawPointer, nameBytes: Int
  ) {
    guard hash == self.hash else {
      destroy()
      self = FieldOrderCache()
      self.hash = hash
      return
    }
    guard memory == nil, count <= FieldOrderCache.fieldLimit,
      nameBytes <= FieldOrderCache.nameByteLimit
    else {
      return
    }
    var starts: [Int] = []
    var start = 0
    for index in 0..<count {
      starts.append(start)
      start += Int(fields[index].nameLength)
    }
    func name(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: names + starts[index], count: Int(fields[index].nameLength))
    }
    let sorted = (0..<count).sorted { UTF8Order.compare(name($0), name($1)) < 0 }
    for (first, second) in zip(sorted, sorted.dropFirst())
    where UTF8Order.compare(name(first), name(second)) == 0 { return }

    self.count = count
    self.nameBytes = nameBytes
    isSorted = sorted.elementsEqual(0..<count)
    hasUnusualNames = (0..<count).contains { !fields[$0].hasUsualName }
    nameWidthCode = DocumentFormat.widthCode(nameBytes)
    headBytes = DocumentFormat.varintCount(UInt64(count)) + count << nameWidthCode
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: FieldOrderCache.alignedOrderBytes(count) + 4 * count + 2 * nameBytes + headBytes
        + FieldOrderCache.slack, alignment: 16)
    self.memory = memory
    arrived(in: memory).copyMemory(from: names, byteCount: nameBytes)
    var ends = DocumentWriter.store(varint: UInt64(count), at: stored(in: memory))
    var end = 0
    for (index, field) in sorted.enumerated() {
      order?[index] = UInt16(truncatingIfNeeded: field)
      lengths?[index] = fields[index].nameLength
      let name = name(field)
      if let source = name.baseAddress {
        (stored(in: memory) + headBytes + end).copyMemory(from: source, byteCount: name.count)
      }
      end += name.count
      ends = DocumentWriter.store(end: end, widthCode: nameWidthCode, at: ends)
    }
  }
}
