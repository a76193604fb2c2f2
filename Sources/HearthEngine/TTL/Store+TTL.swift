internal import LMDB

/// Sets TTL policies, and walks over the documents that they change.
extension Store {
  static let ttlWalkBatch = 500

  /// Sets the TTL policy of a collection id; a nil field removes it. Blocks until the expiration
  /// table is correct for all its documents that can be read.
  func setTTL(_ collectionID: String, _ field: FieldSegments?) throws {
    repeat {
      try finishTTLWalks()
    } while try !beginTTLWalk(collectionID, field)
    try finishTTLWalks()
  }

  /// Continues walks that this or another process began, until none is left or `isStopped`.
  func finishTTLWalks(isStopped: () -> Bool = { false }) throws {
    while !isStopped(), try read({ try TTLPolicies.read($0.lmdb, tables).hasWalk }) {
      try advanceTTLWalk()
    }
  }

  /// False if another walk over these documents is not finished.
  private func beginTTLWalk(_ collectionID: String, _ field: FieldSegments?) throws -> Bool {
    try write { transaction in
      var rules = try TTLPolicies.read(transaction.snapshot, tables)
      let old = rules[collectionID]
      if old?.cursor != nil { return false }
      if old?.field == field { return true }
      rules[collectionID] = TTLPolicies.Rule(
        collectionID: collectionID, field: field, previous: old?.field, cursor: [0])
      try transaction.put(tables.meta, TTLPolicies.key, rules.encoded())
      return true
    }
  }

  /// Does a small part of one walk, in one transaction.
  private func advanceTTLWalk() throws {
    try write { transaction in
      let snapshot = StoreSnapshot(transaction.snapshot, self)
      var rules = try TTLPolicies.read(snapshot.lmdb, tables)
      guard var rule = rules.rules.first(where: { $0.cursor != nil }) else { return }
      var plan = ExpirationChanges(snapshot, rules)
      rule.cursor = try snapshot.planTTL(by: rule, &plan)
      if rule.cursor == nil { rule.previous = nil }
      rules[rule.collectionID] = rule.cursor == nil && rule.field == nil ? nil : rule
      for (key, value) in plan.steps { try transaction.put(tables.expirations, key, value) }
      try transaction.put(tables.meta, TTLPolicies.key, rules.encoded())
    }
  }
}

extension StoreSnapshot {
  /// Plans a batch of a walk. Returns the key to continue at; nil at the end.
  fileprivate func planTTL(
    by rule: TTLPolicies.Rule, _ plan: inout ExpirationChanges
  ) throws -> [UInt8]? {
    let prefix = keyLimit.scanPrefix(KeyLayout.groupPrefix(rule.collectionID))
    let start =
      (rule.cursor ?? []).lexicographicallyPrecedes(prefix) ? prefix : rule.cursor ?? prefix
    var walk = try PrefixWalk(prefix, of: tables.documents, in: lmdb, from: start)
    var seen = 0
    while try walk.advance() {
      let entry = StoredEntry(key: walk.cursor.key, record: walk.cursor.value)
      if seen == Store.ttlWalkBatch { return Array(entry.key) }
      seen += 1
      // A sweep does not delete a document by an entry that is left of the previous policy.
      try Status.ignoringDamage {
        let path = try path(of: entry)
        // Long collection ids are truncated: other collections may then have the same prefix.
        guard UTF8Order.areEqual(path.parent.id, rule.collectionID) else { return }
        let body = try body(DocumentRecord(parsing: entry.record).storedBody)
        try plan.change(
          key: Array(entry.key), from: ExpirationTable.time(in: body, at: rule.previous),
          to: ExpirationTable.time(in: body, at: rule.field))
      }
    }
    return nil
  }

  /// Whether the table has a document whose expiration time is at or before `now`.
  func hasExpiredDocument(at now: Instant) throws -> Bool {
    var cursor = try lmdb.cursor(tables.expirations)
    guard try cursor.first() else { return false }
    return try Status.ignoringDamage { try ExpirationTable.time(fromKey: cursor.key) <= now }
      ?? true
  }

  struct ExpiredDocuments {
    var documents: [(path: ResourcePath, updateTime: Instant)] = []
    /// The key to continue at; nil if there are no more.
    var next: [UInt8]?
    /// Of the first entry that could not be read, or whose document could not.
    var failure: Status?
  }

  /// Expired documents, from the key `start` on.
  func expiredDocuments(
    at now: Instant, from start: [UInt8], limit: Int
  ) throws -> ExpiredDocuments {
    let policies = try TTLPolicies.read(lmdb, tables)
    var expired = ExpiredDocuments()
    var cursor = try lmdb.cursor(tables.expirations)
    var found = try cursor.seek(to: start)
    while found {
      do {
        let time = try ExpirationTable.time(fromKey: cursor.key)
        guard time <= now else { break }
        guard expired.documents.count < limit else {
          expired.next = Array(cursor.key)
          break
        }
        let key = try ExpirationTable.documentKey(cursor.value, key: cursor.key)
        // Entries without a document, or of another time than the document's, are reported by file
        // checks. They do not stop the sweep.
        if let document = try document(key, expiringAt: time, by: policies) {
          expired.documents.append(document)
        }
      } catch let status as Status where status.isDamage {
        expired.failure = expired.failure ?? status
      }
      found = try cursor.next()
    }
    return expired
  }

  private func document(
    _ key: UnsafeRawBufferPointer, expiringAt time: Instant, by policies: TTLPolicies
  ) throws -> (path: ResourcePath, updateTime: Instant)? {
    guard let stored = try lmdb.get(tables.documents, key) else { return nil }
    let path = try path(of: StoredEntry(key: key, record: stored))
    let record = try DocumentRecord(parsing: stored)
    let field = policies[path.parent.id]?.field(forKey: key)
    guard try ExpirationTable.time(in: body(record.storedBody), at: field) == time else {
      return nil
    }
    return (path, record.updateTime)
  }
}
