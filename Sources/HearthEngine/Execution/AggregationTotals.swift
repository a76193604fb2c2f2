/// The running state of aggregations.
package struct AggregationTotals: @unchecked Sendable {
  // Unchecked: the bytes that the lookups refer to are never written.

  private let aggregations: [Aggregation]
  let fields: [FieldSegments]
  var counted: Int64 = 0
  private var totals: [RunningAggregate]
  private var lookups: [FieldLookup?]

  /// - Parameter isLive: Documents will be removed again.
  init(_ aggregations: [Aggregation], isLive: Bool) {
    self.aggregations = aggregations
    fields = aggregations.compactMap(\.field)
    totals = aggregations.map { RunningAggregate($0.kind, isLive: isLive) }
    lookups = aggregations.map { $0.field.map(FieldLookup.init) }
  }

  /// - Parameter sign: -1 removes a document that was added.
  mutating func add(_ fields: MapView, sign: Int = 1) throws {
    counted += Int64(sign)
    for index in lookups.indices {
      guard let value = try lookups[index]?.find(in: fields) else { continue }
      try totals[index].add(value, sign: sign)
    }
  }

  /// For each branch, the index component with each aggregation's value. Nil if one is in no
  /// component.
  func carriers(in plan: QueryPlan) -> [[Int?]]? {
    guard plan.isExact, case .entries(let branches) = plan.source else { return nil }
    var carriers: [[Int?]] = []
    for branch in branches {
      let positions = aggregations.map { $0.field.flatMap(branch.position) }
      guard positions.count(where: { $0 != nil }) == fields.count else { return nil }
      carriers.append(positions)
    }
    return carriers
  }

  mutating func add(_ stream: IndexJoin, _ entry: ScannedEntry, _ positions: [Int?]) throws {
    counted += 1
    var fields: MapView?
    for index in positions.indices {
      guard let position = positions[index] else { continue }
      try add(stream, entry, index, at: position, &fields)
    }
  }

  /// Adds the value of one aggregation.
  ///
  /// - Parameter fields: Those of the document, once they were read.
  mutating func add(
    _ stream: IndexJoin, _ entry: ScannedEntry, _ index: Int, at position: Int,
    _ fields: inout MapView?
  ) throws {
    if let value = try stream.scan.value(of: position, in: entry) {
      return totals[index].add(value)
    }
    // The entry does not have the exact value; the document does.
    let document = try fields ?? stream.scan.fields(of: entry)
    fields = document
    if let value = try lookups[index]?.find(in: document) { try totals[index].add(value) }
  }

  /// Whether an aggregation takes sums of integers.
  func sums(_ index: Int) -> Bool { if case .number = totals[index] { true } else { false } }

  /// Adds integers to such an aggregation.
  mutating func add(sum: Int64, of count: Int, to index: Int) {
    guard case .number(var total) = totals[index] else { return }
    total.add(sum: sum, of: count)
    totals[index] = .number(total)
  }

  var values: [Value] {
    zip(aggregations, totals).map { aggregation, total in
      switch aggregation.kind {
      case .count: .integer(aggregation.counted(counted))
      default: total.value(of: aggregation.kind)
      }
    }
  }
}
