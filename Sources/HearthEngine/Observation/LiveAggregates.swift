/// The values of aggregations, or of groups, updated from changes alone.
///
/// Holds numbers, not documents; with a limit, an offset or a semi-join also the documents of the
/// window.
final class LiveAggregates: LiveResult {
  enum Kind {
    case totals([Aggregation])
    case groups(GroupedQuery)
  }

  private enum Totals {
    case all(AggregationTotals)
    case groups(GroupTotals)
  }

  let query: EffectiveQuery
  private let kind: Kind

  /// Without a window: decides whether a document counts.
  let test: LimitWindow
  private let isWindow: Bool
  private var totals: Totals
  /// Of a window: the rows that `totals` contains.
  private var rows = ResultTree()
  private var isLoaded = false

  /// For a query and aggregations that have been checked.
  convenience init(
    _ query: EffectiveQuery, _ aggregations: [Aggregation],
    _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.init(query, .totals(aggregations), tuning)
  }

  /// For a grouped query that has been checked.
  convenience init(
    _ grouped: GroupedQuery, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.init(EffectiveQuery(grouped.query), .groups(grouped), tuning)
  }

  private init(_ query: EffectiveQuery, _ kind: Kind, _ tuning: MaterializedQueryTuning) {
    var query = query
    query.projection = []
    self.query = query
    self.kind = kind
    // A document without an aggregated field is in a group, but does not count in a total.
    let required: [FieldSegments] =
      if case .totals(let aggregations) = kind { aggregations.compactMap(\.field) } else { [] }
    test = LimitWindow(query, requiring: required, tuning: tuning)
    isWindow =
      query.limit != nil || query.offset > 0 || query.filters.hasSemiJoins
      || query.filters.hasRelativeTimes()
    totals = Self.none(of: kind)
  }

  private static func none(of kind: Kind) -> Totals {
    switch kind {
    case .totals(let aggregations): .all(AggregationTotals(aggregations, isLive: true))
    case .groups(let grouped): .groups(GroupTotals(grouped, isLive: true))
    }
  }

  var window: LimitWindow? { test }
  var heldCount: Int { test.heldCount }
  var list: ResultList { ResultList() }
  /// Those that were delivered. One for each aggregation; for each group an array of its keys and its
  /// aggregations.
  private(set) var values: [Value]? = []

  private func newestValues() throws -> [Value] {
    switch totals {
    case .all(let totals): totals.values
    case .groups(let totals): try totals.results().map { .array($0.keys + $0.values) }
    }
  }

  // MARK: Reading

  var request: ReadRequest? {
    if isWindow { return test.request }
    if isLoaded { return nil }
    return switch kind {
    case .totals(let aggregations): .totals(query, aggregations)
    case .groups(let grouped): .groupTotals(grouped)
    }
  }

  func hold(_ fetched: ReadAnswer) throws {
    switch fetched {
    case _ where isWindow:
      try test.hold(fetched)
      try followWindow()
    case .totals(let totals): self.totals = .all(totals)
    case .groupTotals(let totals): self.totals = .groups(totals)
    default: throw Status.otherAnswer
    }
    isLoaded = true
    if request == nil { values = try newestValues() }
  }

  func reset() {
    test.reset()
    isLoaded = false
    totals = Self.none(of: kind)
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
        if let old = update.old, try test.admits(old) { try change(old, isAdded: false) }
        if let new = update.new, try test.admits(new) { try change(new, isAdded: true) }
      }
    }
    let before = values
    values = try newestValues()
    return values == before ? .changed(.none) : .changedValues
  }

  private func followWindow() throws {
    let new = test.list.rows
    let (gone, come) = rows.difference(to: new)
    rows = new
    for row in gone { try change(row.document, isAdded: false) }
    for row in come { try change(row.document, isAdded: true) }
  }

  private func change(_ document: StoredDocument, isAdded: Bool) throws {
    try document.body.withBytes { bytes in
      let fields = try MapView(body: bytes)
      switch totals {
      case .all(var all):
        totals = .groups(GroupTotals.none)
        defer { totals = .all(all) }
        if isAdded { try all.add(fields) } else { try all.remove(fields) }
      case .groups(var groups):
        totals = .groups(GroupTotals.none)
        defer { totals = .groups(groups) }
        if isAdded { try groups.add(fields) } else { try groups.remove(fields) }
      }
    }
  }
}
