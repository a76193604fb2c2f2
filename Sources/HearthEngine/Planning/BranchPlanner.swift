/// Finds the index plans for one conjunction of comparisons. A class, as the parts of a plan refer to
/// it while they are made.
///
///     index (genre ↑, pages ↑)      genre == "sf", pages > 100, order by pages
///            └──────┘ fixed         └ one value  └ a range        └ the order after those
///
/// Names at the end of entries ascend in every stored index.
///
/// Components with a short list of values multiply the ranges. The first component with a range of
/// values ends the bounds; conditions on the components after it are tested in the entries.
final class BranchPlanner {
  private typealias Bounds = [FieldSegments: [KeyRanges]]

  private let query: EffectiveQuery
  /// The condition of the branch: the conjunction, and possibly more.
  private let condition: [StructuredQuery.Filter]
  /// The conjunction is the whole condition.
  private let isWholeCondition: Bool
  /// The allowed values of each compared field.
  private let values: [FieldSegments: KeyRanges]
  /// For each array field, sets of elements. The array must have an element of every set.
  private let elements: Bounds
  /// The cells of each compared point.
  private let cells: [FieldSegments: KeyRanges]
  /// The allowed names, as encoded in entries.
  private let names: KeyRanges
  private let namePositions: NamePosition
  /// Without the name.
  private let orders: [StructuredQuery.Order]
  private let isNameDescending: Bool
  /// Every result has these fields.
  private let required: Set<FieldSegments>

  /// More ranges than this cost more in seeks than they save.
  private let mostRanges: Int
  /// Ranges beyond these have a cost of their own.
  static let fewRanges = 100

  /// - Parameter condition: The whole condition; nil if that is the conjunction.
  init(
    _ query: EffectiveQuery, _ conjunction: [StructuredQuery.Comparison],
    condition: [StructuredQuery.Filter]? = nil,
    required: [FieldSegments], documentCount: Int = 0
  ) {
    self.query = query
    mostRanges = max(BranchPlanner.fewRanges, documentCount / 16)
    self.condition = condition ?? conjunction.map(StructuredQuery.Filter.comparison)
    isWholeCondition =
      self.condition.count == conjunction.count && conjunction.allSatisfy(\.isDecidedByKeys)
    namePositions = NamePosition(scope: query.scope)
    orders = query.orders.filter { !$0.field.isDocumentID }
    isNameDescending = query.orders.last?.isDescending ?? false
    var names: [KeyRanges] = []
    var (values, elements, cells): (Bounds, Bounds, Bounds) = ([:], [:], [:])
    // A document that passes a negated comparison need not have the field.
    for comparison in conjunction where !comparison.isNegated {
      if comparison.field.isDocumentID {
        names.append(namePositions.ranges(comparison))
        continue
      }
      comparison.forEachImplied { kind, keys in
        switch kind {
        case .value: values[comparison.field, default: []].append(keys)
        case .element: elements[comparison.field, default: []].append(keys)
        case .cell: cells[comparison.field, default: []].append(keys)
        }
      }
    }
    self.elements = elements
    self.names = .intersection(of: names)
    self.values = values.mapValues(KeyRanges.intersection(of:))
    self.cells = cells.mapValues(KeyRanges.intersection(of:))
    var all = Set(required)
    for order in orders where !order.keepsMissing { all.insert(order.field) }
    all.formUnion(values.keys)
    all.formUnion(elements.keys)
    self.required = all
  }

  /// No document passes.
  var isImpossible: Bool {
    names.isEmpty || values.values.contains(where: \.isEmpty)
      || elements.values.contains { $0.contains(where: \.isEmpty) }
  }

  /// One plan for each usable index, in the order of `indexes`; then the joins. Only the first plan
  /// that is sufficient, if there is one: its index covers the condition.
  func plans(
    _ indexes: [StoredIndex], isSufficient: (EntryPlan) -> Bool = { _ in false }
  ) -> [EntryPlan] {
    for index in indexes where coversAll([index]) {
      guard let use = use(index) else { continue }
      let plan = plan(use, isExact: true)
      if isSufficient(plan) { return [plan] }
    }
    let uses = indexes.compactMap(use)
    return uses.map { plan($0, isExact: coversAll([$0.index])) } + joins(uses)
  }

  // MARK: The use of an index

  /// An index, and the conditions of the conjunction on its components.
  private struct Use {
    var index: StoredIndex
    /// In the encoding of the entries: inverted for a descending component.
    var components: [KeyRanges]
    /// The number of leading components with one value.
    var fixedCount: Int
    /// The number of leading components with a list of single values.
    var pointCount: Int
    /// Every combination of values of the components between the two counts.
    var combinations: [[[UInt8]]]
    /// The ranges of the component after those, or of the name if there is none.
    var ranges: [KeyRange]
    /// The number of leading components that the ranges bound.
    var boundCount: Int

    var definition: IndexDefinition { index.definition }

    /// The fixed components without directions: with one value, the direction has no effect.
    var fixedFields: Set<IndexDefinition.Component> {
      Set(
        definition.components[..<fixedCount].map {
          IndexDefinition.Component(
            field: $0.field, kind: $0.kind.hasValues ? .ascending : $0.kind)
        })
    }

    /// Both indexes have the same components after the fixed ones.
    func hasSameRest(as other: Use) -> Bool {
      index != other.index
        && definition.components[fixedCount...] == other.definition.components[other.fixedCount...]
    }
  }

  /// Nil if the index may lack documents that are results.
  private func use(_ index: StoredIndex) -> Use? {
    var components: [KeyRanges] = []
    for component in index.definition.components {
      switch component.kind {
      case .contains:
        guard let wanted = elements[component.field]?.first else { return nil }
        components.append(wanted)
      case .words: return nil
      case .cells:
        guard let wanted = cells[component.field] else { return nil }
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
      guard ranges.arePoints, product <= mostRanges else { break }
      use.combinations = use.combinations.flatMap { combination in
        ranges.ranges.map { combination + [$0.lower] }
      }
      use.pointCount += 1
    }
    let usesAllComponents = use.pointCount == components.count
    let last = usesAllComponents ? names : components[use.pointCount]
    if use.combinations.count * last.ranges.count <= mostRanges {
      use.ranges = last.ranges
      use.boundCount = min(use.pointCount + 1, components.count)
    } else {
      use.boundCount = use.pointCount
    }
    return use
  }

  /// Whether entries of these indexes alone decide which documents are results, apart from the start
  /// and end positions.
  private func coversAll(_ indexes: [StoredIndex]) -> Bool {
    func cover(_ field: FieldSegments, arrays: Bool) -> Bool {
      indexes.contains { index in
        index.definition.components.contains {
          ($0.kind == .contains) == arrays && $0.field == field
        }
      }
    }
    return isWholeCondition && values.keys.allSatisfy { cover($0, arrays: false) }
      && elements.allSatisfy { $0.value.count == 1 && cover($0.key, arrays: true) }
      && required.allSatisfy { elements[$0] != nil || cover($0, arrays: false) }
  }

  private func boundsNames(_ use: Use) -> Bool {
    use.pointCount == use.components.count
      && use.combinations.count * names.ranges.count <= mostRanges
  }

  // MARK: One index

  private func plan(_ use: Use, isExact: Bool) -> EntryPlan {
    var plan = EntryPlan(
      index: use.index, condition: condition,
      fixed: use.components[..<use.fixedCount].map { $0.ranges[0].lower }, rangeLists: [])
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
      // All ranges in one list, read one after another.
      plan.rangeLists = [course.rangeList([], all.flatMap { $0 })]
    } else if use.combinations.count <= BranchPlanner.fewRanges,
      let course = Course(self, use, constantCount: use.pointCount)
    {
      // Results are not ordered by the listed values: one range list for each combination, merged.
      plan.rangeLists = zip(use.combinations, all).map { course.rangeList($0, $1) }
    } else {
      plan.rangeLists = [all.flatMap { $0 }]
      plan.isExact = isExact && query.start == nil && query.end == nil
      return plan
    }
    plan.isBackward = isNameDescending
    plan.isOrdered = true
    plan.isExact = isExact
    plan.rangeLists.removeAll(where: \.isEmpty)
    return plan
  }

  /// A walk through an index in the order of the results, and its bounds from the query's start and
  /// end.
  private struct Course {
    private let planner: BranchPlanner
    private let use: Use
    private let constantCount: Int
    private let isBackward: Bool

    /// Nil if the walk is not in result order with this many components constant.
    init?(_ planner: BranchPlanner, _ use: Use, constantCount: Int) {
      self.planner = planner
      self.use = use
      self.constantCount = constantCount
      isBackward = planner.isNameDescending
      var orders = planner.orders.filter { constant(of: $0.field) == nil }[...]
      for position in constantCount..<use.components.count where !use.components[position].isPoint {
        let component = use.definition.components[position]
        guard component.kind.hasValues, let order = orders.popFirst(),
          order.field == component.field,
          (component.isDescending != order.isDescending) == isBackward
        else { return nil }
      }
      guard orders.isEmpty else { return nil }
    }

    private enum Constant {
      case value([UInt8])
      /// The value of this component, which differs between range lists.
      case component(Int)
    }

    /// The field's value if all results of a range list have the same one.
    private func constant(of field: FieldSegments) -> Constant? {
      if let values = planner.values[field], values.isPoint {
        return .value(values.ranges[0].lower)
      }
      let components = use.definition.components
      return (use.fixedCount..<max(constantCount, use.fixedCount)).first {
        components[$0].field == field && components[$0].kind.hasValues
      }.map(Constant.component)
    }

    /// - Parameter combination: The values of the components after the fixed ones. Not all of them
    ///   are constant.
    func rangeList(_ combination: [[UInt8]], _ ranges: [KeyRange]) -> [KeyRange] {
      let start = planner.query.start.map { keyBound($0, combination) }
      let end = planner.query.end.map { keyBound($0, combination) }
      let bounds = KeyRange(
        lower: (isBackward ? end : start).map { $0 ?? KeyRange.behindAll } ?? [],
        upper: (isBackward ? start : end) ?? nil)
      return ranges.map { $0.intersection(bounds) }.filter { !$0.isEmpty }
    }

    /// The key at the position of the bound; nil is after all keys.
    private func keyBound(_ bound: StructuredQuery.Bound, _ combination: [[UInt8]]) -> [UInt8]? {
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
          // All results that equal the bound so far are on the same side of it.
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
      // True if the position is before the name in ascending order, the order of names in entries.
      let isBelow = isBefore != isBackward
      guard let namePosition = planner.namePositions.position(of: path, isBefore: isBelow) else {
        return KeyRange.end(key)
      }
      return key + namePosition
    }
  }

  // MARK: Joins

  /// Joins indexes whose first components each have one value and whose other components are the
  /// same. Documents in all of them are read in the order of those other components.
  private func joins(_ uses: [Use]) -> [EntryPlan] {
    let fixed = uses.filter { $0.fixedCount > 0 }
    guard fixed.count > 1 else { return [] }
    var plans: [EntryPlan] = []
    for leader in fixed {
      var chosen = [leader]
      var covered = leader.fixedFields
      for joinedIndex in fixed where joinedIndex.hasSameRest(as: leader) {
        let more = covered.union(joinedIndex.fixedFields)
        guard more.count > covered.count else { continue }
        covered = more
        chosen.append(joinedIndex)
      }
      guard chosen.count > 1 else { continue }
      var plan = plan(leader, isExact: coversAll(chosen.map(\.index)))
      plan.joined = chosen.dropFirst().map { use in
        EntryPlan.JoinedIndex(
          index: use.index, fixed: use.components[..<use.fixedCount].map { $0.ranges[0].lower })
      }
      plans.append(plan)
    }
    return plans
  }
}
