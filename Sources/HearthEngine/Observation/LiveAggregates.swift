/// What aggregations come to, kept by the changes alone.
///
/// Holds numbers, not documents; with a limit or an offset also the documents of the window.
final class LiveAggregates {
  let query: EffectiveQuery
  let aggregations: [Aggregation]

  /// Without a limit or an offset: says whether a document counts.
  private let test: LimitWindow
  private let isWindow: Bool
  private var count: Int64 = 0
  private var totals: [LiveTotal]
  private var lookups: [FieldLookup?]

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
    totals = aggregations.map { _ in LiveTotal() }
    lookups = aggregations.map { $0.field.map(FieldLookup.init) }
  }

  var horizon: ResultRow? { test.horizon }
  var keys: SortKeyEncoder {
    get { test.keys }
    set { test.keys = newValue }
  }
  /// How many documents are held.
  var heldCount: Int { test.heldCount }

  var values: [Value] {
    zip(aggregations, totals).map { aggregation, total in
      switch aggregation.kind {
      case .count: .integer(aggregation.counted(count))
      case .sum: total.sumValue
      case .average: total.averageValue
      }
    }
  }

  func load(_ snapshot: StoreSnapshot, _ trace: QueryTrace) throws {
    count = 0
    totals = aggregations.map { _ in LiveTotal() }
    let fields = aggregations.compactMap(\.field)
    if isWindow {
      try test.load(snapshot, trace)
      for row in test.list.rows { try change(row.document, isAdded: true) }
    } else if fields.isEmpty {
      let all = Aggregation(.count(upTo: nil))
      let counts = try snapshot.aggregate([all], over: query, trace: trace)
      if case .integer(let all)? = counts.first { count = all }
    } else {
      let run = try snapshot.run(query, requiring: fields, needsOrder: false, trace: trace)
      try run.forEachUnordered { _, body in
        try change(body, isAdded: true)
        return true
      }
      trace.found = Int(clamping: count)
    }
  }

  /// False if the query has to be run again.
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
    try document.body.withBytes { try change(MapView(body: $0), isAdded: isAdded) }
  }

  private func change(_ body: MapView, isAdded: Bool) throws {
    count += isAdded ? 1 : -1
    for index in lookups.indices {
      guard let value = try lookups[index]?.find(in: body) else { continue }
      try totals[index].change(value, isAdded: isAdded)
    }
  }
}
