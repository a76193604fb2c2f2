internal import LMDB

/// The documents of one collection in the order of their ids, as in `CollectionScan`, for several
/// threads: one thread hands out partitions, and any thread scans one.
struct ParallelCollectionScan {
  /// Consecutive leaf pages. No collision run continues from one partition into the next.
  struct Partition {
    fileprivate let first: UInt64
    fileprivate var others: [UInt64] = []
    /// Whether all keys are within the bounds.
    fileprivate var isWhole = true
  }

  private let leaves: LeafReader
  private let lowest: [UInt8]
  private let end: [UInt8]
  private let collection: ResourcePath
  private let store: StoreSnapshot
  /// The length of truncated keys. Copied here, because threads that count references to one object
  /// wait for each other.
  private let truncatedCount: Int

  /// - Parameter end: All keys are below it.
  init(
    _ leaves: LeafReader, _ lowest: [UInt8], _ end: [UInt8], of collection: ResourcePath,
    in store: StoreSnapshot
  ) {
    self.leaves = leaves
    self.lowest = lowest
    self.end = end
    self.collection = collection
    self.store = store
    truncatedCount = store.keyLimit.count
  }

  /// How many partitions have about this many documents.
  func partitions(_ documents: ClosedRange<Int>) -> ClosedRange<Int> {
    let each = max(1, leaves.entriesPerPage)
    return max(1, documents.lowerBound / each)...max(1, documents.upperBound / each)
  }

  /// Calls `body` with every partition, in order, until it returns false. Reads no leaf page.
  func forEachPartition(_ body: (Partition) throws -> Bool) throws {
    var partition: Partition?
    var isWanted = true
    try lowest.withUnsafeBytes { lowest in
      try end.withUnsafeBytes { end in
        try leaves.forEachPage(from: lowest, below: end) { page, separator in
          guard let last = partition else {
            partition = Partition(first: page, isWhole: false)
            return true
          }
          // A key that is not truncated cannot separate keys of one collision run.
          if let separator, separator.count == truncatedCount {
            partition?.others.append(page)
          } else {
            isWanted = try body(last)
            partition = Partition(first: page)
          }
          return isWanted
        }
      }
    }
    guard isWanted, var partition else { return }
    partition.isWhole = false
    _ = try body(partition)
  }

  /// Calls `body` with every document of consecutive partitions, in order.
  ///
  /// - Parameter keys: Increased by the number of keys read.
  func forEachEntry(
    of partitions: [Partition], _ keys: inout Int, _ body: (StoredEntry) throws -> Void
  ) throws {
    var run: [StoredEntry] = []
    for (index, partition) in partitions.enumerated() {
      if index + 1 < partitions.count { leaves.prefetch(partitions[index + 1].first) }
      try forEachEntry(of: partition.first, partition.isWhole, &keys, &run, body)
      for page in partition.others {
        try forEachEntry(of: page, partition.isWhole, &keys, &run, body)
      }
      if !run.isEmpty { try emit(&run, body) }
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
      guard key.count == truncatedCount else {
        if !run.isEmpty { try emit(&run, body) }
        try body(entry)
        continue
      }
      if let last = run.last, !store.keyLimit.sameRun(last.key, key) { try emit(&run, body) }
      run.append(entry)
    }
  }

  private func emit(_ run: inout [StoredEntry], _ body: (StoredEntry) throws -> Void) throws {
    let documents = try store.sorted(run) { $0.isDirectly(in: collection) }
    run = []
    for document in documents.reversed() {
      try body(StoredEntry(key: document.key, record: document.record))
    }
  }

  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    lowest.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
      && end.withUnsafeBytes { UTF8Order.compare(key, $0) < 0 }
  }
}
