/// Answers a query with an overlay: a few documents have other versions than the stored ones.
///
///     stored results, without replaced documents ──┐
///     versions in the overlay that match the query ┴▶ merged ─▶ offset ─▶ limit
///
/// Any plan may find the stored results; its limit is raised by the number of replaced documents.
extension StoreSnapshot {
  /// Calls `body` with every result, without projection, in the order found, until it returns false.
  func forEachResult(
    of query: EffectiveQuery, requiring fields: [FieldSegments] = [], with overlay: DocumentOverlay,
    _ trace: QueryTrace, _ body: (StoredDocument) throws -> Bool
  ) throws {
    var overlay = overlay
    var versions = try overlay.results()[...]
    var found = 0
    let (offset, end) = (query.offset, query.lastWanted ?? .max)
    /// False if no more results are wanted.
    func emit(_ document: StoredDocument) throws -> Bool {
      found += 1
      if found > offset { guard try body(document) else { return false } }
      return found < end
    }
    guard end > offset else { return }
    var wide = query
    wide.offset = 0
    wide.projection = []
    wide.question = .results
    wide.isReversed = false
    // The overlay can replace up to this many stored results.
    wide.limit = query.lastWanted.map { $0.adding(saturating: overlay.count) }
    let run = try run(wide, requiring: fields, trace: trace)
    let replaced = overlay.replaced
    var goesOn = true
    try run.forEachDocument { document in
      trace.found += 1
      if replaced.contains(document) { return true }
      while let first = versions.first, goesOn, try overlay.precedes(first, document) {
        goesOn = try emit(versions.removeFirst())
      }
      if goesOn { goesOn = try emit(document) }
      return goesOn
    }
    while goesOn, !versions.isEmpty { goesOn = try emit(versions.removeFirst()) }
  }
}

/// Tests whether a query without its offset and limit finds a document, and compares documents in
/// result order.
struct ResultTest {
  private let scope: StructuredQuery.Scope
  private var matcher: Matcher
  private var order: ResultOrder
  private let range: CursorRange

  init(_ query: EffectiveQuery, requiring fields: [FieldSegments]) {
    scope = query.scope
    matcher = Matcher(query.filters, requiring: fields)
    order = ResultOrder(query.orders)
    range = CursorRange(query)
  }

  mutating func admits(_ document: StoredDocument) throws -> Bool {
    guard scope.contains(document.path) else { return false }
    return try document.body.withBytes { bytes in
      let fields = try MapView(body: bytes)
      guard try matcher.matches(fields, path: { document.path }),
        let keys = try order.keys(of: fields)
      else { return false }
      return try range.contains(keys, path: { document.path }, in: order)
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
    return order.isNameDescending ? -byName : byName
  }
}
