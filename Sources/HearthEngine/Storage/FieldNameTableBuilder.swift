internal import LMDB

/// Finds shapes for bodies that are about to be stored, and makes some. For one write transaction, before its first
/// put; what it made is in `steps`, to be put together with them.
struct FieldNameTableBuilder {
  private let store: StoreSnapshot
  /// By the hash of their names. Nil for those whose documents are stored with their names.
  private var decided: [UInt32: Decision?] = [:]
  private var count: Int?
  private(set) var steps: [(table: Table, key: [UInt8], value: [UInt8])] = []

  private struct Decision {
    var shape: FieldNameTable
    /// What it points into.
    var head: PinnedBytes
  }

  init(_ store: StoreSnapshot) { self.store = store }

  /// The shape that a body is to be stored with; nil if with its names.
  mutating func shape(of body: DocumentBody) throws -> UInt32? {
    try body.withBytes { try shape(of: MapView(body: $0)) }
  }

  private mutating func shape(of map: MapView) throws -> UInt32? {
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
    // A hash may be that of other names.
    guard let decision, map.hasNames(of: decision.shape) else { return nil }
    return id
  }

  /// What is known of names that were not met in this transaction; nil if it is too early to tell.
  private mutating func decide(_ id: UInt32, _ map: MapView) throws -> Decision?? {
    let key = FieldNameTableRecord.key(id)
    let stored = try key.withUnsafeBytes { try store.lmdb.get(store.tables.shapes, $0) }
    if let stored {
      // One that is damaged is not relied on any further.
      return .some(
        try? key.withUnsafeBytes { key in
          let head = PinnedBytes(copying: try RecordFrame.payload(of: stored, key: key))
          return Decision(shape: try FieldNameTable(parsing: head.buffer), head: head)
        })
    }
    let head = map.headBytes
    guard head.count <= FieldNameTable.byteLimit else { return .some(nil) }
    guard store.store.shapes.isMetAgain(id) else { return nil }
    let count = try self.count ?? store.lmdb.statistics(store.tables.shapes).entries
    guard count < FieldNameTableCache.limit else { return .some(nil) }
    self.count = count + 1
    steps += FieldNameTableRecord.steps(id, head, store.tables)
    let pinned = head.withUnsafeBytes { PinnedBytes(copying: $0) }
    return Decision(shape: try FieldNameTable(parsing: pinned.buffer), head: pinned)
  }
}
