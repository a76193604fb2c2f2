internal import LMDB

/// The documents of one collection in the order of their ids, as `CollectionScan` has them, for several
/// threads: one deals out stretches, any of them goes through one.
struct ParallelCollectionScan {
  /// Pages that follow each other. No run of cut keys goes on from one stretch to the next.
  struct Partition {
    fileprivate let first: UInt64
    fileprivate var others: [UInt64] = []
    /// All its keys are within the bounds.
    fileprivate var isWhole = true
  }

  private let leaves: LeafReader
  private let lowest: [UInt8]
  private let end: [UInt8]?
  private let collection: ResourcePath
  private let store: StoreSnapshot
  /// How long cut keys are. At hand: threads that count references to one object wait for each other.
  private let cutCount: Int

  /// - Parameter end: No key is at or above it.
  init(
    _ leaves: LeafReader, _ lowest: [UInt8], _ end: [UInt8]?, of collection: ResourcePath,
    in store: StoreSnapshot
  ) {
    self.leaves = leaves
    self.lowest = lowest
    self.end = end
    self.collection = collection
    self.store = store
    cutCount = store.keyLimit.count
  }

  /// How many stretches have about so many documents.
  func stretches(_ documents: ClosedRange<Int>) -> ClosedRange<Int> {
    let each = max(1, leaves.entriesPerPage)
    return max(1, documents.lowerBound / each)...max(1, documents.upperBound / each)
  }

  /// Calls `body` with all stretches, in order, until it is false. Reads none of their pages.
  func forEachStretch(_ body: (Partition) throws -> Bool) throws {
    var stretch: Partition?
    var isWanted = true
    try lowest.withUnsafeBytes { lowest in
      try withEnd { end in
        try leaves.forEachPage(from: lowest, below: end) { page, separator in
          guard let last = stretch else {
            stretch = Partition(first: page, isWhole: false)
            return true
          }
          // Keys of one run are on the same side of any key that is not cut.
          if let separator, separator.count == cutCount {
            stretch?.others.append(page)
          } else {
            isWanted = try body(last)
            stretch = Partition(first: page)
          }
          return isWanted
        }
      }
    }
    guard isWanted, var stretch else { return }
    stretch.isWhole = false
    _ = try body(stretch)
  }

  /// Calls `body` with every document of some stretches that follow each other, in order.
  ///
  /// - Parameter keys: Counts those that were looked at.
  func forEachEntry(
    of stretches: [Partition], _ keys: inout Int, _ body: (StoredEntry) throws -> Void
  ) throws {
    var run: [StoredEntry] = []
    for (index, stretch) in stretches.enumerated() {
      if index + 1 < stretches.count { leaves.prefetch(stretches[index + 1].first) }
      try forEachEntry(of: stretch.first, stretch.isWhole, &keys, &run, body)
      for page in stretch.others {
        try forEachEntry(of: page, stretch.isWhole, &keys, &run, body)
      }
      if !run.isEmpty { try tell(&run, body) }
    }
  }

  private func forEachEntry(
    of number: UInt64, _ isWhole: Bool, _ keys: inout Int, _ run: inout [StoredEntry],
    _ body: (StoredEntry) throws -> Void
  ) throws {
    let page = try leaves.page(number)
    for index in 0..<page.count {
      let (key, record) = try page.entry(index)
      guard isWhole || isInside(key) else { continue }
      keys += 1
      let entry = StoredEntry(key: key, record: record)
      guard key.count == cutCount else {
        if !run.isEmpty { try tell(&run, body) }
        try body(entry)
        continue
      }
      if let last = run.last, !store.keyLimit.sameRun(last.key, key) { try tell(&run, body) }
      run.append(entry)
    }
  }

  private func tell(_ run: inout [StoredEntry], _ body: (StoredEntry) throws -> Void) throws {
    let documents = try store.sorted(run) { $0.isDirectly(in: collection) }
    run = []
    for document in documents.reversed() {
      try body(StoredEntry(key: document.key, record: document.record))
    }
  }

  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    lowest.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      && withEnd { end in end.map { UTF8Order.compare(key, $0) < 0 } ?? true }
  }

  private func withEnd<R>(_ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
    guard let end else { return try body(nil) }
    return try end.withUnsafeBytes { try body($0) }
  }
}
