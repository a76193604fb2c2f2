import Synchronization

/// Plans of earlier queries, for queries that differ from them only in the value of the last filter, an
/// equality.
///
///     author == authors/1, order by title   ─▶ planned
///     author == authors/2, order by title   ─▶ the same plan with another fixed component
///
/// Only plans that read the results alone, in one range: the planner chooses them for every value. The
/// memory belongs to one state of the indexes.
///
/// Law: a remembered plan is what the planner would choose, except that it may have chosen the scan of a
/// collection that was small.
final class PlanMemory: Sendable {
  struct Shape: Hashable {
    /// With null in place of the last operand.
    private var query: EffectiveQuery
    private let operandClass: Value.TypeClass
    private let required: [FieldSegments]
    private let needsOrder: Bool
    private let countsOnly: Bool

    /// Nil for a query whose last filter is no equality with a usual value.
    init?(
      _ query: EffectiveQuery, requiring fields: [FieldSegments], needsOrder: Bool, countsOnly: Bool
    ) {
      guard case .comparison(var comparison)? = query.filters.last,
        [.equal, .arrayContains].contains(comparison.operator), !comparison.isNegated,
        !comparison.field.isDocumentID
      else { return nil }
      switch comparison.operand {
      case .string, .integer, .reference, .boolean: break
      default: return nil
      }
      operandClass = comparison.operand.typeClass
      comparison.operand = .null
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
  private static let capacity = 128

  init(generation: UInt64) { self.generation = generation }

  func plan(for query: EffectiveQuery, _ shape: Shape) -> QueryPlan? {
    guard let known = plans.withLock({ $0[shape] }) else { return nil }
    return known.plan.rebound(from: known.query, to: query)
  }

  /// - Parameter needsOrder: False if results may come in any order.
  func remember(
    _ plan: QueryPlan, for query: EffectiveQuery, _ shape: Shape, needsOrder: Bool
  ) {
    guard plan.isOrdered || !needsOrder, let (branch, _) = plan.bindingPosition(of: query),
      branch.readsResultsAlone
    else { return }
    plans.withLock { plans in
      if plans.count >= PlanMemory.capacity { plans = [:] }
      plans[shape] = Known(query: query, plan: plan)
    }
  }
}

extension QueryPlan {
  /// The only branch and the fixed component that the last filter, an equality, determines. Nil if
  /// the plan has the value anywhere else, or if it would not be the best plan for many entries.
  func bindingPosition(of query: EffectiveQuery) -> (branch: EntryPlan, position: Int)? {
    guard isOrdered || query.limit == nil, query.start == nil, query.end == nil,
      case .entries(let branches) = source, branches.count == 1, let branch = branches.first,
      branch.joined.isEmpty, branch.condition == query.filters,
      case .comparison(let bound)? = query.filters.last,
      [.equal, .arrayContains].contains(bound.operator),
      query.filters.dropLast().allSatisfy({ filter in
        // Another condition on the field would restrict its values further.
        guard case .comparison(let other) = filter else { return false }
        return other.field != bound.field
      })
    else { return nil }
    let components = branch.index.definition.components
    guard let position = components.firstIndex(where: { $0.field == bound.field }),
      position < branch.fixed.count, components.count(where: { $0.field == bound.field }) == 1
    else { return nil }
    return (branch, position)
  }

  /// This plan for a query whose last filter has another operand; nil if that may not be its best
  /// plan.
  func rebound(from old: EffectiveQuery, to new: EffectiveQuery) -> QueryPlan? {
    guard case (var branch, let position)? = bindingPosition(of: old),
      case .comparison(let comparison)? = new.filters.last
    else { return nil }
    let key = comparison.operand.componentKey
    let isDescending = branch.index.definition.components[position].isDescending
    branch.fixed[position] = isDescending ? key.map { ~$0 } : key
    branch.condition = new.filters
    var plan = self
    plan.source = .entries([branch])
    return plan
  }
}
