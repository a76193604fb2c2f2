internal import CXXHash

/// The names of a document's fields, and of the maps inside it, stored once for all documents with
/// exactly these names.
///
/// Borrows its memory, usually from a `FieldNameTableCache`, which keeps it.
struct FieldNameTable {
  /// A hash of the names. No other names in the file have this id.
  let id: UInt32
  /// The names of the document's own fields.
  let names: FieldNames
  /// The names of the maps inside, which refer to them by their index. If there are any, all maps
  /// inside that have fields are stored without their names; otherwise none is.
  let inner: UnsafeBufferPointer<FieldNames>

  // On disk. Changing a value changes the file format; see DocumentFormat.md.
  static let fieldLimit = 256
  static let byteLimit = 2000
  static let innerLimit = 64

  static func id(_ names: FieldNames, inner: some Sequence<FieldNames>) -> UInt32 {
    UInt32(truncatingIfNeeded: inner.reduce(names.hash(after: 0)) { $1.hash(after: $0) })
  }

  func isEqual(to names: FieldNames, inner: [FieldNames]) -> Bool {
    guard names.isEqual(to: self.names), inner.count == self.inner.count else { return false }
    return zip(inner, self.inner).allSatisfy { $0.isEqual(to: $1) }
  }

  /// Whether the table has the names of all maps inside a document.
  func hasNames(ofMapsIn map: MapView) throws(Status) -> Bool {
    var lookup = InnerNameLookup(self)
    return try map.allMapsInside { lookup.index(of: $0) != nil }
  }

  /// The bytes of a name table in a file.
  static func head(_ names: FieldNames, inner: [FieldNames]) -> [UInt8] {
    inner.reduce(into: names.head) { $0 += $1.head }
  }
}

/// A name table and its bytes, which keep their address as long as this object lives.
final class PinnedNameTable: @unchecked Sendable {
  // Unchecked: nothing is written after the table is parsed.
  let table: FieldNameTable
  private let head: PinnedBytes
  private let inner: UnsafeMutableBufferPointer<FieldNames>

  /// Parses the heads of maps: first that of the document, then those of the maps inside.
  ///
  /// - Parameter isNumbered: Whether names have serial numbers, for a table that many documents are
  ///   read with.
  init(copying bytes: UnsafeRawBufferPointer, isNumbered: Bool = false) throws(Status) {
    let head = PinnedBytes(copying: bytes)
    var cursor = ByteCursor(head.buffer)
    var names = try FieldNames(parsingHead: &cursor)
    var lists: [FieldNames] = []
    while !cursor.isAtEnd {
      guard lists.count < FieldNameTable.innerLimit else {
        throw .dataLoss("A stored name table has too many maps.")
      }
      lists.append(try FieldNames(parsingHead: &cursor))
    }
    if isNumbered {
      names = names.numbered()
      lists = lists.map { $0.numbered() }
    }
    let inner = UnsafeMutableBufferPointer<FieldNames>.allocate(capacity: lists.count)
    _ = inner.initialize(from: lists)
    self.head = head
    self.inner = inner
    table = FieldNameTable(
      id: FieldNameTable.id(names, inner: lists), names: names, inner: UnsafeBufferPointer(inner))
  }

  deinit { inner.deallocate() }
}

extension Status {
  static var unknownNameTable: Status {
    .dataLoss("The names of a stored document's fields are not in the file.")
  }
}
