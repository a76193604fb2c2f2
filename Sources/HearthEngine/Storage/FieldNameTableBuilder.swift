internal import LMDB

/// Finds name tables for bodies that are about to be stored, and makes new ones. For one write
/// transaction, before its first put; the new tables are in `steps`, to be put with the documents.
struct FieldNameTableBuilder {
  private let store: StoreSnapshot
  /// By the hash of the names. A nil decision: documents are stored with their names.
  private var decided: [UInt32: Decision?] = [:]
  private var count: Int?
  private(set) var steps: [(table: Table, key: [UInt8], value: [UInt8])] = []

  private struct Decision {
    var nameTable: FieldNameTable
    /// The bytes that `nameTable` points into.
    var head: PinnedBytes
  }

  init(_ store: StoreSnapshot) { self.store = store }

  /// The name table to store a body with; nil to store it with its names.
  mutating func nameTable(of body: DocumentBody) throws -> UInt32? {
    try body.withBytes { try nameTable(of: MapView(body: $0)) }
  }

  private mutating func nameTable(of map: MapView) throws -> UInt32? {
    guard map.count > 0, map.count <= FieldNameTable.fieldLimit else { return nil }
    let id = FieldNameTable.id(ends: map.nameEndBytes, names: map.nameBytes)
    let decision: Decision?
    if let known = decided[id] {
      decision = known
    } else {
      guard let found = try decide(id, map) else { return nil }
      decision = found
      decided[id] = .some(decision)
    }
    // The hash of other names may be equal.
    guard let decision, map.hasNames(of: decision.nameTable) else { return nil }
    return id
  }

  /// Decides about names not yet seen in this transaction. Returns nil if it is too early to
  /// decide.
  private mutating func decide(_ id: UInt32, _ map: MapView) throws -> Decision?? {
    let key = FieldNameTableRecord.key(id)
    let stored = try key.withUnsafeBytes { try store.lmdb.get(store.tables.nameTables, $0) }
    if let stored {
      // A damaged table is not used for new documents.
      return .some(
        try? key.withUnsafeBytes { key in
          let head = PinnedBytes(copying: try RecordFrame.payload(of: stored, key: key))
          return Decision(nameTable: try FieldNameTable(parsing: head.buffer), head: head)
        })
    }
    let head = map.headBytes
    guard head.count <= FieldNameTable.byteLimit else { return .some(nil) }
    guard store.store.nameTables.isMetAgain(id) else { return nil }
    let count = try self.count ?? store.lmdb.statistics(store.tables.nameTables).entries
    guard count < FieldNameTableCache.limit else { return .some(nil) }
    self.count = count + 1
    steps += FieldNameTableRecord.steps(id, head, store.tables)
    let pinned = head.withUnsafeBytes { PinnedBytes(copying: $0) }
    return Decision(nameTable: try FieldNameTable(parsing: pinned.buffer), head: pinned)
  }
}
