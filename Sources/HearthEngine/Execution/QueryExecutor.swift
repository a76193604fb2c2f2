/// Executes one plan of a query inside one transaction.
///
///     plan ─▶ documents ─▶ matcher ─▶ sort keys ─▶ start, end ─▶ (sort) ─▶ offset ─▶ limit
///
/// Documents are not copied until they are known to be results.
final class QueryExecutor {
  let plan: QueryPlan
  let query: EffectiveQuery
  var snapshot: StoreSnapshot
  /// The snapshot's lookup, stored here for speed.
  let nameTables: FieldNameTableCache.Lookup
  let touched: ReadCounters
  /// The scope's documents, if the plan reads them without an index.
  let source: DocumentSource?
  /// The matcher of each branch; one for a plan without branches.
  let matchers: [Matcher]
  let order: ResultOrder
  let range: CursorRange
  /// The keys of the query's collection; nil for other scopes.
  let collectionKeys: CollectionKeys?

  /// - Parameters:
  ///   - fields: Fields that every result must have, in addition to the query's conditions.
  ///   - plan: Nil for the scan of all documents.
  init(
    _ query: EffectiveQuery, in snapshot: StoreSnapshot, requiring fields: [FieldSegments] = [],
    plan: QueryPlan? = nil, touched: ReadCounters = ReadCounters()
  ) throws {
    self.query = query
    self.snapshot = snapshot
    nameTables = snapshot.nameTables
    self.touched = touched
    let plan = plan ?? QueryPlan(source: .documents, isOrdered: query.isFoundInOrder)
    self.plan = plan
    switch plan.source {
    case .documents:
      source = try DocumentSource(query, in: snapshot, touched: touched)
      // Documents that the only condition names pass it.
      let isPicked = if case .picked = source { query.filters.count == 1 } else { false }
      matchers = [
        Matcher(isPicked ? [] : query.filters, requiring: fields, until: snapshot.deadline)
      ]
    case .nothing:
      source = nil
      matchers = []
    case .entries(let branches):
      source = nil
      // A branch is ordered only for its own results. Documents that match only another branch are
      // left to that branch.
      matchers = branches.map {
        Matcher($0.condition, requiring: fields, until: snapshot.deadline)
      }
    }
    order = ResultOrder(query.orders)
    range = CursorRange(query)
    collectionKeys = query.scope.collection.map(CollectionKeys.init)
  }

  /// A copy for another thread.
  init(sharing other: QueryExecutor) {
    plan = other.plan
    query = other.query
    snapshot = other.snapshot
    nameTables = other.nameTables
    touched = other.touched
    source = other.source
    matchers = other.matchers
    order = other.order
    range = other.range
    collectionKeys = other.collectionKeys
  }

  /// The number of results, if the documents that the query names are all of them.
  var knownCount: Int? {
    guard case .picked(let entries, _)? = source, matchers[0].isEmpty, query.isOrderedByName,
      query.start == nil, query.end == nil, query.limit == nil, query.offset == 0
    else { return nil }
    return entries.count
  }

  /// Calls `body` with every result and its fields, in the query's order, until it returns false.
  func forEachResult(_ body: (Candidate, MapView) throws -> Bool) throws {
    if query.limit == 0 { return }
    let isReversed = query.isReversed
    guard plan.isOrdered else {
      if let entries = try entriesByName() {
        for entry in isReversed ? entries.reversed() : entries {
          let stored = try snapshot.body(DocumentRecord.storedBody(of: entry.record))
          let found = Candidate(entry: entry, body: stored, ordinal: 0, keys: SortKeys())
          guard try body(found, MapView(body: stored)) else { return }
        }
        return
      }
      let candidates = try sortedCandidates()
      for candidate in isReversed ? Array(candidates.reversed())[...] : candidates {
        guard try body(candidate, MapView(body: candidate.body)) else { return }
      }
      return
    }
    var found: [Candidate] = []
    var skipped = skippableEntries
    var emitted = 0
    try forEachCandidate(
      inOrder: true, isLimited: query.limit != nil, skipping: skipped
    ) { candidate, fields in
      if skipped < query.offset {
        skipped += 1
        return true
      }
      emitted += 1
      if isReversed {
        found.append(candidate)
      } else {
        guard try body(candidate, fields) else { return false }
      }
      return emitted != query.limit
    }
    for candidate in found.reversed() {
      guard try body(candidate, MapView(body: candidate.body)) else { return }
    }
  }

  /// The number of index entries that are the results before the first one that is wanted: their
  /// documents are not read. Zero if entries alone do not show that.
  private var skippableEntries: Int {
    guard query.offset > 0, plan.isExact, !plan.mayRepeat,
      case .entries(let branches) = plan.source,
      branches.count == 1, branches[0].rangeLists.count == 1
    else { return 0 }
    return query.offset
  }

  /// Same as `forEachResult`, in any order.
  ///
  /// - Parameter isLimited: `body` may stop after a few results, so no documents are read ahead.
  func forEachUnordered(
    isLimited: Bool = false, _ body: (StoredEntry, MapView) throws -> Bool
  ) throws {
    if query.limit == nil, query.offset == 0 {
      try forEachCandidate(inOrder: false, isLimited: isLimited) { candidate, fields in
        try body(candidate.entry, fields)
      }
    } else {
      try forEachResult { candidate, fields in try body(candidate.entry, fields) }
    }
  }

  /// The results, sorted, if names alone are their order and all of them are wanted: by keys, without
  /// the rest of a candidate. Nil for other queries.
  private func entriesByName() throws -> [StoredEntry]? {
    guard order.fields.isEmpty, query.limit == nil, query.offset == 0, let collectionKeys else {
      return nil
    }
    // Most comparisons are of the first bytes of the names.
    var found: [(prefix: UInt64, entry: StoredEntry)] = []
    try forEachCandidate(inOrder: false, isLimited: false) { candidate, _ in
      let key = candidate.entry.key
      // A truncated key ends in a hash.
      let isTruncated = snapshot.keyLimit.isTruncated(key)
      found.append((isTruncated ? 0 : key.from(collectionKeys.prefixCount).head, candidate.entry))
      return true
    }
    // One truncated key is not in the order of the others' beginnings.
    if found.contains(where: { snapshot.keyLimit.isTruncated($0.entry.key) }) {
      for index in found.indices { found[index].prefix = 0 }
    }
    let isDescending = order.isNameDescending
    try found.sort { left, right in
      if left.prefix != right.prefix { return (left.prefix < right.prefix) != isDescending }
      let order = try compareNames(left.entry, right.entry)
      return isDescending ? order > 0 : order < 0
    }
    return found.map(\.entry)
  }

  private func sortedCandidates() throws -> ArraySlice<Candidate> {
    var topK = TopK<Candidate>(limit: query.lastWanted)
    try forEachCandidate(inOrder: false, isLimited: false) { candidate, _ in
      try topK.add(candidate, by: compare)
      return true
    }
    return try topK.finish(by: compare).dropFirst(query.offset)
  }

  /// Calls `body` once with every document that meets all conditions. In result order if `inOrder`
  /// and the plan is ordered; otherwise in any order.
  ///
  /// - Parameter skipped: The number of entries of the only range list that are passed over, in order.
  private func forEachCandidate(
    inOrder: Bool, isLimited: Bool, skipping skipped: Int = 0,
    _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    defer { withExtendedLifetime(self) {} }
    switch plan.source {
    case .nothing: return
    case .documents: try forEachScanned(isLimited: isLimited, body)
    case .entries(let branches):
      let streams = try streams(branches)
      if !inOrder {
        try forEachMet(streams, body)
      } else if streams.count == 1 {
        for _ in 0..<skipped where try streams[0].entries.next() == nil { return }
        while let (candidate, fields) = try streams[0].next() {
          guard try body(candidate, fields) else { return }
        }
      } else {
        try forEachMerged(streams, body)
      }
    }
  }

  /// The document with its fields; nil if it is not a result.
  @inline(__always)
  func accept(
    _ entry: StoredEntry, _ matcher: inout Matcher, _ order: inout ResultOrder
  ) throws -> (candidate: Candidate, fields: MapView)? {
    let stored = try DocumentRecord.storedBody(of: entry.record)
    let body = if let known = nameTables.body(stored) { known } else { try snapshot.body(stored) }
    let fields = try MapView(body: body)
    guard try matcher.matches(fields, path: { try snapshot.path(of: entry) }),
      let keys = try order.keys(of: fields),
      try range.contains(keys, path: { try snapshot.path(of: entry) }, in: order)
    else { return nil }
    return (Candidate(entry: entry, body: body, ordinal: 0, keys: keys), fields)
  }

  /// Negative, zero or positive if `lhs` comes before, with or after `rhs` in the result.
  func compare(_ lhs: Candidate, _ rhs: Candidate) throws -> Int {
    let order = try order.compare(lhs.keys, rhs.keys)
    if order != 0 { return order }
    let names =
      lhs.ordinal == 0 ? try compareNames(lhs.entry, rhs.entry) : lhs.ordinal - rhs.ordinal
    return self.order.isNameDescending ? -names : names
  }

  func compareNames(_ lhs: StoredEntry, _ rhs: StoredEntry) throws -> Int {
    if case .collection = query.scope, !snapshot.keyLimit.isTruncated(lhs.key),
      !snapshot.keyLimit.isTruncated(rhs.key)
    {
      return UTF8Order.compare(lhs.key, rhs.key)
    }
    return ResourcePath.compare(try snapshot.path(of: lhs), try snapshot.path(of: rhs))
  }

  // MARK: Results

  /// The results, copied, in the query's order and projection.
  func documents() throws -> [StoredDocument] {
    let projection = Projection(query.projection)
    var documents: [StoredDocument] = []
    try forEachResult { found, _ in
      let document = try snapshot.copy(found.entry, path: name(of: found.entry).path)
      documents.append(try projection?.applied(to: document) ?? document)
      return true
    }
    return documents
  }

  /// Calls `body` with every result, copied and without projection, in the query's order, until it
  /// returns false.
  func forEachDocument(_ body: (StoredDocument) throws -> Bool) throws {
    try forEachResult { found, _ in
      try body(snapshot.copy(found.entry, path: name(of: found.entry).path))
    }
  }

  /// The results, decoded from the file, in the query's order and without projection.
  ///
  /// - Parameter isParallel: Several threads call `decode` if there are many results.
  func decoded<Model>(
    isParallel: Bool, _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) throws -> [Model] {
    typealias Found = (entry: StoredEntry, body: StoredBody)
    defer { withExtendedLifetime(self) {} }
    let configuration = snapshot.store.configuration
    let model = { [self] (found: Found) throws -> Model in
      if configuration.verifiesChecksumsOnRead {
        try DocumentRecord(parsing: found.entry.record).verifyChecksum(key: found.entry.key)
      }
      return try decode(name(of: found.entry), found.body)
    }
    var models: [Model] = []
    if isParallel, configuration.scanThreads > 1, snapshot.deadline?.isSoon != true {
      // Chunks start at 256 results, about a millisecond of work: a woken thread may have to wait.
      // The names of every body are known: no other thread uses the transaction.
      try ParallelChunks<Found, [Model]>.run(
        threads: configuration.scanThreads, sizes: 256...512, work: { try $0.map(model) },
        emit: { chunk in
          // Most results fit in one chunk, which is not copied.
          if models.isEmpty { models = chunk } else { models += chunk }
          return true
        },
        walk: { add in
          try forEachResult { found, _ in try add((found.entry, found.body)) }
        })
    } else {
      try forEachResult { found, _ in
        try snapshot.deadline?.check(copying: found.entry.record.count)
        models.append(try model((found.entry, found.body)))
        return true
      }
    }
    return models
  }

  func name(of entry: StoredEntry) throws -> StoredName {
    guard let collectionKeys, !snapshot.keyLimit.isTruncated(entry.key) else {
      return .path(try snapshot.path(of: entry))
    }
    return .key(entry.key, of: Unmanaged.passUnretained(collectionKeys))
  }
}

/// A document that may become a result. Borrowed: valid as long as the transaction.
struct Candidate {
  var entry: StoredEntry
  /// The body of its record, which is found once.
  var body: StoredBody
  /// Its number among the matching documents if a scan reads them in name order; 0 otherwise.
  var ordinal: Int
  /// The values of the query's order fields.
  var keys: SortKeys
}
