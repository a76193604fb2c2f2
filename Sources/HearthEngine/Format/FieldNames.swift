internal import CXXHash
import Synchronization

/// The names of a map's fields, as stored: in the map itself, or in a name table. Borrows its memory.
struct FieldNames: BitwiseCopyable {
  let count: Int
  /// The length of the names, without their ends.
  let byteCount: Int
  /// Where each name ends.
  let ends: UnsafeRawPointer
  let names: UnsafeRawPointer
  /// Distinguishes the names in the name tables of this process; 0 for names in a map.
  let serial: Int
  let widthCode: UInt8

  @inline(__always)
  init(
    count: Int, byteCount: Int, ends: UnsafeRawPointer, names: UnsafeRawPointer, widthCode: UInt8
  ) {
    self.count = count
    self.byteCount = byteCount
    self.ends = ends
    self.names = names
    serial = 0
    self.widthCode = widthCode
  }

  private static let lastSerial = Atomic<Int>(0)

  /// Parses the head of a map that has fields: a tag, the count, the names' ends, and the names.
  init(parsingHead cursor: inout ByteCursor) throws(Status) {
    let tag = try cursor.byte()
    widthCode = tag >> 2 & 3
    guard tag & 0xF3 == DocumentFormat.Tag.map, widthCode < 3 else {
      throw .dataLoss("A stored name table has an unknown type.")
    }
    count = try cursor.length()
    let endBytes = try cursor.bytes(count << widthCode)
    guard count > 0, count <= FieldNameTable.fieldLimit, let ends = endBytes.baseAddress,
      let names = cursor.rest.baseAddress
    else { throw .dataLoss("A stored name table has no fields, or too many.") }
    self.ends = ends
    self.names = names
    byteCount = MapView.end(at: ends, index: count - 1, widthCode: widthCode)
    _ = try cursor.bytes(byteCount)
    serial = FieldNames.lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
  }

  var endBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: ends, count: count << widthCode)
  }

  var nameBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: names, count: byteCount)
  }

  @inline(__always)
  func isEqual(to other: FieldNames) -> Bool {
    count == other.count && widthCode == other.widthCode && byteCount == other.byteCount
      && UTF8Order.areEqual(endBytes, other.endBytes)
      && UTF8Order.areEqual(nameBytes, other.nameBytes)
  }

  /// A hash of names that come after others with that hash.
  func hash(after previous: UInt64) -> UInt64 {
    XXH3_64bits_withSeed(
      names, byteCount, XXH3_64bits_withSeed(ends, count << widthCode, previous))
  }

  /// The length of what `appendHead` appends.
  var headByteCount: Int {
    1 + DocumentFormat.varintCount(UInt64(count)) + count << widthCode + byteCount
  }

  /// As in a name table: a tag, the count, the names' ends, and the names.
  func appendHead(to head: inout [UInt8]) {
    head.append(DocumentFormat.Tag.map | widthCode << 2)
    head.append(varint: UInt64(count))
    head += endBytes
    head += nameBytes
  }
}

/// The names of the maps inside a document: each list of names once, in the order in which they
/// occur.
struct InnerNames {
  private(set) var lists: [FieldNames] = []
  /// The length of all lists in a name table.
  private(set) var headByteCount = 0

  /// Replaces the lists by those of a document, whose bytes must outlive them. False if its maps
  /// have too many different names for a name table; the lists are then not complete.
  mutating func collect(from map: MapView) throws(Status) -> Bool {
    lists.removeAll(keepingCapacity: true)
    headByteCount = 0
    return try add(mapsIn: map, depthLeft: DocumentFormat.maximumDepth)
  }

  private mutating func add(mapsIn map: MapView, depthLeft: Int) throws(Status) -> Bool {
    for index in 0..<map.count {
      guard try add(mapsOf: map.value(at: index), depthLeft: depthLeft) else { return false }
    }
    return true
  }

  @inline(__always)
  private mutating func add(mapsOf value: ValueView, depthLeft: Int) throws(Status) -> Bool {
    value.mayHoldMaps ? try add(value, depthLeft: depthLeft) : true
  }

  private mutating func add(_ value: ValueView, depthLeft: Int) throws(Status) -> Bool {
    guard depthLeft > 0 else { throw .tooDeep }
    if let map = try value.map() {
      guard map.count > 0 else { return true }
      return add(map.names) ? try add(mapsIn: map, depthLeft: depthLeft - 1) : false
    }
    guard var array = try value.array() else { return true }
    for _ in 0..<array.count {
      guard try add(mapsOf: array.next(), depthLeft: depthLeft - 1) else { return false }
    }
    return true
  }

  private mutating func add(_ names: FieldNames) -> Bool {
    if lists.contains(where: { $0.isEqual(to: names) }) { return true }
    guard lists.count < FieldNameTable.innerLimit, names.count <= FieldNameTable.fieldLimit else {
      return false
    }
    lists.append(names)
    headByteCount += names.headByteCount
    return headByteCount <= FieldNameTable.byteLimit
  }
}
