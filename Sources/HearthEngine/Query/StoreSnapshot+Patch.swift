/// A query's answer where a few documents have other versions than those stored.
///
///     stored results, without the patched documents ─┐
///     patched documents that the query finds ────────┴▶ merged ─▶ offset ─▶ limit
///
/// Any plan may find the stored results: it is asked for as many more as the patch can take away.
extension StoreSnapshot {
  /// The query's results, copied out, as it tells them.
  func documents(
    matching query: EffectiveQuery, with patch: Patch, trace: QueryTrace = QueryTrace()
  ) throws -> [StoredDocument] {
    guard !patch.isEmpty else { return try documents(matching: query, trace: trace) }
    var found = try results(of: query, with: patch, trace)
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
    _ aggregations: [Aggregation], over query: EffectiveQuery, with patch: Patch,
    trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    guard !patch.isEmpty else { return try aggregate(aggregations, over: query, trace: trace) }
    let found = try results(
      of: query, requiring: aggregations.compactMap(\.field), with: patch, trace)
    return try aggregations.map { aggregation in
      guard let field = aggregation.field else {
        return .integer(aggregation.counted(Int64(found.count)))
      }
      var lookup = FieldLookup(field)
      var total = NumberTotal()
      for document in found {
        try document.body.withView { body throws(Status) in
          if let value = try lookup.find(in: body) { try total.add(value) }
        }
      }
      if case .average = aggregation.kind { return total.averageValue }
      return total.sumValue
    }
  }

  /// Whole documents, in the order they are found in.
  private func results(
    of query: EffectiveQuery, requiring fields: [FieldSegments] = [], with patch: Patch,
    _ trace: QueryTrace
  ) throws -> [StoredDocument] {
    var wide = query
    wide.offset = 0
    wide.projection = []
    wide.nearest = nil
    wide.isReversed = false
    wide.limit = query.limit.map { limit in
      let (wanted, overflow) = limit.addingReportingOverflow(query.offset &+ patch.count)
      return overflow ? .max : wanted
    }
    let stored = try run(wide, requiring: fields, trace: trace).documents()
    trace.found = stored.count
    var test = ResultTest(query, requiring: fields)
    var patched: [StoredDocument] = []
    for case (_, let document?) in patch.versions where try test.admits(document) {
      patched.append(document)
    }
    try patched.sort { try test.compare($0, $1) < 0 }
    var merged: [StoredDocument] = []
    merged.reserveCapacity(stored.count + patched.count)
    var next = patched[...]
    for document in stored where !patch.covers(document.path) {
      while let first = next.first, try test.compare(first, document) < 0 {
        merged.append(next.removeFirst())
      }
      merged.append(document)
    }
    merged += next
    return Array(merged.dropFirst(query.offset).prefix(query.limit ?? .max))
  }
}

/// Says of single documents whether a query finds them, its limit aside, and which comes first.
private struct ResultTest {
  private let scope: StructuredQuery.Scope
  private var matcher: Matcher
  private var order: ResultOrder
  private let start: ResultPlace?
  private let end: ResultPlace?
  private let isNameDescending: Bool

  init(_ query: EffectiveQuery, requiring fields: [FieldSegments]) {
    scope = query.scope
    matcher = Matcher(query.filters, requiring: fields)
    order = ResultOrder(query.orders)
    start = query.start.map { ResultPlace($0, query.orders) }
    end = query.end.map { ResultPlace($0, query.orders) }
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
    let ruler = Ruler(self)
    var foremost = Foremost<Neighbour<StoredDocument>>(limit: limit)
    func compare(
      _ lhs: Neighbour<StoredDocument>, _ rhs: Neighbour<StoredDocument>
    ) -> Int {
      let order = ruler.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : ResourcePath.compare(lhs.found.path, rhs.found.path)
    }
    for document in documents {
      let distance = try document.body.withView { body throws(Status) in
        try lookup.find(in: body)?.vectorView().flatMap(ruler.distance)
      }
      guard let distance, ruler.accepts(distance) else { continue }
      try foremost.add(Neighbour(found: document, distance: distance), by: compare)
    }
    return try foremost.finish(by: compare).map { neighbour in
      try distanceField.map { try neighbour.found.setting($0, to: .double(neighbour.distance)) }
        ?? neighbour.found
    }
  }
}
