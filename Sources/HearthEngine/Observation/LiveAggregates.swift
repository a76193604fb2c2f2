/// The values of aggregations, updated from changes alone.
///
/// Holds numbers, not documents; with a limit or an offset also the documents of the window.
final class LiveAggregates {
  let query: EffectiveQuery
  let aggregations: [Aggregation]

  /// Without a limit or an offset: decides whether a document counts.
  private let test: LimitWindow
  private let isWindow: Bool
  private var totals: AggregationTotals

  /// For a query and aggregations that have been checked.
  init(
    _ query: EffectiveQuery, _ aggregations: [Aggregation],
    _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    var query = query
    query.projection = []
    self.query = query
    self.aggregations = aggregations
    test = LimitWindow(query, requiring: aggregations.compactMap(\.field), tuning: tuning)
    isWindow = query.limit != nil || query.offset > 0
    totals = AggregationTotals(aggregations, isLive: true)
  }

  var upperBound: ResultRow? { test.upperBound }
  var keys: SortKeyEncoder {
    get { test.keys }
    set { test.keys = newValue }
  }
  /// How many documents are held.
  var heldCount: Int { test.heldCount }

  var values: [Value] { totals.values }

  // MARK: Reading

  var request: ResultRequest { isWindow ? test.request : .totals(query, aggregations) }

  func hold(_ fetched: FetchedResult) throws {
    if case .totals(let totals) = fetched { return self.totals = totals }
    try test.hold(fetched)
    totals = AggregationTotals(aggregations, isLive: true)
    for row in test.list.rows { try change(row.document, isAdded: true) }
  }

  // MARK: Following

  /// False if the query has to run again.
  func apply(_ updates: [DocumentUpdate]) throws -> Bool {
    guard isWindow else {
      for update in updates {
        if let old = update.old, try test.admits(old) { try change(old, isAdded: false) }
        if let new = update.new, try test.admits(new) { try change(new, isAdded: true) }
      }
      return true
    }
    let before = test.list.rows
    guard case .changed = try test.apply(updates) else { return false }
    let (gone, come) = before.difference(to: test.list.rows)
    for row in gone { try change(row.document, isAdded: false) }
    for row in come { try change(row.document, isAdded: true) }
    return true
  }

  private func change(_ document: StoredDocument, isAdded: Bool) throws {
    try document.body.withBytes { bytes in
      if isAdded {
        try totals.add(MapView(body: bytes))
      } else {
        try totals.remove(MapView(body: bytes))
      }
    }
  }
}
