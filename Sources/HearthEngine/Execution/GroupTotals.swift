/// The groups of a query's results, while they are formed.
package struct GroupTotals: @unchecked Sendable {
  // Unchecked: the bytes that the lookups refer to are never written.

  private let query: GroupedQuery
  private let fresh: AggregationTotals
  private var lookups: [FieldLookup]
  /// By the keys of the group's values, one after another.
  private var groups: [[UInt8]: Group] = [:]
  private static let null = Value.null.componentKey

  /// The number of its documents, and their aggregations.
  private struct Group {
    var count = 0
    var totals: AggregationTotals

    mutating func add(_ fields: MapView, _ sign: Int) throws {
      count += sign
      try totals.add(fields, sign: sign)
    }
  }

  /// - Parameter isLive: Documents will be removed again.
  init(_ query: GroupedQuery, isLive: Bool = false) {
    self.query = query
    fresh = AggregationTotals(query.aggregations, isLive: isLive)
    lookups = query.keys.map(FieldLookup.init)
  }

  /// - Parameter sign: -1 removes a document that was added.
  mutating func add(_ fields: MapView, sign: Int = 1) throws {
    let key = try key(of: fields)
    if sign < 0, groups[key]?.count ?? 1 == 1 {
      groups[key] = nil
    } else {
      try groups[key, default: Group(totals: fresh)].add(fields, sign)
    }
  }

  fileprivate mutating func add(_ count: Int, _ totals: AggregationTotals, ofKey key: [UInt8]) {
    groups[key] = Group(count: count, totals: totals)
  }

  /// The number of documents.
  fileprivate var count: Int { groups.values.reduce(0) { $0 + $1.count } }

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
      let isPlain = matcher.isEmpty && query.orders.isEmpty
      let fields = isPlain ? MapValue() : query.fields(of: group)
      if !matcher.isEmpty, try !matcher.matches(fields) { continue }
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

/// Forms groups from the entries of an index, in which the documents of a group follow each other.
///
///     (genre ↑, pages ↑)    sf, 90, dune │ sf, 412, emma │ war, 80, …
///                           └─ one group ─────────────┘
struct EntryGroups {
  private let fresh: AggregationTotals
  /// The number of components that form the groups.
  private let keyCount: Int
  /// Components that are descending.
  private let descending: UInt64
  /// In the order of their components.
  private var steps: [Step]

  /// An aggregation of a field.
  private struct Step {
    let component: Int
    let aggregation: Int
    /// It takes sums of integers.
    let takesIntegers: Bool
    /// The last integer and its key: neighbors in the index often have the same one.
    var integer: Int64 = 0
    var integerKey: [UInt8] = []
    /// Of integers that are not yet in `totals`.
    var sum: Int64 = 0
    var count = 0

    @inline(__always)
    mutating func read(_ reader: inout KeyReader, descending: Bool) throws -> Value {
      if !integerKey.isEmpty, reader.take(integerKey) { return .integer(integer) }
      let bytes = reader.rest
      let value = try reader.readValue(descending: descending)
      if case .integer(let integer) = value {
        self.integer = integer
        integerKey.replaceSubrange(
          integerKey.indices, with: bytes[..<(bytes.count - reader.rest.count)])
      }
      return value
    }
  }

  /// Of the group: its components as they are stored, and where each ends.
  private var key: [UInt8] = []
  private var ends: [Int] = []
  private var count = 0
  private var totals: AggregationTotals

  /// Nil for a plan that does not read groups one after another, or not all of the fields.
  init?(_ grouped: GroupedQuery, _ plan: QueryPlan) {
    fresh = AggregationTotals(grouped.aggregations, isLive: false)
    guard case .entries(let branches) = plan.source, branches.count == 1,
      branches[0].rangeLists.count == 1, branches[0].fixed.isEmpty, !plan.mayRepeat,
      let positions = fresh.carriers(in: plan)?.first
    else { return nil }
    let components = branches[0].index.definition.components
    guard components.count >= grouped.keys.count, components.count <= 64,
      zip(components, grouped.keys).allSatisfy({ $0.field == $1 && $0.kind.hasValues }),
      positions.allSatisfy({ ($0 ?? .max) >= grouped.keys.count })
    else { return nil }
    keyCount = grouped.keys.count
    descending = components.indices.reduce(0) { bits, index in
      components[index].isDescending ? bits | 1 << UInt64(index) : bits
    }
    steps = positions.enumerated().compactMap { [fresh] index, component in
      component.map {
        Step(component: $0, aggregation: index, takesIntegers: fresh.sums(index))
      }
    }
    steps.sort { $0.component < $1.component }
    totals = fresh
  }

  /// Adds the document of an entry to its group, and to `all` the group before if that has ended.
  mutating func add(_ stream: IndexJoin, _ entry: ScannedEntry, _ all: inout GroupTotals) throws {
    let suffix = entry.suffix
    // No component is a prefix of another.
    if count == 0 || !suffix.starts(withKey: key) {
      endGroup(&all)
      var reader = KeyReader(suffix)
      ends.removeAll(keepingCapacity: true)
      for component in 0..<keyCount {
        try reader.skipValue(descending: isDescending(component))
        ends.append(reader.offset)
      }
      key = Array(suffix[..<reader.offset])
    }
    count += 1
    var reader = KeyReader(suffix.from(key.count))
    var next = keyCount
    var value = Value.null
    for index in steps.indices {
      let component = steps[index].component
      // Several aggregations may be of one component.
      if next <= component {
        while next < component {
          try reader.skipValue(descending: isDescending(next))
          next += 1
        }
        value = try steps[index].read(&reader, descending: isDescending(next))
        next += 1
      }
      if case .integer(let integer) = value, steps[index].takesIntegers,
        entry.identities[component] == .exact
      {
        let (sum, overflow) = steps[index].sum.addingReportingOverflow(integer)
        if !overflow {
          steps[index].sum = sum
          steps[index].count += 1
          continue
        }
      }
      var fields: MapView?
      try totals.add(stream, entry, steps[index].aggregation, at: component, &fields)
    }
  }

  private func isDescending(_ component: Int) -> Bool { descending >> UInt64(component) & 1 == 1 }

  mutating func endGroup(_ all: inout GroupTotals) {
    guard count > 0 else { return }
    totals.counted = Int64(count)
    for index in steps.indices where steps[index].count > 0 {
      totals.add(sum: steps[index].sum, of: steps[index].count, to: steps[index].aggregation)
      (steps[index].sum, steps[index].count) = (0, 0)
    }
    // Those of groups are ascending.
    var ascending = key
    var start = 0
    for (component, end) in ends.enumerated() {
      if isDescending(component) {
        for index in start..<end { ascending[index] = ~ascending[index] }
      }
      start = end
    }
    all.add(count, totals, ofKey: ascending)
    totals = fresh
    count = 0
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate func starts(withKey key: [UInt8]) -> Bool {
    count >= key.count
      && key.withUnsafeBytes {
        UTF8Order.areEqual(UnsafeRawBufferPointer(rebasing: self[..<$0.count]), $0)
      }
  }
}

extension StoreSnapshot {
  /// - Parameter isLive: Documents will be removed again.
  func groupTotals(
    _ grouped: GroupedQuery, isLive: Bool, trace: QueryTrace
  ) throws -> GroupTotals {
    let query = EffectiveQuery(whole: grouped.query)
    var totals = GroupTotals(grouped, isLive: isLive)
    if let ranking = ranking(of: query) {
      for document in try ranking.documents(with: nil, trace) {
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
      }
      return totals
    }
    if !isLive, let totals = try groupTotals(fromEntriesOf: grouped, query, trace) { return totals }
    let run = try run(query, needsOrder: query.isBounded, trace: trace)
    try run.forEachUnordered { _, fields in
      try totals.add(fields)
      return true
    }
    return totals
  }

  /// The groups of a whole collection from an index that has all fields. Nil if there is none, or if
  /// it lacks documents: those without one of the fields.
  private func groupTotals(
    fromEntriesOf grouped: GroupedQuery, _ query: EffectiveQuery, _ trace: QueryTrace
  ) throws -> GroupTotals? {
    let attempt = QueryTrace(trace.touched)
    guard case .collection(let path) = query.scope,
      let (run, first) = try entries(of: grouped, query, attempt)
    else { return nil }
    var (walk, totals) = (first, GroupTotals(grouped))
    try run.forEachEntry { _, stream, entry in
      try walk.add(stream, entry, &totals)
      return true
    }
    walk.endGroup(&totals)
    guard try totals.count == Int(clamping: documentCount(inCollection: path)) else { return nil }
    trace.plan = attempt.plan
    return totals
  }

  /// A walk through an index that has all fields of a whole collection; nil if there is none.
  func entries(
    of grouped: GroupedQuery, _ query: EffectiveQuery, _ trace: QueryTrace
  ) throws -> (run: QueryExecutor, walk: EntryGroups)? {
    guard case .collection = query.scope, query.isWholeCollection, query.limit == nil,
      query.offset == 0, !grouped.keys.isEmpty
    else { return nil }
    let required = grouped.keys + grouped.aggregations.compactMap(\.field)
    let run = try run(
      query, requiring: required, needsOrder: false, countsOnly: true, trace: trace)
    return EntryGroups(grouped, run.plan).map { (run, $0) }
  }
}
