/// One number out of all results of a query.
struct Aggregation: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// How many, counted no further than a limit.
    case count(upTo: Int64?)
    case sum(FieldSegments)
    case average(FieldSegments)
  }

  var kind: Kind
  /// The name of the result; nil for `field_1`, `field_2` and so on.
  var alias: String?

  init(_ kind: Kind, alias: String? = nil) {
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
  func check(
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
      integers += Int128(integer)
    } else if let double = try value.double() {
      hasDouble = true
      add(double)
    } else {
      return
    }
    count += 1
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
    _ aggregations: [Aggregation], over query: EffectiveQuery, touched: TouchCount = TouchCount()
  ) throws -> [Value] {
    let fields = aggregations.compactMap(\.field)
    if fields.isEmpty, case .collection(let path) = query.scope, query.isWholeCollection {
      touched.keys += 1
      let all = Int64(clamping: try documentCount(inCollection: path))
      let rest = max(0, all - Int64(query.offset))
      let counted = query.limit.map { min(rest, Int64($0)) } ?? rest
      return aggregations.map { .integer($0.counted(counted)) }
    }
    var counted: Int64 = 0
    var totals = [NumberTotal](repeating: NumberTotal(), count: aggregations.count)
    var lookups = aggregations.map { $0.field.map(FieldLookup.init) }
    let enough = fields.isEmpty ? aggregations.map(\.countLimit).max() ?? .max : .max
    let run = try QueryRun(query, in: self, requiring: fields, touched: touched)
    try run.forEachUnordered { _, body in
      counted += 1
      for index in lookups.indices {
        guard let value = try lookups[index]?.find(in: body) else { continue }
        try totals[index].add(value)
      }
      return counted < enough
    }
    return zip(aggregations, totals).map { aggregation, total in
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
