/// How a query is going to be answered: a value, chosen by the `Planner`, followed by a `QueryExecutor`.
///
///     documents    the scope's documents in the order of names, or those that are named
///     entries      stretches of an index, joined with stretches of others, branch beside branch
///
/// Law: every plan for a query gives the same documents in the same order. Whatever a plan reads is
/// tested again against the whole condition of its branch; a plan only says where results can be, and
/// in which order they are met.
struct QueryPlan: Hashable, Sendable {
  enum Source: Hashable, Sendable {
    case documents
    /// No document can be a result.
    case nothing
    /// For each branch of an OR; one for a query without.
    case entries([EntryPlan])
  }

  var source: Source
  /// What is met is met in the order of the results.
  var isOrdered: Bool
  /// What the planner believes it comes to, in steps of a scan.
  var cost = 0.0

  /// Where entries are met is a result, so that counting needs no document.
  var isExact: Bool {
    switch source {
    case .documents: false
    case .nothing: true
    case .entries(let branches): branches.allSatisfy(\.isExact)
    }
  }

  var usesIndexes: Bool { if case .entries = source { true } else { false } }

  /// The same document may be met more than once.
  var mayRepeat: Bool {
    guard case .entries(let branches) = source else { return false }
    return branches.count > 1 || branches.contains { $0.mayRepeat }
  }
}

/// One walk, or several, through an index for one conjunction of comparisons.
struct EntryPlan: Hashable, Sendable {
  /// Ranges that are read one after another, of keys behind the fixed components.
  struct RangeList: Hashable, Sendable {
    var ranges: [KeyRange]
  }

  /// A component behind the bounds, tested in the entry's key.
  struct Test: Hashable, Sendable {
    var component: Int
    var ranges: KeyRanges
  }

  /// Another index, joined: its components behind the fixed ones are the first index's behind its.
  struct JoinedIndex: Hashable, Sendable {
    var index: StoredIndex
    var fixed: [[UInt8]]
  }

  var index: StoredIndex
  /// What documents have to pass, wherever in the plan they are met.
  var condition: [StructuredQuery.Filter]
  /// The first components that have one value in all stretches.
  var fixed: [[UInt8]]
  /// Side by side: what they tell is merged.
  var stretches: [RangeList]
  var tests: [Test] = []
  /// Tested at the end of the entry's key; nil if any name is right, or the bounds see to it.
  var names: KeyRanges?
  var followers: [JoinedIndex] = []
  var isBackward = false
  /// Results are met in order.
  var isOrdered = false
  /// What is met is a result.
  var isExact = false
  /// A document may have several entries in the stretches.
  var mayRepeat = false
}

// MARK: - For eyes

extension QueryPlan: CustomStringConvertible {
  var description: String {
    switch source {
    case .nothing: "nothing: no document can match"
    case .documents: "every document of the scope"
    case .entries(let branches):
      branches.count == 1
        ? branches[0].description
        : "union of\n" + branches.map { "  \($0.description)" }.joined(separator: "\n")
    }
  }
}

extension EntryPlan: CustomStringConvertible {
  var description: String {
    var text = followers.isEmpty ? "index" : "join of"
    text += " (\(index.definition))"
    for follower in followers { text += " and (\(follower.index.definition))" }
    let ranges = stretches.reduce(0) { $0 + $1.ranges.count }
    if stretches.count > 1 {
      text += ", \(stretches.count) stretches merged"
    } else if ranges != 1 {
      text += ", \(ranges) ranges"
    }
    if isBackward { text += ", backwards" }
    if !tests.isEmpty {
      let fields = tests.map { index.definition.components[$0.component].field.canonicalText }
      text += ", testing \(fields.joined(separator: ", ")) in the entries"
    }
    if names != nil { text += ", testing names in the entries" }
    return text
  }
}
