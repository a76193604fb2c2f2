internal import LMDB

/// What a group of commits does to the entries of indexes: complete before the first put.
///
///     document ─▶ old body ┐
///                          ├─▶ entries that go, that come, that mean something else ─▶ sorted ─▶ put
///                 new body ┘
///
/// Entries that stay as they are are not touched. Building indexes are written to like ready ones.
struct EntryChanges: ~Copyable {
  private let store: StoreSnapshot
  private let catalogue: IndexCatalogue
  /// By position in the catalogue, made when needed.
  private var makers: [EntryExtractor?]
  /// The maintained indexes of the collection id that was looked at last.
  private var collectionID: String?
  private var positions: [Int] = []
  private let before = EntryList()
  private let after = EntryList()
  private var plannedCutKeys: Set<[UInt8]> = []
  /// Keys and values, one behind the other.
  private var bytes = KeyBuffer(minimumCapacity: 4096)
  private var changes: [Change] = []

  private struct Change {
    /// The key's first eight bytes, big-endian: most comparisons end here.
    var front: UInt64
    var start: Int
    var keyCount: Int
    /// Nil for an entry that goes.
    var valueCount: Int?
  }

  /// From so many on there are two rounds: fewer seldom fill a page.
  private static let manyCount = 64

  init(_ store: StoreSnapshot, _ catalogue: IndexCatalogue) {
    self.store = store
    self.catalogue = catalogue
    makers = Array(repeating: nil, count: catalogue.indexes.count)
  }

  /// Entries to be put or deleted so far.
  var count: Int { changes.count }

  /// Looks at one document: as the file has it, and as the group leaves it. Nil where it is not there.
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

  /// Looks at a document that was there before its index.
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

  /// The document in one index.
  private mutating func add(
    _ path: ResourcePath, _ maker: EntryExtractor, from old: MapView?, to new: MapView?
  ) throws {
    if let old, let new, try maker.isSame(old, new) { return }
    let limit = store.keyLimit
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

  private mutating func append(
    _ key: UnsafeRawBufferPointer, _ identities: EntryIdentities?, of path: ResourcePath
  ) throws {
    let start = bytes.count
    var valueCount: Int?
    if store.keyLimit.isCut(key) {
      let cut = TruncatedKey(bytes: Array(key), isCut: true)
      let found = try store.entriesByPath.entry(cut, of: path, in: store.lmdb)?.key
      // An entry that is not there yet need not go, and one that is need not come.
      guard (found == nil) == (identities != nil) else { return }
      let planned = plannedCutKeys
      let free =
        try found ?? store.entriesByPath.freeKey(cut, in: store.lmdb, isPlanned: planned.contains)
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
        front: EntryChanges.front(of: key), start: start, keyCount: key.count,
        valueCount: valueCount))
  }

  private static func front(of key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    var front: UInt64 = 0
    for index in 0..<8 { front = front << 8 | UInt64(index < key.count ? key[index] : 0) }
    return front
  }

  /// Puts and deletes everything, in the order of keys; of many, three of seven in a second round.
  ///
  /// A page that is full is split in halves. Where neighbours come one after the other the lower half gets
  /// no more of them, and half of the index stays empty; those of the second round fill it.
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
      // What is appended fills its pages as it comes.
      let isLast = end.isPassed(by: key(change))
      if isMany, !isLast, 0b010_1010 >> (index % 7) & 1 == 1 {
        later.append(change)
      } else {
        try put(change, valueCount, append: isLast)
      }
    }
    for change in later { try put(change, change.valueCount ?? 0, append: false) }
  }
}

extension StoreSnapshot {
  /// Entries whose keys are cut, by their documents.
  var entriesByPath: TruncatedKeyTable {
    TruncatedKeyTable(table: tables.entries) { try EntryRecord.path($0).text }
  }
}

/// The entries of one document in one index, as they are stored: cut, with ordinal 0.
///
/// Law: of one document at most one entry has a given stored key, however many of its keys are cut
/// alike: what the index knows of it is the same.
final class EntryList {
  private struct Slot {
    var start: Int
    var count: Int
    var identities: EntryIdentities
  }

  @exclusivity(unchecked) private var bytes = KeyBuffer()
  @exclusivity(unchecked) private var slots: [Slot] = []

  var count: Int { slots.count }

  func removeAll() {
    bytes.removeAll()
    slots.removeAll(keepingCapacity: true)
  }

  /// Takes a full key.
  func append(
    _ key: UnsafeRawBufferPointer, _ identities: EntryIdentities, _ limit: KeyLimit
  ) {
    let start = bytes.count
    var identities = identities
    if key.count > limit.cutCount {
      bytes.append(raw: limit.cut(key).bytes)
      identities = EntryIdentities()
    } else {
      bytes.append(raw: key)
    }
    slots.append(Slot(start: start, count: bytes.count - start, identities: identities))
  }

  func key(_ index: Int) -> UnsafeRawBufferPointer { key(slots[index]) }

  private func key(_ slot: Slot) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.buffer[slot.start..<slot.start + slot.count])
  }

  func identities(_ index: Int) -> EntryIdentities { slots[index].identities }

  /// In the order of keys, each once.
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
