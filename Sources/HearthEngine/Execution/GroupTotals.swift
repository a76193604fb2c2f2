/// The groups of a query's results, while they are formed.
struct GroupTotals {
  private let query: GroupedQuery
  private let fresh: AggregationTotals
  private var lookups: [FieldLookup]
  /// By the keys of the group's values, one after another.
  private var groups: [[UInt8]: AggregationTotals] = [:]
  private static let null = Value.null.componentKey

  init(_ query: GroupedQuery) {
    self.query = query
    fresh = AggregationTotals(query.aggregations, isLive: false)
    lookups = query.keys.map(FieldLookup.init)
  }

  mutating func add(_ fields: MapView) throws {
    var key = KeyBuffer(minimumCapacity: 64)
    for index in lookups.indices {
      if let value = try lookups[index].find(in: fields) {
        try key.append(value, descending: false)
      } else {
        key.append(raw: Self.null)
      }
    }
    try groups[key.bytes, default: fresh].add(fields)
  }

  /// The groups that meet the conditions, in order.
  func results() throws -> [QueryGroup] {
    struct Row {
      var group: QueryGroup
      var orders: [UInt8]
    }
    var matcher = Matcher(query.having)
    var rows: [Row] = []
    for (key, totals) in groups {
      let keys = try key.withUnsafeBytes { bytes in
        var reader = KeyReader(bytes)
        return try query.keys.map { _ in try reader.readValue() }
      }
      let group = QueryGroup(keys: keys, values: totals.values)
      let fields = query.fields(of: group)
      if !matcher.isEmpty {
        let passes = try DocumentBody(encoding: fields).withBytes { bytes in
          try matcher.matches(MapView(body: bytes)) { .root }
        }
        guard passes else { continue }
      }
      var orders = KeyBuffer(minimumCapacity: 64)
      for order in query.orders {
        let start = orders.count
        orders.append(fields.value(at: order.field.names) ?? .null)
        if order.isDescending { orders.invert(from: start) }
      }
      orders.append(raw: key)
      rows.append(Row(group: group, orders: orders.bytes))
    }
    rows.sort { UTF8Order.compare($0.orders, $1.orders) < 0 }
    return rows.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.group)
  }
}

extension StoreSnapshot {
  /// The groups of the query's results.
  func groups(_ grouped: GroupedQuery, trace: QueryTrace = QueryTrace()) throws -> [QueryGroup] {
    var query = EffectiveQuery(grouped.query)
    query.projection = []
    var totals = GroupTotals(grouped)
    let needsOrder = query.limit != nil || query.offset > 0
    let run = try run(query, needsOrder: needsOrder, trace: trace)
    try run.forEachUnordered { _, fields in
      try totals.add(fields)
      return true
    }
    let groups = try totals.results()
    trace.found = groups.count
    return groups
  }

  /// Same as `groups`, after the change with `sequence`.
  func groups(
    _ grouped: GroupedQuery, asOf sequence: UInt64, trace: QueryTrace = QueryTrace()
  ) throws -> [QueryGroup] {
    var query = EffectiveQuery(grouped.query)
    query.projection = []
    var totals = GroupTotals(grouped)
    for document in try documents(matching: query, asOf: sequence, trace: trace) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return try totals.results()
  }
}
