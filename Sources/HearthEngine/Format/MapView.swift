/// A stored map, read in place. Borrows its bytes, and is valid as long as they are.
///
///     ┌─────┬───────┬──────────────────┬───────────────────┬───────┬────────┐
///     │ tag │ count │ nameEnds (count) │ valueEnds (count) │ names │ values │
///     └─────┴───────┴──────────────────┴───────────────────┴───────┴────────┘
///
/// Names are sorted by their UTF-8 bytes, values are in the order of their names. The ends say
/// where each name and each value stops, so any field can be read without reading its neighbours.
///
/// Never reads outside its bytes: damage throws `dataLoss`.
package struct MapView: BitwiseCopyable {
  let names: FieldNames
  let values: MapValues
  /// Of the document, for the maps inside.
  private let nameTable: UnsafePointer<FieldNameTable>?

  @inline(__always)
  package var count: Int { names.count }

  /// A document's body, which is one whole map.
  @inline(__always)
  init(body: UnsafeRawBufferPointer) throws(Status) { try self.init(trusting: body, in: nil) }

  /// A document's body as stored.
  @inline(__always)
  init(body: StoredBody) throws(Status) {
    try self.init(trusting: body.bytes, in: body.nameTable)
  }

  /// - Parameter nameTable: That of the document; nil if it has all its names.
  @inline(__always)
  init(
    trusting bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) throws(Status) {
    try self.init(atFrontOf: bytes, in: nameTable)
    guard let start = bytes.baseAddress, values.end == start + bytes.count else {
      throw .dataLoss("A stored map is longer than what it holds.")
    }
  }

  /// A map that may be followed by more bytes.
  @inline(__always)
  init(
    atFrontOf bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) throws(Status) {
    if let nameTable, bytes.count > 0,
      bytes[0] & DocumentFormat.Tag.mapMask == DocumentFormat.Tag.mapWithoutNames
    {
      try self.init(withoutNamesAtFrontOf: bytes, in: nameTable)
    } else {
      try self.init(wholeAtFrontOf: bytes, in: nameTable)
    }
  }

  /// The name table has the names; the bytes hold the tag, which of its names, ends and values.
  private init(
    withoutNamesAtFrontOf bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>
  ) throws(Status) {
    var cursor = ByteCursor(bytes)
    let tag = try cursor.byte()
    let valueWidthCode = tag & 3
    guard tag & 8 == 0, valueWidthCode < 3 else {
      throw .dataLoss("A stored map has an unknown type.")
    }
    if tag & 4 == 0 {
      _ = try cursor.bytes(StoredBody.headBytes - 1)
      names = nameTable.pointee.names
    } else {
      let index = Int(try cursor.byte())
      guard index < nameTable.pointee.inner.count else { throw .unknownNames }
      names = nameTable.pointee.inner[index]
    }
    // A name table has no map without fields.
    let ends = try cursor.bytes(names.count << valueWidthCode)
    guard let endsBase = ends.baseAddress, let valuesBase = cursor.rest.baseAddress else {
      throw .truncated
    }
    self.nameTable = nameTable
    let valueByteCount = MapView.end(
      at: endsBase, index: names.count - 1, widthCode: valueWidthCode)
    guard valueByteCount <= cursor.rest.count else { throw .truncated }
    values = MapValues(
      ends: endsBase, values: valuesBase, byteCount: valueByteCount, widthCode: valueWidthCode)
  }

  /// The length of a whole map, as its header states it. Usually without parsing all of it.
  static func byteCount(wholeAtFrontOf bytes: UnsafeRawBufferPointer) throws(Status) -> Int {
    guard let start = bytes.baseAddress, bytes.count >= 2 else { throw .truncated }
    let tag = start.load(as: UInt8.self)
    let (nameWidthCode, valueWidthCode) = (tag >> 2 & 3, tag & 3)
    let count = Int(start.load(fromByteOffset: 1, as: UInt8.self))
    let header = 2 + count << nameWidthCode + count << valueWidthCode
    guard count > 0, count < 0x80, nameWidthCode < 3, valueWidthCode < 3, header <= bytes.count
    else { return try MapView(atFrontOf: bytes, in: nil).values.end - start }
    let ends = start + 2
    return header + end(at: ends, index: count - 1, widthCode: nameWidthCode)
      + end(at: ends + count << nameWidthCode, index: count - 1, widthCode: valueWidthCode)
  }

  private init(
    wholeAtFrontOf bytes: UnsafeRawBufferPointer, in nameTable: UnsafePointer<FieldNameTable>?
  ) throws(Status) {
    var cursor = ByteCursor(bytes)
    let tag = try cursor.byte()
    let nameWidthCode = tag >> 2 & 3
    let valueWidthCode = tag & 3
    guard tag & DocumentFormat.Tag.mapMask == DocumentFormat.Tag.map, nameWidthCode < 3,
      valueWidthCode < 3
    else { throw .dataLoss("A stored map has an unknown type.") }
    let count = try cursor.length()
    guard bytes.count <= DocumentFormat.maximumBodyBytes else {
      throw .dataLoss("A stored document is too large.")
    }
    // Cannot overflow: the count is at most the buffer's.
    let endsBytes = count << nameWidthCode + count << valueWidthCode
    let ends = try cursor.bytes(endsBytes)
    guard let endsBase = ends.baseAddress, let namesBase = cursor.rest.baseAddress else {
      throw .truncated
    }
    let valueEnds = endsBase + count << nameWidthCode
    self.nameTable = nameTable
    var (nameByteCount, valueByteCount) = (0, 0)
    if count > 0 {
      nameByteCount = MapView.end(at: endsBase, index: count - 1, widthCode: nameWidthCode)
      valueByteCount = MapView.end(at: valueEnds, index: count - 1, widthCode: valueWidthCode)
    }
    guard nameByteCount + valueByteCount <= cursor.rest.count else { throw .truncated }
    names = FieldNames(
      count: count, byteCount: nameByteCount, ends: endsBase, names: namesBase,
      widthCode: nameWidthCode)
    values = MapValues(
      ends: valueEnds, values: namesBase + nameByteCount, byteCount: valueByteCount,
      widthCode: valueWidthCode)
  }

  @inline(__always)
  static func end(at ends: UnsafeRawPointer, index: Int, widthCode: UInt8) -> Int {
    switch widthCode {
    case 0: Int(ends.load(fromByteOffset: index, as: UInt8.self))
    case 1:
      Int(UInt16(littleEndian: ends.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
    default:
      Int(UInt32(littleEndian: ends.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)))
    }
  }

  /// The name's UTF-8 bytes. `index` must be below `count`.
  @inline(__always)
  func name(at index: Int) throws(Status) -> UnsafeRawBufferPointer {
    precondition(index >= 0 && index < count, "A field's index is below the map's count.")
    let start =
      index == 0 ? 0 : MapView.end(at: names.ends, index: index - 1, widthCode: names.widthCode)
    let end = MapView.end(at: names.ends, index: index, widthCode: names.widthCode)
    guard start <= end, end <= names.byteCount else {
      throw .dataLoss("A stored map's names overlap.")
    }
    return UnsafeRawBufferPointer(start: names.names + start, count: end - start)
  }

  /// `index` must be below `count`.
  @inline(__always)
  package func value(at index: Int) throws(Status) -> ValueView {
    precondition(index >= 0 && index < count, "A field's index is below the map's count.")
    guard let bytes = values.bytes(at: index) else {
      throw .dataLoss("A stored map's values overlap.")
    }
    return ValueView(trusting: bytes, in: nameTable)
  }

  /// `index` must be below `count`.
  package func nameString(at index: Int) throws(Status) -> String {
    guard let name = String(storedUTF8: try name(at: index)) else {
      throw .dataLoss("A stored field name is not UTF-8.")
    }
    return name
  }

  /// Whether two names are canonically equivalent, so one `String` to Swift, but differ in their
  /// bytes.
  func hasEquivalentNames() throws(Status) -> Bool {
    // ASCII names are equal only if their bytes are.
    guard count > 1, names.nameBytes.contains(where: { $0 >= 0x80 }) else { return false }
    var names: Set<String> = []
    for index in 0..<count where !names.insert(try nameString(at: index)).inserted { return true }
    return false
  }

  /// Whether the field at `index` has that name; false if there is no such field.
  @inline(__always)
  func hasName(_ name: UnsafeRawBufferPointer, at index: Int) throws(Status) -> Bool {
    guard index >= 0, index < count else { return false }
    return UTF8Order.areEqual(try self.name(at: index), name)
  }

  /// The index of the name, by binary search.
  func index(of name: UnsafeRawBufferPointer) throws(Status) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = UTF8Order.compare(try self.name(at: middle), name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  func value(named name: UnsafeRawBufferPointer) throws(Status) -> ValueView? {
    guard let index = try index(of: name) else { return nil }
    return try value(at: index)
  }

  func value(named name: String) throws(Status) -> ValueView? {
    try name.withUTF8Bytes { utf8 throws(Status) in try value(named: utf8) }
  }

  /// Nil if the path leads through a missing field, or through a value that is not a map.
  package func value(at path: FieldSegments) throws(Status) -> ValueView? {
    guard let first = path.names.first else { return nil }
    var found = try value(named: first)
    for name in path.names.dropFirst() {
      guard let map = try found?.map() else { return nil }
      found = try map.value(named: name)
    }
    return found
  }

  /// The map, fully decoded.
  func value() throws(Status) -> MapValue { try value(depthLeft: DocumentFormat.maximumDepth) }

  func value(depthLeft: Int) throws(Status) -> MapValue {
    var fields: [(String, Value)] = []
    fields.reserveCapacity(count)
    for index in 0..<count {
      fields.append((try nameString(at: index), try value(at: index).value(depthLeft: depthLeft)))
    }
    return MapValue(fields)
  }
}

/// Where the values of a map are.
struct MapValues: BitwiseCopyable {
  /// Where each value ends.
  let ends: UnsafeRawPointer
  let values: UnsafeRawPointer
  private let storedByteCount: UInt32
  let widthCode: UInt8

  @inline(__always)
  var byteCount: Int { Int(storedByteCount) }

  /// The address behind the values, which are the end of their map.
  @inline(__always)
  var end: UnsafeRawPointer { values + byteCount }

  /// `byteCount` is less than `DocumentFormat.maximumBodyBytes`.
  @inline(__always)
  init(ends: UnsafeRawPointer, values: UnsafeRawPointer, byteCount: Int, widthCode: UInt8) {
    self.ends = ends
    self.values = values
    storedByteCount = UInt32(truncatingIfNeeded: byteCount)
    self.widthCode = widthCode
  }

  /// Nil if the bytes are damaged. `index` must be below the map's count.
  @inline(__always)
  func bytes(at index: Int) -> UnsafeRawBufferPointer? {
    let start = index == 0 ? 0 : MapView.end(at: ends, index: index - 1, widthCode: widthCode)
    let end = MapView.end(at: ends, index: index, widthCode: widthCode)
    guard start <= end, end <= byteCount else { return nil }
    return UnsafeRawBufferPointer(start: values + start, count: end - start)
  }
}

// MARK: - Parts

extension MapView {
  var valueEndBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: values.ends, count: count << values.widthCode)
  }

  var valueBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: values.values, count: values.byteCount)
  }

  /// The whole map, with its names. The maps inside must have theirs.
  var wholeBytes: [UInt8] {
    var whole: [UInt8] = []
    whole.reserveCapacity(names.headByteCount + valueEndBytes.count + values.byteCount)
    whole.append(DocumentFormat.Tag.map | names.widthCode << 2 | values.widthCode)
    whole.append(varint: UInt64(count))
    whole += names.endBytes
    whole += valueEndBytes
    whole += names.nameBytes
    whole += valueBytes
    return whole
  }
}

extension Status {
  fileprivate static var unknownNames: Status {
    .dataLoss("A stored map has names that are not in its document's name table.")
  }
}
