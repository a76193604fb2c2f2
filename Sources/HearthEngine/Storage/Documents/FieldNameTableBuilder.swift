internal import CXXHash
internal import LMDB

/// Finds name tables for bodies that are about to be stored, and makes new ones. For one write
/// transaction, before its first put; the new tables are in `steps`, to be put with the documents.
///
///     second document with the same names        ─▶ a table of the document's own names
///     fourth with the same names in maps inside  ─▶ a table of these, too
///
/// Maps whose names are data, such as the ids of users, are different in each document. Tables with
/// the names of maps inside are made late and are limited, so that such maps do not use up all.
struct FieldNameTableBuilder {
  private let store: StoreSnapshot
  /// By the hash of the names. A nil decision: no table has these names.
  private var decided: [UInt32: PinnedNameTable?] = [:]
  private var count: Int?
  /// Most documents have the same names as the one before.
  private var last: PinnedNameTable?
  private var inner = InnerNames()
  private(set) var steps: [(table: Table, key: [UInt8], value: [UInt8])] = []

  private static let documentsForTable = 2
  private static let documentsForInnerTable = NameSightings.limit
  /// Of all tables of the file, these may be used up by tables with the names of maps inside.
  private static let innerTableLimit = FieldNameTableCache.limit / 4 * 3

  init(_ store: StoreSnapshot) { self.store = store }

  /// The name table to store a body with; nil to store it with its names.
  mutating func nameTable(of body: DocumentBody, key: [UInt8]) throws -> FieldNameTable? {
    try body.withBytes { bytes in
      let map = try MapView(body: bytes)
      guard map.count > 0, map.count <= FieldNameTable.fieldLimit else { return nil }
      if let last = last?.table, last.names.isEqual(to: map.names),
        try !body.mayHoldMaps || last.hasNames(ofMapsIn: map)
      {
        return last
      }
      if body.mayHoldMaps, try inner.collect(from: map), !inner.lists.isEmpty,
        let nameTable = try nameTable(map.names, inner.lists, key: key)
      {
        return nameTable
      }
      return try nameTable(map.names, [], key: key)
    }
  }

  private mutating func nameTable(
    _ names: FieldNames, _ inner: [FieldNames], key: [UInt8]
  ) throws -> FieldNameTable? {
    let id = FieldNameTable.id(names, inner: inner)
    let decision: PinnedNameTable?
    if let known = decided[id] {
      decision = known
    } else {
      guard let found = try decide(id, names, inner, key: key) else { return nil }
      decision = found
      decided[id] = .some(decision)
    }
    // The hash of other names may be equal.
    guard let decision, decision.table.isEqual(to: names, inner: inner) else { return nil }
    last = decision
    return decision.table
  }

  /// Decides about names not yet seen in this transaction. Returns nil if it is too early to
  /// decide.
  private mutating func decide(
    _ id: UInt32, _ names: FieldNames, _ inner: [FieldNames], key document: [UInt8]
  ) throws -> PinnedNameTable?? {
    let key = FieldNameTableRecord.key(id)
    if let stored = try store.lmdb.get(store.tables.nameTables, key) {
      // A damaged table is not used for new documents.
      return .some(try? PinnedNameTable(copying: RecordFrame.payload(of: stored, key: key)))
    }
    let head = FieldNameTable.head(names, inner: inner)
    guard head.count <= FieldNameTable.byteLimit else { return .some(nil) }
    let document = document.withUnsafeBytes {
      UInt32(truncatingIfNeeded: XXH3_64bits($0.baseAddress, $0.count))
    }
    let sightings = store.store.nameTables.sightings.count(id, of: document)
    guard
      sightings >= (inner.isEmpty ? Self.documentsForTable : Self.documentsForInnerTable)
    else { return nil }
    let count = try self.count ?? store.lmdb.statistics(store.tables.nameTables).entries
    guard count < (inner.isEmpty ? FieldNameTableCache.limit : Self.innerTableLimit) else {
      return .some(nil)
    }
    self.count = count + 1
    steps += FieldNameTableRecord.steps(id, head, store.tables)
    return try head.withUnsafeBytes { try PinnedNameTable(copying: $0) }
  }
}
