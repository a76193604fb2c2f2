internal import LMDB

/// The collections below a document (or the root), at any depth, in the order of their paths.
///
/// The catalogue has an entry, with the number of documents, for each collection that holds
/// documents, in tree order. It lists what is below a document, and counts documents, without a
/// scan.
final class CatalogueScan {
  private let store: StoreSnapshot
  private let ancestor: ResourcePath
  private var walk: PrefixWalk
  private let touched: ReadCounters
  /// In reverse order: the next entry is the last element.
  private var run: [(path: ResourcePath, count: UInt64)] = []

  init(
    below ancestor: ResourcePath, in store: StoreSnapshot, touched: ReadCounters = ReadCounters()
  ) throws {
    self.store = store
    self.touched = touched
    self.ancestor = ancestor
    let prefix = store.keyLimit.scanPrefix(KeyLayout.cataloguePrefix(below: ancestor))
    walk = try PrefixWalk(prefix, of: store.tables.collections, in: store.lmdb)
  }

  func next() throws -> (path: ResourcePath, count: UInt64)? {
    if let entry = run.popLast() { return entry }
    while try walk.advance() {
      try touched.countKey(until: store.deadline)
      if !store.keyLimit.isTruncated(walk.cursor.key) { return try decodeCurrent() }
      let first = Array(walk.cursor.key)
      var hasNext = true
      while hasNext, first.withUnsafeBytes({ store.keyLimit.sameRun($0, walk.cursor.key) }) {
        let entry = try decodeCurrent()
        if entry.path.hasPrefix(ancestor), entry.path.segments.count > ancestor.segments.count {
          run.append(entry)
        }
        hasNext = try walk.cursor.next()
        touched.keys += 1
      }
      touched.keys -= 1  // the first was already counted
      walk.wasMoved(toEntry: hasNext)
      run.sort { ResourcePath.compare($0.path, $1.path) > 0 }
      if let entry = run.popLast() { return entry }
    }
    return nil
  }

  /// Continues after everything at or below `path`, but may still return a few entries of it.
  func skip(below path: ResourcePath) throws {
    let skipped = KeyLayout.cataloguePrefix(below: path)
    guard run.isEmpty, skipped.count <= store.keyLimit.truncatedCount else { return }
    guard let behind = KeyLayout.end(ofPrefix: skipped) else {
      walk.wasMoved(toEntry: false)
      return
    }
    walk.wasMoved(toEntry: try walk.cursor.seek(to: behind))
  }

  private func decodeCurrent() throws -> (path: ResourcePath, count: UInt64) {
    let count = try NumberRecord.decode(walk.cursor.value, key: walk.cursor.key)
    if let path = try KeyLayout.collectionPath(fromKey: walk.cursor.key, limit: store.keyLimit) {
      return (path, count)
    }
    guard let text = try NumberRecord.pathText(walk.cursor.value) else {
      throw Status.dataLoss("A collection with a truncated key lacks its path.")
    }
    return (try ResourcePath(storedCollection: text), count)
  }
}

/// Every document below a document (or the root) in pre-order: a document, then everything below
/// it, then the next.
///
/// The catalogue lists the collections in this order; each is scanned once. Reads one key per
/// document within the bounds and two per collection, also of those before them.
final class SubtreeScan {
  private let store: StoreSnapshot
  private let lowest: ResourcePath?
  private let highest: ResourcePath?
  private let catalogue: CatalogueScan
  private var upcoming: ResourcePath?
  private var waiting = PathOrderMerge()
  private let touched: ReadCounters

  /// - Parameters:
  ///   - lowest: Documents before this one are not needed.
  ///   - highest: Documents after this one are not needed.
  init(
    below ancestor: ResourcePath, in store: StoreSnapshot, from lowest: ResourcePath? = nil,
    to highest: ResourcePath? = nil, touched: ReadCounters = ReadCounters()
  ) throws {
    self.store = store
    self.lowest = lowest
    self.highest = highest
    self.touched = touched
    catalogue = try CatalogueScan(below: ancestor, in: store, touched: touched)
    upcoming = try catalogue.next()?.path
  }

  func next() throws -> ScannedDocument? {
    while let collection = upcoming {
      if let document = try waiting.next(before: collection) { return document }
      if let highest, ResourcePath.compare(collection, highest) > 0 {
        // This collection, and all after it, are behind.
        upcoming = nil
        continue
      }
      let lower = IDBound(lower: lowest, in: collection)
      let upper = IDBound(upper: highest, in: collection)
      if lower != .nothing, upper != .nothing {
        let scan = try CollectionScan(
          collection, in: store, from: lower.id, to: upper.id, touched: touched)
        try waiting.add { try scan.next() }
      }
      upcoming = try catalogue.next()?.path
    }
    return try waiting.next(before: nil)
  }
}
