/// Conditions on times relative to that of the read.
///
/// A read replaces them by conditions on timestamps; see `EffectiveQuery.resolved(at:)`. A listener
/// keeps them: its result changes when time passes, without a commit.
final class ReadTime: @unchecked Sendable {
  // Unchecked: one thread at a time uses it, that of its owner.

  var now: Instant { didSet { boundaries = [:] } }
  /// Those of days that were asked for at this time: a calendar is slow.
  private var boundaries: [RelativeTime: Instant] = [:]

  init(_ now: Instant) { self.now = now }

  func boundary(_ relative: RelativeTime) -> Instant {
    if case .offset = relative { return relative.boundary(at: now) }
    if let known = boundaries[relative] { return known }
    let boundary = relative.boundary(at: now)
    boundaries[relative] = boundary
    return boundary
  }
}

extension EffectiveQuery {
  /// The query at a time: conditions relative to the time of the read become conditions on
  /// timestamps.
  ///
  /// - Parameter inSemiJoins: Also in the queries of semi-joins. Otherwise these are resolved when
  ///   they are read.
  func resolved(at now: Instant, inSemiJoins: Bool = false) -> EffectiveQuery {
    guard filters.hasRelativeTimes(inSemiJoins: inSemiJoins) else { return self }
    var resolved = self
    resolved.filters = filters.map { $0.resolved(at: now, inSemiJoins: inSemiJoins) }
    return resolved
  }
}

extension StructuredQuery {
  /// Same as that of an effective query, also in semi-joins, for a backend without plans. The orders become explicit: results are not ordered by the
  /// fields of relative times.
  func resolved(at now: Instant) -> StructuredQuery {
    guard filters.hasRelativeTimes(inSemiJoins: true) else { return self }
    var resolved = self
    resolved.orders = effectiveOrders
    resolved.filters = filters.map { $0.resolved(at: now, inSemiJoins: true) }
    return resolved
  }
}

extension StructuredQuery.Filter {
  func resolved(at now: Instant, inSemiJoins: Bool = false) -> StructuredQuery.Filter {
    mapped { comparison in
      var comparison = comparison
      if inSemiJoins, let join = comparison.openJoin {
        comparison.operand = .results(SemiJoin(join.query.resolved(at: now), join.field))
      }
      return comparison.resolved(at: now)
    }
  }
}

extension [StructuredQuery.Filter] {
  func hasRelativeTimes(inSemiJoins: Bool = false) -> Bool {
    contains { filter in
      filter.hasComparison { comparison in
        comparison.operator.isRelative
          || inSemiJoins
            && comparison.openJoin?.query.filters.hasRelativeTimes(inSemiJoins: true) == true
      }
    }
  }

  /// Distinct, from left to right.
  var relativeTimes: [StructuredQuery.Comparison] {
    var found: [StructuredQuery.Comparison] = []
    var known: Set<StructuredQuery.Comparison> = []
    for filter in self {
      filter.forEachComparison { comparison in
        var plain = comparison
        plain.isNegated = false
        plain.operator = .afterNow
        if comparison.operator.isRelative, known.insert(plain).inserted { found.append(plain) }
      }
    }
    return found
  }
}
