/// One answer to a query inside one transaction, by looking at every document of the scope.
///
///     source ─▶ matcher ─▶ sort keys ─▶ start, end ─▶ (sort) ─▶ offset ─▶ limit ─▶ documents
///
/// Documents stay where they are stored until they are known to be results.
final class QueryRun {
  private let query: EffectiveQuery
  private let snapshot: StoreSnapshot
  private let touched: TouchCount
  private let source: DocumentSource
  private let matcher: Matcher
  private let order: ResultOrder
  private let start: ResultPlace?
  private let end: ResultPlace?

  /// - Parameter fields: A document without each of these is no result, whatever the query says.
  init(
    _ query: EffectiveQuery, in snapshot: StoreSnapshot, requiring fields: [FieldSegments] = [],
    touched: TouchCount = TouchCount()
  ) throws {
    self.query = query
    self.snapshot = snapshot
    self.touched = touched
    source = try DocumentSource(query, in: snapshot, touched: touched)
    matcher = Matcher(query.filters, requiring: fields)
    order = ResultOrder(query.orders)
    start = query.start.map { ResultPlace($0, query.orders) }
    end = query.end.map { ResultPlace($0, query.orders) }
  }

  /// The results, copied out, as the query tells them.
  func documents() throws -> [StoredDocument] {
    let entries = try entries()
    let projection = Projection(query.projection)
    return try (query.isReversed ? entries.reversed() : entries).map {
      try document($0, projection)
    }
  }

  private func document(_ entry: StoredEntry, _ projection: Projection?) throws -> StoredDocument {
    let document = try snapshot.copy(entry.record, key: entry.key, path: snapshot.path(of: entry))
    return try projection?.applied(to: document) ?? document
  }

  /// Where the results are stored, in the order they are found in.
  func entries() throws -> [StoredEntry] {
    var entries: [StoredEntry] = []
    try forEachResult { entry, _ in
      entries.append(entry)
      return true
    }
    return entries
  }

  /// Calls `body` with every result and its fields, in the order of the query, until it is false.
  func forEachResult(_ body: (StoredEntry, MapView) throws -> Bool) throws {
    if query.limit == 0 { return }
    if isSorted {
      try streamResults(body)
    } else {
      for candidate in try sortedCandidates() {
        guard try body(candidate.entry, fields(of: candidate.entry)) else { return }
      }
    }
  }

  /// As `forEachResult`, where the order does not matter.
  func forEachUnordered(_ body: (StoredEntry, MapView) throws -> Bool) throws {
    if query.limit == nil, query.offset == 0 {
      try forEachCandidate { candidate, fields in try body(candidate.entry, fields) }
    } else {
      try forEachResult(body)
    }
  }

  /// The source tells documents in the order of the results.
  private var isSorted: Bool {
    query.isOrderedByName && (!query.isDescendingByName || source.followsDescendingNames)
  }

  private func streamResults(_ body: (StoredEntry, MapView) throws -> Bool) throws {
    var skipped = 0
    var told = 0
    try forEachCandidate { candidate, fields in
      if skipped < query.offset {
        skipped += 1
        return true
      }
      told += 1
      guard try body(candidate.entry, fields) else { return false }
      return told != query.limit
    }
  }

  private func sortedCandidates() throws -> ArraySlice<Candidate> {
    let wanted = query.limit.map { limit in
      let (sum, overflow) = limit.addingReportingOverflow(query.offset)
      return overflow ? Int.max : sum
    }
    var foremost = Foremost<Candidate>(limit: wanted)
    try forEachCandidate { candidate, _ in
      try foremost.add(candidate) { try order.compare($0, $1) }
      return true
    }
    return try foremost.finish { try order.compare($0, $1) }.dropFirst(query.offset)
  }

  /// Calls `body` with every document that meets all conditions, in the order of the source.
  private func forEachCandidate(_ body: (Candidate, MapView) throws -> Bool) throws {
    // Copies, because they learn; `self` keeps the bytes that both share.
    var matcher = matcher
    var order = order
    var ordinal = 0
    var looked = 0
    defer { touched.documents += looked }
    @inline(__always)
    func take(_ entry: StoredEntry) throws -> Bool {
      looked += 1
      let fields = try fields(of: entry)
      guard try matcher.matches(fields, path: { try snapshot.path(of: entry) }),
        let keys = try order.keys(of: fields), try isInside(keys, entry)
      else { return true }
      ordinal += 1
      return try body(Candidate(entry: entry, ordinal: ordinal, keys: keys), fields)
    }
    defer { withExtendedLifetime(self) {} }
    if case .scan(let scan) = source {
      while let entry = try scan.nextEntry() { guard try take(entry) else { return } }
    } else {
      var source = source
      while let entry = try source.next() { guard try take(entry) else { return } }
    }
  }

  private func isInside(_ keys: SortKeys, _ entry: StoredEntry) throws -> Bool {
    if start == nil, end == nil { return true }
    let path = { try self.snapshot.path(of: entry) }
    if let start {
      let order = try order.compare(keys, path, to: start)
      guard order > 0 || (order == 0 && start.isBefore) else { return false }
    }
    if let end {
      let order = try order.compare(keys, path, to: end)
      guard order < 0 || (order == 0 && !end.isBefore) else { return false }
    }
    return true
  }

  @inline(__always)
  private func fields(of entry: StoredEntry) throws -> MapView {
    try MapView(body: DocumentRecord.body(of: entry.record))
  }
}
