/// Copies of documents with and without the names that a name table has.
///
///     with names      tag · count · ends of names · ends of values · names · values
///     without names   tag · index ·                 ends of values ·         values
extension DocumentWriter {
  /// Appends the ends and the values of a whole document, and leaves out the names of the maps
  /// inside, which must be in the name table. Returns the width code of the ends.
  func copyRemovingNames(_ map: MapView, of nameTable: FieldNameTable) throws(Status) -> UInt8 {
    var copy = MapCopy(writer: self, nameTable: nameTable)
    return try copy.appendValues(of: map, depthLeft: DocumentFormat.maximumDepth)
  }

  /// Appends a document with all names.
  func copyAddingNames(_ map: MapView) throws(Status) {
    noteUnusual()
    var copy = MapCopy(writer: self, nameTable: nil)
    try copy.append(map, depthLeft: DocumentFormat.maximumDepth)
  }
}

private struct MapCopy {
  let writer: DocumentWriter
  /// Finds the names of all maps inside; nil to copy them.
  private var lookup: InnerNameLookup?

  private static let widestCode = 2
  /// The length of the longest varint for a number of bytes.
  private static let longestLength = 5

  init(writer: DocumentWriter, nameTable: FieldNameTable?) {
    self.writer = writer
    lookup = nameTable.map { InnerNameLookup($0) }
  }

  mutating func append(_ map: MapView, depthLeft: Int) throws(Status) {
    let start = writer.byteCount
    let tag: UInt8
    if lookup != nil {
      guard let index = lookup?.index(of: map.names) else {
        throw Status(.internal, "A name table lacks the names of a map.")
      }
      tag = DocumentFormat.Tag.innerMapWithoutNames
      try writer.append(tag)
      try writer.append(UInt8(truncatingIfNeeded: index))
    } else {
      tag = DocumentFormat.Tag.map | map.names.widthCode << 2
      try writer.append(tag)
      try writer.append(varint: UInt64(map.count))
      try writer.append(map.names.endBytes)
    }
    let widthCode = try appendValues(of: map, depthLeft: depthLeft)
    writer.written(from: start).storeBytes(of: tag | widthCode, as: UInt8.self)
  }

  /// Appends the ends, the names if they are copied, and the values. Values without maps are copied
  /// together with their neighbours.
  mutating func appendValues(of map: MapView, depthLeft: Int) throws(Status) -> UInt8 {
    // Values become shorter without names, so that their ends have room enough. With names, how much
    // room they need is known in the end.
    let room = lookup == nil ? MapCopy.widestCode : Int(map.values.widthCode)
    let ends = writer.byteCount
    try writer.skip(map.count << room)
    if lookup == nil { try writer.append(map.names.nameBytes) }
    let start = writer.byteCount
    let source = map.valueBytes
    var copied = 0
    var end = 0
    var shift = 0
    for index in 0..<map.count {
      let value = try map.value(at: index)
      let valueStart = end
      end += value.bytes.count
      if value.mayHoldMaps {
        try writer.append(source[copied..<valueStart])
        try append(value, depthLeft: depthLeft)
        copied = end
        shift = writer.byteCount - start - end
      }
      _ = DocumentWriter.store(
        end: end + shift, widthCode: room, at: writer.written(from: ends + index << room))
    }
    try writer.append(source[copied...])
    let widthCode = DocumentFormat.widthCode(writer.byteCount - start)
    writer.narrowEnds(at: ends, count: map.count, from: room, to: widthCode)
    return UInt8(truncatingIfNeeded: widthCode)
  }

  private mutating func append(_ value: ValueView, depthLeft: Int) throws(Status) {
    guard depthLeft > 0 else { throw .tooDeep }
    if let map = try value.map(), map.count > 0 {
      try append(map, depthLeft: depthLeft - 1)
    } else if let array = try value.array() {
      try append(array, depthLeft: depthLeft - 1)
    } else {
      try writer.append(value.bytes)
    }
  }

  private mutating func append(_ array: ArrayView, depthLeft: Int) throws(Status) {
    try writer.append(DocumentFormat.Tag.array)
    let length = writer.byteCount
    let countBytes = DocumentFormat.varintCount(UInt64(array.count))
    let room =
      lookup == nil
      ? MapCopy.longestLength
      : DocumentFormat.varintCount(UInt64(countBytes + array.elements.count))
    try writer.skip(room)
    try writer.append(varint: UInt64(array.count))
    var rest = array
    var copied = 0
    var end = 0
    for _ in 0..<array.count {
      let element = try rest.next()
      let start = end
      end += element.bytes.count
      guard element.mayHoldMaps else { continue }
      try writer.append(array.elements[copied..<start])
      try append(element, depthLeft: depthLeft)
      copied = end
    }
    try writer.append(array.elements[copied...])
    writer.narrowLength(at: length, reserved: room)
  }
}

// MARK: - Bytes

extension DocumentWriter {
  fileprivate func append(_ byte: UInt8) throws(Status) {
    try withRoom(1) { $0.storeBytes(of: byte, as: UInt8.self) }
  }

  fileprivate func append(varint number: UInt64) throws(Status) {
    try withRoom(DocumentFormat.varintCount(number)) {
      _ = DocumentWriter.store(varint: number, at: $0)
    }
  }

  fileprivate func append(_ bytes: Slice<UnsafeRawBufferPointer>) throws(Status) {
    try append(UnsafeRawBufferPointer(rebasing: bytes))
  }

  fileprivate func append(_ bytes: UnsafeRawBufferPointer) throws(Status) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    try withRoom(bytes.count) { $0.copyMemory(from: source, byteCount: bytes.count) }
  }

  fileprivate func skip(_ count: Int) throws(Status) { try withRoom(count) { _ in } }

  /// Gives ends a smaller width, and moves all that follows them.
  fileprivate func narrowEnds(
    at offset: Int, count: Int, from oldWidthCode: Int, to widthCode: Int
  ) {
    guard widthCode < oldWidthCode, count > 0 else { return }
    let ends = written(from: offset)
    var target = ends
    for index in 0..<count {
      let end = MapView.end(
        at: UnsafeRawPointer(ends), index: index, widthCode: UInt8(truncatingIfNeeded: oldWidthCode)
      )
      target = DocumentWriter.store(end: end, widthCode: widthCode, at: target)
    }
    moveEnd(from: offset + count << oldWidthCode, to: offset + count << widthCode)
  }

  /// Stores how many bytes follow a space that was reserved for this length, and moves them to it.
  fileprivate func narrowLength(at offset: Int, reserved: Int) {
    let length = UInt64(byteCount - offset - reserved)
    let target = DocumentWriter.store(varint: length, at: written(from: offset))
    let end = target - written(from: 0)
    if end < offset + reserved { moveEnd(from: offset + reserved, to: end) }
  }
}
