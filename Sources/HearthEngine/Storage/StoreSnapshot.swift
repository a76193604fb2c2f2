internal import LMDB

/// A consistent state of the database inside one transaction. Ends with it; never kept.
struct StoreSnapshot {
  let lmdb: Snapshot
  let store: Store
  let shapes: FieldNameTableCache.Lookup
  /// False where another thread than the transaction's may ask.
  var canLoadShapes = true

  init(_ lmdb: Snapshot, _ store: Store) {
    self.lmdb = lmdb
    self.store = store
    shapes = store.shapes.lookup
  }

  var tables: Tables { store.tables }

  func state() throws -> StoreState { try StoreState.read(lmdb, tables) }

  /// The stored record of a document, borrowed; nil if there is no such document.
  func record(of name: DocumentName) throws -> UnsafeRawBufferPointer? {
    guard let (_, record) = try storedEntry(of: name) else { return nil }
    return record
  }

  /// A document, copied out; nil if there is none. Throws `dataLoss` if its checksum does not match.
  func document(_ name: DocumentName) throws -> StoredDocument? {
    guard let (key, record) = try storedEntry(of: name) else { return nil }
    return try key.withUnsafeBytes { try copy(record, key: $0, path: name.path) }
  }

  func document(at path: ResourcePath) throws -> StoredDocument? { try document(name(path)) }

  func body(at path: ResourcePath) throws -> StoredBody? { try body(of: name(path)) }

  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: keyLimit) }

  /// The body of a document, borrowed; nil if there is none. Its checksum is verified only if the store was
  /// opened so.
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

  /// Copies a borrowed record out. Throws `dataLoss` if its checksum does not match: nobody looks at the copy's
  /// checksum later.
  func copy(
    _ record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, path: ResourcePath
  ) throws -> StoredDocument {
    let parsed = try DocumentRecord(parsing: record)
    try parsed.verifyChecksum(key: key)
    return try StoredDocument(path: path, copying: parsed, body(parsed.storedBody))
  }

  /// The same for a writer that may be about to replace the document: damage is no reason to keep it. The
  /// checksum is verified only if the store was opened so.
  func copyToReplace(
    _ record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, path: ResourcePath
  ) throws -> StoredDocument {
    let parsed = try DocumentRecord(parsing: record)
    if store.configuration.verifiesChecksumsOnRead { try parsed.verifyChecksum(key: key) }
    return try StoredDocument(path: path, copying: parsed, body(parsed.storedBody))
  }

  /// Where a document is stored and what is there.
  func storedEntry(
    of name: DocumentName
  ) throws -> (key: [UInt8], value: UnsafeRawBufferPointer)? {
    try tables.documentsByName.entry(name.cut, of: name.path, in: lmdb)
  }

  /// How many documents a collection holds, as the catalogue has it.
  func documentCount(inCollection path: ResourcePath) throws -> UInt64 {
    let cut = keyLimit.catalogueKey(path)
    return try tables.collectionsByName.entry(cut, of: path, in: lmdb).map { key, value in
      try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) }
    } ?? 0
  }

  // MARK: The change log

  /// Calls `body` with every change after `sequence`, in order, until it returns false.
  ///
  /// Throws `outOfRange` if the log no longer reaches back that far.
  func changes(after sequence: UInt64, _ body: (Change) throws -> Bool) throws {
    try walkChanges(after: sequence, in: nil, body)
  }

  /// Record by record; changes in collections that the filter does not admit are not told.
  func walkChanges(
    after sequence: UInt64, in filter: CollectionFilter?, _ body: (Change) throws -> Bool
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
      // The record that holds the first one may lack it.
      guard expected > sequence + 1 else {
        throw Status.dataLoss("The change log lacks sequence \(sequence + 1).")
      }
    } while try goesOn && cursor.next()
    guard !goesOn || expected > state.lastSequence else {
      throw Status.dataLoss("The change log lacks sequence \(expected).")
    }
  }

  /// Throws `outOfRange` if the log has not every change after `sequence`.
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

  /// The change with this sequence; nil if the log does not hold it.
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
    if try key.withUnsafeBytes({ try cursor.seek(to: $0) }) {
      if try KeyLayout.sequence(fromKey: cursor.key) == sequence { return true }
      return try cursor.previous()
    }
    return try cursor.last()
  }
}

extension ResourcePath {
  /// Whether a document is one of the collection's own.
  func isDirectly(in collection: ResourcePath) -> Bool {
    segments.count == collection.segments.count + 1 && hasPrefix(collection)
  }
}

/// A document's path with its key, so that neither is made twice.
struct DocumentName: Hashable, Sendable {
  let path: ResourcePath
  let key: DocumentKey

  init(_ path: ResourcePath, limit: KeyLimit) {
    self.path = path
    key = DocumentKey(path, limit: limit)
  }

  var cut: TruncatedKey { (key.bytes, key.isCut) }

  static func == (lhs: DocumentName, rhs: DocumentName) -> Bool {
    lhs.key.bytes == rhs.key.bytes && (!lhs.key.isCut || lhs.path == rhs.path)
  }

  func hash(into hasher: inout Hasher) {
    key.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}

/// One version of a document that outlives its transaction: the record's bytes, copied once.
package final class StoredDocument: Sendable {
  package let path: ResourcePath
  let sequence: UInt64
  package let createTime: Instant
  package let updateTime: Instant
  package let body: DocumentBody

  init(
    path: ResourcePath, sequence: UInt64, createTime: Instant, updateTime: Instant,
    body: DocumentBody
  ) {
    self.path = path
    self.sequence = sequence
    self.createTime = createTime
    self.updateTime = updateTime
    self.body = body
  }

  convenience init(
    path: ResourcePath, copying record: DocumentRecord, _ body: StoredBody
  ) throws(Status) {
    self.init(
      path: path, sequence: record.sequence, createTime: record.createTime,
      updateTime: record.updateTime, body: try DocumentBody(copying: body))
  }
}
