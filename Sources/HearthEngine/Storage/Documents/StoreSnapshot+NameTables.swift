internal import LMDB

/// A name table's record, in `nameTables` under its id, and a copy in `meta`, so that one damaged
/// page does not lose the names of all documents.
///
/// On disk: frame, then the head of a map. Changing this changes the file format; see
/// DocumentFormat.md.
enum FieldNameTableRecord {
  static let copyPrefix = Array("shape".utf8)

  static func key(_ id: UInt32) -> [UInt8] { KeyLayout.sequenceKey(UInt64(id)) }

  static func copyKey(_ id: UInt32) -> [UInt8] { copyPrefix + key(id) }

  /// The record and its copy.
  static func steps(
    _ id: UInt32, _ head: [UInt8], _ tables: Tables
  ) -> [(table: Table, key: [UInt8], value: [UInt8])] {
    [(tables.nameTables, key(id)), (tables.meta, copyKey(id))].map { table, key in
      (table, key, RecordFrame.record(under: key) { $0 += head })
    }
  }

  static func id(fromKey key: UnsafeRawBufferPointer) throws(Status) -> UInt32 {
    guard let id = UInt32(exactly: try KeyLayout.sequence(fromKey: key)) else {
      throw .dataLoss("A stored name table has no id.")
    }
    return id
  }
}

extension StoreSnapshot {
  /// A body with its names, if they are not in its bytes.
  @inline(__always)
  func body(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    if let body = nameTables.body(stored) { return body }
    return try loadingBody(stored)
  }

  /// The fields of a stored record, for scans that read many records and return few.
  @inline(__always)
  func fields(ofRecord record: UnsafeRawBufferPointer) throws(Status) -> MapView {
    try MapView(body: body(DocumentRecord.storedBody(of: record)))
  }

  /// Throws `dataLoss` if the name table is missing, or damaged in both its places.
  @inline(never)
  private func loadingBody(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    do {
      if canLoadNameTables,
        let nameTable = try StoredBody.nameTableID(stored).flatMap(readNameTable)
      {
        return StoredBody(stored, nameTable)
      }
    } catch let error as LMDBError {
      throw Status(reading: error)
    } catch {
      throw (error as? Status) ?? Status(.internal, "Cannot read a name table.", cause: error)
    }
    throw .unknownNameTable
  }

  private func readNameTable(_ id: UInt32) throws -> UnsafePointer<FieldNameTable>? {
    let positions = [
      (tables.nameTables, FieldNameTableRecord.key(id)),
      (tables.meta, FieldNameTableRecord.copyKey(id)),
    ]
    var damage: Status?
    for (table, key) in positions {
      do {
        if let record = try lmdb.get(table, key) {
          return try store.nameTables.learn(id, RecordFrame.payload(of: record, key: key))
        }
      } catch let status as Status {
        damage = status
      }
    }
    if let damage { throw damage }
    return nil
  }

  /// Loads all name tables of the file and returns a snapshot for several threads, of which only
  /// the caller's may use the transaction.
  func withKnownNameTables() throws -> StoreSnapshot {
    var cursor = try lmdb.cursor(tables.nameTables)
    while try cursor.next() {
      let id = try FieldNameTableRecord.id(fromKey: cursor.key)
      if nameTables[id] == nil { _ = try? readNameTable(id) }
    }
    var known = self
    known.canLoadNameTables = false
    return known
  }
}
