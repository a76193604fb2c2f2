/// One number out of all results of a query.
package struct Aggregation: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// How many, counted no further than a limit.
    case count(upTo: Int64?)
    case sum(FieldSegments)
    case average(FieldSegments)
  }

  var kind: Kind
  /// The name of the result; nil for `field_1`, `field_2` and so on.
  var alias: String?

  package init(_ kind: Kind, alias: String? = nil) {
    self.kind = kind
    self.alias = alias
  }

  var field: FieldSegments? {
    switch kind {
    case .count: nil
    case .sum(let field), .average(let field): field
    }
  }
}

extension StructuredQuery {
  /// What the server refuses, the query included.
  package func check(
    _ aggregations: [Aggregation], cursorsReachImpliedOrders: Bool = false
  ) throws(Status) {
    guard !aggregations.isEmpty else {
      throw .invalidArgument("Aggregations can not be empty.")
    }
    guard aggregations.count <= Limits.aggregations else {
      throw .invalidArgument(
        "The maximum number of aggregations allowed in an aggregation query is "
          + "\(Limits.aggregations). Received: \(aggregations.count)")
    }
    _ = try Aggregation.aliases(aggregations)
    for aggregation in aggregations {
      if case .count(let limit?) = aggregation.kind, limit <= 0 {
        throw .invalidArgument(
          "The `up_to` value in a COUNT aggregation must be greater than zero.")
      }
      guard let field = aggregation.field else { continue }
      guard !field.isDocumentID else {
        throw .invalidArgument("Aggregations are not supported for the property: __key__")
      }
      try StructuredQuery.check(field: field)
      guard projection.isEmpty || projection.contains(where: { field.hasPrefix($0) }) else {
        throw .invalidArgument(
          "The aggregation property \(field.canonicalText) is not present in the base query's "
            + "property mask.")
      }
    }
    try check(cursorsReachImpliedOrders: cursorsReachImpliedOrders)
  }
}

extension Aggregation {
  /// The names of the results. Names that are not given are `field_1`, `field_2` and so on.
  static func aliases(_ aggregations: [Aggregation]) throws(Status) -> [String] {
    var aliases: [String] = []
    var next = 1
    for aggregation in aggregations {
      let alias = aggregation.alias ?? "field_\(next)"
      if aggregation.alias == nil { next += 1 }
      guard !ResourcePath.isReserved(alias) else {
        throw .invalidArgument("The property.name \"\(alias)\" is reserved.")
      }
      guard !aliases.contains(where: { UTF8Order.areEqual($0, alias) }) else {
        throw .invalidArgument("Aggregation aliases contain duplicate alias: \(alias).")
      }
      aliases.append(alias)
    }
    return aliases
  }
}

/// Adds numbers up: integers exactly, doubles with what rounding loses (Neumaier).
struct NumberTotal {
  private var integers: Int128 = 0
  private var count = 0
  private var hasDouble = false
  private var sum = 0.0
  private var lost = 0.0

  mutating func add(_ value: ValueView) throws(Status) {
    if let integer = try value.integer() {
      add(integer)
    } else if let double = try value.double() {
      add(double: double)
    }
  }

  mutating func add(_ value: Value) {
    switch value {
    case .integer(let integer): add(integer)
    case .double(let double): add(double: double)
    default: break
    }
  }

  private mutating func add(_ integer: Int64) {
    integers += Int128(integer)
    count += 1
  }

  private mutating func add(double: Double) {
    hasDouble = true
    count += 1
    add(double)
  }

  private mutating func add(_ double: Double) {
    let next = sum + double
    lost += abs(sum) >= abs(double) ? (sum - next) + double : (double - next) + sum
    sum = next
  }

  private var doubleTotal: Double {
    var total = self
    total.add(Double(integers))
    // Where a sum leaves the finite numbers, what was lost on the way has no meaning.
    return total.sum.isFinite ? total.sum + total.lost : total.sum
  }

  /// Integers stay one as long as it fits.
  var sumValue: Value {
    guard !hasDouble else { return .double(doubleTotal) }
    return Int64(exactly: integers).map(Value.integer) ?? .double(Double(integers))
  }

  /// Null of nothing.
  var averageValue: Value {
    guard count > 0 else { return .null }
    return .double((hasDouble ? doubleTotal : Double(integers)) / Double(count))
  }
}

extension StoreSnapshot {
  /// The aggregations' results, in their order. A document counts if it has every aggregated field.
  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery, trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    guard aggregations.contains(where: { $0.field != nil }) else {
      let most = aggregations.map(\.countLimit).max() ?? .max
      let count = try count(query, upTo: Int(clamping: most), trace: trace)
      return aggregations.map { .integer($0.counted(Int64(count))) }
    }
    var totals = AggregationTotals(aggregations)
    let needsOrder = query.limit != nil || query.offset > 0
    let run = try run(
      query, requiring: totals.fields, needsOrder: needsOrder, countsOnly: true, trace: trace)
    if !needsOrder, let carriers = totals.carriers(in: run.plan) {
      try run.forEachEntry { branch, stream, entry in
        try totals.add(stream, entry, carriers[branch])
        return true
      }
    } else {
      try run.forEachUnordered { _, fields in
        try totals.add(fields)
        return true
      }
    }
    trace.found = Int(totals.counted)
    return totals.values
  }

  /// How many results the query has, counted no further than to `most`.
  private func count(_ query: EffectiveQuery, upTo most: Int, trace: QueryTrace) throws -> Int {
    // No order is asked for: of any so many, so many are left.
    var all = query
    all.limit = nil
    all.offset = 0
    let wanted = min(most, query.limit ?? .max)
    let (sum, overflow) = query.offset.addingReportingOverflow(wanted)
    let enough = overflow ? Int.max : sum
    var count = 0
    defer { trace.found = count }
    if wanted == 0 { return 0 }
    if case .collection(let path) = query.scope, query.isWholeCollection {
      trace.touched.keys += 1
      count = Int(clamping: try documentCount(inCollection: path))
    } else {
      let run = try run(all, needsOrder: false, countsOnly: true, trace: trace)
      if run.plan.isExact {
        try run.forEachEntry { _, _, _ in
          count += 1
          return count < enough
        }
      } else {
        try run.forEachUnordered(isLimited: enough < .max) { _, _ in
          count += 1
          return count < enough
        }
      }
    }
    return min(max(0, count - query.offset), wanted)
  }
}

/// Aggregations on their way.
private struct AggregationTotals {
  private let aggregations: [Aggregation]
  let fields: [FieldSegments]
  private(set) var counted: Int64 = 0
  private var totals: [NumberTotal]
  private var lookups: [FieldLookup?]

  init(_ aggregations: [Aggregation]) {
    self.aggregations = aggregations
    fields = aggregations.compactMap(\.field)
    totals = [NumberTotal](repeating: NumberTotal(), count: aggregations.count)
    lookups = aggregations.map { $0.field.map(FieldLookup.init) }
  }

  mutating func add(_ fields: MapView) throws {
    counted += 1
    for index in lookups.indices {
      guard let value = try lookups[index]?.find(in: fields) else { continue }
      try totals[index].add(value)
    }
  }

  /// Which component of each branch's index holds each aggregation's value; nil if one does not.
  func carriers(in plan: QueryPlan) -> [[Int?]]? {
    guard plan.isExact, case .entries(let branches) = plan.source else { return nil }
    var carriers: [[Int?]] = []
    for branch in branches {
      let components = branch.index.definition.components
      var positions: [Int?] = []
      for aggregation in aggregations {
        let position = components.indices.first {
          components[$0].field == aggregation.field && components[$0].kind != .contains
        }
        guard aggregation.field == nil || position.map({ $0 >= branch.fixed.count }) == true else {
          return nil
        }
        positions.append(position)
      }
      carriers.append(positions)
    }
    return carriers
  }

  mutating func add(_ stream: IndexJoin, _ entry: ScannedEntry, _ positions: [Int?]) throws {
    counted += 1
    var fields: MapView?
    for index in positions.indices {
      guard let position = positions[index] else { continue }
      if let value = try stream.value(of: position, in: entry) {
        totals[index].add(value)
        continue
      }
      // Only the document knows.
      let document = try fields ?? stream.fields(of: entry)
      fields = document
      if let value = try lookups[index]?.find(in: document) { try totals[index].add(value) }
    }
  }

  var values: [Value] {
    zip(aggregations, totals).map { aggregation, total in
      switch aggregation.kind {
      case .count: .integer(aggregation.counted(counted))
      case .sum: total.sumValue
      case .average: total.averageValue
      }
    }
  }
}

extension Aggregation {
  fileprivate var countLimit: Int64 {
    guard case .count(let limit?) = kind else { return .max }
    return limit
  }

  func counted(_ count: Int64) -> Int64 { min(count, countLimit) }
}

extension EffectiveQuery {
  /// Nothing keeps a document of the collection from being a result.
  fileprivate var isWholeCollection: Bool {
    filters.isEmpty && isOrderedByName && start == nil && end == nil
  }
}
