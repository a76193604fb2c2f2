internal import LMDB

/// All indexes of a file, as of one commit.
///
/// Every commit that changes the catalogue increments its generation. A catalogue in memory is used
/// only in transactions that read the same generation.
final class IndexCatalogue: GenerationMemory {
  let generation: UInt64
  /// Ordered by number.
  let indexes: [StoredIndex]
  /// Positions in `indexes`. Ids that Swift considers equal share a list.
  private let positionsByID: [String: [Int]]
  /// Declared indexes on array elements: a document can have too many entries in these.
  let limited: [StoredIndex]
  /// Unique indexes, valid or not: commits add no duplicates to any.
  let unique: [StoredIndex]
  let references: [StoredIndex]
  /// Those of the references to documents that must exist, valid or not.
  let requiring: [StoredIndex]
  /// Unique indexes and those of references.
  let constrained: [StoredIndex]

  init(generation: UInt64, _ indexes: [StoredIndex]) {
    self.generation = generation
    self.indexes = indexes
    var positions: [String: [Int]] = [:]
    for (position, index) in indexes.enumerated() {
      positions[index.definition.collectionID, default: []].append(position)
    }
    positionsByID = positions
    limited = indexes.filter {
      $0.isMaintained && $0.origin == .declared && $0.definition.containsIndex != nil
    }
    unique = indexes.filter { $0.isMaintained && $0.definition.isUnique }
    references = indexes.filter { $0.isMaintained && $0.definition.referenceRule != nil }
    requiring = references.filter(\.definition.requiresTargets)
    constrained = unique + references
  }

  var isEmpty: Bool { indexes.isEmpty }

  /// The positions of a collection id's indexes, of both scopes and in every state.
  func positions(of collectionID: String) -> [Int] {
    guard let positions = positionsByID[collectionID] else { return [] }
    return positions.filter {
      UTF8Order.areEqual(indexes[$0].definition.collectionID, collectionID)
    }
  }

  /// The indexes that queries over this scope may read.
  func readable(_ scope: IndexDefinition.Scope, of collectionID: String) -> [StoredIndex] {
    positions(of: collectionID).compactMap { position in
      let index = indexes[position]
      return index.isReadable && index.definition.scope == scope ? index : nil
    }
  }

  /// The index with this definition, unless it is being dropped.
  func index(_ definition: IndexDefinition) -> StoredIndex? {
    let stored = definition.stored
    return indexes.first { $0.isMaintained && $0.definition == stored }
  }
}

extension Store {
  /// The type of `indexMemory`.
  typealias IndexMemory = IndexCatalogue
}

extension StoreSnapshot {
  /// The catalogue as of this transaction. Not valid in a transaction that has changed it.
  func indexes() throws -> IndexCatalogue {
    let generation = try indexGeneration()
    return try store.indexMemory.memory(of: generation) {
      try IndexCatalogue(generation: generation, readIndexes())
    }
  }

  /// 0 in a file that never had an index.
  func indexGeneration() throws -> UInt64 {
    let key = IndexCatalogue.generationKey
    guard let stored = try lmdb.get(tables.meta, key) else { return 0 }
    return try key.withUnsafeBytes { try NumberRecord.decode(stored, key: $0) }
  }

  /// Reads the table, not the cached catalogue.
  func readIndexes() throws -> [StoredIndex] {
    var indexes: [StoredIndex] = []
    var cursor = try lmdb.cursor(tables.indexes)
    while try cursor.next() {
      indexes.append(try StoredIndex(key: cursor.key, record: cursor.value))
    }
    return indexes
  }
}

extension IndexCatalogue {
  /// On disk, in `meta`: the generation, as a number record.
  static let generationKey = Array("indexes".utf8)
}

extension WriteTransaction {
  /// Puts an index of which only the progress or the last use changed, without a new generation.
  mutating func update(_ index: StoredIndex, in store: Store) throws {
    try put(store.tables.indexes, KeyLayout.indexKey(index.number), index.encoded())
  }

  /// Puts an index, or removes it if nil, under a new generation.
  mutating func store(
    _ index: StoredIndex?, number: UInt32, in store: Store
  ) throws {
    let generation = try StoreSnapshot(snapshot, store).indexGeneration()
    try put(store.tables.indexes, KeyLayout.indexKey(number), index?.encoded())
    let record = NumberRecord.encode(
      generation &+ 1, path: .root, key: IndexCatalogue.generationKey, isTruncated: false)
    try put(store.tables.meta, IndexCatalogue.generationKey, record)
  }
}
