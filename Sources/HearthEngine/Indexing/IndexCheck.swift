internal import LMDB

/// Compares indexes with documents: every entry must be correct, and none may be missing.
///
///     documents ─▶ their expected entries ─▶ each exists, with the right value
///     entries   ─▶ no more than were expected, and none of an index that does not exist
///
/// An index that is being built may lack the entries of documents that the build has not reached.
/// Memory use does not grow with the store, but with the number of words in indexes on words.
final class IndexCheck {
  private let store: StoreSnapshot
  private let indexes: [StoredIndex]
  private let makers: [EntryExtractor]
  private let expected = EntryList()
  /// The number of correct entries found, by position of the index.
  private var found: [Int]
  private let report: (String) -> Void

  /// The statistics of words that the documents have, in indexes that are complete.
  private var statistics: [[UInt8]: WordStatistic] = [:]

  /// The number of entries of ready and building indexes.
  private var entryCount = 0

  /// - Parameter report: Called with a description of each problem.
  private init(_ store: StoreSnapshot, _ report: @escaping (String) -> Void) throws {
    self.store = store
    self.report = report
    indexes = try store.readIndexes()
    makers = indexes.map(EntryExtractor.init)
    found = Array(repeating: 0, count: indexes.count)
  }

  /// Calls `report` with each fault. Returns the number of entries.
  static func run(
    _ store: StoreSnapshot, _ report: @escaping (String) -> Void
  ) throws -> Int {
    let check = try IndexCheck(store, report)
    try check.run()
    return check.entryCount
  }

  private func run() throws {
    if indexes.isEmpty {
      var cursor = try store.lmdb.cursor(store.tables.entries)
      if try cursor.first() { report("entries: there is no index") }
      return
    }
    try looking(at: "index configuration") { _ = try IndexConfiguration.read(store) }
    try checkDocuments()
    try checkEntries()
  }

  private func looking(
    at subject: @autoclosure () -> String, _ body: () throws -> Void
  ) throws {
    do { try body() } catch let status as Status { report("\(subject()): \(status.message)") }
  }

  // MARK: From documents

  private func checkDocuments() throws {
    var cursor = try store.lmdb.cursor(store.tables.documents)
    while try cursor.next() {
      let entry = StoredEntry(key: cursor.key, record: cursor.value)
      try looking(at: "entries of document \(KeyLayout.hex(entry.key.prefix(24)))") {
        let path = try store.path(of: entry)
        let fields = try store.fields(ofRecord: entry.record)
        for position in indexes.indices
        where indexes[position].isMaintained
          && UTF8Order.areEqual(indexes[position].definition.collectionID, path.parent.id)
        {
          try check(position, path, fields, mayLack: isAhead(entry.key, position))
        }
      }
    }
  }

  /// The build of the index has not reached the document.
  private func isAhead(_ key: UnsafeRawBufferPointer, _ position: Int) -> Bool {
    guard case .building(_, let last) = indexes[position].state else { return false }
    return last.withUnsafeBytes { UTF8Order.compare(key, $0) > 0 }
  }

  private func check(
    _ position: Int, _ path: ResourcePath, _ fields: MapView, mayLack: Bool
  ) throws {
    expected.removeAll()
    try makers[position].forEachEntry(of: path, fields) {
      expected.append($0, $1, store.keyLimit)
    }
    expected.sort()
    if indexes[position].isReady, indexes[position].definition.words != nil {
      try makers[position].forEachStatistic(of: path, fields, store.keyLimit) {
        statistics[$0, default: WordStatistic()].documents += $1.documents
        statistics[$0]?.length += $1.length
      }
    }
    for entry in 0..<expected.count {
      guard let value = try value(of: expected.key(entry), path) else {
        if !mayLack {
          report("index \(indexes[position].definition): lacks an entry of \(path.text)")
        }
        continue
      }
      found[position] += 1
      guard !store.keyLimit.isTruncated(expected.key(entry)) else { continue }
      if try EntryIdentities(value) != expected.identities(entry) {
        report("index \(indexes[position].definition): has \(path.text) wrong")
      }
    }
  }

  private func value(
    of key: UnsafeRawBufferPointer, _ path: ResourcePath
  ) throws -> UnsafeRawBufferPointer? {
    let stored = TruncatedKey(bytes: Array(key), isTruncated: store.keyLimit.isTruncated(key))
    return try store.entriesByPath.entry(stored, of: path, in: store.lmdb)?.value
  }

  private func checkStatistic(_ cursor: borrowing Cursor) throws {
    let key = Array(cursor.key)
    let stored = try WordStatistic(cursor.value)
    let number = try key.withUnsafeBytes { bytes in
      var reader = KeyReader(bytes.from(1))
      return try reader.readIndex()
    }
    guard let index = indexes.first(where: { $0.number == number }) else {
      return report("statistics of words: of index \(number), which there is not")
    }
    guard index.isReady else { return }
    let expected = statistics.removeValue(forKey: key) ?? WordStatistic()
    if stored.documents != expected.documents || stored.length != expected.length {
      report("index \(index.definition): has a statistic of words that is not true")
    }
  }

  // MARK: From entries

  /// The entries found are distinct. If the table has no others, all of its entries are correct.
  private func checkEntries() throws {
    var counts: [UInt32: Int] = [:]
    var cursor = try store.lmdb.cursor(store.tables.entries)
    while try cursor.next() {
      try looking(at: "entry \(KeyLayout.hex(cursor.key.prefix(24)))") {
        if cursor.key.first == WordStatistic.marker { return try checkStatistic(cursor) }
        var reader = KeyReader(cursor.key)
        counts[try reader.readIndex(), default: 0] += 1
      }
    }
    for key in statistics.keys {
      report("statistics of words: lack \(KeyLayout.hex(key.withUnsafeBytes { $0.prefix(24) }))")
    }
    for (position, index) in indexes.enumerated() {
      let count = counts.removeValue(forKey: index.number) ?? 0
      guard index.isMaintained else { continue }
      entryCount += count
      if count != found[position] {
        report(
          "index \(index.definition): has \(count - found[position]) entries that are not true")
      }
    }
    for (number, count) in counts.sorted(by: { $0.key < $1.key }) {
      report("entries: \(count) of index \(number), which there is not")
    }
  }
}
