internal import CXXHash

/// The names of a document's fields, stored once for all documents with exactly these names.
///
/// Borrows its memory, usually from a `FieldNameTableCache`, which keeps it.
struct FieldNameTable {
  /// A hash of the names. No other names in the file have this id.
  let id: UInt32
  let count: Int
  let nameWidthCode: UInt8
  /// Where each name ends, as in a map.
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

  /// Parses the head of a map: a tag, the count, the names' ends, and the names.
  init(parsing head: UnsafeRawBufferPointer) throws(Status) {
    var cursor = ByteCursor(head)
    let tag = try cursor.byte()
    nameWidthCode = tag >> 2 & 3
    guard tag & 0xF3 == DocumentFormat.Tag.map, nameWidthCode < 3 else {
      throw .dataLoss("A stored name table has an unknown type.")
    }
    count = try cursor.length()
    let endBytes = try cursor.bytes(count << nameWidthCode)
    guard count > 0, count <= FieldNameTable.fieldLimit, let ends = endBytes.baseAddress,
      let names = cursor.rest.baseAddress
    else { throw .dataLoss("A stored name table has no fields, or too many.") }
    id = FieldNameTable.id(ends: endBytes, names: cursor.rest)
    self.ends = ends
    self.names = names
    nameBytes = cursor.rest.count
    guard MapView.end(at: ends, index: count - 1, widthCode: nameWidthCode) == nameBytes else {
      throw .dataLoss("A stored name table is not as long as its names.")
    }
  }
}

extension MapView {
  func hasNames(of nameTable: FieldNameTable) -> Bool {
    let (ends, names) = (nameEndBytes, nameBytes)
    return count == nameTable.count && nameWidthCode == nameTable.nameWidthCode
      && names.count == nameTable.nameBytes
      && UTF8Order.areEqual(ends, UnsafeRawBufferPointer(start: nameTable.ends, count: ends.count))
      && UTF8Order.areEqual(
        names, UnsafeRawBufferPointer(start: nameTable.names, count: names.count))
  }
}

extension Status {
  static var unknownNameTable: Status {
    .dataLoss("The names of a stored document's fields are not in the file.")
  }
}

extension DocumentBody {
  /// The whole map, with its names.
  init(copying body: StoredBody) throws(Status) {
    guard body.nameTable != nil else {
      self.init(canonical: Array(body.bytes))
      return
    }
    self.init(canonical: try MapView(body: body).wholeBytes)
  }
}
