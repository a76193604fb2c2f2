/// Finds the ways through indexes for one conjunction of comparisons.
///
///     index (genre ↑, pages ↑)      genre == "sf", pages > 100, order by pages
///            └──────┘ fixed         └ one value  └ a range        └ the order behind what is fixed
///
/// The names at the end of entries ascend in every stored index.
///
/// Components that may have a few values multiply the ranges; the first with a stretch of values ends
/// the bounds, and what components behind it must be is tested in the entries.
struct BranchPlanner {
  private let query: EffectiveQuery
  /// What results of the branch must pass: the conjunction, and perhaps more.
  private let condition: [StructuredQuery.Filter]
  /// The conjunction says all.
  private let isWhole: Bool
  /// Which values a field may have; of the fields that are compared.
  private var values: [FieldSegments: KeyRanges] = [:]
  /// Which elements an array must have one of each of.
  private var elements: [FieldSegments: [KeyRanges]] = [:]
  /// Which names there may be, as entries have them.
  private var names = KeyRanges.everything
  private let places: NamePosition
  /// Without the name.
  private let orders: [StructuredQuery.Order]
  private let isNameDescending: Bool
  /// Every result has these.
  private let required: Set<FieldSegments>

  /// More ranges than this are not worth their seeks.
  private static let mostRanges = 100

  /// - Parameter condition: Nil if the conjunction is all of it.
  init(
    _ query: EffectiveQuery, _ conjunction: [StructuredQuery.Comparison],
    condition: [StructuredQuery.Filter]? = nil,
    required: [FieldSegments]
  ) {
    self.query = query
    self.condition = condition ?? conjunction.map(StructuredQuery.Filter.comparison)
    isWhole = self.condition.count == conjunction.count
    places = NamePosition(scope: query.scope)
    orders = query.orders.filter { !$0.field.isDocumentID }
    isNameDescending = query.orders.last?.isDescending ?? false
    for comparison in conjunction {
      if comparison.field.isDocumentID {
        names = names.intersection(places.ranges(comparison))
      } else if let elements = KeyRanges(elementsOf: comparison) {
        self.elements[comparison.field, default: []].append(elements)
      } else {
        let ranges = KeyRanges(comparison)
        values[comparison.field] = values[comparison.field]?.intersection(ranges) ?? ranges
      }
    }
    var all = Set(required)
    for order in orders { all.insert(order.field) }
    all.formUnion(values.keys)
    all.formUnion(elements.keys)
    self.required = all
  }

  /// Nothing passes.
  var isImpossible: Bool {
    names.isEmpty || values.values.contains(where: \.isEmpty)
      || elements.values.contains { $0.contains(where: \.isEmpty) }
  }

  /// In the order of the indexes; then the joins.
  func plans(_ indexes: [StoredIndex]) -> [EntryPlan] {
    let uses = indexes.compactMap(use)
    return uses.map { plan($0, isExact: coversAll([$0])) } + joins(uses)
  }

  // MARK: What an index is good for

  /// An index, and what the conjunction says about its components.
  private struct Use {
    var index: StoredIndex
    /// As the entries have them: of a descending component, inverted.
    var components: [KeyRanges]
    /// How many components at the front have one value.
    var fixedCount: Int
    /// How many at the front have values that can be counted.
    var pointCount: Int
    /// Of the components between the two: every combination of their values.
    var combinations: [[[UInt8]]]
    /// Of the component behind the points, or of the names.
    var ranges: [KeyRange]
    /// How many components are within the bounds.
    var boundCount: Int

    var definition: IndexDefinition { index.definition }

    /// What the fixed components say; their directions say nothing.
    var fixedFields: Set<IndexDefinition.Component> {
      Set(
        definition.components[..<fixedCount].map {
          IndexDefinition.Component(
            field: $0.field, kind: $0.kind == .contains ? .contains : .ascending)
        })
    }

    /// Behind what is fixed, the same components.
    func hasSameRest(as other: Use) -> Bool {
      index != other.index
        && definition.components[fixedCount...] == other.definition.components[other.fixedCount...]
    }
  }

  /// Nil if documents may be results that the index does not have.
  private func use(_ index: StoredIndex) -> Use? {
    var components: [KeyRanges] = []
    for component in index.definition.components {
      switch component.kind {
      case .contains:
        guard let wanted = elements[component.field]?.first else { return nil }
        components.append(wanted)
      case .ascending, .descending:
        guard required.contains(component.field) else { return nil }
        let ranges = values[component.field] ?? .everything
        components.append(component.isDescending ? ranges.inverted : ranges)
      }
    }
    var use = Use(
      index: index, components: components,
      fixedCount: components.prefix(while: \.isPoint).count, pointCount: 0, combinations: [[]],
      ranges: [.everything], boundCount: 0)
    use.pointCount = use.fixedCount
    for ranges in components[use.fixedCount...] {
      let product = use.combinations.count * ranges.ranges.count
      guard ranges.arePoints, product <= BranchPlanner.mostRanges else { break }
      use.combinations = use.combinations.flatMap { combination in
        ranges.ranges.map { combination + [$0.lower] }
      }
      use.pointCount += 1
    }
    let isWhole = use.pointCount == components.count
    let last = isWhole ? names : components[use.pointCount]
    if use.combinations.count * last.ranges.count <= BranchPlanner.mostRanges {
      use.ranges = last.ranges
      use.boundCount = min(use.pointCount + 1, components.count)
    } else {
      use.boundCount = use.pointCount
    }
    return use
  }

  /// Whether entries tell all that makes a result, the places to start and end aside.
  private func coversAll(_ uses: [Use]) -> Bool {
    var fields: Set<FieldSegments> = []
    var arrays: Set<FieldSegments> = []
    for component in uses.flatMap({ $0.index.definition.components }) {
      if component.kind == .contains {
        arrays.insert(component.field)
      } else {
        fields.insert(component.field)
      }
    }
    return isWhole && values.keys.allSatisfy(fields.contains)
      && elements.allSatisfy { arrays.contains($0.key) && $0.value.count == 1 }
      && required.subtracting(elements.keys).allSatisfy(fields.contains)
  }

  private func boundsNames(_ use: Use) -> Bool {
    use.pointCount == use.components.count
      && use.combinations.count * names.ranges.count <= BranchPlanner.mostRanges
  }

  // MARK: One index

  private func plan(_ use: Use, isExact: Bool) -> EntryPlan {
    var plan = EntryPlan(
      index: use.index, condition: condition,
      fixed: use.components[..<use.fixedCount].map { $0.ranges[0].lower }, stretches: [])
    for component in use.boundCount..<use.components.count
    where !use.components[component].isEverything {
      plan.tests.append(EntryPlan.Test(component: component, ranges: use.components[component]))
    }
    if !names.isEverything, !boundsNames(use) { plan.names = names }
    plan.mayRepeat = zip(use.definition.components, use.components).contains {
      $0.kind == .contains && !$1.isPoint
    }
    let all = use.combinations.map { combination in
      use.ranges.map { $0.behind(combination.flatMap { $0 }) }
    }
    if let course = Course(self, use, constantCount: use.fixedCount) {
      // One range after the other.
      plan.stretches = [course.stretch([], all.flatMap { $0 })]
    } else if let course = Course(self, use, constantCount: use.pointCount) {
      // What can be counted is not what results are ordered by: side by side.
      plan.stretches = zip(use.combinations, all).map { course.stretch($0, $1) }
    } else {
      plan.stretches = [EntryPlan.RangeList(ranges: all.flatMap { $0 })]
      plan.isExact = isExact && query.start == nil && query.end == nil
      return plan
    }
    plan.isBackward = isNameDescending
    plan.isOrdered = true
    plan.isExact = isExact
    plan.stretches.removeAll { $0.ranges.isEmpty }
    return plan
  }

  /// How a stretch of an index goes through the results in their order, and where it is entered and left.
  private struct Course {
    private let planner: BranchPlanner
    private let use: Use
    private let constantCount: Int
    private let isBackward: Bool

    /// Nil if it does not go in their order, with so many components constant.
    init?(_ planner: BranchPlanner, _ use: Use, constantCount: Int) {
      self.planner = planner
      self.use = use
      self.constantCount = constantCount
      isBackward = planner.isNameDescending
      var orders = planner.orders.filter { constant(of: $0.field) == nil }[...]
      for position in constantCount..<use.components.count where !use.components[position].isPoint {
        let component = use.definition.components[position]
        guard component.kind != .contains, let order = orders.popFirst(),
          order.field == component.field,
          (component.isDescending != order.isDescending) == isBackward
        else { return nil }
      }
      guard orders.isEmpty else { return nil }
    }

    private enum Constant {
      case value([UInt8])
      /// The value of this component, which is another in each stretch.
      case component(Int)
    }

    /// What all results of a stretch have in common.
    private func constant(of field: FieldSegments) -> Constant? {
      if let values = planner.values[field], values.isPoint {
        return .value(values.ranges[0].lower)
      }
      let components = use.definition.components
      return (use.fixedCount..<max(constantCount, use.fixedCount)).first {
        components[$0].field == field && components[$0].kind != .contains
      }.map(Constant.component)
    }

    /// - Parameter combination: The values of the components behind the fixed ones; not all of them are
    ///   constant.
    func stretch(_ combination: [[UInt8]], _ ranges: [KeyRange]) -> EntryPlan.RangeList {
      let start = planner.query.start.map { place($0, combination) }
      let end = planner.query.end.map { place($0, combination) }
      let bounds = KeyRange(
        lower: (isBackward ? end : start).map { $0 ?? KeyRange.behindAll } ?? [],
        upper: (isBackward ? start : end) ?? nil)
      return EntryPlan.RangeList(
        ranges: ranges.map { $0.intersection(bounds) }.filter { !$0.isEmpty })
    }

    /// The key that stands where the bound does; nil is behind all.
    private func place(_ bound: StructuredQuery.Bound, _ combination: [[UInt8]]) -> [UInt8]? {
      var key = combination.flatMap { $0 }
      var position = constantCount
      var isBefore = bound.isBefore
      func passConstants() {
        while position < use.components.count, use.components[position].isPoint {
          key += use.components[position].ranges[0].lower
          position += 1
        }
      }
      for (order, value) in zip(planner.query.orders, bound.values) {
        if order.field.isDocumentID {
          passConstants()
          return name(value, behind: key, isBefore: isBefore)
        }
        let valueKey = value.componentKey
        if let constant = constant(of: order.field) {
          let order = compare(constant, combination, with: valueKey, order.isDescending)
          if order == 0 { continue }
          // All results that are equal so far are on one side.
          isBefore = order > 0
          break
        }
        passConstants()
        guard position < use.components.count else { break }
        let isDescending = use.definition.components[position].isDescending
        key += isDescending ? valueKey.map { ~$0 } : valueKey
        position += 1
      }
      return isBefore != isBackward ? key : KeyRange.end(key)
    }

    private func compare(
      _ constant: Constant, _ combination: [[UInt8]], with key: [UInt8], _ isDescending: Bool
    ) -> Int {
      let own: [UInt8]
      switch constant {
      case .value(let value): own = value
      case .component(let position):
        let stored = combination[position - use.fixedCount]
        own = use.definition.components[position].isDescending ? stored.map { ~$0 } : stored
      }
      let order = UTF8Order.compare(own, key)
      return isDescending ? -order : order
    }

    private func name(_ value: Value, behind key: [UInt8], isBefore: Bool) -> [UInt8]? {
      guard case .reference(let path) = value else { return key }
      // In the order of names, which is that of the entries.
      let isBelow = isBefore != isBackward
      guard let place = planner.places.place(of: path, isBefore: isBelow) else {
        return KeyRange.end(key)
      }
      return key + place
    }
  }

  // MARK: Joins

  /// Indexes whose first components each have one value and whose others are the same: documents that are in
  /// all of them are met in the order of those others.
  private func joins(_ uses: [Use]) -> [EntryPlan] {
    let fixed = uses.filter { $0.fixedCount > 0 }
    guard fixed.count > 1 else { return [] }
    var plans: [EntryPlan] = []
    for leader in fixed {
      var chosen = [leader]
      var covered = leader.fixedFields
      for follower in fixed where follower.hasSameRest(as: leader) {
        let more = covered.union(follower.fixedFields)
        guard more.count > covered.count else { continue }
        covered = more
        chosen.append(follower)
      }
      guard chosen.count > 1 else { continue }
      var plan = plan(leader, isExact: coversAll(chosen))
      plan.followers = chosen.dropFirst().map { use in
        EntryPlan.JoinedIndex(
          index: use.index, fixed: use.components[..<use.fixedCount].map { $0.ranges[0].lower })
      }
      plans.append(plan)
    }
    return plans
  }
}
