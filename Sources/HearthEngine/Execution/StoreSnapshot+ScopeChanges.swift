internal import LMDB

extension StoreSnapshot {
  /// Calls `body` with the changes of a scope's documents after `sequence`, in order, until it
  /// returns false.
  ///
  /// Throws `outOfRange` if the log no longer reaches back that far. Reads the log records with
  /// changes in the scope's collections (for a subtree, in all collections), and walks over the
  /// newest changes, which are not indexed.
  func changes(
    after sequence: UInt64, in scope: StructuredQuery.Scope, _ body: (Change) throws -> Bool
  ) throws {
    let state = try checkLog(reachesBackTo: sequence)
    guard sequence < state.lastSequence else { return }
    let filter = CollectionFilter(scope)
    var goesOn = true
    func emit(_ change: Change) throws -> Bool {
      guard change.sequence > sequence, scope.contains(change.path) else { return true }
      goesOn = try body(change)
      return goesOn
    }
    var walked = sequence
    if sequence < state.indexedSequence {
      walked = state.indexedSequence
      var cursor = try lmdb.cursor(tables.changes)
      guard try seek(&cursor, toRecordHolding: sequence + 1) else {
        throw Status.dataLoss("The change log lacks sequence \(sequence + 1).")
      }
      let lowest = try KeyLayout.sequence(fromKey: cursor.key)
      for record in try records(of: scope, from: lowest) {
        let isFound = try KeyLayout.sequenceKey(record).withUnsafeBytes {
          try cursor.seek(exactly: $0)
        }
        guard isFound else { throw Status.dataLoss("The change log lacks sequence \(record).") }
        try ChangeRecord.read(key: cursor.key, value: cursor.value, in: filter, emit)
        guard goesOn else { return }
      }
    }
    try changes(after: walked, admittedBy: filter, emit)
  }

  /// The first sequences of the log records from `lowest` on that the log index lists for the
  /// scope's collections, and possibly for others.
  private func records(
    of scope: StructuredQuery.Scope, from lowest: UInt64
  ) throws -> [UInt64] {
    let limit = ChangeLogIndex.limit(self)
    var cursor = try lmdb.cursor(tables.logIndex)
    var records: [UInt64] = []
    let start: [UInt8]
    switch scope {
    case .collection(let path):
      _ = try take(ChangeLogIndex.prefix(path, limit), from: lowest, &cursor, into: &records)
      return records
    case .group(let id, _): start = limit.scanPrefix(KeyLayout.groupPrefix(id))
    case .subtree: start = []
    }
    // All collections that have lists.
    var isFound =
      try start.isEmpty ? cursor.first() : start.withUnsafeBytes { try cursor.seek(to: $0) }
    while isFound, cursor.key.starts(with: start) {
      let prefix = Array(cursor.key.dropLast(MemoryLayout<UInt64>.size))
      isFound = try take(prefix, from: lowest, &cursor, into: &records)
    }
    // A record can be in the lists of several collections.
    return Set(records).sorted()
  }

  /// Leaves the cursor after the lists; false at the end of the table.
  private func take(
    _ prefix: [UInt8], from lowest: UInt64, _ cursor: inout Cursor, into records: inout [UInt64]
  ) throws -> Bool {
    var isFound = try cursor.seek(toListHolding: lowest, of: prefix)
    if !isFound {
      isFound = try prefix.withUnsafeBytes { try cursor.seek(to: $0) }
    }
    while isFound, cursor.isList(of: prefix) {
      try ChangeLogIndex.forEachRecord(key: cursor.key, value: cursor.value) { record in
        if record >= lowest { records.append(record) }
      }
      isFound = try cursor.next()
    }
    return isFound
  }
}

extension CollectionFilter {
  /// Nil if every collection can have documents in the scope.
  init?(_ scope: StructuredQuery.Scope) {
    switch scope {
    case .collection(let path): self = .path(Array(path.text.utf8))
    case .group(let id, _): self = .id(Array(id.utf8))
    case .subtree: return nil
    }
  }
}
