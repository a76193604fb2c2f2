internal import CXXHash

/// The names of a document's fields, stored once for all documents that have just these.
///
/// Points into memory of a `FieldNameTableCache`, which keeps it.
struct FieldNameTable {
  /// A hash of the names, which the file has under no other names.
  let id: UInt32
  let count: Int
  let nameWidthCode: UInt8
  /// Where each name ends, as a map has it.
  let ends: UnsafeRawPointer
  let names: UnsafeRawPointer
  let nameBytes: Int

  // On disk. Changing a value changes the file format; see DocumentFormat.md.
  static let fieldLimit = 256
  static let byteLimit = 2000

  static func id(ends: UnsafeRawBufferPointer, names: UnsafeRawBufferPointer) -> UInt32 {
    let seed = XXH3_64bits(ends.baseAddress, ends.count)
    return UInt32(
      truncatingIfNeeded: XXH3_64bits_withSeed(names.baseAddress, names.count, seed))
  }

  /// From the head of a map: a tag, the count, the names' ends, and the names.
  init(parsing head: UnsafeRawBufferPointer) throws(Status) {
    var cursor = ByteCursor(head)
    let tag = try cursor.byte()
    nameWidthCode = tag >> 2 & 3
    guard tag & 0xF3 == DocumentFormat.Tag.map, nameWidthCode < 3 else {
      throw .dataLoss("A stored shape has an unknown type.")
    }
    count = try cursor.length()
    let endBytes = try cursor.bytes(count << nameWidthCode)
    guard count > 0, count <= FieldNameTable.fieldLimit, let ends = endBytes.baseAddress,
      let names = cursor.rest.baseAddress
    else { throw .dataLoss("A stored shape has no fields, or too many.") }
    id = FieldNameTable.id(ends: endBytes, names: cursor.rest)
    self.ends = ends
    self.names = names
    nameBytes = cursor.rest.count
    guard MapView.end(at: ends, index: count - 1, widthCode: nameWidthCode) == nameBytes else {
      throw .dataLoss("A stored shape is not as long as its names.")
    }
  }
}

extension MapView {
  func hasNames(of shape: FieldNameTable) -> Bool {
    let (ends, names) = (nameEndBytes, nameBytes)
    return count == shape.count && nameWidthCode == shape.nameWidthCode
      && names.count == shape.nameBytes
      && UTF8Order.areEqual(ends, UnsafeRawBufferPointer(start: shape.ends, count: ends.count))
      && UTF8Order.areEqual(names, UnsafeRawBufferPointer(start: shape.names, count: names.count))
  }
}

/// A document's body where it is stored: the bytes, and the names that do not stand in them. Borrows both.
package struct StoredBody {
  let bytes: UnsafeRawBufferPointer
  /// Nil if the bytes are a whole map.
  let shape: UnsafePointer<FieldNameTable>?

  /// The tag and the shape's id.
  static let headBytes = 5

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ shape: UnsafePointer<FieldNameTable>? = nil) {
    self.bytes = bytes
    self.shape = shape
  }

  /// The shape that the bytes ask for; nil if they are a whole map.
  @inline(__always)
  static func shapeID(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard bytes.count >= headBytes, bytes[0] & 0xF0 == DocumentFormat.Tag.shapedMap else {
      return nil
    }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
  }
}

extension Status {
  static var unknownShape: Status {
    .dataLoss("The names of a stored document's fields are not in the file.")
  }
}

extension DocumentBody {
  /// The whole map, with its names.
  init(copying body: StoredBody) throws(Status) {
    guard body.shape != nil else {
      self.init(canonical: Array(body.bytes))
      return
    }
    self.init(canonical: try MapView(body: body).wholeBytes)
  }
}

/// How a body is put behind a record's header: whole, or without the names that a shape has.
struct BodyParts {
  /// 0 if the body is whole.
  private let tag: UInt8
  private let shape: UInt32
  private let ends: UnsafeRawBufferPointer
  private let values: UnsafeRawBufferPointer

  /// A body as it is.
  init(_ bytes: UnsafeRawBufferPointer) {
    (tag, shape) = (0, 0)
    ends = bytes
    values = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// A whole body's values, if there is a shape that has its names.
  init(_ body: UnsafeRawBufferPointer, shape id: UInt32?) throws(Status) {
    guard let id else {
      self.init(body)
      return
    }
    self.init(try MapView(body: body), shape: id)
  }

  /// A map's values; the names are those of the shape.
  init(_ map: MapView, shape id: UInt32) {
    tag = DocumentFormat.Tag.shapedMap | map.valueWidthCode
    shape = id
    (ends, values) = (map.valueEndBytes, map.valueBytes)
  }

  var count: Int { (tag == 0 ? 0 : StoredBody.headBytes) + ends.count + values.count }

  /// Needs `count` bytes of room.
  func copy(to target: UnsafeMutableRawPointer) {
    var target = target
    if tag != 0 {
      target.storeBytes(of: tag, as: UInt8.self)
      target.storeBytes(of: shape.littleEndian, toByteOffset: 1, as: UInt32.self)
      target += StoredBody.headBytes
    }
    if let source = ends.baseAddress { target.copyMemory(from: source, byteCount: ends.count) }
    if let source = values.baseAddress {
      (target + ends.count).copyMemory(from: source, byteCount: values.count)
    }
  }
}
