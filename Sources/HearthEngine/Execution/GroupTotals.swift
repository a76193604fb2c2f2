/// The groups of a query's results, while they are formed.
struct GroupTotals: @unchecked Sendable {
  // Unchecked: the bytes that the lookups refer to are never written.

  private let query: GroupedQuery
  private let fresh: AggregationTotals
  private var lookups: [FieldLookup]
  /// By the keys of the group's values, one after another.
  private var groups: [[UInt8]: Group] = [:]
  private static let null = Value.null.componentKey

  /// A placeholder that costs no memory.
  static let none = GroupTotals(GroupedQuery(StructuredQuery(.subtree(below: .root)), by: [], []))

  /// The number of its documents, and their aggregations.
  private struct Group {
    var count = 0
    var totals: AggregationTotals
  }

  /// - Parameter isLive: Documents will be removed again.
  init(_ query: GroupedQuery, isLive: Bool = false) {
    self.query = query
    fresh = AggregationTotals(query.aggregations, isLive: isLive)
    lookups = query.keys.map(FieldLookup.init)
  }

  mutating func add(_ fields: MapView) throws {
    let key = try key(of: fields)
    groups[key, default: Group(totals: fresh)].count += 1
    try groups[key]?.totals.add(fields)
  }

  /// Removes a document that was added.
  mutating func remove(_ fields: MapView) throws {
    let key = try key(of: fields)
    guard let count = groups[key]?.count else { return }
    if count == 1 {
      groups[key] = nil
    } else {
      groups[key]?.count -= 1
      try groups[key]?.totals.remove(fields)
    }
  }

  /// The keys of the group's values, one after another.
  private mutating func key(of fields: MapView) throws -> [UInt8] {
    var key = KeyBuffer(minimumCapacity: 64)
    for index in lookups.indices {
      if let value = try lookups[index].find(in: fields) {
        try key.append(value, descending: false)
      } else {
        key.append(raw: Self.null)
      }
    }
    return key.bytes
  }

  /// The groups that meet the conditions, in order.
  func results() throws -> [QueryGroup] {
    struct Row {
      var group: QueryGroup
      var orders: [UInt8]
    }
    var matcher = Matcher(query.having)
    var rows: [Row] = []
    for (key, group) in groups {
      let keys = try key.withUnsafeBytes { bytes in
        var reader = KeyReader(bytes)
        return try query.keys.map { _ in try reader.readValue() }
      }
      let group = QueryGroup(keys: keys, values: group.totals.values)
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
    let groups = try groupTotals(grouped, isLive: false, trace: trace).results()
    trace.found = groups.count
    return groups
  }

  /// - Parameter isLive: Documents will be removed again.
  func groupTotals(
    _ grouped: GroupedQuery, isLive: Bool, trace: QueryTrace
  ) throws -> GroupTotals {
    var query = EffectiveQuery(grouped.query)
    query.projection = []
    var totals = GroupTotals(grouped, isLive: isLive)
    if query.search != nil {
      for document in try search(query, trace: trace) {
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
      }
      return totals
    }
    let needsOrder = query.limit != nil || query.offset > 0
    let run = try run(query, needsOrder: needsOrder, trace: trace)
    try run.forEachUnordered { _, fields in
      try totals.add(fields)
      return true
    }
    return totals
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
