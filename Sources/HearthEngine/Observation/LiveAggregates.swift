/// The values of aggregations, or of groups, updated from changes alone.
///
/// Holds numbers, not documents; with a limit, an offset or a semi-join also the documents of the
/// window.
final class LiveAggregates: LiveResult {
  let query: EffectiveQuery
  /// The request for all totals, and the totals of no document.
  private let whole: ReadRequest
  private let none: any LiveTotals

  /// Without a window: decides whether a document counts.
  let test: LimitWindow
  private let isWindow: Bool
  private var totals: any LiveTotals
  /// Of a window: the rows that `totals` contains.
  private var rows = ResultTree()
  private var isLoaded = false

  /// For a query and aggregations that have been checked.
  convenience init(
    _ query: EffectiveQuery, _ aggregations: [Aggregation],
    _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    var query = query
    query.projection = []
    // A document without an aggregated field does not count in a total.
    self.init(
      query, .totals(query, aggregations), AggregationTotals(aggregations, isLive: true),
      requiring: aggregations.compactMap(\.field), tuning)
  }

  /// For a grouped query that has been checked.
  convenience init(
    _ grouped: GroupedQuery, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    var query = EffectiveQuery(grouped.query)
    query.projection = []
    self.init(
      query, .groupTotals(grouped), GroupTotals(grouped, isLive: true), requiring: [], tuning)
  }

  private init(
    _ query: EffectiveQuery, _ whole: ReadRequest, _ none: any LiveTotals,
    requiring fields: [FieldSegments], _ tuning: MaterializedQueryTuning
  ) {
    self.query = query
    self.whole = whole
    self.none = none
    test = LimitWindow(query, requiring: fields, tuning: tuning)
    isWindow = query.isBounded || !query.isResolved
    totals = none
  }

  var window: LimitWindow? { test }
  var heldCount: Int { test.heldCount }
  var list: ResultList { ResultList() }
  /// Those that were delivered. One for each aggregation; for each group an array of its keys and its
  /// aggregations.
  private(set) var values: [Value]? = []

  // MARK: Reading

  var request: ReadRequest? {
    if isWindow { return test.request }
    return isLoaded ? nil : whole
  }

  func hold(_ fetched: ReadAnswer) throws {
    switch fetched {
    case _ where isWindow:
      try test.hold(fetched)
      try followWindow()
    case .totals(let totals): self.totals = totals
    case .groupTotals(let totals): self.totals = totals
    default: throw Status.otherAnswer
    }
    isLoaded = true
    if request == nil { values = try totals.newestValues() }
  }

  func reset() {
    test.reset()
    isLoaded = false
    totals = none
    rows = ResultTree()
  }

  // MARK: Following

  func apply(_ updates: [DocumentUpdate]) throws -> LiveChange {
    if isWindow {
      guard case .changed = try test.apply(updates) else { return .mustLoad }
      try followWindow()
      if request != nil { return .changed(.none) }
    } else {
      for update in updates {
        if let old = update.old, try test.admits(old) { try add(old, sign: -1) }
        if let new = update.new, try test.admits(new) { try add(new) }
      }
    }
    let before = values
    values = try totals.newestValues()
    return values == before ? .changed(.none) : .changedValues
  }

  private func followWindow() throws {
    let new = test.list.rows
    let (gone, come) = rows.difference(to: new)
    rows = new
    for row in gone { try add(row.document, sign: -1) }
    for row in come { try add(row.document) }
  }

  private func add(_ document: StoredDocument, sign: Int = 1) throws {
    try document.body.withBytes { try totals.add(MapView(body: $0), sign: sign) }
  }
}

/// The totals of the documents that count.
protocol LiveTotals {
  /// - Parameter sign: -1 removes a document that was added.
  mutating func add(_ fields: MapView, sign: Int) throws
  func newestValues() throws -> [Value]
}

extension AggregationTotals: LiveTotals {
  func newestValues() -> [Value] { values }
}

extension GroupTotals: LiveTotals {
  func newestValues() throws -> [Value] { try results().map { .array($0.keys + $0.values) } }
}
