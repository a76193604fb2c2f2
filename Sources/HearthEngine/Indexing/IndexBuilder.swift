internal import LMDB

/// Does the remaining work on the indexes of a file in short write transactions: adds entries of
/// documents that are older than their index, and deletes entries of indexes that are being
/// dropped.
///
///     building    documents ──▶ entries, up to a key that the index's record stores
///     verifying   entries of a unique index ──▶ duplicates?         read in one transaction
///                 documents of a rule ──▶ references to missing ones?
///     dropping    entries ──▶ deleted
///
/// Every step is one commit and may be the last: the next worker, even after a crash, continues
/// from there. Meanwhile, commits also write to indexes being built, so nothing is missing after
/// the last document. One process works at a time, under a lease.
///
/// Law: when an index becomes ready, every document of its collections has its entries, no two
/// documents have the same values if the index is unique, and every document exists that others refer
/// to if the rule demands it.
struct IndexBuilder: Sendable {
  enum Outcome: Equatable, Sendable {
    /// There is nothing to do.
    case idle
    /// Another process holds the lease.
    case leased
    /// A step was done; `finished` is the index if that step finished it.
    case worked(finished: StoredIndex?)
  }

  /// The limits of one step.
  struct StepLimits: Sendable {
    var documents = 2000
    var entries = 10_000
    var bytes = 1 << 20
    /// Other commits wait about this long.
    var duration = Duration.milliseconds(5)
  }

  let store: Store
  let lease: Lease
  var limits = StepLimits()

  /// The index to work on next.
  ///
  /// - Parameter damaged: The numbers of indexes that cannot be built. Dropping them reads no
  ///   documents.
  func next(_ snapshot: StoreSnapshot, skipping damaged: Set<UInt32> = []) throws -> StoredIndex? {
    try snapshot.readIndexes().first {
      $0.isUnfinished && ($0.state == .dropping || !damaged.contains($0.number))
    }
  }

  func step(skipping damaged: Set<UInt32> = []) throws -> Outcome {
    // Commits add no violations meanwhile, so the writer need not wait for this.
    let (isIdle, verified) = try store.read { snapshot in
      guard let index = try next(snapshot, skipping: damaged) else {
        return (true, nil as Verified?)
      }
      guard index.state == .verifying, try lease.state(in: snapshot) != .others else {
        return (false, nil)
      }
      return (
        false,
        Verified(
          number: index.number, generation: try snapshot.indexGeneration(),
          violations: index.definition.isUnique
            ? try UniqueCheck.duplicates(in: index, snapshot)
            : try TargetCheck.violations(of: index.definition, snapshot))
      )
    }
    if isIdle { return .idle }
    return try store.write { transaction in
      let snapshot = StoreSnapshot(transaction.snapshot, store)
      guard let index = try next(snapshot, skipping: damaged) else { return .idle }
      let leased = try lease.state(in: snapshot)
      guard leased != .others else { return .leased }
      let finished =
        switch index.state {
        case .building(let documents, let key):
          try build(index, documents, behind: key, &transaction)
        case .verifying: try end(index, verified, &transaction)
        case .dropping: try drop(index, &transaction)
        case .invalid, .ready: true
        }
      if finished,
        try next(StoreSnapshot(transaction.snapshot, store), skipping: damaged) == nil
      {
        try lease.giveBack(&transaction, in: store)
      } else if leased == .available {
        try lease.take(&transaction, in: store)
      }
      return .worked(finished: finished ? index : nil)
    }
  }

  /// Releases the lease, so that another process can continue at once.
  func giveUp() throws {
    let isHeld = try store.read { snapshot in
      try next(snapshot) != nil && lease.isHeld(in: snapshot)
    }
    if isHeld { try lease.giveBackIfHeld(in: store) }
  }

  // MARK: Verifying

  /// The documents that violated the constraint of an index, in one generation of the catalogue.
  private struct Verified {
    let number: UInt32
    let generation: UInt64
    let violations: IndexViolations
  }

  private func end(
    _ index: StoredIndex, _ verified: Verified?, _ transaction: inout WriteTransaction
  ) throws -> Bool {
    // Another index may have come to this state, and this one may have been without its constraint
    // meanwhile.
    guard let verified, verified.number == index.number,
      try verified.generation == StoreSnapshot(transaction.snapshot, store).indexGeneration()
    else { return false }
    var index = index
    index.state = verified.violations.count == 0 ? .ready : .invalid(verified.violations)
    try transaction.store(index, number: index.number, in: store)
    return true
  }

  // MARK: Building

  private func build(
    _ index: StoredIndex, _ done: UInt64, behind key: [UInt8],
    _ transaction: inout WriteTransaction
  ) throws -> Bool {
    let snapshot = StoreSnapshot(transaction.snapshot, store)
    var entries = EntryChanges(snapshot, IndexCatalogue(generation: 0, [index]))
    let (documents, last, isAtEnd) = try collect(index, behind: key, snapshot, into: &entries)
    try entries.apply(to: &transaction)
    var index = index
    if isAtEnd {
      index.state = index.definition.isVerified ? .verifying : .ready
      try transaction.store(index, number: index.number, in: store)
    } else {
      index.state = .building(documents: done + documents, upTo: last)
      try transaction.update(index, in: store)
    }
    return index.isReady
  }

  private func collect(
    _ index: StoredIndex, behind key: [UInt8], _ snapshot: StoreSnapshot,
    into entries: inout EntryChanges
  ) throws -> (documents: UInt64, last: [UInt8], isAtEnd: Bool) {
    let begin = ContinuousClock.now
    let prefix = store.keyLimit.scanPrefix(KeyLayout.groupPrefix(index.definition.collectionID))
    var walk = try PrefixWalk(
      prefix, of: snapshot.tables.documents, in: snapshot.lmdb, from: key.isEmpty ? nil : key)
    var documents = 0
    var bytes = 0
    var last = key
    while try walk.advance() {
      let entry = StoredEntry(key: walk.cursor.key, record: walk.cursor.value)
      if documents == 0, entry.key.elementsEqual(key) { continue }
      guard documents < limits.documents, bytes < limits.bytes,
        entries.count < limits.entries,
        documents % 16 != 15 || ContinuousClock.now - begin < limits.duration
      else { return (UInt64(documents), last, false) }
      try entries.add(
        snapshot.path(of: entry), snapshot.fields(ofRecord: entry.record))
      documents += 1
      bytes += entry.record.count
      last = Array(entry.key)
    }
    return (UInt64(documents), last, true)
  }

  // MARK: Dropping

  private func drop(_ index: StoredIndex, _ transaction: inout WriteTransaction) throws -> Bool {
    var keys: [[UInt8]] = []
    let entries = KeyLayout.indexKey(index.number)
    for prefix in [entries, [WordStatistic.marker] + entries] {
      var walk = try PrefixWalk(prefix, of: store.tables.entries, in: transaction.snapshot)
      while try keys.count < limits.documents && walk.advance() {
        keys.append(Array(walk.cursor.key))
      }
    }
    for key in keys { try transaction.delete(store.tables.entries, key) }
    guard keys.count < limits.documents else { return false }
    try transaction.store(nil, number: index.number, in: store)
    return true
  }
}
