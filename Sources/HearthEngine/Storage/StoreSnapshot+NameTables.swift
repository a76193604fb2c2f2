internal import LMDB

/// A shape's record, in `shapes` under its id and once more in `meta`: a damaged page must not take the names
/// of all documents with it.
///
/// On disk: frame, then the head of a map. Changing this changes the file format; see DocumentFormat.md.
enum FieldNameTableRecord {
  static let copyPrefix = Array("shape".utf8)

  static func key(_ id: UInt32) -> [UInt8] { KeyLayout.sequenceKey(UInt64(id)) }

  static func copyKey(_ id: UInt32) -> [UInt8] { copyPrefix + key(id) }

  /// Both records.
  static func steps(
    _ id: UInt32, _ head: [UInt8], _ tables: Tables
  ) -> [(table: Table, key: [UInt8], value: [UInt8])] {
    [(tables.shapes, key(id)), (tables.meta, copyKey(id))].map { table, key in
      (table, key, record(head, key: key))
    }
  }

  static func record(_ head: [UInt8], key: [UInt8]) -> [UInt8] {
    var record = RecordFrame.room()
    record += head
    RecordFrame.seal(&record, key: key)
    return record
  }

  static func id(fromKey key: UnsafeRawBufferPointer) throws(Status) -> UInt32 {
    guard let id = UInt32(exactly: try KeyLayout.sequence(fromKey: key)) else {
      throw .dataLoss("A stored shape has no id.")
    }
    return id
  }
}

extension StoreSnapshot {
  /// A body with the names that do not stand in it.
  @inline(__always)
  func body(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    if let body = shapes.body(stored) { return body }
    return try loadingBody(stored)
  }

  /// The fields of a stored record, for scans that look at many and take few.
  @inline(__always)
  func fields(ofRecord record: UnsafeRawBufferPointer) throws(Status) -> MapView {
    try MapView(body: body(DocumentRecord.storedBody(of: record)))
  }

  /// Throws `dataLoss` if it is not in the file, or damaged in both its places.
  @inline(never)
  private func loadingBody(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    do {
      if canLoadShapes, let shape = try StoredBody.shapeID(stored).flatMap(readShape) {
        return StoredBody(stored, shape)
      }
    } catch let error as LMDBError {
      throw Status(reading: error)
    } catch {
      throw (error as? Status) ?? Status(.internal, "Cannot read a shape.", cause: error)
    }
    throw .unknownShape
  }

  private func readShape(_ id: UInt32) throws -> UnsafePointer<FieldNameTable>? {
    let places = [
      (tables.shapes, FieldNameTableRecord.key(id)),
      (tables.meta, FieldNameTableRecord.copyKey(id)),
    ]
    var damage: Status?
    for (table, key) in places {
      do {
        let shape: UnsafePointer<FieldNameTable>? = try key.withUnsafeBytes { key in
          try lmdb.get(table, key).map {
            try store.shapes.learn(id, RecordFrame.payload(of: $0, key: key))
          }
        }
        if let shape { return shape }
      } catch let status as Status {
        damage = status
      }
    }
    if let damage { throw damage }
    return nil
  }

  /// For several threads, of which none but the caller's may use the transaction: has all shapes known that
  /// there are.
  func withKnownShapes() throws -> StoreSnapshot {
    var cursor = try lmdb.cursor(tables.shapes)
    while try cursor.next() {
      let id = try FieldNameTableRecord.id(fromKey: cursor.key)
      if shapes[id] == nil { _ = try? readShape(id) }
    }
    var known = self
    known.canLoadShapes = false
    return known
  }
}
