import LMDB

/// What a group of commits does to the entries of indexes: complete before the first put.
///
///     document ─▶ old body ┐
///                          ├─▶ entries that go, that come, that mean something else ─▶ sorted ─▶ put
///                 new body ┘
///
/// Entries that stay as they are are not touched. Building indexes are written to like ready ones.
///
/// Law: of one document at most one entry has a given stored key, however many of its keys are cut alike.
struct EntryChanges: ~Copyable {
  private let store: StoreSnapshot
  private let catalogue: IndexCatalogue
  /// By position in the catalogue, made when needed.
  private var makers: [EntryMaker?]
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

  init(_ store: StoreSnapshot) throws {
    self.store = store
    catalogue = try store.indexes()
    makers = Array(repeating: nil, count: catalogue.indexes.count)
  }

  var isEmpty: Bool { changes.isEmpty }

  /// Looks at one document: as the file has it, and as the group leaves it. Nil where it is not there.
  mutating func add(
    _ path: ResourcePath, from old: UnsafeRawBufferPointer?, to new: DocumentBody?
  ) throws {
    guard !catalogue.isEmpty else { return }
    let collectionID = path.segments.dropLast().last ?? ""
    for position in catalogue.positions(of: collectionID)
    where catalogue.indexes[position].isMaintained {
      try add(path, position, from: old, to: new)
    }
  }

  private mutating func add(
    _ path: ResourcePath, _ position: Int, from old: UnsafeRawBufferPointer?,
    to new: DocumentBody?
  ) throws {
    let maker = makers[position] ?? EntryMaker(catalogue.indexes[position])
    makers[position] = maker
    let before = try old.map { try entries(of: path, $0, maker) } ?? EntrySet()
    let after = try new?.withBytes { try entries(of: path, $0, maker) } ?? EntrySet()
    for (key, _) in before.entries where after.entries[key] == nil {
      try append(key, nil, of: path)
    }
    for (key, identities) in after.entries where before.entries[key] != identities {
      try append(key, identities, of: path)
    }
  }

  private struct EntrySet {
    /// By stored key, with ordinal 0.
    var entries: [[UInt8]: EntryIdentities] = [:]
  }

  private func entries(
    of path: ResourcePath, _ body: UnsafeRawBufferPointer, _ maker: EntryMaker
  ) throws -> EntrySet {
    var set = EntrySet()
    try maker.forEachEntry(of: path, MapView(body: body)) { key, identities in
      let (stored, isCut) = store.keyLimit.cut(key)
      set.entries[stored] = isCut ? EntryIdentities() : identities
    }
    return set
  }

  private mutating func append(
    _ key: [UInt8], _ identities: EntryIdentities?, of path: ResourcePath
  ) throws {
    var key = key
    let isCut = store.keyLimit.isCut(key)
    if isCut {
      let table = store.entriesByPath
      let found = try table.entry((key, true), of: path, in: store.lmdb)?.key
      guard (found == nil) == (identities != nil) else { return }
      let planned = plannedCutKeys
      key = try found ?? table.freeKey((key, true), in: store.lmdb) { planned.contains($0) }
      plannedCutKeys.insert(key)
    }
    let start = bytes.count
    bytes.append(raw: key)
    var valueCount: Int?
    if let identities {
      if isCut {
        bytes.append(raw: Array(path.text.utf8))
      } else {
        identities.append(to: &bytes)
      }
      valueCount = bytes.count - start - key.count
    }
    changes.append(
      Change(
        front: EntryChanges.front(of: key), start: start, keyCount: key.count,
        valueCount: valueCount))
  }

  private static func front(of key: [UInt8]) -> UInt64 {
    var front: UInt64 = 0
    for index in 0..<8 { front = front << 8 | UInt64(index < key.count ? key[index] : 0) }
    return front
  }

  /// Puts and deletes everything, in the order of keys.
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
    for change in changes {
      guard let valueCount = change.valueCount else {
        try transaction.delete(table, key(change))
        continue
      }
      let start = change.start + change.keyCount
      try transaction.put(
        table, key(change), UnsafeRawBufferPointer(rebasing: bytes[start..<start + valueCount]))
    }
  }
}

extension StoreSnapshot {
  /// Entries whose keys are cut, by their documents.
  var entriesByPath: CutKeyTable {
    CutKeyTable(table: tables.entries) { try EntryRecord.path($0).text }
  }
}
