/// A query's answer where a few documents have other versions than those stored.
///
///     stored results, without the patched documents ─┐
///     patched documents that the query finds ────────┴▶ merged ─▶ offset ─▶ limit
///
/// Any plan may find the stored results: it is asked for as many more as the patch can take away.
extension StoreSnapshot {
  /// The query's results, copied out, as it tells them.
  func documents(
    matching query: EffectiveQuery, with patch: DocumentOverlay, trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    guard !patch.isEmpty else { return try documents(matching: query, trace: trace) }
    var found: [StoredDocument] = []
    try forEachResult(of: query, with: patch, trace) { found.append($0) }
    if let nearest = query.nearest {
      found = try nearest.nearest(among: found)
    } else if query.isReversed {
      found.reverse()
    }
    guard let projection = Projection(query.projection) else { return found }
    return try found.map { try projection.applied(to: $0) }
  }

  /// The aggregations' results, in their order.
  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery, with patch: DocumentOverlay,
    trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    guard !patch.isEmpty else { return try aggregate(aggregations, over: query, trace: trace) }
    var count: Int64 = 0
    var totals = aggregations.map { aggregation in
      (lookup: aggregation.field.map(FieldLookup.init), total: NumberTotal())
    }
    try forEachResult(
      of: query, requiring: aggregations.compactMap(\.field), with: patch, trace
    ) { document in
      count += 1
      for index in totals.indices {
        try document.body.withView { body throws(Status) in
          if let value = try totals[index].lookup?.find(in: body) {
            try totals[index].total.add(value)
          }
        }
      }
    }
    return zip(aggregations, totals).map { aggregation, total in
      switch aggregation.kind {
      case .count: .integer(aggregation.counted(count))
      case .sum: total.total.sumValue
      case .average: total.total.averageValue
      }
    }
  }

  /// Calls `body` with whole documents, in the order they are found in.
  private func forEachResult(
    of query: EffectiveQuery, requiring fields: [FieldSegments] = [], with patch: DocumentOverlay,
    _ trace: QueryTrace, _ body: (StoredDocument) throws -> Void
  ) throws {
    var patch = patch
    var patched = try patch.results()[...]
    var found = 0
    let (offset, end) = (query.offset, query.lastWanted ?? .max)
    /// False when no more are wanted.
    func tell(_ document: StoredDocument) throws -> Bool {
      found += 1
      if found > offset { try body(document) }
      return found < end
    }
    guard end > offset else { return }
    var wide = query
    wide.offset = 0
    wide.projection = []
    wide.nearest = nil
    wide.isReversed = false
    // So many the patch can take away.
    wide.limit = query.lastWanted.map { wanted in
      let (sum, overflow) = wanted.addingReportingOverflow(patch.count)
      return overflow ? .max : sum
    }
    let run = try run(wide, requiring: fields, trace: trace)
    let replaced = patch.replaced
    var goesOn = true
    try run.forEachDocument { document in
      trace.found += 1
      if replaced.contains(document) { return true }
      while let first = patched.first, goesOn, try patch.precedes(first, document) {
        goesOn = try tell(patched.removeFirst())
      }
      if goesOn { goesOn = try tell(document) }
      return goesOn
    }
    while goesOn, !patched.isEmpty { goesOn = try tell(patched.removeFirst()) }
  }
}

/// Says of single documents whether a query finds them, its limit aside, and which comes first.
struct ResultTest {
  private let scope: StructuredQuery.Scope
  private var matcher: Matcher
  private var order: ResultOrder
  private let start: CursorPosition?
  private let end: CursorPosition?
  private let isNameDescending: Bool

  init(_ query: EffectiveQuery, requiring fields: [FieldSegments]) {
    scope = query.scope
    matcher = Matcher(query.filters, requiring: fields)
    order = ResultOrder(query.orders)
    start = query.start.map { CursorPosition($0, query.orders) }
    end = query.end.map { CursorPosition($0, query.orders) }
    isNameDescending = query.orders.last?.isDescending ?? false
  }

  mutating func admits(_ document: StoredDocument) throws -> Bool {
    guard scope.contains(document.path) else { return false }
    return try document.body.withBytes { bytes in
      let fields = try MapView(body: bytes)
      guard try matcher.matches(fields, path: { document.path }),
        let keys = try order.keys(of: fields)
      else { return false }
      if let start {
        let order = try order.compare(keys, { document.path }, to: start)
        guard order > 0 || (order == 0 && start.isBefore) else { return false }
      }
      if let end {
        let order = try order.compare(keys, { document.path }, to: end)
        guard order < 0 || (order == 0 && !end.isBefore) else { return false }
      }
      return true
    }
  }

  mutating func compare(_ one: StoredDocument, _ other: StoredDocument) throws -> Int {
    let byFields = try one.body.withBytes { left in
      try other.body.withBytes { right in
        guard let left = try order.keys(of: MapView(body: left)),
          let right = try order.keys(of: MapView(body: right))
        else { return 0 }
        return try order.compare(left, right)
      }
    }
    if byFields != 0 { return byFields }
    let byName = ResourcePath.compare(one.path, other.path)
    return isNameDescending ? -byName : byName
  }
}

extension StructuredQuery.Nearest {
  /// The nearest of some documents, the nearest first.
  fileprivate func nearest(among documents: [StoredDocument]) throws -> [StoredDocument] {
    var lookup = FieldLookup(field)
    let ruler = DistanceFunction(self)
    var foremost = TopK<ScoredDocument<StoredDocument>>(limit: limit)
    func compare(
      _ lhs: ScoredDocument<StoredDocument>, _ rhs: ScoredDocument<StoredDocument>
    ) -> Int {
      let order = ruler.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : ResourcePath.compare(lhs.found.path, rhs.found.path)
    }
    for document in documents {
      let distance = try document.body.withView { body throws(Status) in
        try lookup.find(in: body)?.vectorView().flatMap(ruler.distance)
      }
      guard let distance, ruler.accepts(distance) else { continue }
      try foremost.add(ScoredDocument(found: document, distance: distance), by: compare)
    }
    return try foremost.finish(by: compare).map { neighbour in
      try distanceField.map { try neighbour.found.setting($0, to: .double(neighbour.distance)) }
        ?? neighbour.found
    }
  }
}
