internal import LMDB

/// Plans the deletion of change log records past retention: those older than an age limit, and
/// those in excess of a size limit.
///
/// The limits are those of the file, if it has any, so that they hold whichever process writes. The
/// writer deletes a few records within each commit that it makes anyway.
struct ChangeLogTrim {
  /// Nil if the age was checked less than a second ago.
  let now: Instant?
  /// Bounds the length of a commit. A large commit may delete up to twice as many records as it
  /// adds.
  static let recordsPerCommit = 256

  /// Returns the deletes of log records, of the tombstones whose deletion leaves the log with them,
  /// and of their entries in the log's index; and the first sequence kept, nil if nothing is
  /// deleted.
  func plan(
    _ store: StoreSnapshot, adding newRecords: Int
  ) throws -> (steps: [CommitPlan.Step], firstKept: UInt64?) {
    let tables = store.tables
    let retention = try store.retention()
    let oldestKept = now.map {
      Instant(microseconds: $0.microseconds - retention.ageMicroseconds)
    }
    let statistics = try store.lmdb.statistics(tables.changes)
    var excessBytes = statistics.pages * store.store.pageSizeBytes - retention.limitBytes
    guard excessBytes > 0 || oldestKept != nil else { return ([], nil) }
    var steps: [CommitPlan.Step] = []
    var index = ChangeLogIndex.Trim(store)
    var left = max(Self.recordsPerCommit, 2 * newRecords)
    var cursor = try store.lmdb.cursor(tables.changes)
    var found = try cursor.first()
    while found, left > 0 {
      guard excessBytes > 0 || oldestKept != nil else { break }
      // Nobody can read a damaged record. It counts as old, and its tombstones stay: a commit that
      // stopped here would fail, and so would every later one.
      let record = try Status.ignoringDamage {
        try read(cursor.key, cursor.value, keptFrom: excessBytes > 0 ? nil : oldestKept)
      }
      if let record, record.isKept { break }
      steps.append(CommitPlan.Step(table: tables.changes, key: Array(cursor.key), value: nil))
      for change in record?.deletions ?? [] {
        if let key = try Status.ignoringDamage({ try tombstone(of: change, in: store) }) ?? nil {
          steps.append(CommitPlan.Step(table: tables.tombstones, key: key, value: nil))
        }
      }
      try index.remove(
        try KeyLayout.sequence(fromKey: cursor.key), key: cursor.key, value: cursor.value)
      excessBytes -= cursor.value.count
      left -= 1
      found = try cursor.next()
    }
    steps += index.steps.map {
      CommitPlan.Step(table: tables.logIndex, key: $0.key, value: $0.value)
    }
    guard !steps.isEmpty else { return ([], nil) }
    let firstKept =
      try found ? KeyLayout.sequence(fromKey: cursor.key) : store.state().lastSequence &+ 1
    return (steps, firstKept)
  }

  /// Reads a record as far as its first change of that time or later, with which it is kept.
  private func read(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, keptFrom time: Instant?
  ) throws -> (isKept: Bool, deletions: [Change]) {
    var isKept = false
    var deletions: [Change] = []
    try ChangeRecord.read(key: key, value: value) { change in
      if let time, change.commitTime >= time { isKept = true }
      if change.kind == .deleted { deletions.append(change) }
      return !isKept
    }
    return (isKept, deletions)
  }

  /// The tombstone's key, if the tombstone belongs to this deletion and not to a later one.
  private func tombstone(of change: Change, in store: StoreSnapshot) throws -> [UInt8]? {
    let name = DocumentName(change.path, limit: store.keyLimit)
    let table = store.tables.tombstonesByName
    guard let (key, sequence) = try table.number(name.key, of: name.path, in: store.lmdb),
      sequence == change.sequence
    else { return nil }
    return key
  }
}
