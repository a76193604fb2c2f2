internal import CXXHash

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
    guard bytes.count >= headBytes, bytes[0] & 0xF0 == DocumentFormat.Tag.mapWithoutNames else {
      return nil
    }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
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
  init(_ body: UnsafeRawBufferPointer, nameTable id: UInt32?) throws(Status) {
    guard let id else {
      self.init(body)
      return
    }
    self.init(try MapView(body: body), nameTable: id)
  }

  /// A map's values; the names are those of the name table.
  init(_ map: MapView, nameTable id: UInt32) {
    tag = DocumentFormat.Tag.mapWithoutNames | map.valueWidthCode
    nameTable = id
    (ends, values) = (map.valueEndBytes, map.valueBytes)
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
