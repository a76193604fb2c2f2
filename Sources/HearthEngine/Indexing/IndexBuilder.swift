internal import LMDB

/// What remains to be done to the indexes of a file, in short write transactions: entries of documents that
/// were there before their index, and entries of indexes that are being dropped.
///
///     building   documents ──▶ entries, up to a key that the index's record keeps
///     dropping   entries ──▶ nothing
///
/// Every step is one commit and may be the last: whoever comes next, after a crash too, goes on where it
/// stopped. Commits write to building indexes meanwhile, so that nothing is missing when the last document
/// has been looked at. One process works at a time, under a lease.
///
/// Law: when an index turns ready, every document of its collections has its entries.
struct IndexBuilder: Sendable {
  enum Outcome: Equatable, Sendable {
    /// There is nothing to do.
    case idle
    /// Another process does it.
    case leased
    /// Something was done; nil if the index is not finished, else the index.
    case worked(finished: StoredIndex?)
  }

  /// What one step may take.
  struct StepLimits: Sendable {
    var documents = 2000
    var entries = 10_000
    var bytes = 1 << 20
    /// Commits wait as long.
    var duration = Duration.milliseconds(5)
  }

  let store: Store
  let lease: Lease
  var portion = StepLimits()

  /// The index to be worked on, as a read sees it.
  private func next(_ snapshot: StoreSnapshot) throws -> StoredIndex? {
    try snapshot.readIndexes().first { !$0.isReady }
  }

  func step() throws -> Outcome {
    guard try store.read({ try next($0) != nil }) else { return .idle }
    return try store.write { transaction in
      let snapshot = StoreSnapshot(transaction.snapshot, store)
      guard let index = try next(snapshot) else { return .idle }
      let leased = try lease.state(in: snapshot)
      guard leased != .others else { return .leased }
      let finished =
        switch index.state {
        case .building(let documents, let key):
          try build(index, documents, behind: key, &transaction)
        case .dropping: try drop(index, &transaction)
        case .ready: true
        }
      if finished, try next(StoreSnapshot(transaction.snapshot, store)) == nil {
        try lease.giveBack(&transaction, in: store)
      } else if leased == .due {
        try lease.take(&transaction, in: store)
      }
      return .worked(finished: finished ? index : nil)
    }
  }

  /// Leaves what remains to others, at once.
  func giveUp() throws {
    let isHeld = try store.read { snapshot in
      try next(snapshot) != nil && lease.isHeld(in: snapshot)
    }
    guard isHeld else { return }
    try store.write { transaction in
      let snapshot = StoreSnapshot(transaction.snapshot, store)
      if try lease.isHeld(in: snapshot) { try lease.giveBack(&transaction, in: store) }
    }
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
      index.state = .ready
      try transaction.store(index, number: index.number, in: store)
    } else {
      index.state = .building(documents: done + documents, upTo: last)
      try transaction.update(index, in: store)
    }
    return isAtEnd
  }

  private func collect(
    _ index: StoredIndex, behind key: [UInt8], _ snapshot: StoreSnapshot,
    into entries: inout EntryChanges
  ) throws -> (documents: UInt64, last: [UInt8], isAtEnd: Bool) {
    let begin = ContinuousClock.now
    let prefix = store.keyLimit.scanPrefix(KeyLayout.groupPrefix(index.definition.collectionID))
    var cursor = try snapshot.lmdb.cursor(snapshot.tables.documents)
    var found = try (key.isEmpty ? prefix : key).withUnsafeBytes { try cursor.seek(to: $0) }
    if found, key.withUnsafeBytes({ UTF8Order.compare($0, cursor.key) == 0 }) {
      found = try cursor.next()
    }
    var documents = 0
    var bytes = 0
    var last = key
    while found, cursor.key.begins(with: prefix) {
      guard documents < portion.documents, bytes < portion.bytes,
        entries.count < portion.entries,
        documents % 16 != 15 || ContinuousClock.now - begin < portion.duration
      else { return (UInt64(documents), last, false) }
      let entry = StoredEntry(key: cursor.key, record: cursor.value)
      try entries.add(
        snapshot.path(of: entry), snapshot.fields(ofRecord: entry.record))
      documents += 1
      bytes += entry.record.count
      last = Array(entry.key)
      found = try cursor.next()
    }
    return (UInt64(documents), last, true)
  }

  // MARK: Dropping

  private func drop(_ index: StoredIndex, _ transaction: inout WriteTransaction) throws -> Bool {
    var keys: [[UInt8]] = []
    let prefix = KeyLayout.indexKey(index.number)
    do {
      var cursor = try transaction.snapshot.cursor(store.tables.entries)
      var found = try prefix.withUnsafeBytes { try cursor.seek(to: $0) }
      while found, cursor.key.begins(with: prefix), keys.count < portion.documents {
        keys.append(Array(cursor.key))
        found = try cursor.next()
      }
    }
    for key in keys {
      try key.withUnsafeBytes { _ = try transaction.delete(store.tables.entries, $0) }
    }
    guard keys.count < portion.documents else { return false }
    try transaction.store(nil, number: index.number, in: store)
    return true
  }
}
