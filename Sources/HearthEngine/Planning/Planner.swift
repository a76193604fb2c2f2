/// Finds the plans for a query and chooses one: a pure function of the query, the indexes that may
/// be read, and a few numbers.
///
///     conjunctions ─▶ for each: indexes ─▶ bounds, order, tests ─▶ joins
///                  ─▶ union of the branches │ scan ─▶ the cheapest
struct Planner {
  let query: EffectiveQuery
  /// Fields that every result must have, in addition to the query's conditions.
  let required: [FieldSegments]
  let conjunctions: Conjunctions
  /// The ready indexes of the query's scope, ordered by number.
  let indexes: [StoredIndex]
  /// The number of documents in the collection; for a collection group, of all documents in the
  /// file. 0 without indexes.
  let documentCount: Int
  private let entryCounts: EntryCounting
  /// Whether results must come in order.
  let needsOrder: Bool
  /// Results are only counted or aggregated: entries of an exact plan suffice.
  let countsOnly: Bool

  /// The number of entries in each range of a plan, counted until there are `limit`; ranges after
  /// those are missing. Cheap: reads at most a few pages.
  typealias EntryCounting =
    (_ plan: EntryPlan, _ ranges: [KeyRange], _ limit: Int) throws -> [Int]

  init(
    _ query: EffectiveQuery, requiring required: [FieldSegments] = [], indexes: [StoredIndex],
    documentCount: Int, needsOrder: Bool = true, countsOnly: Bool = false,
    entryCounts: @escaping EntryCounting
  ) {
    self.query = query
    self.required = required
    conjunctions = Conjunctions(query.filters)
    self.indexes = indexes
    self.documentCount = documentCount
    self.entryCounts = entryCounts
    self.needsOrder = needsOrder
    self.countsOnly = countsOnly
  }

  /// The cheapest plan.
  func best() throws -> QueryPlan {
    try candidates(all: false).min { $0.cost < $1.cost } ?? documents
  }

  /// Indexes that would serve the query but do not exist or are not ready.
  var missing: [IndexDefinition] {
    query.wantedIndexes(requiring: required).filter { wanted in
      !indexes.contains { $0.definition == wanted }
    }
  }

  /// Every plan, the scan first.
  func candidates() throws -> [QueryPlan] { try candidates(all: true) }

  /// - Parameter all: False if plans that cannot be the cheapest may be missing.
  private func candidates(all: Bool) throws -> [QueryPlan] {
    // No index knows better than a query that names its results and has no other condition.
    if !needsOrder || query.isOrderedByName, query.filters.count == 1, required.isEmpty,
      query.picksNames
    {
      return [documents]
    }
    let common = BranchPlanner(
      query, conjunctions.common, condition: query.filters, required: required,
      documentCount: documentCount)
    if common.isImpossible { return [documents, QueryPlan(source: .nothing, isOrdered: true)] }
    guard !indexes.isEmpty else { return [documents] }
    // No other index plan reads less than one that reads the results alone.
    let single = common.plans(indexes) { plan in
      !all && plan.readsResultsAlone && (plan.isOrdered || !needsOrder)
    }
    let members = conjunctions.members ?? []
    let branches = members.count > 1 ? members.map(branch).filter { !$0.isImpossible } : []
    var counts = EntryCounts()
    if single.count <= 1, members.count <= 1 {
      // With at most one index to choose, entries are counted only if an estimate favors the scan.
      let plans = try [documents] + single.map { try whole([$0], &counts) }
      if plans.allSatisfy({ $0.source == .documents || $0.cost < documents.cost }) { return plans }
    }
    while true {
      counts.countFurther()
      var plans = try [documents] + single.map { try whole([$0], &counts) }
      if members.count > 1 { plans += try unions(branches, &counts) }
      // Stop if no estimate is left, or if more counting would cost more than the best plan.
      let best = plans.reduce(Double.infinity) { min($0, $1.cost) }
      let more = Double(counts.limit * counts.estimated.count) * Cost.counting
      guard more > 0, more < best else { return plans }
    }
  }

  private func branch(_ conjunction: [StructuredQuery.Comparison]) -> BranchPlanner {
    BranchPlanner(query, conjunction, required: required, documentCount: documentCount)
  }

  // MARK: Unions

  /// Unions of one plan of each branch: the best exact ordered plans, the best ordered plans, the
  /// cheapest plans, and for every other plan of a branch a union that contains it.
  private func unions(
    _ branches: [BranchPlanner], _ counts: inout EntryCounts
  ) throws -> [QueryPlan] {
    guard !branches.isEmpty else { return [QueryPlan(source: .nothing, isOrdered: true)] }
    var choices: [[(plan: EntryPlan, cost: Double)]] = []
    for branch in branches {
      var choice: [(plan: EntryPlan, cost: Double)] = []
      for plan in branch.plans(indexes) {
        choice.append((plan, try whole([plan], &counts).cost))
      }
      if choice.isEmpty { return [] }
      choice.sort { $0.cost < $1.cost }
      choices.append(choice)
    }
    var unions: [[EntryPlan]] = []
    let exact = choices.map { $0.first { $0.plan.isOrdered && $0.plan.isExact }?.plan }
    let ordered = choices.map { $0.first { $0.plan.isOrdered }?.plan }
    for union in [exact, ordered].map({ $0.compactMap(\.self) }) where union.count == choices.count
    {
      unions.append(union)
    }
    for position in 0..<(choices.map(\.count).max() ?? 0) {
      unions.append(choices.map { $0[min(position, $0.count - 1)].plan })
    }
    return try unions.map { try whole($0, &counts) }
  }

  // MARK: Costs

  /// The unit is one step of a scan: a key and its document.
  private enum Cost {
    static let entry = 0.4
    /// A document that is not the next one of a scan.
    static let document = 8.0
    static let seek = 10.0
    static let sorting = 1.0
    /// Counting an entry is weighted as reading ten.
    static let counting = 4.0
  }

  /// The numbers of entries of plans, counted or estimated.
  private struct EntryCounts {
    /// Entries are counted up to this number and estimated beyond it; 0 disables counting.
    private(set) var limit = 0
    private var known: [EntryPlan: Double] = [:]
    /// Estimates for plans with more entries than were counted. Plans with the same ranges share
    /// one count.
    private(set) var estimated: [EntryPlan: Double] = [:]

    subscript(plan: EntryPlan) -> Double? { known[plan] ?? estimated[plan] }

    mutating func set(_ count: Double, isEstimate: Bool, of plan: EntryPlan) {
      if isEstimate { estimated[plan] = count } else { known[plan] = count }
    }

    mutating func countFurther() {
      limit = limit == 0 ? 32 : limit * 4
      estimated = [:]
    }
  }

  private var wanted: Double? {
    query.limit.map { Double($0) + Double(query.offset) }
  }

  private func whole(_ branches: [EntryPlan], _ counts: inout EntryCounts) throws -> QueryPlan {
    var plan = QueryPlan(
      source: .entries(branches), isOrdered: branches.allSatisfy(\.isOrdered))
    for branch in branches {
      var entries = try entries(of: branch, &counts)
      var passing = branch.tests.isEmpty ? entries : entries / 3
      if !branch.joined.isEmpty { passing /= 4 }
      if plan.isOrdered || !needsOrder, let wanted {
        let share = branch.isExact ? 1 : selectivity(of: branch.condition)
        let sufficient = wanted / max(share, 0.001)
        entries *= min(1, sufficient / max(passing, 1))
        passing = min(passing, sufficient)
      }
      let steps = entries * Cost.entry * Double(1 + branch.joined.count * 4)
      let documents = countsOnly && branch.isExact ? 0 : passing * Cost.document
      let ranges = branch.rangeLists.reduce(0) { $0 + $1.count }
      let many = Double(max(0, ranges - BranchPlanner.fewRanges))
      plan.cost += Cost.seek * (Double(branch.rangeLists.count) + many) + steps + documents
      if needsOrder, !plan.isOrdered { plan.cost += passing * Cost.sorting }
    }
    return plan
  }

  /// The estimated number of entries within the bounds, from the kinds of ranges.
  private func estimate(_ plan: EntryPlan) -> Double {
    var sum = 0.0
    for range in plan.rangeLists.joined() { sum += estimate(plan, range) }
    return max(1, min(estimate(plan, .everything), sum))
  }

  private func estimate(_ plan: EntryPlan, _ range: KeyRange) -> Double {
    let share =
      if range == .everything { 1.0 } else if let cells = share(ofCells: range, plan) {
        cells
      } else { plan.index.isPoint(range) ? 0.05 : 0.1 }
    return plan.fixed.reduce(Double(documentCount) * share) { count, _ in count / 20 }
  }

  /// The share of points in a range of cells, which has a small part of the sphere: places are close
  /// together. Nil for other ranges.
  private func share(ofCells range: KeyRange, _ plan: EntryPlan) -> Double? {
    let components = plan.index.definition.components
    guard plan.fixed.count < components.count, components[plan.fixed.count].kind == .cells,
      let upper = range.upper, !range.lower.isEmpty
    else { return nil }
    let heads = [range.lower, upper].map { $0.withUnsafeBytes { $0.from(1).head } }
    let area = Double(heads[1] &- heads[0]) / Double(UInt64.max)
    let ranges = plan.rangeLists.reduce(0) { $0 + $1.count }
    return min(1, 0.05 / Double(ranges) + area * 50)
  }

  /// The number of entries within the bounds: counted if there are few. The first ranges are a
  /// sample of all.
  private func entries(of branch: EntryPlan, _ counts: inout EntryCounts) throws -> Double {
    let limit = counts.limit
    guard limit > 0 else { return estimate(branch) }
    let plan = branch.counted
    if let count = counts[plan] { return count }
    let ranges = plan.rangeLists.flatMap(\.self)
    let sample = try entryCounts(plan, Array(ranges.prefix(limit)), limit)
    var total = Double(sample.reduce(0, +))
    let isTruncated = total >= Double(limit)
    if isTruncated, let last = sample.last {
      total += max(0, estimate(plan, ranges[sample.count - 1]) - Double(last))
    }
    let estimate =
      sample.isEmpty ? 0 : total * Double(ranges.count) / Double(sample.count)
    counts.set(estimate, isEstimate: isTruncated, of: plan)
    return estimate
  }

  /// The estimated share of documents that pass all filters, from their operators.
  private func selectivity(of filters: [StructuredQuery.Filter]) -> Double {
    filters.reduce(1) { share, filter in
      guard case .comparison(let comparison) = filter else { return share * 0.3 }
      if comparison.field.isDocumentID {
        guard comparison.isPoint else { return share }
        return share
          * min(1, Double(comparison.comparedPathCount) / Double(max(1, documentCount)))
      }
      let isWide = comparison.operator.isInequality && !comparison.isNegated
      return share * (isWide ? 0.3 : 0.05)
    }
  }

  /// The plan that scans the scope.
  private var documents: QueryPlan {
    let isOrdered = query.isFoundInOrder
    var plan = QueryPlan(source: .documents, isOrdered: isOrdered)
    let names = conjunctions.common.filter { $0.field.isDocumentID }
    var steps = Double(documentCount)
    for comparison in names {
      switch comparison.operator.traits.keys {
      case .points:
        steps = min(steps, Double(comparison.comparedPathCount) * Cost.seek)
      case .exceptPoints: break
      default: steps /= 3
      }
    }
    if isOrdered || !needsOrder, let wanted {
      steps = min(steps, wanted / max(selectivity(of: query.filters), 0.001))
    }
    plan.cost = Cost.seek + steps * (needsOrder && !isOrdered ? 2 : 1)
    return plan
  }
}

extension EntryPlan {
  /// Entries and documents that it reads are results, each of them once, in one walk.
  var readsResultsAlone: Bool {
    isExact && tests.isEmpty && names == nil && joined.isEmpty && !mayRepeat
      && rangeLists.count == 1 && rangeLists[0].count == 1
  }

  /// The plan with only the parts that determine its number of entries.
  fileprivate var counted: EntryPlan {
    var plan = self
    plan.condition = []
    plan.tests = []
    plan.names = nil
    plan.joined = []
    plan.isBackward = false
    plan.isOrdered = false
    plan.isExact = false
    plan.mayRepeat = false
    return plan
  }
}

extension StoredIndex {
  /// All keys in the range have one prefix.
  fileprivate func isPoint(_ range: KeyRange) -> Bool {
    range.upper == KeyRange.end(range.lower) && range.lower.count > 1
  }
}
