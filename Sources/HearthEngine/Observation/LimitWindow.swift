/// The result of a query, updated from changes alone.
///
///     all that match   ├───────────────────────────────── … ──────────────┤
///     held             ├──────────┼─────────────┼───────────┤ upper bound
///                        offset       result      lookahead
///
/// Without a limit everything that matches is held, and is the result. With a limit, some more rows
/// are held than are delivered, so that a row that leaves the result is followed by a known one;
/// rows after the upper bound are unknown. The query runs again only when the lookahead is used up.
///
/// A query with semi-joins has the values of each; see `LiveSemiJoin`. When values appear or
/// disappear, the documents with these values are requested.
final class LimitWindow: LiveResult {
  let query: EffectiveQuery
  /// The result that is delivered.
  private(set) var list: ResultList
  /// With a limit or an offset: the rows that are skipped, the result, and the lookahead.
  private var held = ResultTree()
  /// With a limit: the last row held when the rows after it became unknown. Nothing after it is
  /// held. Nil if everything that matches is held.
  private(set) var upperBound: ResultRow?

  private let required: [FieldSegments]
  private var matcher: Matcher
  /// Its own, or shared by all materialized queries with the same order.
  var keys: SortKeyEncoder
  private let start: EncodedCursor?
  private let end: EncodedCursor?
  private let projection: Projection?
  /// Updates may be of documents outside of the scope.
  private let checksScope: Bool
  let semiJoins: [LiveSemiJoin]
  /// Values that appeared or disappeared: it is unknown which documents have them.
  private var toggled: [SemiJoin: Set<[UInt8]>] = [:]
  /// The rows are known.
  private(set) var isLoaded = false
  /// Conditions on times relative to `time`.
  private let relativeTimes: [StructuredQuery.Comparison]
  private let time: ReadTime
  /// The time before, while it is unknown which documents have crossed a relative time since.
  private var timeBefore: Instant?
  /// When the next document crosses a relative time, or before that; nil if never. Unknown for the
  /// last few of `relativeTimes`.
  private(set) var nextCrossing: Instant?
  private var unknownCrossings = 0

  /// For a query that has been checked and is not a nearest-neighbor query.
  ///
  /// - Parameters:
  ///   - fields: A document that lacks one of these is not in the result.
  ///   - isPart: `apply` is also called with documents outside of the query's scope.
  ///   - time: That of the whole listener's query, if this is a part of it.
  init(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    tuning: MaterializedQueryTuning = MaterializedQueryTuning(), isPart: Bool = false,
    at time: ReadTime = ReadTime(.earliest)
  ) {
    self.query = query
    self.time = time
    semiJoins = query.semiJoins.map { LiveSemiJoin($0, tuning, at: time) }
    relativeTimes = query.filters.relativeTimes
    lookahead = min(tuning.minimumLookahead + (query.limit ?? 0) / 2, 1024)
    required = fields
    matcher = Matcher(
      query.filters, requiring: fields,
      Dictionary(uniqueKeysWithValues: semiJoins.map { ($0.join, $0.values) }), at: time)
    keys = SortKeyEncoder(query.orders)
    start = query.start.map { [keys] in EncodedCursor($0, keys) }
    end = query.end.map { [keys] in EncodedCursor($0, keys) }
    // The listener index finds a group's documents by its id alone.
    let isBelow = if case .group(_, let below) = query.scope { !below.isRoot } else { false }
    checksScope = isBelow || isPart || !semiJoins.isEmpty
    projection = Projection(query.projection)
    list = ResultList(isReversed: query.isReversed)
  }

  // MARK: Reading

  /// How many rows are held beyond the result after the query has run; up to twice as many later.
  private let lookahead: Int

  private var isWindow: Bool { query.isBounded }

  /// Offset plus limit; nil without a limit.
  private var wanted: Int? { query.lastWanted }

  private var capacity: Int? { wanted.map { $0.adding(saturating: lookahead) } }

  /// The next request for what is not known; nil if everything is.
  var request: ReadRequest? {
    for join in semiJoins {
      if let request = join.request { return request }
    }
    if !isLoaded { return rowsRequest }
    if !toggled.isEmpty { return toggledRequest }
    if let timeBefore { return crossedRequest(since: timeBefore) }
    return unknownCrossings > 0 ? crossingRequest : nil
  }

  /// Changes when `routedQuery` does.
  private(set) var valueVersion = 0

  /// The query whose conditions find the documents: values of semi-joins are conditions, if there
  /// are few. Also those that disappeared: documents that have them are held until `hold`.
  var routedQuery: EffectiveQuery {
    if semiJoins.isEmpty, relativeTimes.isEmpty { return query }
    var routed = query
    // Nothing is known of relative times: documents that may match later are noted, too.
    routed.filters = query.filters.filter { ![$0].hasRelativeTimes() }
    let isSmall = semiJoins.allSatisfy { $0.values.count <= ListenerCondition.mostValues }
    guard isSmall else {
      routed.filters = routed.filters.filter { ![$0].hasSemiJoins }
      return routed
    }
    return routed.resolved { join in
      .list(values(of: join) + (toggled[join] ?? []).compactMap { try? ValueSet.value(of: $0) })
    }
  }

  var window: LimitWindow? { self }

  /// This window and those of its semi-joins.
  var all: [LimitWindow] {
    var windows = [self]
    for join in semiJoins { windows += join.window.all }
    return windows
  }

  /// For the rows to hold.
  private var rowsRequest: ReadRequest {
    var wide = query.resolved { join in .list(values(of: join)) }
    wide.filters = wide.filters.map { $0.resolved(at: time.now) }
    wide.offset = 0
    wide.limit = query.limit == 0 ? 0 : capacity
    wide.isReversed = false
    wide.projection = []
    return .results(wide, requiring: required)
  }

  private func values(of join: SemiJoin) -> [Value] {
    semiJoins.first { $0.join == join }?.values.keys.compactMap { try? ValueSet.value(of: $0) }
      ?? []
  }

  /// For the documents that have values that appeared or disappeared: each of them may now be, or no
  /// longer be, a result.
  private var toggledRequest: ReadRequest {
    var wide = candidates
    var alternatives: [StructuredQuery.Filter] = []
    for filter in query.filters {
      filter.forEachComparison { comparison in
        guard let join = comparison.semiJoin, let keys = toggled[join] else { return }
        var comparison = comparison.resolved(
          with: .list(keys.compactMap { try? ValueSet.value(of: $0) }))
        comparison.isNegated = false
        alternatives.append(.comparison(comparison))
      }
    }
    wide.filters.append(alternatives.count == 1 ? alternatives[0] : .any(alternatives))
    return .results(wide, requiring: required)
  }

  /// For all documents that may be results, whatever the values and the time are.
  private var candidates: EffectiveQuery {
    var wide = query
    wide.filters = query.filters.filter { ![$0].hasSemiJoins && ![$0].hasRelativeTimes() }
    wide.orders = [StructuredQuery.Order(field: .documentID)]
    wide.start = nil
    wide.end = nil
    wide.limit = nil
    wide.offset = 0
    wide.isReversed = false
    wide.projection = []
    return wide
  }

  // MARK: Relative times

  /// Moves the time forward. The documents that have crossed a relative time since are then requested.
  ///
  /// Also if nothing crosses: the windows of a join, and documents that are written, are of one time.
  func advance(to now: Instant) {
    let before = time.now
    guard now > before else { return }
    time.now = now
    noteCrossed(since: before)
  }

  /// As `advance`, after the time that this window shares with others has moved.
  func noteCrossed(since before: Instant) {
    for join in semiJoins { join.window.noteCrossed(since: before) }
    guard isLoaded, !relativeTimes.isEmpty else { return }
    let crosses = unknownCrossings > 0 || nextCrossing.map { $0 <= time.now } ?? false
    if crosses { timeBefore = timeBefore ?? before }
  }

  /// For the documents that have crossed a relative time.
  private func crossedRequest(since before: Instant) -> ReadRequest {
    var wide = candidates
    let crossed = relativeTimes.map { comparison in
      var until = comparison
      until.operator = .beforeNow
      return StructuredQuery.Filter.all([
        .comparison(comparison.resolved(at: before)), .comparison(until.resolved(at: time.now)),
      ])
    }
    wide.filters.append(crossed.count == 1 ? crossed[0] : .any(crossed))
    return .results(wide, requiring: required)
  }

  /// For the document that crosses a relative time next.
  private var crossingRequest: ReadRequest {
    let comparison = relativeTimes[relativeTimes.count - unknownCrossings]
    var first = candidates
    first.filters.append(.comparison(comparison.resolved(at: time.now)))
    first.orders = [StructuredQuery.Order(field: comparison.field)] + first.orders
    first.limit = 1
    return .results(first, requiring: required)
  }

  /// Remembers when a document crosses relative times.
  private func note(
    _ document: StoredDocument, _ comparisons: some Sequence<StructuredQuery.Comparison>
  )
    throws
  {
    try document.body.withView { body throws(Status) in
      for comparison in comparisons {
        guard let relative = comparison.relativeTime,
          let value = try body.value(at: comparison.field)?.timestamp()
        else { continue }
        let crossing = relative.crossing(of: value)
        guard crossing > time.now else { continue }
        nextCrossing = nextCrossing.map { min($0, crossing) } ?? crossing
      }
    }
  }

  /// Whether the result changes when time passes.
  var isTimed: Bool { !relativeTimes.isEmpty }

  /// Takes the answer to `request`.
  func hold(_ fetched: ReadAnswer) throws {
    for join in semiJoins where join.request != nil {
      return toggle(join.join, try join.hold(fetched))
    }
    guard isLoaded else {
      hold(try rows(of: fetched))
      isLoaded = true
      toggled = [:]
      return forgetCrossings()
    }
    let documents = try fetched.results
    if !toggled.isEmpty {
      toggled = [:]
      valueVersion += 1
    } else if timeBefore != nil {
      forgetCrossings()
    } else {
      let comparison = relativeTimes[relativeTimes.count - unknownCrossings]
      unknownCrossings -= 1
      if let first = documents.first { try note(first, [comparison]) }
      return
    }
    let updates = documents.map { DocumentUpdate(path: $0.path, old: $0, new: $0) }
    if case .mustLoad = try applyToRows(updates) { isLoaded = false }
  }

  private func forgetCrossings() {
    timeBefore = nil
    nextCrossing = nil
    unknownCrossings = relativeTimes.count
  }

  /// All of the result has to be requested.
  func reset() {
    isLoaded = false
    toggled = [:]
    for join in semiJoins { join.reset() }
  }

  private func toggle(_ join: SemiJoin, _ keys: Set<[UInt8]>) {
    guard !keys.isEmpty else { return }
    valueVersion += 1
    guard isLoaded else { return }
    toggled[join, default: []].formUnion(keys)
  }

  /// Nil if the time of the earlier state matters, which is not known.
  var pastRequest: ReadRequest? {
    if query.filters.hasRelativeTimes(inSemiJoins: true) { return nil }
    var plain = query
    plain.isReversed = false
    plain.projection = []
    return .results(plain)
  }

  func list(of fetched: ReadAnswer) throws -> ResultList {
    let documents = try fetched.results
    // Not tested again: semi-joins may have had other values then.
    let rows = try documents.map { document in
      guard let row = try rowOfMatch(document) else { throw Status.otherAnswer }
      return row
    }
    return ResultList(ResultTree(sorted: rows), isReversed: query.isReversed)
  }

  private func rows(of fetched: ReadAnswer) throws -> [ResultRow] {
    try fetched.results.map { document in
      guard let row = try row(of: document) else {
        throw Status(.internal, "A listener's query found what does not match it.")
      }
      return row
    }
  }

  private func hold(_ rows: [ResultRow]) {
    guard isWindow else {
      list = ResultList(ResultTree(sorted: rows), isReversed: query.isReversed)
      return
    }
    held = ResultTree(sorted: rows)
    upperBound = capacity.map { rows.count >= $0 } == true ? rows.last : nil
    let window = rows.dropFirst(query.offset).prefix(query.limit ?? .max)
    list = ResultList(ResultTree(sorted: Array(window)), isReversed: query.isReversed)
  }

  // MARK: Following

  /// The document's row if it matches; nil if it does not.
  private func row(of document: StoredDocument) throws -> ResultRow? {
    if checksScope, !query.scope.contains(document.path) { return nil }
    let isMatch = try document.body.withBytes { bytes in
      try matcher.matches(MapView(body: bytes), path: { document.path })
    }
    return isMatch ? try rowOfMatch(document) : nil
  }

  /// The row of a document that meets the conditions; nil if it lacks a field of the order, or is
  /// outside of the cursors.
  private func rowOfMatch(_ document: StoredDocument) throws -> ResultRow? {
    guard let key = try keys.key(of: document) else { return nil }
    if let start, !start.isBefore(key) { return nil }
    if let end, end.isBefore(key) { return nil }
    // A failing projection ends the listener now, not its snapshot later.
    if let projection { _ = try projection.applied(to: document.body) }
    return ResultRow(key: key, document: document)
  }

  /// The document's row if it is held, which shows whether it matched.
  private func heldRow(of document: StoredDocument) throws -> ResultRow? {
    if checksScope, !query.scope.contains(document.path) { return nil }
    guard let key = try keys.key(of: document) else { return nil }
    return (isWindow ? held : list.rows).find(key).row
  }

  func admits(_ document: StoredDocument) throws -> Bool { try row(of: document) != nil }

  /// Including the lookahead.
  var heldCount: Int { max(list.count, held.count) }

  /// Applies the changes of some documents of the query's scope.
  func apply(_ updates: [DocumentUpdate]) throws -> LiveChange {
    for join in semiJoins {
      guard let keys = try join.apply(updates) else { return .mustLoad }
      toggle(join.join, keys)
    }
    return try applyToRows(updates)
  }

  private func applyToRows(_ updates: [DocumentUpdate]) throws -> LiveChange {
    if isTimed {
      for case let new? in updates.map(\.new) where query.scope.contains(new.path) {
        try note(new, relativeTimes)
      }
    }
    var gone: [ResultRow] = []
    var come: [ResultRow] = []
    for update in updates {
      let old = try update.old.flatMap(heldRow)
      let new = try update.new.flatMap(row)
      if let old, let new, old.document.isSameVersion(as: new.document) { continue }
      if !isWindow, updates.count == 1 {
        return .changed(list.apply(old, new).map(ResultChanges.one) ?? .none)
      }
      if let old { gone.append(old) }
      if let new { come.append(new) }
    }
    if gone.isEmpty, come.isEmpty { return .changed(.none) }
    guard isWindow else {
      return .changed(.several(list.apply(gone: gone, come: come)))
    }
    return moveWindow(gone, come)
  }

  private func moveWindow(_ gone: [ResultRow], _ come: [ResultRow]) -> LiveChange {
    if query.limit == 0 { return .changed(.none) }
    for row in gone { held.remove(row.key) }
    for row in come {
      if let upperBound, UTF8Order.compare(row.key, upperBound.key) > 0 { continue }
      held.insert(row)
    }
    if upperBound != nil, let wanted, held.count < wanted { return .mustLoad }
    trim()
    let (left, entered) = crossings(gone, come)
    return .changed(.several(list.apply(gone: left, come: entered)))
  }

  /// Drops lookahead rows if there are more than twice as many as needed.
  private func trim() {
    guard let capacity, let wanted, held.count - 2 * lookahead > wanted else { return }
    held = ResultTree(sorted: Array(held.prefix(capacity)))
    upperBound = held.last
  }

  /// The rows that left the result and those that entered it: documents that changed, and at both
  /// ends as many rows as those can have pushed across.
  private func crossings(
    _ gone: [ResultRow], _ come: [ResultRow]
  ) -> (left: [ResultRow], entered: [ResultRow]) {
    let end = min(held.count, wanted ?? .max)
    let window = min(query.offset, held.count)..<max(end, min(query.offset, held.count))
    let reach = gone.count + come.count
    var left: [ResultRow] = []
    var entered: [ResultRow] = []
    var seen: Set<[UInt8]> = []
    func leaves(_ key: [UInt8]) {
      guard let row = list.rows.find(key).row, seen.insert(key).inserted else { return }
      let (index, now) = held.find(key)
      if window.contains(index), let now, now.document === row.document { return }
      left.append(row)
    }
    for row in gone { leaves(row.key) }
    for row in come { leaves(row.key) }
    for index in Self.ends(of: 0..<list.count, reach) { leaves(list.rows[index].key) }
    seen.removeAll()
    func enters(_ key: [UInt8]) {
      let (index, row) = held.find(key)
      guard let row, window.contains(index), seen.insert(key).inserted else { return }
      if list.rows.find(key).row?.document !== row.document { entered.append(row) }
    }
    for row in come { enters(row.key) }
    for index in Self.ends(of: window, reach) { enters(held[index].key) }
    return (left, entered)
  }

  /// The first few and the last few indexes, each once.
  private static func ends(of range: Range<Int>, _ count: Int) -> [Int] {
    range.count <= 2 * count
      ? Array(range) : Array(range.prefix(count)) + Array(range.suffix(count))
  }
}
