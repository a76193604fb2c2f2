internal import LMDB

/// Setting rules of expiry, and the walks that follow.
extension Store {
  static let expiryWalkPortion = 500

  /// Has documents in collections of this id expire by a field; by none if it is nil. Blocks until all
  /// of them are in the table of due documents, or out of it.
  func setExpiry(_ collectionID: String, _ field: FieldSegments?) throws {
    repeat {
      try finishExpiryWalks()
    } while try !beginExpiryWalk(collectionID, field)
    try finishExpiryWalks()
  }

  /// Goes on with walks that were begun, here or by another process, until none is left or `isStopped`.
  func finishExpiryWalks(isStopped: () -> Bool = { false }) throws {
    while !isStopped(), try read({ try TTLPolicies.read($0.lmdb, tables).hasWalk }) {
      _ = try growing { try advanceExpiryWalk() }
    }
  }

  /// False if another walk over these documents is under way.
  private func beginExpiryWalk(_ collectionID: String, _ field: FieldSegments?) throws -> Bool {
    try growing {
      var transaction = try environment.beginWrite()
      var rules = try TTLPolicies.read(transaction.snapshot, tables)
      let old = rules[collectionID]
      if old?.cursor != nil { return false }
      if old?.field == field { return true }
      rules[collectionID] = TTLPolicies.Rule(
        collectionID: collectionID, field: field, previous: old?.field, cursor: [0])
      try transaction.put(tables.meta, TTLPolicies.key, rules.encoded())
      try transaction.commit()
      return true
    }
  }

  /// One small transaction of one walk.
  private func advanceExpiryWalk() throws {
    var transaction = try environment.beginWrite()
    let snapshot = StoreSnapshot(transaction.snapshot, self)
    var rules = try TTLPolicies.read(snapshot.lmdb, tables)
    guard var rule = rules.rules.first(where: { $0.cursor != nil }) else { return }
    var plan = ExpirationChanges(snapshot, rules)
    rule.cursor = try snapshot.planExpiry(by: rule, &plan)
    if rule.cursor == nil { rule.previous = nil }
    rules[rule.collectionID] = rule.cursor == nil && rule.field == nil ? nil : rule
    for step in plan.steps {
      if let value = step.value {
        try transaction.put(tables.due, step.key, value)
      } else {
        try transaction.delete(tables.due, step.key)
      }
    }
    try transaction.put(tables.meta, TTLPolicies.key, rules.encoded())
    try transaction.commit()
  }

  /// Again with a larger map if this one is full.
  private func growing<R>(_ body: () throws -> R) throws -> R {
    do {
      while true {
        do {
          return try body()
        } catch LMDBError.mapFull {
          try environment.grow(toAtLeast: environment.info.mapSizeBytes * 2)
        }
      }
    } catch let error as LMDBError {
      throw Status(writing: error)
    }
  }
}

extension StoreSnapshot {
  /// Plans a portion of a walk. Returns the key where it goes on; nil at the end.
  fileprivate func planExpiry(
    by rule: TTLPolicies.Rule, _ plan: inout ExpirationChanges
  ) throws -> [UInt8]? {
    let prefix = keyLimit.scanPrefix(KeyLayout.groupPrefix(rule.collectionID))
    let start =
      (rule.cursor ?? []).lexicographicallyPrecedes(prefix) ? prefix : rule.cursor ?? prefix
    var cursor = try lmdb.cursor(tables.documents)
    var found = try start.withUnsafeBytes { try cursor.seek(to: $0) }
    var seen = 0
    while found, cursor.key.begins(with: prefix) {
      if seen == Store.expiryWalkPortion { return Array(cursor.key) }
      seen += 1
      let path = try path(of: StoredEntry(key: cursor.key, record: cursor.value))
      // Long ids are cut: the prefix is then that of others, too.
      if UTF8Order.areEqual(path.parent.id, rule.collectionID) {
        let body = try body(DocumentRecord(parsing: cursor.value).storedBody)
        try plan.change(
          key: Array(cursor.key), from: ExpirationTable.time(in: body, at: rule.previous),
          to: ExpirationTable.time(in: body, at: rule.field))
      }
      found = try cursor.next()
    }
    return nil
  }

  /// Whether the table has a document whose time has come.
  func hasDueDocument(at now: Instant) throws -> Bool {
    var cursor = try lmdb.cursor(tables.due)
    guard try cursor.first() else { return false }
    return try ExpirationTable.time(fromKey: cursor.key) <= now
  }

  /// Documents that are due, from `start` in the table on, and where to go on; nil if there are no more.
  func dueDocuments(
    at now: Instant, from start: [UInt8], limit: Int
  ) throws -> (documents: [(path: ResourcePath, updateTime: Instant)], next: [UInt8]?) {
    var documents: [(path: ResourcePath, updateTime: Instant)] = []
    var cursor = try lmdb.cursor(tables.due)
    var found = try start.withUnsafeBytes { try cursor.seek(to: $0) }
    while found, try ExpirationTable.time(fromKey: cursor.key) <= now {
      if documents.count == limit { return (documents, Array(cursor.key)) }
      let key = try ExpirationTable.documentKey(cursor.value, key: cursor.key)
      // What does not agree is the check's to tell, and does not hold up the others.
      if let record = try lmdb.get(tables.documents, key) {
        documents.append(
          (
            try path(of: StoredEntry(key: key, record: record)),
            try DocumentRecord(parsing: record).updateTime
          ))
      }
      found = try cursor.next()
    }
    return (documents, nil)
  }
}
