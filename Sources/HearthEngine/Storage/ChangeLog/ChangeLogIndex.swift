internal import LMDB

/// Finds the records of the change log that hold changes of a collection, so that a reader of one
/// collection's history skips the changes of all others.
///
///     key    key prefix of the collection's documents        ‖  first sequence of the
///            (truncated to leave room for the sequence)         first record
///     value  ┌───────┬────────────────────────────────────────────────────┐
///            │ frame │ each further record: first sequence - that of the  │
///            │ 5 B   │ record before it, varint …                         │
///            └───────┴────────────────────────────────────────────────────┘
///
/// A posting list for each collection, as in a text index. The index lags behind the log, so that
/// most commits do not touch it. `StoreState.indexedSequence` is the last sequence it covers; newer
/// changes are found in the log itself.
///
/// Collections with the same truncated key share a list. Readers of a record compare the paths.
///
/// On disk. Changing this changes the file format; see StorageLayout.md.
enum ChangeLogIndex {
  /// A put into the index, or a delete where the value is nil.
  typealias Step = (key: [UInt8], value: [UInt8]?)

  /// The index is extended once it lags behind the log by this many changes.
  static let distance: UInt64 = 64
  /// How many stored records one commit adds to the index. A file without an index gets it over
  /// several commits. A commit that adds many records indexes up to twice as many stored ones.
  static let recordsPerCommit = 256

  /// The puts that extend the index over the unindexed changes, and the sequence up to which it
  /// then goes. Nil if fewer than `distance` changes are unindexed, or none can be read.
  ///
  /// - Parameters:
  ///   - base: The stored state.
  ///   - state: The state after the commit, with `newRecords` at the end of the log.
  static func plan(
    _ store: StoreSnapshot, from base: StoreState, to state: StoreState,
    adding newRecords: [(first: UInt64, bytes: [UInt8])]
  ) throws -> (steps: [Step], indexed: UInt64)? {
    let begin = max(base.indexedSequence, state.firstLoggedSequence &- 1)
    guard state.lastSequence > begin, state.lastSequence - begin >= distance else { return nil }
    var lists = Lists(limit(store))
    var indexed = begin
    do {
      if begin < base.lastSequence {
        var cursor = try store.lmdb.cursor(store.tables.changes)
        guard try store.seek(&cursor, toRecordHolding: begin + 1) else { return nil }
        var left = max(recordsPerCommit, 2 * newRecords.count)
        repeat {
          indexed = try lists.add(key: cursor.key, value: cursor.value) &- 1
          left -= 1
        } while try left > 0 && cursor.next()
      }
      for record in newRecords where record.first == indexed &+ 1 {
        indexed = try KeyLayout.sequenceKey(record.first).withUnsafeBytes { key in
          try record.bytes.withUnsafeBytes { try lists.add(key: key, value: $0) &- 1 }
        }
      }
    } catch let status as Status where status.isDamage {
      // A damaged record does not stop writes. Readers of that record get the error.
      guard indexed > begin else { return nil }
    }
    return (lists.steps, indexed)
  }

  /// The deletions that go with removing records from the log: lists whose last record is removed.
  /// The lists of a damaged record, and damaged lists, stay; checks report them.
  struct Trim {
    private let store: StoreSnapshot
    private let limit: KeyLimit
    private(set) var steps: [Step] = []
    /// Consecutive records often belong to one collection.
    private var latest: (collection: [UInt8], key: [UInt8], last: UInt64)?

    init(_ store: StoreSnapshot) {
      self.store = store
      limit = ChangeLogIndex.limit(store)
    }

    mutating func remove(
      _ first: UInt64, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
    ) throws {
      var collections: [[UInt8]] = []
      try Status.ignoringDamage {
        try ChangeRecord.forEachCollection(key: key, value: value) {
          collections.append(Array($0))
        }
      }
      for collection in collections {
        try Status.ignoringDamage { try remove(first, of: collection) }
      }
    }

    private mutating func remove(_ first: UInt64, of collection: [UInt8]) throws {
      if latest?.collection != collection || latest.map({ $0.last < first }) ?? true {
        latest = nil
        let prefix = try collection.withUnsafeBytes { try ChangeLogIndex.prefix($0, limit) }
        var cursor = try store.lmdb.cursor(store.tables.logIndex)
        guard try cursor.seek(toListHolding: first, of: prefix) else { return }
        let last = try ChangeLogIndex.forEachRecord(key: cursor.key, value: cursor.value) { _ in }
        latest = (collection, Array(cursor.key), last)
      }
      guard let list = latest, list.last == first else { return }
      latest = nil
      // Collections with the same truncated key share the list.
      if steps.last?.key != list.key {
        steps.append((list.key, nil))
      }
    }
  }

  // MARK: Keys and values

  static func limit(_ store: StoreSnapshot) -> KeyLimit {
    store.keyLimit.shortened(by: MemoryLayout<UInt64>.size)
  }

  /// The prefix of the keys of a collection's lists. A sequence follows it.
  static func prefix(_ collection: ResourcePath, _ limit: KeyLimit) -> [UInt8] {
    var key = KeyBuffer()
    key.append(collectionPrefix: collection)
    _ = limit.truncated(&key)
    return key.bytes
  }

  static func prefix(
    _ collection: UnsafeRawBufferPointer, _ limit: KeyLimit
  ) throws(Status) -> [UInt8] {
    let text = try String(ofStored: collection)
    let path = ResourcePath(relative: text)
    guard path.isCollection else { throw .dataLoss("A change is in no collection: \(text)") }
    return prefix(path, limit)
  }

  /// Makes a list of at least one record.
  static func list(_ records: [UInt64], of prefix: [UInt8]) -> Step {
    let key = prefix + KeyLayout.sequenceKey(records[0])
    let value = RecordFrame.record(under: key) { value in
      for (one, next) in zip(records, records.dropFirst()) { value.append(varint: next - one) }
    }
    return (key, value)
  }

  /// Calls `body` with the first sequence of every record in a list, in order. Returns the last of
  /// them.
  @discardableResult
  static func forEachRecord(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, _ body: (UInt64) throws -> Void
  ) throws -> UInt64 {
    var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
    guard key.count > 8 else { throw Status.dataLoss("A stored key ends too early.") }
    var record = try KeyLayout.sequence(fromKey: key.from(key.count - 8))
    try body(record)
    while !reader.isAtEnd {
      let distance = try reader.varint()
      guard distance > 0 else { throw Status.dataLoss("A list of records does not ascend.") }
      record &+= distance
      try body(record)
    }
    return record
  }

  /// Collects the posting lists for some records.
  private struct Lists {
    private let limit: KeyLimit
    private var lists: [[UInt8]: [UInt64]] = [:]
    /// Consecutive records often belong to one collection.
    private var latest: (collection: [UInt8], prefix: [UInt8])?

    init(_ limit: KeyLimit) { self.limit = limit }

    /// Adds a record, or throws and adds nothing. Returns the sequence after its last change.
    mutating func add(
      key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
    ) throws -> UInt64 {
      let first = try KeyLayout.sequence(fromKey: key)
      var prefixes: [[UInt8]] = []
      let next = try ChangeRecord.forEachCollection(key: key, value: value) { collection in
        if let latest, latest.collection.elementsEqual(collection) {
          prefixes.append(latest.prefix)
        } else {
          let prefix = try ChangeLogIndex.prefix(collection, limit)
          latest = (Array(collection), prefix)
          prefixes.append(prefix)
        }
      }
      for prefix in prefixes where lists[prefix]?.last != first {
        lists[prefix, default: []].append(first)
      }
      return next
    }

    var steps: [Step] {
      lists.map { prefix, records in ChangeLogIndex.list(records, of: prefix) }
    }
  }
}

extension Cursor {
  /// Moves to the last list with this prefix that begins at or before a record; false if there is
  /// none.
  mutating func seek(toListHolding record: UInt64, of prefix: [UInt8]) throws -> Bool {
    let key = prefix + KeyLayout.sequenceKey(record)
    if try seek(to: key) {
      if key.withUnsafeBytes({ self.key.elementsEqual($0) }) { return true }
      guard try previous() else { return false }
    } else {
      guard try last() else { return false }
    }
    return isList(of: prefix)
  }

  func isList(of prefix: [UInt8]) -> Bool {
    key.count == prefix.count + MemoryLayout<UInt64>.size && key.starts(with: prefix)
  }
}

/// Excludes collections by the text of their path, before it is parsed.
enum CollectionFilter {
  case path([UInt8])
  case id([UInt8])

  /// False only if no document of the collection can be in the scope.
  func admits(_ collection: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .path(let path):
      collection.count == path.count && collection.elementsEqual(path)
    case .id(let id):
      collection.count >= id.count && collection.suffix(id.count).elementsEqual(id)
    }
  }
}
