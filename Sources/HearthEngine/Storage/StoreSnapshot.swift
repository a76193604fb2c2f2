internal import LMDB

/// A consistent state of the database in one transaction. Valid only until the transaction ends.
struct StoreSnapshot {
  let lmdb: Snapshot
  let store: Store
  let nameTables: FieldNameTableCache.Lookup
  /// False if threads other than the transaction's may read bodies.
  var canLoadNameTables = true
  /// When its reads must end; nil if they may take as long as they need.
  let deadline: ReadDeadline?

  init(_ lmdb: Snapshot, _ store: Store, until deadline: ReadDeadline? = nil) {
    self.lmdb = lmdb
    self.store = store
    self.deadline = deadline
    nameTables = store.nameTables.lookup
  }

  var tables: Tables { store.tables }

  func state() throws -> StoreState { try StoreState.read(lmdb, tables) }

  /// The stored record of a document, borrowed; nil if there is no such document.
  func record(of name: DocumentName) throws -> UnsafeRawBufferPointer? {
    try storedEntry(of: name)?.value
  }

  /// A document, copied out; nil if there is none. Throws `dataLoss` if its checksum does not
  /// match.
  func document(_ name: DocumentName) throws -> StoredDocument? {
    guard let (key, record) = try storedEntry(of: name) else { return nil }
    return try key.withUnsafeBytes {
      try copy(StoredEntry(key: $0, record: record), path: name.path)
    }
  }

  func document(at path: ResourcePath) throws -> StoredDocument? { try document(name(path)) }

  func body(at path: ResourcePath) throws -> StoredBody? { try body(of: name(path)) }

  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: keyLimit) }

  /// The body of a document, borrowed; nil if there is none. Verifies its checksum only with
  /// `verifiesChecksumsOnRead`.
  func body(of name: DocumentName) throws -> StoredBody? {
    guard let (key, bytes) = try storedEntry(of: name) else { return nil }
    let record = try DocumentRecord(parsing: bytes)
    if store.configuration.verifiesChecksumsOnRead {
      try key.withUnsafeBytes { try record.verifyChecksum(key: $0) }
    }
    return try body(record.storedBody)
  }

  /// When a document last changed; nil if there is no such document.
  func updateTime(of name: DocumentName) throws -> Instant? {
    try record(of: name).map { try DocumentRecord(parsing: $0).updateTime }
  }

  /// Copies a borrowed record. Throws `dataLoss` if its checksum does not match, and
  /// `ReadDeadline.Passed`.
  ///
  /// - Parameter verifies: Whether the checksum is verified. The copy does not have it.
  func copy(
    _ entry: StoredEntry, path: ResourcePath, verifies: Bool = true
  ) throws -> StoredDocument {
    try deadline?.check(copying: entry.record.count)
    let record = try DocumentRecord(parsing: entry.record)
    if verifies { try record.verifyChecksum(key: entry.key) }
    return StoredDocument(
      path: path, sequence: record.sequence, createTime: record.createTime,
      updateTime: record.updateTime, body: try DocumentBody(copying: body(record.storedBody)))
  }

  /// The stored key and record of a document.
  func storedEntry(
    of name: DocumentName
  ) throws -> (key: [UInt8], value: UnsafeRawBufferPointer)? {
    try tables.documentsByName.entry(name.key, of: name.path, in: lmdb)
  }

  /// How many documents a collection holds, according to the catalogue.
  func documentCount(inCollection path: ResourcePath) throws -> UInt64 {
    let truncated = keyLimit.catalogueKey(path)
    return try tables.collectionsByName.number(truncated, of: path, in: lmdb)?.number ?? 0
  }

  // MARK: The change log

  /// Calls `body` with every change after `sequence`, in order, until it returns false.
  ///
  /// Throws `outOfRange` if the log no longer reaches back that far.
  ///
  /// - Parameter filter: Reads record by record, and skips changes in collections that this does not
  ///   admit.
  func changes(
    after sequence: UInt64, admittedBy filter: CollectionFilter? = nil,
    _ body: (Change) throws -> Bool
  ) throws {
    let state = try checkLog(reachesBackTo: sequence)
    guard sequence < state.lastSequence else { return }
    var cursor = try lmdb.cursor(tables.changes)
    guard try seek(&cursor, toRecordHolding: sequence + 1) else {
      throw Status.dataLoss("The change log lacks sequence \(sequence + 1).")
    }
    var goesOn = true
    var expected = try KeyLayout.sequence(fromKey: cursor.key)
    repeat {
      guard try KeyLayout.sequence(fromKey: cursor.key) == expected else {
        throw Status.dataLoss("The change log lacks sequence \(expected).")
      }
      expected = try ChangeRecord.read(key: cursor.key, value: cursor.value, in: filter) { change in
        guard change.sequence > sequence else { return true }
        goesOn = try body(change)
        return goesOn
      }
      // The record found for the first sequence may end before it.
      guard expected > sequence + 1 else {
        throw Status.dataLoss("The change log lacks sequence \(sequence + 1).")
      }
    } while try goesOn && cursor.next()
    guard !goesOn || expected > state.lastSequence else {
      throw Status.dataLoss("The change log lacks sequence \(expected).")
    }
  }

  /// The document before this change; nil if it did not exist. Throws `dataLoss` if it was already
  /// damaged when the change was logged: the log's checksum does not show that. A document with a
  /// truncated key is not checked.
  func version(before change: Change) throws -> StoredDocument? {
    guard let before = change.before else { return nil }
    var key = KeyBuffer()
    key.append(documentKey: change.path)
    // The record does not contain the ordinal of a truncated key.
    return try copy(
      StoredEntry(key: key.buffer, record: before), path: change.path,
      verifies: key.count <= keyLimit.truncatedCount)
  }

  /// Throws `outOfRange` if the log lacks a change after `sequence`.
  @discardableResult
  func checkLog(reachesBackTo sequence: UInt64) throws -> StoreState {
    let state = try state()
    guard sequence >= state.lastSequence || sequence + 1 >= state.firstLoggedSequence else {
      throw Status(
        .outOfRange,
        "The change log begins at \(state.firstLoggedSequence), after \(sequence).")
    }
    return state
  }

  /// The change with this sequence; nil if the log lacks it.
  func change(_ sequence: UInt64) throws -> Change? {
    var cursor = try lmdb.cursor(tables.changes)
    guard sequence > 0, try seek(&cursor, toRecordHolding: sequence) else { return nil }
    var found: Change?
    try ChangeRecord.read(key: cursor.key, value: cursor.value) { change in
      if change.sequence == sequence { found = change }
      return change.sequence < sequence
    }
    return found
  }

  /// Moves to the last record that begins at or before `sequence`.
  func seek(_ cursor: inout Cursor, toRecordHolding sequence: UInt64) throws -> Bool {
    let key = KeyLayout.sequenceKey(sequence)
    if try cursor.seek(to: key) {
      if try KeyLayout.sequence(fromKey: cursor.key) == sequence { return true }
      return try cursor.previous()
    }
    return try cursor.last()
  }
}

extension ResourcePath {
  /// Whether a document is directly in the collection, not below it.
  func isDirectly(in collection: ResourcePath) -> Bool {
    segments.count == collection.segments.count + 1 && hasPrefix(collection)
  }
}
