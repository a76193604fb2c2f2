internal import LMDB

/// The documents of a collection group (all collections with one id) in the order of their paths.
///
/// The keys of a group are contiguous, ordered by parent and then by id. Reads one key per
/// document, and one more for each collection with several documents, or with none within the
/// bounds. Ends at the first collection that is behind them.
final class GroupScan {
  private let store: StoreSnapshot
  private let id: String
  private let prefix: [UInt8]
  private let lowest: ResourcePath?
  private let highest: ResourcePath?
  /// On the first document of the next collection to open.
  private var main: Cursor
  private var mainIsValid = false
  private var hasStarted = false
  private var waiting = PathOrderMerge()
  private let touched: ReadCounters

  /// - Parameters:
  ///   - lowest: Documents before this one are not needed, but a few may be returned.
  ///   - highest: Documents after this one are not needed, but a few may be returned.
  init(
    _ id: String, in store: StoreSnapshot, from lowest: ResourcePath? = nil,
    to highest: ResourcePath? = nil, touched: ReadCounters = ReadCounters()
  ) throws {
    self.touched = touched
    self.lowest = lowest
    self.highest = highest
    self.store = store
    self.id = id
    prefix = store.keyLimit.scanPrefix(KeyLayout.groupPrefix(id))
    main = try store.lmdb.cursor(store.tables.documents)
  }

  func next() throws -> ScannedDocument? {
    if !hasStarted {
      hasStarted = true
      try moved(main.seek(to: prefix))
    }
    while true {
      guard mainIsValid else { return try waiting.next(before: nil) }
      let path = try store.path(of: StoredEntry(key: main.key, record: main.value))
      // If even the parent is truncated, only the documents of the collision run have it: read them
      // first.
      let parent = try parentIfWhole(path)
      if let parent, let document = try waiting.next(before: parent) { return document }
      if let parent, let highest, ResourcePath.compare(parent, highest) >= 0 {
        // This collection, and all after it, are behind.
        mainIsValid = false
        continue
      }
      try open(path, parentIsWhole: parent != nil)
    }
  }

  private func open(_ path: ResourcePath, parentIsWhole: Bool) throws {
    guard parentIsWhole else {
      var (run, hasNext) = try store.run(at: &main, touched) {
        UTF8Order.areEqual($0.parent.id, self.id)
      }
      try moved(hasNext)
      try waiting.add { run.popLast() }
      return
    }
    let collection = path.parent
    let prefix = KeyLayout.collectionPrefix(collection)
    let lower = IDBound(lower: lowest, in: collection)
    let upper = IDBound(upper: highest, in: collection)
    if lower == .nothing || upper == .nothing { return try skip(prefix) }
    if !store.keyLimit.isTruncated(main.key) {
      let only = ScannedDocument(path: path, key: main.key, record: main.value)
      try moved(main.next())
      guard mainIsValid, main.key.starts(with: prefix) else {
        var document: ScannedDocument? = only
        try waiting.add {
          defer { document = nil }
          return document
        }
        return
      }
    }
    // Opening a scan takes as long as reading some ten keys.
    try store.deadline?.check()
    let scan = try CollectionScan(
      collection, in: store, from: lower.id, to: upper.id, touched: touched)
    try waiting.add { try scan.next() }
    try skip(prefix)
  }

  /// Moves behind a collection.
  private func skip(_ prefix: [UInt8]) throws {
    guard let behind = KeyLayout.end(ofPrefix: prefix) else { return try moved(false) }
    try moved(main.seek(to: behind))
  }

  private func moved(_ found: Bool) throws {
    mainIsValid = found && main.key.starts(with: prefix)
    if mainIsValid { try touched.countKey(until: store.deadline) }
  }

  /// The collection's parent document; nil if keys of this collection do not hold it whole.
  private func parentIfWhole(_ path: ResourcePath) throws -> ResourcePath? {
    let collection = path.parent
    guard KeyLayout.collectionPrefix(collection).count <= store.keyLimit.truncatedCount else {
      return nil
    }
    return collection.parent
  }
}
