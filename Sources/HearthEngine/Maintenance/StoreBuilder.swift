internal import LMDB

/// Fills a file that no other code knows of yet.
///
/// Uses transactions of bounded size, without flushing: `finish` flushes once, at the end.
final class StoreBuilder {
  let store: Store
  private var transaction: WriteTransaction?
  private var openBytes = 0
  private static let transactionLimitBytes = 16 << 20

  /// - Parameter expectedBytes: Approximate size of the complete file.
  init(path: String, expectedBytes: Int, _ configuration: StoreConfiguration) throws {
    var configuration = configuration
    configuration.isReadOnly = false
    configuration.durability = .unsafeWithoutFlushing
    configuration.mapSizeBytes = max(
      configuration.mapSizeBytes, 2 * min(expectedBytes, 1 << 44) + (256 << 20))
    store = try Store(path: path, configuration: configuration)
  }

  deinit { close() }

  /// Discards what was not committed.
  func close() {
    transaction = nil
    store.close()
  }

  /// With `append`, the keys of a table must come in order.
  func put(
    _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    append: Bool = false
  ) throws {
    try begin()
    try transaction?.put(table, key, value, append: append)
    openBytes += key.count + value.count + 16
    if openBytes >= Self.transactionLimitBytes { try commit() }
  }

  func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws {
    try key.withUnsafeBytes { key in try value.withUnsafeBytes { try put(table, key, $0) } }
  }

  /// The state with everything put so far; valid until the next put.
  func snapshot() throws -> StoreSnapshot {
    try begin()
    guard let snapshot = transaction?.snapshot else {
      throw Status(.internal, "A builder has no transaction.")
    }
    return StoreSnapshot(snapshot, store)
  }

  // MARK: Derived tables

  /// Writes the document counts to the catalogue, and begins the change log after `old`. Returns
  /// the counts.
  @discardableResult
  func complete(_ old: StoreState = StoreState()) throws -> [ResourcePath: UInt64] {
    var state = old
    var found: [ResourcePath: UInt64] = [:]
    do {
      let snapshot = try snapshot()
      var cursor = try snapshot.lmdb.cursor(store.tables.documents)
      while try cursor.next() {
        let entry = StoredEntry(key: cursor.key, record: cursor.value)
        found[try snapshot.path(of: entry).parent, default: 0] += 1
        let record = try DocumentRecord(parsing: cursor.value)
        state.lastSequence = max(state.lastSequence, record.sequence)
        state.lastCommitTime = max(state.lastCommitTime, record.updateTime)
      }
    }
    for (path, count) in found.sorted(by: { ResourcePath.compare($0.key, $1.key) < 0 }) {
      let truncated = store.keyLimit.catalogueKey(path)
      let snapshot = try snapshot()
      let key = try snapshot.tables.collectionsByName.freeKey(truncated, in: snapshot.lmdb)
      try put(
        store.tables.collections, key,
        NumberRecord.encode(count, path: path, key: key, isTruncated: truncated.isTruncated))
    }
    try StoreState.check(state.lastSequence)
    // A token of an older log must not be valid in this one.
    state.lastSequence += 1
    state.firstLoggedSequence = state.lastSequence + 1
    state.indexedSequence = state.lastSequence
    try put(store.tables.meta, StoreState.key, state.encoded())
    return found
  }

  /// Puts a document, in place of one with the same path if there is one.
  func put(_ line: DocumentJSON.Line, now: Instant) throws {
    let name = DocumentName(line.path, limit: store.keyLimit)
    let snapshot = try snapshot()
    let key =
      try snapshot.storedEntry(of: name)?.key
      ?? snapshot.tables.documentsByName.freeKey(name.key, in: snapshot.lmdb)
    let updateTime = line.updateTime ?? line.createTime ?? now
    let createTime = min(line.createTime ?? updateTime, updateTime)
    var builder = FieldNameTableBuilder(snapshot)
    let body = try DocumentBody(encoding: line.fields)
    let nameTable = try builder.nameTable(of: body, key: key)
    let scratch = DocumentWriter.borrow()
    defer { scratch.giveBack() }
    let record = try body.withBytes { body in
      let parts = try BodyParts(body, nameTable: nameTable, scratch: scratch)
      return key.withUnsafeBytes {
        DocumentRecord.encode(
          sequence: 1, updateTime: updateTime, createTime: createTime,
          path: name.key.isTruncated ? line.path.text : nil, body: parts, key: $0)
      }
    }
    try put(store.tables.documents, key, record)
    for (table, key, value) in builder.steps { try put(table, key, value) }
  }

  private func begin() throws {
    guard transaction == nil else { return }
    transaction = try store.environment.beginWrite()
  }

  private func commit() throws {
    openBytes = 0
    try transaction.take()?.commit()
  }

  /// Builds the indexes that the file's configuration asks for.
  func buildIndexes() throws {
    try commit()
    try IndexManager.build(store)
  }

  /// Commits the rest, and flushes the file.
  func finish() throws {
    try commit()
    try store.environment.sync()
  }
}
