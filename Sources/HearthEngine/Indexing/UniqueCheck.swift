internal import LMDB

/// The parts of an untruncated entry's key that a unique index compares.
///
///     number ‖ [parent] ‖ component … ‖ name
///     └────────── values ───────────┘
struct EntryValues {
  /// The length of the key without the document's name.
  let count: Int
  /// No component is null.
  let isConstrained: Bool
  /// The document; nil if the bytes end before its name.
  let path: ResourcePath?

  init(_ key: UnsafeRawBufferPointer, of index: StoredIndex) throws(Status) {
    var reader = KeyReader(key)
    _ = try reader.readIndex()
    var parent: ResourcePath?
    if !index.isGroup { parent = try reader.readPath() }
    var hasNull = false
    for component in index.definition.components {
      hasNull = hasNull || reader.isAtNull(descending: component.isDescending)
      try reader.skipValue(descending: component.isDescending)
    }
    count = reader.offset
    isConstrained = !hasNull
    if reader.isAtEnd {
      path = nil
    } else if let parent {
      path = parent.appending(index.definition.collectionID).appending(try reader.readID())
    } else {
      path = try reader.readPath()
    }
  }
}

/// Finds documents with equal values in a unique index whose entries are complete.
///
///     entries, in order ──▶ same values as the entry before? ──▶ duplicates
///     collision run     ──▶ its full keys, from the documents, sorted
///
/// Entries with equal values are neighbours, even if some of their keys are truncated: a truncated
/// key contains the whole values, or all entries with these values are in its collision run.
struct UniqueCheck {
  private let snapshot: StoreSnapshot
  private let index: StoredIndex
  private let maker: EntryExtractor
  private var found = IndexViolations()
  private var last: (values: [UInt8], path: ResourcePath)?
  private var isCounted = false

  static func duplicates(
    in index: StoredIndex, _ snapshot: StoreSnapshot
  ) throws -> IndexViolations {
    var check = UniqueCheck(snapshot, index)
    try check.run()
    return check.found
  }

  private init(_ snapshot: StoreSnapshot, _ index: StoredIndex) {
    self.snapshot = snapshot
    self.index = index
    maker = EntryExtractor(index)
  }

  private mutating func run() throws {
    let prefix = KeyLayout.indexKey(index.number)
    var cursor = try snapshot.lmdb.cursor(snapshot.tables.entries)
    var hasMore = try prefix.withUnsafeBytes { try cursor.seek(to: $0) }
    while hasMore, cursor.key.begins(with: prefix) {
      if snapshot.keyLimit.isTruncated(cursor.key) {
        hasMore = try addRun(at: &cursor)
        continue
      }
      let values = try EntryValues(cursor.key, of: index)
      if values.isConstrained, let path = values.path {
        add(UnsafeRawBufferPointer(rebasing: cursor.key[..<values.count]), path)
      }
      hasMore = try cursor.next()
    }
  }

  /// Adds the entries of a collision run, and moves behind it.
  private mutating func addRun(at cursor: inout Cursor) throws -> Bool {
    let limit = snapshot.keyLimit
    let stored = Array(cursor.key)
    var paths: Set<ResourcePath> = []
    var hasMore = true
    while hasMore, stored.withUnsafeBytes({ limit.sameRun($0, cursor.key) }) {
      paths.insert(try EntryRecord.path(cursor.value))
      hasMore = try cursor.next()
    }
    var entries: [(values: [UInt8], path: ResourcePath)] = []
    for path in paths {
      guard let record = try snapshot.record(of: snapshot.name(path)) else { continue }
      // The document's other entries have their own place in the order.
      let keys = try maker.uniqueKeys(of: path, snapshot.fields(ofRecord: record)) { key in
        key.count > limit.truncatedCount
          && key[..<limit.truncatedCount].elementsEqual(stored[..<limit.truncatedCount])
      }
      for values in keys { entries.append((values, path)) }
    }
    entries.sort { one, other in
      let order = one.values.withUnsafeBytes { one in
        other.values.withUnsafeBytes { UTF8Order.compare(one, $0) }
      }
      return order != 0 ? order < 0 : ResourcePath.compare(one.path, other.path) < 0
    }
    for entry in entries { entry.values.withUnsafeBytes { add($0, entry.path) } }
    return hasMore
  }

  private mutating func add(_ values: UnsafeRawBufferPointer, _ path: ResourcePath) {
    if let last, last.values.elementsEqual(values) {
      guard !isCounted else { return }
      isCounted = true
      found.add(last.path, path)
      return
    }
    last = (Array(values), path)
    isCounted = false
  }
}
