internal import CXXHash
import Synchronization

/// The names of a map's fields, as stored: in the map itself, or in a name table. Borrows its memory.
struct FieldNames: BitwiseCopyable {
  // Four words: containers that hold a map are copied for each value.
  private let storedCount: UInt32
  private let storedByteCount: UInt32
  /// Where each name ends.
  let ends: UnsafeRawPointer
  let names: UnsafeRawPointer
  /// Distinguishes names in the name tables that this process has cached. 0 for all others.
  let serial: UInt32
  let widthCode: UInt8

  @inline(__always)
  var count: Int { Int(storedCount) }

  /// The length of the names, without their ends.
  @inline(__always)
  var byteCount: Int { Int(storedByteCount) }

  /// `count` and `byteCount` are less than `DocumentFormat.maximumBodyBytes`.
  @inline(__always)
  init(
    count: Int, byteCount: Int, ends: UnsafeRawPointer, names: UnsafeRawPointer, widthCode: UInt8,
    serial: UInt32 = 0
  ) {
    storedCount = UInt32(truncatingIfNeeded: count)
    storedByteCount = UInt32(truncatingIfNeeded: byteCount)
    self.ends = ends
    self.names = names
    self.serial = serial
    self.widthCode = widthCode
  }

  /// Parses the head of a map that has fields: a tag, the count, the names' ends, and the names.
  init(parsingHead cursor: inout ByteCursor) throws(Status) {
    let tag = try cursor.byte()
    let widthCode = tag >> 2 & 3
    guard tag & 0xF3 == DocumentFormat.Tag.map, widthCode < 3 else {
      throw .dataLoss("A stored name table has an unknown type.")
    }
    let count = try cursor.length()
    let endBytes = try cursor.bytes(count << widthCode)
    guard count > 0, count <= FieldNameTable.fieldLimit, let ends = endBytes.baseAddress,
      let names = cursor.rest.baseAddress
    else { throw .dataLoss("A stored name table has no fields, or too many.") }
    let byteCount = MapView.end(at: ends, index: count - 1, widthCode: widthCode)
    _ = try cursor.bytes(byteCount)
    self.init(
      count: count, byteCount: byteCount, ends: ends, names: names, widthCode: widthCode)
  }

  private static let lastSerial = Atomic<UInt64>(0)

  /// The same names, with a new serial number.
  func numbered() -> FieldNames {
    let number = FieldNames.lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
    // A process that has used up all numbers compares names instead.
    return FieldNames(
      count: count, byteCount: byteCount, ends: ends, names: names, widthCode: widthCode,
      serial: UInt32(exactly: number) ?? 0)
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

  /// The length of `head`.
  var headByteCount: Int {
    1 + DocumentFormat.varintCount(UInt64(count)) + count << widthCode + byteCount
  }

  /// As in a name table: a tag, the count, the names' ends, and the names.
  var head: [UInt8] {
    var head = [DocumentFormat.Tag.map | widthCode << 2]
    head.append(varint: UInt64(count))
    head += endBytes
    head += nameBytes
    return head
  }
}

extension MapView {
  /// Whether `body` returns true for the names of each map inside that has fields. In the order of the
  /// bytes.
  func allMapsInside(_ body: (FieldNames) -> Bool) throws(Status) -> Bool {
    try allMapsInside(depthLeft: DocumentFormat.maximumDepth, body)
  }

  private func allMapsInside(
    depthLeft: Int, _ body: (FieldNames) -> Bool
  ) throws(Status) -> Bool {
    for index in 0..<count {
      let value = try value(at: index)
      guard value.mayHoldMaps else { continue }
      guard try MapView.areAllMaps(in: value, depthLeft: depthLeft, body) else { return false }
    }
    return true
  }

  private static func areAllMaps(
    in value: ValueView, depthLeft: Int, _ body: (FieldNames) -> Bool
  ) throws(Status) -> Bool {
    guard depthLeft > 0 else { throw .tooDeep }
    if let map = try value.map() {
      guard map.count > 0 else { return true }
      return body(map.names) ? try map.allMapsInside(depthLeft: depthLeft - 1, body) : false
    }
    guard var array = try value.array() else { return true }
    for _ in 0..<array.count {
      let element = try array.next()
      guard element.mayHoldMaps else { continue }
      guard try areAllMaps(in: element, depthLeft: depthLeft - 1, body) else { return false }
    }
    return true
  }
}

/// The names of the maps inside a document: each list of names once, in the order in which they
/// occur.
struct InnerNames {
  private(set) var lists: [FieldNames] = []
  /// The length of all lists in a name table.
  private var headByteCount = 0

  /// Replaces the lists by those of a document, whose bytes must outlive them. False if its maps
  /// have too many different names for a name table; the lists are then not complete.
  mutating func collect(from map: MapView) throws(Status) -> Bool {
    lists.removeAll(keepingCapacity: true)
    headByteCount = 0
    return try map.allMapsInside { add($0) }
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

/// Finds the names of maps inside a document in its name table.
struct InnerNameLookup {
  private let lists: UnsafeBufferPointer<FieldNames>
  /// Most maps have the names behind those of the map before.
  private var next = 0

  init(_ nameTable: FieldNameTable) { lists = nameTable.inner }

  /// The index of the names; nil if the table lacks them.
  mutating func index(of names: FieldNames) -> Int? {
    for step in 0..<lists.count {
      let index = next + step < lists.count ? next + step : next + step - lists.count
      if lists[index].isEqual(to: names) {
        next = index + 1
        return index
      }
    }
    return nil
  }
}
