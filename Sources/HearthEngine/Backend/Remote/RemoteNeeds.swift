/// The documents that a request needs to be answered: a superset, of which `RemoteResults` finds the
/// result.
struct RemoteNeeds: Sendable {
  var scopes: [RemoteScope] = []
  /// The same or more, for the changes: an index has no entries of earlier versions.
  var changedScopes: [RemoteScope] = []

  init() {}

  /// - Parameter isNow: See the form for a query.
  init(_ request: ReadRequest, _ catalogue: RemoteCatalogue, isNow: Bool = false) {
    add(request, catalogue, isNow: isNow)
  }

  mutating func add(_ paths: [ResourcePath]) {
    guard !paths.isEmpty else { return }
    let scope = RemoteScope.documents(paths.map { RemoteKey($0) })
    scopes.append(scope)
    changedScopes.append(scope)
  }

  mutating func add(whole scope: RemoteScope) { add(scope, changed: scope) }

  private mutating func add(_ scope: RemoteScope, changed: RemoteScope) {
    if !scopes.contains(scope) { scopes.append(scope) }
    if !changedScopes.contains(changed) { changedScopes.append(changed) }
  }

  /// - Parameter isNow: The newest state is read, so that a limit can be left to the server.
  mutating func add(
    _ query: EffectiveQuery, requiring fields: [FieldSegments] = [], _ catalogue: RemoteCatalogue,
    isNow: Bool = false
  ) {
    let whole = RemoteScope(query.scope)
    if let page = isNow ? query.remotePage : nil, case .collection(let ids, _) = whole {
      add(.collection(ids, page), changed: whole)
    } else {
      let entries = catalogue.entries(for: query, requiring: fields, isPaged: isNow)
      add(entries ?? whole, changed: whole)
    }
    for filter in query.filters {
      filter.forEachComparison { comparison in
        guard let join = comparison.openJoin else { return }
        add(join.effectiveQuery, requiring: join.required, catalogue)
      }
    }
  }

  /// The same without pages.
  var unpaged: RemoteNeeds {
    var needs = self
    needs.scopes = scopes.map { scope in
      switch scope {
      case .entries(let index, let ranges, _): .entries(index: index, ranges, nil)
      case .collection(let ids, _): .collection(ids, nil)
      default: scope
      }
    }
    return needs
  }

  /// - Parameter isNow: See the form for a query.
  mutating func add(_ request: ReadRequest, _ catalogue: RemoteCatalogue, isNow: Bool = false) {
    switch request {
    case .documents(let paths): add(paths)
    case .results(let query, let fields):
      add(query, requiring: fields, catalogue, isNow: isNow && fields.isEmpty)
    case .part(let query, _): add(query, catalogue, isNow: isNow)
    case .values(_, over: let query), .matches(_, among: let query): add(query, catalogue)
    case .totals(let query, let aggregations):
      add(query, requiring: AggregationTotals(aggregations, isLive: true).fields, catalogue)
    case .groups(let grouped), .groupTotals(let grouped):
      add(EffectiveQuery(grouped.query), catalogue)
    case .referring(let relation, let paths):
      for path in paths {
        if let query = relation.query(referringTo: path) { add(EffectiveQuery(query), catalogue) }
      }
    case .several(let requests): for request in requests { add(request, catalogue) }
    case .explanation(let request, _): add(request.explained, catalogue, isNow: isNow)
    case .collections(let path), .documentPaths(in: let path):
      add(whole: .subtree(below: path.remoteIDs))
    case .joined, .page, .documentCount, .nothing: break
    }
  }
}

extension EffectiveQuery {
  /// The part of the collection that has all results, of a query by name without conditions.
  fileprivate var remotePage: RemotePage? {
    guard filters.isEmpty, question.traits.contains(.ordered), isOrderedByName,
      case .collection(let collection) = scope
    else { return nil }
    var page = RemotePage(limit: lastWanted ?? .max, isBackward: orders[0].isDescending)
    /// The id of a cursor in the collection; a cursor elsewhere is tested afterwards.
    func id(_ bound: StructuredQuery.Bound?) -> [UInt8]?? {
      guard let bound else { return .some(nil) }
      guard case .reference(let path)? = bound.values.first, path.parent == collection else {
        return nil
      }
      return .some(RemoteKey(path).id)
    }
    guard let first = id(start), let last = id(end) else { return nil }
    // The cursor's own document is tested afterwards, too: one more is read.
    if start != nil || end != nil, page.limit < .max { page.limit += 1 }
    page.from = page.isBackward ? last : first
    page.through = page.isBackward ? first : last
    return page
  }
}
