/// How to answer a query: a value that the `Planner` chooses and a `QueryExecutor` executes.
///
///     documents    the scope's documents in name order, or the documents that the query names
///     entries      range lists of an index, joined with other indexes, for each branch
///
/// Law: every plan for a query gives the same documents in the same order. Every document that a
/// plan reads is tested against the whole condition of its branch, unless the plan is exact and
/// `ReferringQueries` repeats it. A plan only determines where results can be, and in which order they
/// are read.
struct QueryPlan: Hashable, Sendable {
  enum Source: Hashable, Sendable {
    case documents
    /// No document can be a result.
    case nothing
    /// One for each branch of an OR; a single one for a query without OR.
    case entries([EntryPlan])
  }

  var source: Source
  /// Documents are read in the order of the results.
  var isOrdered: Bool
  /// The estimated cost, in steps of a scan.
  var cost = 0.0

  /// Every entry read is a result, so counting reads no documents.
  var isExact: Bool {
    switch source {
    case .documents: false
    case .nothing: true
    case .entries(let branches): branches.allSatisfy(\.isExact)
    }
  }

  /// For each branch, the component that has the field after the fixed ones. Nil if documents have to
  /// be read for it.
  func positions(of field: FieldSegments) -> [Int]? {
    guard isExact, case .entries(let branches) = source else { return nil }
    let positions = branches.compactMap { $0.position(of: field) }
    return positions.count == branches.count ? positions : nil
  }

  var usesIndexes: Bool { if case .entries = source { true } else { false } }

  /// The same document may be read more than once.
  var mayRepeat: Bool {
    guard case .entries(let branches) = source else { return false }
    return branches.count > 1 || branches.contains { $0.mayRepeat }
  }
}

/// One or more walks through an index for one conjunction of comparisons.
struct EntryPlan: Hashable, Sendable {
  /// A component after the bounds, tested in the entry's key.
  struct Test: Hashable, Sendable {
    var component: Int
    var ranges: KeyRanges
  }

  /// Another index to join. After its fixed components it has the same components as the first
  /// index after its own.
  struct JoinedIndex: Hashable, Sendable {
    var index: StoredIndex
    var fixed: [[UInt8]]
  }

  var index: StoredIndex
  /// The condition that every document must pass.
  var condition: [StructuredQuery.Filter]
  /// The keys of the first components, which have one value in all range lists.
  var fixed: [[UInt8]]
  /// Ranges of keys after the fixed components: those of one list are read one after another. The results of
  /// several lists are merged.
  var rangeLists: [[KeyRange]]
  var tests: [Test] = []
  /// Tested at the end of the entry's key. Nil if any name passes, or if the ranges already bound
  /// the names.
  var names: KeyRanges?
  var joined: [JoinedIndex] = []
  var isBackward = false
  /// Results are read in order.
  var isOrdered = false
  /// Every entry read is a result.
  var isExact = false
  /// A document may have several entries in the range lists.
  var mayRepeat = false

  /// The component that has the values of a field after the fixed ones; nil if none does.
  func position(of field: FieldSegments) -> Int? {
    let components = index.definition.components
    return components.indices.dropFirst(fixed.count).first {
      components[$0].field == field && components[$0].kind.hasValues
    }
  }
}

// MARK: - Description

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
    var text = joined.isEmpty ? "index" : "join of"
    text += " (\(index.definition))"
    for joinedIndex in joined { text += " and (\(joinedIndex.index.definition))" }
    let ranges = rangeLists.reduce(0) { $0 + $1.count }
    if rangeLists.count > 1 {
      text += ", \(rangeLists.count) range lists merged"
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
