internal import LMDB

/// Which records of the change log hold changes of a collection: the past of one is read without the changes of all
/// others.
///
///     key    as the documents of the collection begin (cut to leave room) ‖ first sequence of the first record
///     value  ┌───────┬────────────────────────────────────────────────────┐
///            │ frame │ each further record: first sequence - that before,  │
///            │ 5 B   │ varint …                                            │
///            └───────┴────────────────────────────────────────────────────┘
///
/// A list of postings for each collection, as in an index of texts. It follows the log with a distance, so that most
/// commits do not touch it: `StoreState.indexedSequence` says how far it goes, and what is newer is found in the log
/// itself.
///
/// Two collections whose keys were cut alike share a list. Whoever reads a record looks at the paths.
///
/// On disk. Changing this changes the file format; see StorageLayout.md.
enum ChangeLogIndex {
  /// A put into the index, or a delete where the value is nil.
  typealias Step = (key: [UInt8], value: [UInt8]?)

  /// Fewer changes than this are newer than the index.
  static let distance: UInt64 = 64
  /// A file that has no index yet gets it bit by bit; a large commit brings as much again as it adds.
  static let recordsPerCommit = 256

  /// What is to be put to take in the changes that a walk would meet, and how far the index goes then; nil if there are
  /// too few.
  ///
  /// - Parameters:
  ///   - base: What is stored.
  ///   - state: What will be, with `newRecords` at the end of the log.
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
          indexed = try lists.add(key: cursor.key, value: cursor.value) - 1
          left -= 1
        } while try left > 0 && cursor.next()
      }
      for record in newRecords where record.first == indexed + 1 {
        indexed = try KeyLayout.sequenceKey(record.first).withUnsafeBytes { key in
          try record.bytes.withUnsafeBytes { try lists.add(key: key, value: $0) - 1 }
        }
      }
    } catch let status as Status where status.code == .dataLoss {
      // Writing goes on; who reads this far is told.
      guard indexed > begin else { return nil }
    }
    return (lists.steps, indexed)
  }

  /// What is to be deleted with a record of the log: the lists that it is the last one of.
  struct Trim {
    private let store: StoreSnapshot
    private let limit: KeyLimit
    private(set) var steps: [Step] = []
    /// Records of one collection often come together.
    private var latest: (collection: [UInt8], key: [UInt8], last: UInt64)?

    init(_ store: StoreSnapshot) {
      self.store = store
      limit = ChangeLogIndex.limit(store)
    }

    mutating func remove(
      _ first: UInt64, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
    ) throws {
      var collections: [[UInt8]] = []
      _ = try ChangeRecord.forEachCollection(key: key, value: value) {
        collections.append(Array($0))
      }
      for collection in collections { try remove(first, of: collection) }
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
      // Collections whose keys were cut alike share it.
      if steps.last?.key != list.key {
        steps.append((list.key, nil))
      }
    }
  }

  // MARK: Keys and values

  static func limit(_ store: StoreSnapshot) -> KeyLimit {
    store.keyLimit.shortened(by: MemoryLayout<UInt64>.size)
  }

  /// What the keys of a collection's lists begin with; a sequence follows.
  static func prefix(_ collection: ResourcePath, _ limit: KeyLimit) -> [UInt8] {
    var key = KeyBuffer()
    key.append(collectionPrefix: collection)
    _ = limit.cut(&key)
    return key.bytes
  }

  static func prefix(
    _ collection: UnsafeRawBufferPointer, _ limit: KeyLimit
  ) throws(Status) -> [UInt8] {
    guard let text = String(storedUTF8: collection) else {
      throw .dataLoss("Stored text is not UTF-8.")
    }
    let path = ResourcePath(relative: text)
    guard path.isCollection else { throw .dataLoss("A change is in no collection: \(text)") }
    return prefix(path, limit)
  }

  /// A list of at least one record.
  static func list(_ records: [UInt64], of prefix: [UInt8]) -> Step {
    let key = prefix + KeyLayout.sequenceKey(records[0])
    var value = RecordFrame.room()
    for (one, next) in zip(records, records.dropFirst()) { value.append(varint: next - one) }
    RecordFrame.seal(&value, key: key)
    return (key, value)
  }

  /// Calls `body` with the first sequence of every record in a list, in order. Returns the last one.
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

  /// The lists of the collections that some records name.
  private struct Lists {
    private let limit: KeyLimit
    private var lists: [[UInt8]: [UInt64]] = [:]
    /// Records of one collection often come together.
    private var latest: (collection: [UInt8], prefix: [UInt8])?

    init(_ limit: KeyLimit) { self.limit = limit }

    /// Takes in a record, or throws and takes in none of it. Returns the sequence behind it.
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
  /// Moves to the last list of these that begins at or before a record; false if there is none.
  mutating func seek(toListHolding record: UInt64, of prefix: [UInt8]) throws -> Bool {
    let key = prefix + KeyLayout.sequenceKey(record)
    if try key.withUnsafeBytes({ try seek(to: $0) }) {
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

/// Rules collections out by the text of their path, before a path is made of it.
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
