/// A document's body as stored: the bytes, and the names that are not in them. Borrows both.
package struct StoredBody {
  let bytes: UnsafeRawBufferPointer
  /// Nil if the bytes are a whole map.
  let nameTable: UnsafePointer<FieldNameTable>?

  /// The tag and the name table's id.
  static let headBytes = 5

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ nameTable: UnsafePointer<FieldNameTable>? = nil) {
    self.bytes = bytes
    self.nameTable = nameTable
  }

  /// The id of the name table that the bytes refer to; nil if they are a whole map.
  @inline(__always)
  static func nameTableID(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard bytes.count >= headBytes,
      bytes[0] & DocumentFormat.Tag.mapMask == DocumentFormat.Tag.mapWithoutNames
    else { return nil }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
  }
}

extension DocumentBody {
  /// The whole map, with all names.
  init(copying body: StoredBody) throws(Status) {
    guard let nameTable = body.nameTable else {
      self.init(canonical: Array(body.bytes))
      return
    }
    let map = try MapView(body: body)
    guard !nameTable.pointee.inner.isEmpty else {
      self.init(canonical: map.wholeBytes)
      return
    }
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    try writer.copyAddingNames(map)
    self = try writer.finish()
  }
}

/// The parts of a body as stored behind a record's header: whole, or without the names that a name
/// table has.
struct BodyParts {
  /// 0 if the body is whole.
  private let tag: UInt8
  private let nameTable: UInt32
  private let ends: UnsafeRawBufferPointer
  private let values: UnsafeRawBufferPointer

  /// A whole body.
  init(_ bytes: UnsafeRawBufferPointer) {
    (tag, nameTable) = (0, 0)
    ends = bytes
    values = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// A whole body's values if a name table has its names; otherwise the whole body.
  ///
  /// - Parameter scratch: Is overwritten. It must not be used until the parts were copied.
  init(
    _ body: UnsafeRawBufferPointer, nameTable: FieldNameTable?, scratch: DocumentWriter
  ) throws(Status) {
    guard let nameTable else {
      self.init(body)
      return
    }
    let map = try MapView(body: body)
    guard !nameTable.inner.isEmpty else {
      self.init(map.valueEndBytes, map.valueBytes, map.values.widthCode, nameTable)
      return
    }
    scratch.reset()
    let widthCode = try scratch.copyRemovingNames(map, of: nameTable)
    self.init(
      scratch.withBytes { $0 }, UnsafeRawBufferPointer(start: nil, count: 0), widthCode, nameTable)
  }

  private init(
    _ ends: UnsafeRawBufferPointer, _ values: UnsafeRawBufferPointer, _ widthCode: UInt8,
    _ nameTable: FieldNameTable
  ) {
    tag = DocumentFormat.Tag.mapWithoutNames | widthCode
    self.nameTable = nameTable.id
    (self.ends, self.values) = (ends, values)
  }

  var count: Int { (tag == 0 ? 0 : StoredBody.headBytes) + ends.count + values.count }

  /// `target` needs room for `count` bytes.
  func copy(to target: UnsafeMutableRawPointer) {
    var target = target
    if tag != 0 {
      target.storeBytes(of: tag, as: UInt8.self)
      target.storeBytes(of: nameTable.littleEndian, toByteOffset: 1, as: UInt32.self)
      target += StoredBody.headBytes
    }
    if let source = ends.baseAddress { target.copyMemory(from: source, byteCount: ends.count) }
    if let source = values.baseAddress {
      (target + ends.count).copyMemory(from: source, byteCount: values.count)
    }
  }
}
