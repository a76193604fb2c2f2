/// The indexes of a store, as of one generation.
final class RemoteCatalogue: Sendable {
  let generation: UInt64
  let indexes: [StoredIndex]
  let policies: TTLPolicies
  /// Those that commits maintain, and those with constraints.
  let all: IndexCatalogue

  /// Indexes have numbers from 1 on; this is that of the TTL policies.
  static let policiesNumber: UInt32 = 0

  fileprivate init() {
    generation = 0
    indexes = []
    policies = TTLPolicies()
    all = IndexCatalogue(generation: 0, [])
  }

  /// The catalogue of a store without indexes.
  static let empty = RemoteCatalogue()

  init(generation: UInt64, _ records: [UInt32: [UInt8]]) throws(Status) {
    self.generation = generation
    var indexes: [StoredIndex] = []
    var policies = TTLPolicies()
    for (number, record) in records.sorted(by: { $0.key < $1.key }) {
      try Status.ofReading {
        if number == Self.policiesNumber {
          return policies = try TTLPolicies(verifying: record)
        }
        let index = try KeyLayout.indexKey(number).withUnsafeBytes { key in
          try record.withUnsafeBytes { try StoredIndex(key: key, record: $0) }
        }
        indexes.append(index)
      }
    }
    self.indexes = indexes
    self.policies = policies
    all = IndexCatalogue(generation: generation, indexes)
  }

  var maintained: [StoredIndex] { indexes.filter(\.isMaintained) }

  func index(_ definition: IndexDefinition) -> StoredIndex? { all.index(definition) }

  /// The ranges of an index in which all results have entries. Nil if no index serves the query.
  ///
  /// - Parameter isPaged: A limit may be left to the server.
  func entries(
    for query: EffectiveQuery, requiring fields: [FieldSegments], isPaged: Bool
  ) -> RemoteScope? {
    guard !indexes.isEmpty, query.question.traits.contains(.selective), query.isResolved,
      let plan = plan(for: query, requiring: fields, isPaged: isPaged && query.limit != nil),
      case .entries(let branches) = plan.source
    else { return nil }
    var ranges: [RemoteRange] = []
    guard let number = branches.first?.index.number,
      branches.allSatisfy({ $0.index.number == number })
    else { return nil }
    for branch in branches {
      let base = EntryRange(branch.index, in: query.scope.collection).fixed(branch.fixed)
      for range in branch.rangeLists.joined() {
        let part = base.part(range)
        if !part.isEmpty { ranges.append(RemoteRange(lower: part.lower, upper: part.upper)) }
      }
    }
    let page = isPaged && ranges.count == 1 ? plan.remotePage(of: query) : nil
    return .entries(index: number, ranges, page)
  }

  /// The plan of a query whose documents nobody has counted.
  private func plan(
    for query: EffectiveQuery, requiring fields: [FieldSegments], isPaged: Bool
  ) -> QueryPlan? {
    let readable = readable(for: query).filter { $0.definition.words == nil }
    guard !readable.isEmpty else { return nil }
    return try? planner(query, requiring: fields, readable, needsOrder: isPaged).best()
  }

  private func readable(for query: EffectiveQuery) -> [StoredIndex] {
    query.scope.indexed.map { all.readable($0.scope, of: $0.id) } ?? []
  }

  private func planner(
    _ query: EffectiveQuery, requiring fields: [FieldSegments], _ indexes: [StoredIndex],
    needsOrder: Bool, countsOnly: Bool = false
  ) -> Planner {
    Planner(
      query, requiring: fields, indexes: indexes, documentCount: 1_000_000, needsOrder: needsOrder,
      countsOnly: countsOnly
    ) { _, ranges, limit in
      // Bounds that contradict each other leave no range.
      ranges.isEmpty ? [] : [limit]
    }
  }

  /// The indexes that a database in a file would want for a query; none if there is one that serves
  /// it.
  func missing(
    for query: EffectiveQuery, _ aggregations: [Aggregation]?
  ) throws -> [IndexDefinition] {
    let readable = readable(for: query)
    if query.question.ranking?.indexComponent != nil {
      return query.wantedIndexes().filter { wanted in
        !readable.contains { $0.definition == wanted }
      }
    }
    let needsOrder = query.needsOrder(aggregations)
    let planner = planner(
      query, requiring: aggregations?.compactMap(\.field) ?? [],
      readable.filter { $0.definition.words == nil }, needsOrder: needsOrder,
      countsOnly: aggregations != nil)
    return try planner.best().isServed(query, needsOrder: needsOrder) ? [] : planner.missing
  }
}

extension QueryPlan {
  /// The part of the only range that has all results, if every entry is one, in their order.
  fileprivate func remotePage(of query: EffectiveQuery) -> RemotePage? {
    guard isOrdered, isExact, !mayRepeat, case .entries(let branches) = source, branches.count == 1,
      branches[0].rangeLists.count == 1, branches[0].tests.isEmpty, branches[0].names == nil,
      branches[0].joined.isEmpty, query.question.traits.contains(.ordered),
      let limit = query.limit
    else { return nil }
    let (count, overflow) = limit.addingReportingOverflow(query.offset)
    return overflow ? nil : RemotePage(limit: count, isBackward: branches[0].isBackward)
  }
}
