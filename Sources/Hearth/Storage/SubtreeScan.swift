import LMDB

/// The collections below a document (or the root), at any depth, in the order of their paths.
///
/// The catalogue has an entry for each collection that holds documents, exactly as long as it does,
/// in tree order, with their number. It answers what lies below a document and counts without a scan.
final class CatalogueScan {
  private let store: StoreSnapshot
  private let ancestor: ResourcePath
  private let prefix: [UInt8]
  private var cursor: Cursor
  private var isPositioned = false
  private var standsOnNext = false
  private var isAtEnd = false
  private let touched: TouchCount
  /// Sorted backwards, so that the next one is the last.
  private var run: [(path: ResourcePath, count: UInt64)] = []

  init(
    below ancestor: ResourcePath, in store: StoreSnapshot, touched: TouchCount = TouchCount()
  ) throws {
    self.store = store
    self.touched = touched
    self.ancestor = ancestor
    prefix = store.keyLimit.scanPrefix(KeyLayout.cataloguePrefix(below: ancestor))
    cursor = try store.lmdb.cursor(store.tables.collections)
  }

  func next() throws -> (path: ResourcePath, count: UInt64)? {
    if let entry = run.popLast() { return entry }
    while try advance() {
      touched.keys += 1
      if !store.keyLimit.isCut(cursor.key) { return try decodeCurrent() }
      let first = Array(cursor.key)
      standsOnNext = true
      var read = 0
      while standsOnNext, first.withUnsafeBytes({ store.keyLimit.sameRun($0, cursor.key) }) {
        let entry = try decodeCurrent()
        if entry.path.hasPrefix(ancestor), entry.path.segments.count > ancestor.segments.count {
          run.append(entry)
        }
        standsOnNext = try cursor.next()
        read += 1
      }
      isAtEnd = !standsOnNext
      touched.keys += read - 1
      run.sort { ResourcePath.compare($0.path, $1.path) > 0 }
      if let entry = run.popLast() { return entry }
    }
    return nil
  }

  /// Goes on behind everything at or below `path`; a few of it may be told all the same.
  func skip(below path: ResourcePath) throws {
    let skipped = KeyLayout.cataloguePrefix(below: path)
    guard !isAtEnd, run.isEmpty, skipped.count <= store.keyLimit.cutCount else { return }
    guard let behind = KeyLayout.end(ofPrefix: skipped) else {
      isAtEnd = true
      return
    }
    standsOnNext = try behind.withUnsafeBytes { try cursor.seek(to: $0) }
    isAtEnd = !standsOnNext
  }

  private func decodeCurrent() throws -> (path: ResourcePath, count: UInt64) {
    let count = try NumberRecord.decode(cursor.value, key: cursor.key)
    if let path = try KeyLayout.collectionPath(fromKey: cursor.key, limit: store.keyLimit) {
      return (path, count)
    }
    guard let text = try NumberRecord.pathText(cursor.value) else {
      throw Status.dataLoss("A collection with a cut key lacks its path.")
    }
    return (ResourcePath(relative: text), count)
  }

  private func advance() throws -> Bool {
    if isAtEnd { return false }
    if standsOnNext {
      standsOnNext = false
    } else if isPositioned {
      isAtEnd = try !cursor.next()
    } else {
      isPositioned = true
      // Below the root is everything, and LMDB has no empty keys.
      isAtEnd =
        try prefix.isEmpty
        ? !cursor.first() : !prefix.withUnsafeBytes { try cursor.seek(to: $0) }
    }
    if !isAtEnd { isAtEnd = !cursor.key.starts(with: prefix) }
    return !isAtEnd
  }
}

/// Every document below a document (or the root) in pre-order: a document, then all that lies below
/// it, then the next.
///
/// The catalogue tells the collections in this order; each is scanned once. Touches one key a
/// document and two for each collection.
final class SubtreeScan {
  private let store: StoreSnapshot
  private let catalogue: CatalogueScan
  private var upcoming: ResourcePath?
  private var waiting = PathOrderMerge()
  private let touched: TouchCount

  init(
    below ancestor: ResourcePath, in store: StoreSnapshot, touched: TouchCount = TouchCount()
  ) throws {
    self.store = store
    self.touched = touched
    catalogue = try CatalogueScan(below: ancestor, in: store, touched: touched)
    upcoming = try catalogue.next()?.path
  }

  func next() throws -> ScannedDocument? {
    while let collection = upcoming {
      if let document = try waiting.next(before: collection) { return document }
      let scan = try CollectionScan(collection, in: store, touched: touched)
      try waiting.add { try scan.next() }
      upcoming = try catalogue.next()?.path
    }
    return try waiting.next(before: nil)
  }
}
