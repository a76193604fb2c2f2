/// What the planner knows about how many there are. Cheap: nothing here reads more than a few pages.
struct PlanStatistics {
  /// Of the scope, or a number not far below it.
  var documentCount: Int
  /// How many entries one range of a plan's holds, counted no further than to `limit`.
  var entryCount: (_ plan: EntryPlan, _ range: KeyRange, _ limit: Int) throws -> Int
}

/// Finds the plans for a query and chooses one: a pure function of the query, the indexes that may be
/// read, and a few numbers.
///
///     conjunctions ─▶ for each: indexes ─▶ bounds, order, tests ─▶ joins
///                  ─▶ union of the branches │ scan ─▶ the cheapest
struct Planner {
  let query: EffectiveQuery
  /// A result has each of these, whatever the query says.
  let required: [FieldSegments]
  let conjunctions: Conjunctions
  /// Those of the query's scope, ready, in the order of their numbers.
  let indexes: [StoredIndex]
  let documentCount: Int
  private let entryCount: (EntryPlan, KeyRange, Int) throws -> Int
  /// Results must come in order: otherwise any will do.
  let needsOrder: Bool
  /// Results are only counted.
  let countsOnly: Bool

  init(
    _ query: EffectiveQuery, requiring required: [FieldSegments] = [], indexes: [StoredIndex],
    statistics: PlanStatistics, needsOrder: Bool = true, countsOnly: Bool = false
  ) {
    self.query = query
    self.required = required
    conjunctions = Conjunctions(query.filters)
    // What lies below a document is no stretch of an index.
    self.indexes = if case .group(_, let below) = query.scope, !below.isRoot { [] } else { indexes }
    documentCount = statistics.documentCount
    entryCount = statistics.entryCount
    self.needsOrder = needsOrder
    self.countsOnly = countsOnly
  }

  /// The cheapest plan.
  func best() throws -> QueryPlan {
    try candidates().min { $0.cost < $1.cost } ?? documents
  }

  /// Indexes that would serve the query and are not there, or not ready.
  var missing: [IndexDefinition] {
    query.wantedIndexes(requiring: required).filter { wanted in
      !indexes.contains { $0.definition == wanted }
    }
  }

  /// Every plan, the scan first.
  func candidates() throws -> [QueryPlan] {
    let common = BranchPlanner(
      query, conjunctions.common, condition: query.filters, required: required)
    if common.isImpossible { return [documents, QueryPlan(source: .nothing, isOrdered: true)] }
    guard !indexes.isEmpty else { return [documents] }
    let single = common.plans(indexes)
    let members = conjunctions.members ?? []
    let branches = members.count > 1 ? members.map(branch).filter { !$0.isImpossible } : []
    var counts = EntryCounts()
    if single.count <= 1, members.count <= 1 {
      // Where there is little to choose from, nothing is counted, unless guesses speak against an index.
      let plans = try [documents] + single.map { try whole([$0], &counts) }
      if plans.allSatisfy({ $0.source == .documents || $0.cost < documents.cost }) { return plans }
    }
    while true {
      counts.countFurther()
      var plans = try [documents] + single.map { try whole([$0], &counts) }
      if members.count > 1 { plans += try unions(branches, &counts) }
      // No guess is left, or counting on would come to more than it could spare.
      let best = plans.reduce(Double.infinity) { min($0, $1.cost) }
      let more = Double(counts.limit * counts.guessed.count) * Cost.counting
      guard more > 0, more < best else { return plans }
    }
  }

  private func branch(_ conjunction: [StructuredQuery.Comparison]) -> BranchPlanner {
    BranchPlanner(query, conjunction, required: required)
  }

  // MARK: Unions

  /// One plan of each branch: the best ordered ones, the best whatever the order, and for each other
  /// plan of a branch a union that has it.
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
    for place in 0..<(choices.map(\.count).max() ?? 0) {
      unions.append(choices.map { $0[min(place, $0.count - 1)].plan })
    }
    return try unions.map { try whole($0, &counts) }
  }

  // MARK: Costs

  /// A step of a scan, a key and a document, is 1.
  private enum Cost {
    static let entry = 0.4
    /// Of a document that is not the next one.
    static let document = 8.0
    static let seek = 10.0
    static let sorting = 1.0
    /// Of an entry that is counted: ten of them for one that is read.
    static let counting = 4.0
  }

  /// How many entries plans have, as far as they were counted.
  private struct EntryCounts {
    /// So far entries are counted before they are guessed; 0 is not at all.
    private(set) var limit = 0
    private var known: [EntryPlan: Double] = [:]
    /// Of those that have more than was counted. Plans share walks: each is counted once.
    private(set) var guessed: [EntryPlan: Double] = [:]

    subscript(plan: EntryPlan) -> Double? { known[plan] ?? guessed[plan] }

    mutating func set(_ count: Double, isGuess: Bool, of plan: EntryPlan) {
      if isGuess { guessed[plan] = count } else { known[plan] = count }
    }

    mutating func countFurther() {
      limit = limit == 0 ? 32 : limit * 4
      guessed = [:]
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
      if !branch.followers.isEmpty { passing /= 4 }
      if plan.isOrdered || !needsOrder, let wanted {
        let share = branch.isExact ? 1 : selectivity(of: branch.condition)
        let sufficient = wanted / max(share, 0.001)
        entries *= min(1, sufficient / max(passing, 1))
        passing = min(passing, sufficient)
      }
      let steps = entries * Cost.entry * Double(1 + branch.followers.count * 4)
      let documents = countsOnly && branch.isExact ? 0 : passing * Cost.document
      plan.cost += Cost.seek * Double(branch.stretches.count) + steps + documents
      if needsOrder, !plan.isOrdered { plan.cost += passing * Cost.sorting }
    }
    return plan
  }

  /// How many entries the bounds leave, from their shapes.
  private func guess(_ plan: EntryPlan) -> Double {
    var sum = 0.0
    for stretch in plan.stretches { for range in stretch.ranges { sum += guess(plan, range) } }
    return max(1, min(guess(plan, .everything), sum))
  }

  private func guess(_ plan: EntryPlan, _ range: KeyRange) -> Double {
    let share = range == .everything ? 1 : plan.index.isPoint(range) ? 0.05 : 0.1
    return plan.fixed.reduce(Double(documentCount) * share) { count, _ in count / 20 }
  }

  /// How many entries the bounds leave: counted where they are few. The first ranges speak for all.
  private func entries(of branch: EntryPlan, _ counts: inout EntryCounts) throws -> Double {
    let limit = counts.limit
    guard limit > 0 else { return guess(branch) }
    let plan = branch.counted
    if let count = counts[plan] { return count }
    let ranges = plan.stretches.flatMap(\.ranges)
    var total = 0.0
    var sampled = 0
    var isCut = false
    for range in ranges.prefix(limit) where total < Double(limit) {
      let count = try entryCount(plan, range, limit)
      isCut = count == limit
      total += isCut ? max(Double(count), guess(plan, range)) : Double(count)
      sampled += 1
    }
    let estimate = sampled == 0 ? 0 : total * Double(ranges.count) / Double(sampled)
    counts.set(estimate, isGuess: isCut, of: plan)
    return estimate
  }

  /// Which share of documents passes all of these, from their shapes.
  private func selectivity(of filters: [StructuredQuery.Filter]) -> Double {
    filters.reduce(1) { share, filter in
      guard case .comparison(let comparison) = filter else { return share * 0.3 }
      if comparison.field.isDocumentID { return share }
      return share * (comparison.operator.isInequality ? 0.3 : 0.05)
    }
  }

  /// All of the scope.
  private var documents: QueryPlan {
    let isOrdered = query.isFoundInOrder
    var plan = QueryPlan(source: .documents, isOrdered: isOrdered)
    let names = conjunctions.common.filter { $0.field.isDocumentID }
    var steps = Double(documentCount)
    for comparison in names {
      switch comparison.operator {
      case .equal, .in: steps = min(steps, Double(comparison.comparedPaths.count) * Cost.seek)
      case .notEqual, .notIn: break
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
  /// What tells how many entries there are.
  fileprivate var counted: EntryPlan {
    var plan = self
    plan.condition = []
    plan.tests = []
    plan.names = nil
    plan.followers = []
    plan.isBackward = false
    plan.isOrdered = false
    plan.isExact = false
    plan.mayRepeat = false
    return plan
  }
}

extension StoredIndex {
  /// Everything in the range begins alike.
  fileprivate func isPoint(_ range: KeyRange) -> Bool {
    range.upper == KeyRange.end(range.lower) && range.lower.count > 1
  }
}
