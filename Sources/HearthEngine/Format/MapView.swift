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
  package let count: Int
  /// The whole map, tag included.
  let byteCount: Int
  private let nameEnds: UnsafeRawPointer
  private let valueEnds: UnsafeRawPointer
  private let names: UnsafeRawPointer
  private let values: UnsafeRawPointer
  private let nameByteCount: Int
  private let valueByteCount: Int
  let nameWidthCode: UInt8
  let valueWidthCode: UInt8

  /// A document's body, which is one map.
  @inline(__always)
  init(body: UnsafeRawBufferPointer) throws(Status) { try self.init(trusting: body) }

  /// A document's body as stored.
  @inline(__always)
  init(body: StoredBody) throws(Status) {
    guard let nameTable = body.nameTable else {
      try self.init(trusting: body.bytes)
      return
    }
    try self.init(body.bytes, nameTable.pointee)
  }

  /// The name table has the names; the bytes hold tag, name table's id, ends and values.
  private init(_ bytes: UnsafeRawBufferPointer, _ nameTable: FieldNameTable) throws(Status) {
    var cursor = ByteCursor(bytes)
    let valueWidthCode = try cursor.bytes(StoredBody.headBytes)[0] & 0x0F
    guard valueWidthCode < 3 else { throw .dataLoss("A stored map has an unknown type.") }
    let ends = try cursor.bytes(nameTable.count << valueWidthCode)
    guard let endsBase = ends.baseAddress, let valuesBase = cursor.rest.baseAddress else {
      throw .truncated
    }
    count = nameTable.count
    nameEnds = nameTable.ends
    names = nameTable.names
    nameByteCount = nameTable.nameBytes
    nameWidthCode = nameTable.nameWidthCode
    valueEnds = endsBase
    values = valuesBase
    valueByteCount = MapView.end(
      at: endsBase, index: nameTable.count - 1, widthCode: valueWidthCode)
    self.valueWidthCode = valueWidthCode
    byteCount = bytes.count
    guard valueByteCount == cursor.rest.count else {
      throw .dataLoss("A stored map is longer than what it holds.")
    }
  }

  @inline(__always)
  init(trusting bytes: UnsafeRawBufferPointer) throws(Status) {
    try self.init(atFrontOf: bytes)
    guard byteCount == bytes.count else {
      throw .dataLoss("A stored map is longer than what it holds.")
    }
  }

  /// A map that may be followed by more bytes.
  init(atFrontOf bytes: UnsafeRawBufferPointer) throws(Status) {
    var cursor = ByteCursor(bytes)
    let tag = try cursor.byte()
    let nameWidthCode = tag >> 2 & 3
    let valueWidthCode = tag & 3
    guard tag & 0xF0 == DocumentFormat.Tag.map, nameWidthCode < 3, valueWidthCode < 3 else {
      throw .dataLoss("A stored map has an unknown type.")
    }
    let count = try cursor.length()
    // Cannot overflow: the count is at most the buffer's, which is less than 2^48.
    let endsBytes = count << nameWidthCode + count << valueWidthCode
    let ends = try cursor.bytes(endsBytes)
    guard let endsBase = ends.baseAddress, let namesBase = cursor.rest.baseAddress else {
      throw .truncated
    }
    self.count = count
    nameEnds = endsBase
    valueEnds = endsBase + count << nameWidthCode
    self.names = namesBase
    self.nameWidthCode = nameWidthCode
    self.valueWidthCode = valueWidthCode
    if count == 0 {
      nameByteCount = 0
      valueByteCount = 0
    } else {
      nameByteCount = MapView.end(at: endsBase, index: count - 1, widthCode: nameWidthCode)
      valueByteCount = MapView.end(at: valueEnds, index: count - 1, widthCode: valueWidthCode)
    }
    guard nameByteCount + valueByteCount <= cursor.rest.count else { throw .truncated }
    values = namesBase + nameByteCount
    byteCount = bytes.count - cursor.rest.count + nameByteCount + valueByteCount
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
      index == 0 ? 0 : MapView.end(at: nameEnds, index: index - 1, widthCode: nameWidthCode)
    let end = MapView.end(at: nameEnds, index: index, widthCode: nameWidthCode)
    guard start <= end, end <= nameByteCount else {
      throw .dataLoss("A stored map's names overlap.")
    }
    return UnsafeRawBufferPointer(start: names + start, count: end - start)
  }

  /// `index` must be below `count`.
  @inline(__always)
  package func value(at index: Int) throws(Status) -> ValueView {
    precondition(index >= 0 && index < count, "A field's index is below the map's count.")
    let start =
      index == 0 ? 0 : MapView.end(at: valueEnds, index: index - 1, widthCode: valueWidthCode)
    let end = MapView.end(at: valueEnds, index: index, widthCode: valueWidthCode)
    guard start <= end, end <= valueByteCount else {
      throw .dataLoss("A stored map's values overlap.")
    }
    return ValueView(
      trusting: UnsafeRawBufferPointer(start: values + start, count: end - start))
  }

  func nameString(at index: Int) throws(Status) -> String {
    guard let name = String(storedUTF8: try name(at: index)) else {
      throw .dataLoss("A stored field name is not UTF-8.")
    }
    return name
  }

  /// Whether two names are canonically equivalent, so one `String` to Swift, but differ in their
  /// bytes.
  func hasEquivalentNames() throws(Status) -> Bool {
    // ASCII names are equal only if their bytes are.
    guard count > 1, nameBytes.contains(where: { $0 >= 0x80 }) else { return false }
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

// MARK: - Parts

extension MapView {
  var nameEndBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: nameEnds, count: count << nameWidthCode)
  }

  var nameBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: names, count: nameByteCount)
  }

  var valueEndBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: valueEnds, count: count << valueWidthCode)
  }

  var valueBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: values, count: valueByteCount)
  }

  /// The head of a name table: tag, count, ends of the names, names.
  var headBytes: [UInt8] {
    var head = [DocumentFormat.Tag.map | nameWidthCode << 2]
    head.append(varint: UInt64(count))
    head += nameEndBytes
    head += nameBytes
    return head
  }

  /// The whole map, with its names.
  var wholeBytes: [UInt8] {
    let byteCount =
      1 + DocumentFormat.varintCount(UInt64(count)) + nameEndBytes.count + valueEndBytes.count
      + nameByteCount + valueByteCount
    return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
      guard var target = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
      func append(_ part: UnsafeRawBufferPointer) {
        if let source = part.baseAddress { target.copyMemory(from: source, byteCount: part.count) }
        target += part.count
      }
      let tag = DocumentFormat.Tag.map | nameWidthCode << 2 | valueWidthCode
      target.storeBytes(of: tag, as: UInt8.self)
      target = DocumentWriter.store(varint: UInt64(count), at: target + 1)
      append(nameEndBytes)
      append(valueEndBytes)
      append(nameBytes)
      append(valueBytes)
      initialized = byteCount
    }
  }
}

extension String {
  /// The string's UTF-8, without copying or retaining it as `withUTF8` does.
  @inline(__always)
  func withUTF8Bytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result: Swift.Result<Result, Failure>? = utf8.withContiguousStorageIfAvailable { utf8 in
      do throws(Failure) {
        return .success(try body(UnsafeRawBufferPointer(utf8)))
      } catch {
        return .failure(error)
      }
    }
    if let result { return try result.get() }
    return try copyUTF8Bytes(body)
  }

  /// For a string without contiguous UTF-8.
  @inline(never)
  private func copyUTF8Bytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let bytes = Array(utf8)
    return try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
      try body(UnsafeRawBufferPointer(bytes))
    }
  }
}
