internal import LMDB

/// The changes that a group of commits makes to index entries: complete before the first put.
///
///     document ─▶ old body ┐
///                          ├─▶ entries removed, added, or with a new value ─▶ sorted ─▶ put
///                 new body ┘
///
/// Unchanged entries are not touched. Indexes being built are written like ready ones.
struct EntryChanges: ~Copyable {
  private let store: StoreSnapshot
  private let catalogue: IndexCatalogue
  /// By position in the catalogue; created when needed.
  private var makers: [EntryExtractor?]
  /// The last collection id looked up, and the positions of its maintained indexes.
  private var collectionID: String?
  private var positions: [Int] = []
  private let before = EntryList()
  private let after = EntryList()
  private var plannedCutKeys: Set<[UInt8]> = []
  /// Keys and values, concatenated.
  private var bytes = KeyBuffer(minimumCapacity: 4096)
  private var changes: [Change] = []
  /// Of indexes on words: by key.
  private var statistics: [[UInt8]: WordStatistic] = [:]

  private struct Change {
    /// The key's first eight bytes, big-endian: most comparisons end here.
    var front: UInt64
    var start: Int
    var keyCount: Int
    /// Nil for an entry to delete.
    var valueCount: Int?
  }

  /// From this many changes on, `apply` makes two passes: fewer rarely fill a page.
  private static let manyCount = 64

  init(_ store: StoreSnapshot, _ catalogue: IndexCatalogue) {
    self.store = store
    self.catalogue = catalogue
    makers = Array(repeating: nil, count: catalogue.indexes.count)
  }

  /// The number of entries to put or delete so far.
  var count: Int { changes.count }

  /// Adds the changes of one document, from its stored version to the version after the group. Nil
  /// where it does not exist.
  mutating func add(
    _ path: ResourcePath, from old: StoredBody?, to new: DocumentBody?
  ) throws {
    guard isIndexed(path) else { return }
    let oldFields = try old.map { try MapView(body: $0) }
    if let new {
      try new.withBytes { bytes in
        try add(path, from: oldFields, to: MapView(body: bytes))
      }
    } else {
      try add(path, from: oldFields, to: nil)
    }
  }

  /// Adds the entries of a document that is older than its index.
  mutating func add(_ path: ResourcePath, _ fields: MapView) throws {
    if isIndexed(path) { try add(path, from: nil, to: fields) }
  }

  private mutating func isIndexed(_ path: ResourcePath) -> Bool {
    guard !catalogue.isEmpty, path.isDocument else { return false }
    let collectionID = path.segments[path.segments.count - 2]
    if self.collectionID.map({ !UTF8Order.areEqual($0, collectionID) }) ?? true {
      self.collectionID = collectionID
      positions = catalogue.positions(of: collectionID).filter {
        catalogue.indexes[$0].isMaintained
      }
    }
    return !positions.isEmpty
  }

  private mutating func add(
    _ path: ResourcePath, from old: MapView?, to new: MapView?
  ) throws {
    for position in positions {
      let maker = makers[position] ?? EntryExtractor(catalogue.indexes[position])
      makers[position] = maker
      try add(path, maker, from: old, to: new)
    }
  }

  /// Adds the changes of the document in one index.
  private mutating func add(
    _ path: ResourcePath, _ maker: EntryExtractor, from old: MapView?, to new: MapView?
  ) throws {
    if let old, let new, try maker.isSame(old, new) { return }
    let limit = store.keyLimit
    var old = old
    if maker.index.definition.words != nil {
      // While the index is built, a document may not have been reached, or was written since.
      if maker.index.state != .ready {
        if let version = old, try !hasEntry(path, maker, version) { old = nil }
        if old == nil, let new, try hasEntry(path, maker, new) { return }
      }
      try addStatistics(path, maker, from: old, to: new)
    }
    before.removeAll()
    after.removeAll()
    if let old { try maker.forEachEntry(of: path, old) { before.append($0, $1, limit) } }
    if let new { try maker.forEachEntry(of: path, new) { after.append($0, $1, limit) } }
    before.sort()
    after.sort()
    var (one, other) = (0, 0)
    while one < before.count || other < after.count {
      let order =
        one == before.count
        ? 1
        : other == after.count ? -1 : UTF8Order.compare(before.key(one), after.key(other))
      if order < 0 {
        try append(before.key(one), nil, of: path)
        one += 1
      } else if order > 0 {
        try append(after.key(other), after.identities(other), of: path)
        other += 1
      } else {
        if before.identities(one) != after.identities(other) {
          try append(after.key(other), after.identities(other), of: path)
        }
        one += 1
        other += 1
      }
    }
  }

  /// Whether the document's first entry is stored.
  private func hasEntry(
    _ path: ResourcePath, _ maker: EntryExtractor, _ fields: MapView
  ) throws -> Bool {
    var isStored: Bool?
    try maker.forEachEntry(of: path, fields) { key, _ in
      guard isStored == nil else { return }
      let stored = store.keyLimit.truncated(key)
      isStored = try store.entriesByPath.entry(stored, of: path, in: store.lmdb) != nil
    }
    return isStored ?? false
  }

  private mutating func addStatistics(
    _ path: ResourcePath, _ maker: EntryExtractor, from old: MapView?, to new: MapView?
  ) throws {
    for (version, sign) in [(old, -1), (new, 1)] as [(MapView?, Int64)] {
      guard let version else { continue }
      try maker.forEachStatistic(of: path, version, store.keyLimit) { key, change in
        var sum = statistics[key] ?? WordStatistic()
        sum.documents += sign * change.documents
        sum.length += sign * change.length
        statistics[key] = sum.isEmpty ? nil : sum
      }
    }
  }

  private mutating func append(
    _ key: UnsafeRawBufferPointer, _ identities: EntryIdentities?, of path: ResourcePath
  ) throws {
    let start = bytes.count
    var valueCount: Int?
    if store.keyLimit.isTruncated(key) {
      let truncated = TruncatedKey(bytes: Array(key), isTruncated: true)
      let found = try store.entriesByPath.entry(truncated, of: path, in: store.lmdb)?.key
      // Skip deleting an entry that does not exist, and putting one that does.
      guard (found == nil) == (identities != nil) else { return }
      let planned = plannedCutKeys
      let free =
        try found
        ?? store.entriesByPath.freeKey(truncated, in: store.lmdb, isPlanned: planned.contains)
      if found == nil { plannedCutKeys.insert(free) }
      bytes.append(raw: free)
      if identities != nil {
        bytes.append(raw: Array(path.text.utf8))
        valueCount = bytes.count - start - free.count
      }
    } else {
      bytes.append(raw: key)
      if let identities {
        identities.append(to: &bytes)
        valueCount = identities.byteCount
      }
    }
    changes.append(
      Change(
        front: key.head, start: start, keyCount: key.count, valueCount: valueCount))
  }

  /// Puts and deletes everything in key order; of many changes, three of seven in a second pass.
  ///
  /// LMDB splits a full page in halves. With ascending puts the lower half would get no more
  /// entries, and half of the index would stay empty. The entries of the second pass fill it.
  consuming func apply(to transaction: inout WriteTransaction) throws {
    let bytes = bytes.buffer
    func key(_ change: Change) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: bytes[change.start..<change.start + change.keyCount])
    }
    changes.sort { one, other in
      one.front != other.front
        ? one.front < other.front : UTF8Order.compare(key(one), key(other)) < 0
    }
    let table = store.tables.entries
    var end = try AppendDetector(table, in: transaction.snapshot)
    func put(_ change: Change, _ valueCount: Int, append: Bool) throws {
      let start = change.start + change.keyCount
      try transaction.put(
        table, key(change), UnsafeRawBufferPointer(rebasing: bytes[start..<start + valueCount]),
        append: append)
    }
    let isMany = changes.count >= EntryChanges.manyCount
    var later: [Change] = []
    for (index, change) in changes.enumerated() {
      guard let valueCount = change.valueCount else {
        try transaction.delete(table, key(change))
        continue
      }
      // Appended entries fill their pages anyway.
      let isLast = end.isPassed(by: key(change))
      if isMany, !isLast, 0b010_1010 >> (index % 7) & 1 == 1 {
        later.append(change)
      } else {
        try put(change, valueCount, append: isLast)
      }
    }
    for change in later { try put(change, change.valueCount ?? 0, append: false) }
    if !statistics.isEmpty { try applyStatistics(to: &transaction) }
  }

  private func applyStatistics(to transaction: inout WriteTransaction) throws {
    let table = store.tables.entries
    for key in statistics.keys.sorted(by: { UTF8Order.compare($0, $1) < 0 }) {
      guard let change = statistics[key] else { continue }
      var sum =
        try transaction.snapshot.get(table, key).map(WordStatistic.init) ?? WordStatistic()
      try sum.add(change)
      try transaction.put(table, key, sum.isEmpty ? nil : sum.encoded)
    }
  }
}

extension StoreSnapshot {
  /// Entries with truncated keys, by document.
  var entriesByPath: TruncatedKeyTable {
    TruncatedKeyTable(table: tables.entries) { try EntryRecord.path($0).text }
  }
}

/// The entries of one document in one index, in stored form: long keys truncated, with ordinal 0; or
/// the elements of an array, as in keys.
///
/// Law: a document has at most one entry with a given stored key, even if several of its full keys
/// truncate to it: the stored value, the path, is the same.
final class EntryList {
  private struct Slot {
    var start: Int
    var count: Int
    var identities: EntryIdentities
  }

  // Exclusivity is unchecked: only `EntryExtractor` uses this, from one thread, and the closure
  // that sorts `slots` reads `bytes` alone.
  @exclusivity(unchecked) private var bytes = KeyBuffer()
  @exclusivity(unchecked) private var slots: [Slot] = []

  var count: Int { slots.count }

  func removeAll() {
    bytes.removeAll()
    slots.removeAll(keepingCapacity: true)
  }

  /// Appends an entry with a full key.
  func append(
    _ key: UnsafeRawBufferPointer, _ identities: EntryIdentities, _ limit: KeyLimit
  ) {
    let start = bytes.count
    var identities = identities
    if key.count > limit.truncatedCount {
      bytes.append(raw: limit.truncated(key).bytes)
      identities = EntryIdentities()
    } else {
      bytes.append(raw: key)
    }
    slots.append(Slot(start: start, count: bytes.count - start, identities: identities))
  }

  /// Appends a value, as in keys.
  func append(_ value: ValueView) throws {
    let start = bytes.count
    try bytes.append(value, descending: false)
    slots.append(
      Slot(start: start, count: bytes.count - start, identities: EntryIdentities()))
  }

  func key(_ index: Int) -> UnsafeRawBufferPointer { key(slots[index]) }

  private func key(_ slot: Slot) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.buffer[slot.start..<slot.start + slot.count])
  }

  func identities(_ index: Int) -> EntryIdentities { slots[index].identities }

  /// Sorts by key and removes duplicates.
  func sort() {
    guard slots.count > 1 else { return }
    slots.sort { UTF8Order.compare(key($0), key($1)) < 0 }
    var distinct = 1
    for index in 1..<slots.count
    where UTF8Order.compare(key(slots[distinct - 1]), key(slots[index])) != 0 {
      slots[distinct] = slots[index]
      distinct += 1
    }
    slots.removeLast(slots.count - distinct)
  }
}
