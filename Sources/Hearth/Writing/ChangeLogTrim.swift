import LMDB

/// What of the change log is past its keeping: the smaller of an age and a size.
///
/// Done in small portions by the writer, within the commits it makes anyway.
struct ChangeLogTrim {
  let oldestKept: Instant
  let bytesKept: Int
  /// So that no commit grows long on account of it.
  static let recordsPerCommit = 256

  /// Deletes of records, and of the tombstones whose deletion leaves the log with them.
  func plan(
    _ store: StoreSnapshot, before state: StoreState
  ) throws -> (steps: [GroupPlan.Step], firstKept: UInt64) {
    let tables = store.tables
    let statistics = try store.lmdb.statistics(tables.changes)
    let pages = statistics.branchPages + statistics.leafPages + statistics.overflowPages
    let bytesUsed = try pages * store.store.environment.info.pageSizeBytes
    var excessBytes = bytesUsed - bytesKept
    var steps: [GroupPlan.Step] = []
    var firstKept = state.firstLoggedSequence
    var cursor = try store.lmdb.cursor(tables.changes)
    var found = try cursor.first()
    while found, steps.count < Self.recordsPerCommit {
      var newest = Instant.earliest
      var next = firstKept
      var buried: [Change] = []
      try ChangeRecord.read(key: cursor.key, value: cursor.value) { change in
        newest = max(newest, change.commitTime)
        next = change.sequence + 1
        if change.kind == .deleted { buried.append(change) }
        return true
      }
      guard newest < oldestKept || excessBytes > 0 else { break }
      steps.append(GroupPlan.Step(table: tables.changes, key: Array(cursor.key), value: nil))
      for change in buried {
        if let key = try tombstone(of: change, in: store) {
          steps.append(GroupPlan.Step(table: tables.tombstones, key: key, value: nil))
        }
      }
      excessBytes -= cursor.value.count
      firstKept = next
      found = try cursor.next()
    }
    return (steps, firstKept)
  }

  /// The tombstone's key, if it still stands for this deletion and not for a later one.
  private func tombstone(of change: Change, in store: StoreSnapshot) throws -> [UInt8]? {
    let name = DocumentName(change.path, limit: store.keyLimit)
    let table = store.tables.tombstonesByName
    guard let (key, value) = try table.entry(name.cut, of: name.path, in: store.lmdb),
      try key.withUnsafeBytes({ try NumberRecord.decode(value, key: $0) }) == change.sequence
    else { return nil }
    return key
  }
}
