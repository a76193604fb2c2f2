import Synchronization

/// Plans of earlier queries, for queries that differ from them only in the value of the last filter: an
/// equality, or a bound.
///
///     author == authors/1, order by title   ─▶ planned
///     author == authors/2, order by title   ─▶ the same plan with another fixed component
///     title >= "dune", 20 of them           ─▶ planned
///     title >= "emma", 20 of them           ─▶ the same plan with another range
///
/// Only plans that read the results alone, in one range: the planner chooses them for every value. The
/// memory belongs to one state of the indexes.
///
/// Law: a remembered plan is what the planner would choose, except that it may have chosen the scan of a
/// collection that was small.
final class PlanMemory: GenerationMemory {
  struct Shape: Hashable {
    /// With null in place of the last operand.
    private var query: EffectiveQuery
    private let operandClass: Value.TypeClass
    private let required: [FieldSegments]
    private let needsOrder: Bool
    fileprivate let countsOnly: Bool

    /// Nil for a query whose last filter is no equality with a usual value, and no bound of it.
    init?(
      _ query: EffectiveQuery, requiring fields: [FieldSegments], needsOrder: Bool, countsOnly: Bool
    ) {
      guard case .comparison(var comparison)? = query.filters.last,
        comparison.operator.isEquality || comparison.operator.isBound, !comparison.isNegated,
        !comparison.field.isDocumentID
      else { return nil }
      switch comparison.constant {
      case .string, .integer, .reference, .boolean, .timestamp: break
      default: return nil
      }
      operandClass = comparison.constant.typeClass
      comparison.operand = .constant(.null)
      self.query = query
      self.query.filters[query.filters.count - 1] = .comparison(comparison)
      required = fields
      self.needsOrder = needsOrder
      self.countsOnly = countsOnly
    }
  }

  private struct Known {
    let query: EffectiveQuery
    let plan: QueryPlan
  }

  /// Of the indexes.
  let generation: UInt64
  private let plans = Mutex<[Shape: Known]>([:])
  static let capacity = 128
  /// The planner reads as many results from an index, whatever the bound before them is.
  private static let fewResults = 256

  init(generation: UInt64) { self.generation = generation }

  func plan(for query: EffectiveQuery, _ shape: Shape) -> QueryPlan? {
    guard let known = plans.withLock({ $0[shape] }) else { return nil }
    return known.plan.rebound(from: known.query, to: query)
  }

  /// - Parameter needsOrder: False if results may come in any order.
  func remember(
    _ plan: QueryPlan, for query: EffectiveQuery, _ shape: Shape, needsOrder: Bool
  ) {
    guard plan.isOrdered || !needsOrder, let (branch, place) = plan.bindingPlace(of: query),
      branch.readsResultsAlone
    else { return }
    // All that lies behind a bound may be cheaper to scan. A small part of it is not.
    if place == .range, query.lastWanted ?? .max > PlanMemory.fewResults, !shape.countsOnly {
      return
    }
    plans.withLock { plans in
      // Any other: a condition before the last one may have many values, and each is a shape.
      if plans.count >= PlanMemory.capacity, plans[shape] == nil { _ = plans.popFirst() }
      plans[shape] = Known(query: query, plan: plan)
    }
  }
}

extension Store {
  /// The type of `planMemory`.
  typealias PlannedQueries = PlanMemory
}

extension QueryPlan {
  /// Where a plan has the value of the last filter.
  enum BindingPlace: Equatable {
    /// In this fixed component.
    case fixed(Int)
    /// In the range of the component after the fixed ones.
    case range
  }

  /// The only branch, and where it has the value of the last filter. Nil if the plan has the value
  /// anywhere else, or if it would not be the best plan for many entries.
  func bindingPlace(of query: EffectiveQuery) -> (branch: EntryPlan, place: BindingPlace)? {
    guard isOrdered || query.limit == nil, query.start == nil, query.end == nil,
      case .entries(let branches) = source, branches.count == 1, let branch = branches.first,
      branch.joined.isEmpty, branch.condition == query.filters,
      case .comparison(let bound)? = query.filters.last,
      query.filters.dropLast().allSatisfy({ filter in
        // Another condition on the field would restrict its values further.
        guard case .comparison(let other) = filter else { return false }
        return other.field != bound.field
      })
    else { return nil }
    let components = branch.index.definition.components
    guard let position = components.firstIndex(where: { $0.field == bound.field }),
      components.count(where: { $0.field == bound.field }) == 1
    else { return nil }
    if bound.operator.isEquality {
      return position < branch.fixed.count ? (branch, .fixed(position)) : nil
    }
    guard bound.operator.isBound, position == branch.fixed.count,
      let range = Self.range(bound, of: components[position]),
      branch.rangeLists == [[range]]
    else { return nil }
    return (branch, .range)
  }

  /// The only range of a component within a bound.
  private static func range(
    _ bound: StructuredQuery.Comparison, of component: IndexDefinition.Component
  ) -> KeyRange? {
    guard component.kind.hasValues else { return nil }
    let all = KeyRanges(bound)
    let ranges = (component.isDescending ? all.inverted : all).ranges
    return ranges.count == 1 && !all.isPoint ? ranges[0] : nil
  }

  /// This plan for a query whose last filter has another operand; nil if that may not be its best
  /// plan.
  func rebound(from old: EffectiveQuery, to new: EffectiveQuery) -> QueryPlan? {
    guard case (var branch, let place)? = bindingPlace(of: old),
      case .comparison(let comparison)? = new.filters.last
    else { return nil }
    let components = branch.index.definition.components
    switch place {
    case .fixed(let position):
      let key = comparison.constant.componentKey
      branch.fixed[position] = components[position].isDescending ? key.map { ~$0 } : key
    case .range:
      guard let range = Self.range(comparison, of: components[branch.fixed.count]) else {
        return nil
      }
      branch.rangeLists = [[range]]
    }
    branch.condition = new.filters
    var plan = self
    plan.source = .entries([branch])
    return plan
  }
}

extension StructuredQuery.Comparison.Operator {
  fileprivate var isEquality: Bool { self == .equal || self == .arrayContains }

  /// Whether values on one side of the operand pass.
  fileprivate var isBound: Bool {
    switch self {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: true
    default: false
    }
  }
}
