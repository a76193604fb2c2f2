/// One answer to a query inside one transaction, by following a plan.
///
///     plan ─▶ documents ─▶ matcher ─▶ sort keys ─▶ start, end ─▶ (sort) ─▶ offset ─▶ limit
///
/// Documents stay where they are stored until they are known to be results.
final class QueryExecutor {
  let plan: QueryPlan
  private let query: EffectiveQuery
  private var snapshot: StoreSnapshot
  /// The snapshot's, at hand.
  private let shapes: FieldNameTableCache.Lookup
  private let touched: ReadCounters
  /// The scope's documents, if the plan is to go through them.
  private let source: DocumentSource?
  /// What a document of each branch has to pass; one for a plan without branches.
  private let matchers: [Matcher]
  private let order: ResultOrder
  private let start: CursorPosition?
  private let end: CursorPosition?
  /// Of the collection; nil for other scopes.
  private let collectionKeys: CollectionKeys?

  /// - Parameters:
  ///   - fields: A document without each of these is no result, whatever the query says.
  ///   - plan: Nil for the scan of all documents.
  init(
    _ query: EffectiveQuery, in snapshot: StoreSnapshot, requiring fields: [FieldSegments] = [],
    plan: QueryPlan? = nil, touched: ReadCounters = ReadCounters()
  ) throws {
    self.query = query
    self.snapshot = snapshot
    shapes = snapshot.shapes
    self.touched = touched
    let plan = plan ?? QueryPlan(source: .documents, isOrdered: query.isFoundInOrder)
    self.plan = plan
    switch plan.source {
    case .documents:
      source = try DocumentSource(query, in: snapshot, touched: touched)
      matchers = [Matcher(query.filters, requiring: fields)]
    case .nothing:
      source = nil
      matchers = []
    case .entries(let branches):
      source = nil
      // A branch is in order as far as its own results are: what another's condition lets pass is left
      // to that one.
      matchers = branches.map {
        Matcher($0.condition, requiring: fields)
      }
    }
    order = ResultOrder(query.orders)
    start = query.start.map { CursorPosition($0, query.orders) }
    end = query.end.map { CursorPosition($0, query.orders) }
    collectionKeys =
      if case .collection(let path) = query.scope { CollectionKeys(of: path) } else { nil }
  }

  /// The same one for another thread.
  private init(sharing other: QueryExecutor) {
    plan = other.plan
    query = other.query
    snapshot = other.snapshot
    shapes = other.shapes
    touched = other.touched
    source = other.source
    matchers = other.matchers
    order = other.order
    start = other.start
    end = other.end
    collectionKeys = other.collectionKeys
  }

  /// The results, copied out, as the query tells them.
  func documents() throws -> [StoredDocument] {
    let entries = try entries()
    let projection = Projection(query.projection)
    return try (query.isReversed ? entries.reversed() : entries).map {
      try document($0, projection)
    }
  }

  /// Calls `body` with every result, copied out whole, in the order it is found in, until it is false.
  func forEachDocument(_ body: (StoredDocument) throws -> Bool) throws {
    try forEachResult { entry, _ in try body(document(entry, nil)) }
  }

  private func document(_ entry: StoredEntry, _ projection: Projection?) throws -> StoredDocument {
    let document = try snapshot.copy(entry.record, key: entry.key, path: path(of: entry))
    return try projection?.applied(to: document) ?? document
  }

  /// Calls `body` with every result, as the query tells them and before any projection. Borrowed as long as
  /// the transaction.
  func forEachBody(_ body: (StoredName, StoredBody) throws -> Void) throws {
    defer { withExtendedLifetime(self) {} }
    let entries = try entries()
    for entry in query.isReversed ? entries.reversed() : entries {
      try body(name(of: entry), verifiedBody(of: entry))
    }
  }

  /// Calls `tell` with what `decode` makes of the results, as the query tells them, some at a time. Where
  /// they are many, `decode` is called by several threads.
  func forEachDecoded<Model>(
    _ decode: @escaping (StoredName, StoredBody) throws -> Model,
    _ tell: ([Model]) -> Void
  ) throws {
    defer { withExtendedLifetime(self) {} }
    // From 256 on, which take about a millisecond: a thread that is woken may have to wait for its turn.
    try ParallelChunks<StoredEntry, [Model]>.run(
      threads: snapshot.store.configuration.scanThreads, sizes: 256...512,
      work: { [self] in try $0.map { try decode(name(of: $0), verifiedBody(of: $0)) } },
      share: { [self] in try share() },
      tell: { models in
        tell(models)
        return true
      },
      walk: { add in
        if query.isReversed {
          for entry in try entries().reversed() { _ = try add(entry) }
        } else {
          try forEachResult { entry, _ in try add(entry) }
        }
      })
  }

  /// Other threads may look at documents from now on, but not into the transaction.
  private func share() throws { snapshot = try snapshot.withKnownShapes() }

  private func verifiedBody(of entry: StoredEntry) throws -> StoredBody {
    if snapshot.store.configuration.verifiesChecksumsOnRead {
      try DocumentRecord(parsing: entry.record).verifyChecksum(key: entry.key)
    }
    let stored = try DocumentRecord.storedBody(of: entry.record)
    return try shapes.body(stored) ?? snapshot.body(stored)
  }

  private func name(of entry: StoredEntry) throws -> StoredName {
    guard let collectionKeys, !snapshot.keyLimit.isCut(entry.key) else {
      return .path(try snapshot.path(of: entry))
    }
    return .key(entry.key, of: Unmanaged.passUnretained(collectionKeys))
  }

  private func path(of entry: StoredEntry) throws -> ResourcePath { try name(of: entry).path }

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
    if plan.isOrdered {
      try streamResults(body)
    } else {
      for candidate in try sortedCandidates() {
        guard try body(candidate.entry, fields(of: candidate.entry)) else { return }
      }
    }
  }

  /// As `forEachResult`, where the order does not matter.
  ///
  /// - Parameter isLimited: `body` may want no more after a few: nothing is looked at in advance.
  func forEachUnordered(
    isLimited: Bool = false, _ body: (StoredEntry, MapView) throws -> Bool
  ) throws {
    if query.limit == nil, query.offset == 0 {
      try forEachCandidate(inOrder: false, isLimited: isLimited) { candidate, fields in
        try body(candidate.entry, fields)
      }
    } else {
      try forEachResult(body)
    }
  }

  private func streamResults(_ body: (StoredEntry, MapView) throws -> Bool) throws {
    var skipped = 0
    var told = 0
    try forEachCandidate(inOrder: true, isLimited: query.limit != nil) { candidate, fields in
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
    var foremost = TopK<Candidate>(limit: wanted)
    try forEachCandidate(inOrder: false, isLimited: false) { candidate, _ in
      try foremost.add(candidate, by: compare)
      return true
    }
    return try foremost.finish(by: compare).dropFirst(query.offset)
  }

  /// Calls `body` with every document that meets all conditions, once; in the order of the results if the
  /// plan has it and it is asked for, else in any.
  private func forEachCandidate(
    inOrder: Bool, isLimited: Bool, _ body: (Candidate, MapView) throws -> Bool
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
        while let next = try streams[0].next() {
          guard try body(next, fields(of: next.entry)) else { return }
        }
      } else {
        try forEachMerged(streams, body)
      }
    }
  }

  /// What a scan learns on its way. Handed on, not captured: a captured variable is checked for exclusive
  /// access with every document.
  private struct Learning {
    var matcher: Matcher
    var order: ResultOrder
    var ordinal = 0
    var looked = 0
  }

  private func forEachScanned(
    isLimited: Bool, _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    guard let source else { return }
    // Copies, because they learn; `self` keeps the bytes that both share.
    var learning = Learning(matcher: matchers[0], order: order)
    if case .scan(let scan) = source, !isLimited, !matchers[0].isEmpty,
      snapshot.store.configuration.scanThreads > 1
    {
      return try forEachScannedByMany(scan, learning, body)
    }
    defer { touched.documents += learning.looked }
    if case .scan(let scan) = source {
      while let entry = try scan.nextEntry() {
        guard try take(entry, &learning, body) else { return }
      }
    } else {
      var source = source
      while let entry = try source.next() { guard try take(entry, &learning, body) else { return } }
    }
  }

  /// As `forEachScanned`, with several threads where there are many documents.
  private func forEachScannedByMany(
    _ scan: CollectionScan, _ learning: Learning, _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    var ordinal = 0
    if let leaves = try scan.leaves() {
      struct Found {
        var passed: [Candidate] = []
        var looked = 0
        var keys = 0
      }
      return try ParallelChunks<ParallelCollectionScan.Partition, Found>.run(
        threads: snapshot.store.configuration.scanThreads, sizes: leaves.stretches(256...2048),
        work: { [self] stretches in
          var learning = learning
          var found = Found()
          // Threads that count references to one object wait for each other.
          let own = QueryExecutor(sharing: self)
          try leaves.forEachEntry(of: stretches, &found.keys) { entry in
            learning.looked += 1
            let keys = try own.accept(
              entry, own.fields(of: entry), &learning.matcher, &learning.order)
            if let keys { found.passed.append(Candidate(entry: entry, ordinal: 0, keys: keys)) }
          }
          found.looked = learning.looked
          return found
        },
        share: { [self] in try share() },
        tell: { found in
          touched.documents += found.looked
          touched.keys += found.keys
          for var candidate in found.passed {
            ordinal += 1
            candidate.ordinal = ordinal
            guard try body(candidate, fields(of: candidate.entry)) else { return false }
          }
          return true
        },
        walk: leaves.forEachStretch)
    }
    try ParallelChunks<StoredEntry, [Candidate]>.run(
      threads: snapshot.store.configuration.scanThreads, sizes: 256...2048,
      work: { [self] entries in
        var learning = learning
        var passed: [Candidate] = []
        for entry in entries {
          let keys = try accept(entry, fields(of: entry), &learning.matcher, &learning.order)
          if let keys { passed.append(Candidate(entry: entry, ordinal: 0, keys: keys)) }
        }
        return passed
      },
      share: { [self] in try share() },
      tell: { passed in
        for var candidate in passed {
          ordinal += 1
          candidate.ordinal = ordinal
          guard try body(candidate, fields(of: candidate.entry)) else { return false }
        }
        return true
      },
      walk: { add in
        while let entry = try scan.nextEntry() {
          touched.documents += 1
          guard try add(entry) else { return }
        }
      })
  }

  @inline(__always)
  private func take(
    _ entry: StoredEntry, _ learning: inout Learning,
    _ body: (Candidate, MapView) throws -> Bool
  ) throws -> Bool {
    learning.looked += 1
    let fields = try fields(of: entry)
    guard let keys = try accept(entry, fields, &learning.matcher, &learning.order) else {
      return true
    }
    learning.ordinal += 1
    return try body(Candidate(entry: entry, ordinal: learning.ordinal, keys: keys), fields)
  }

  /// The sort keys of a result; nil for what is none.
  @inline(__always)
  private func accept(
    _ entry: StoredEntry, _ fields: MapView, _ matcher: inout Matcher, _ order: inout ResultOrder
  ) throws -> SortKeys? {
    guard try matcher.matches(fields, path: { try snapshot.path(of: entry) }),
      let keys = try order.keys(of: fields), try isInside(keys, entry)
    else { return nil }
    return keys
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
  fileprivate func fields(of entry: StoredEntry) throws -> MapView {
    let stored = try DocumentRecord.storedBody(of: entry.record)
    guard let body = shapes.body(stored) else { return try MapView(body: snapshot.body(stored)) }
    return try MapView(body: body)
  }

  /// Negative, zero or positive as `lhs` comes before, with or after `rhs` in the result.
  private func compare(_ lhs: Candidate, _ rhs: Candidate) throws -> Int {
    let order = try order.compare(lhs.keys, rhs.keys)
    if order != 0 { return order }
    let names =
      lhs.ordinal == 0 ? try compareNames(lhs.entry, rhs.entry) : lhs.ordinal - rhs.ordinal
    return self.order.isNameDescending ? -names : names
  }

  func compareNames(_ lhs: StoredEntry, _ rhs: StoredEntry) throws -> Int {
    if case .collection = query.scope, !snapshot.keyLimit.isCut(lhs.key),
      !snapshot.keyLimit.isCut(rhs.key)
    {
      return UTF8Order.compare(lhs.key, rhs.key)
    }
    return ResourcePath.compare(try snapshot.path(of: lhs), try snapshot.path(of: rhs))
  }
}

// MARK: - Through indexes

extension QueryExecutor {
  /// The results among the entries of one stretch.
  private final class Stream {
    private let run: QueryExecutor
    let entries: IndexJoin
    private var matcher: Matcher
    private var order: ResultOrder

    init(_ run: QueryExecutor, _ entries: IndexJoin, _ matcher: Matcher) {
      self.run = run
      self.entries = entries
      self.matcher = matcher
      order = run.order
    }

    func next() throws -> Candidate? {
      while let entry = try entries.next() {
        let stored = try entries.document(of: entry)
        run.touched.documents += 1
        let fields = try run.fields(of: stored)
        if let keys = try run.accept(stored, fields, &matcher, &order) {
          return Candidate(entry: stored, ordinal: 0, keys: keys)
        }
      }
      return nil
    }
  }

  private func streams(_ branches: [EntryPlan]) throws -> [Stream] {
    let collection: ResourcePath? =
      if case .collection(let path) = query.scope { path } else { nil }
    return try zip(branches, matchers).flatMap { branch, matcher in
      try branch.stretches.map { stretch in
        Stream(
          self,
          try IndexJoin(
            branch, stretch, in: snapshot, collection: collection, touched: touched),
          matcher)
      }
    }
  }

  private func forEachMet(
    _ streams: [Stream], _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    var met: Set<[UInt8]> = []
    for stream in streams {
      while let next = try stream.next() {
        if plan.mayRepeat, !met.insert(Array(next.entry.key)).inserted { continue }
        guard try body(next, fields(of: next.entry)) else { return }
      }
    }
  }

  /// Takes the least of the streams' heads by turns.
  private func forEachMerged(
    _ streams: [Stream], _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    // Sorted backwards: the next one is last.
    var heads: [(candidate: Candidate, stream: Stream)] = []
    func add(_ stream: Stream) throws {
      guard let candidate = try stream.next() else { return }
      var low = 0
      var high = heads.count
      while low < high {
        let middle = (low + high) / 2
        if try compare(heads[middle].candidate, candidate) > 0 {
          low = middle + 1
        } else {
          high = middle
        }
      }
      heads.insert((candidate, stream), at: low)
    }
    for stream in streams { try add(stream) }
    var told: Candidate?
    while let (candidate, stream) = heads.popLast() {
      try add(stream)
      if let told, try compare(told, candidate) == 0 { continue }
      told = candidate
      guard try body(candidate, fields(of: candidate.entry)) else { return }
    }
  }

  /// Calls `body` with every entry of the plan that stands for a result, until it is false. The plan is exact.
  func forEachEntry(
    _ body: (_ branch: Int, IndexJoin, ScannedEntry) throws -> Bool
  ) throws {
    precondition(plan.isExact, "Only exact plans tell results by entries alone.")
    guard case .entries(let branches) = plan.source else { return }
    let collection: ResourcePath? =
      if case .collection(let path) = query.scope { path } else { nil }
    var met: Set<[UInt8]> = []
    for (index, branch) in branches.enumerated() {
      for stretch in branch.stretches {
        let stream = try IndexJoin(
          branch, stretch, in: snapshot, collection: collection, touched: touched)
        while let entry = try stream.next() {
          if plan.mayRepeat, !met.insert(Array(try stream.name(of: entry))).inserted { continue }
          guard try body(index, stream, entry) else { return }
        }
      }
    }
  }
}
