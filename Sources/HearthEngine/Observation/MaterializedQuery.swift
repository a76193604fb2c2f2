extension StructuredQuery.Scope {
  var name: String {
    switch self {
    case .collection(let path): "collection \(path.text)"
    case .group(let id, _): "collection group \(id)"
    case .subtree(let path): "everything below \(path.text)"
    }
  }
}

extension StructuredQuery.Scope {
  /// An answer waits for writes within this scope.
  var readScope: ReadScope {
    switch self {
    case .collection(let path): .collection(path)
    case .group(let id, _): .group(id)
    case .subtree: .everything
    }
  }
}

extension EffectiveQuery {
  /// An answer waits for writes within this scope.
  var readScope: ReadScope { filters.hasSemiJoins ? .everything : scope.readScope }
}

/// How much materialized queries hold beyond their results. Tests make it small.
struct MaterializedQueryTuning: Sendable {
  /// A limit's lookahead is this many documents plus half the limit, but at most 1,024.
  var minimumLookahead = 16
  /// Above this many changes at once, or this many bytes of older versions, materialized queries go
  /// to the latest state without the steps between.
  var stepLimit = 4096
  var stepLimitBytes = 16 << 20
}

/// The current result of a target, shared by all its listeners.
///
///     request ─▶ fetched ─▶ hold ─▶ update, for each step that concerns it
///                   ▲                 └─ mustFetch: changes alone do not show the result
///                   └─────────────────────┘
final class MaterializedQuery: @unchecked Sendable {
  // Unchecked: used by the load that makes it, then on the registry's queue only.

  private enum Content {
    case document(ResourcePath, ResultList)
    case query(LimitWindow)
    case totals(LiveAggregates, delivered: [Value])
    case joined(LiveJoin)
    case search(LiveSearch)
  }

  let target: Listener.Target
  /// The result is as of this sequence, or of a later one that changed nothing in it.
  private(set) var sequence: UInt64 = 0
  var listeners: [Listener] = []
  /// How often the query had to run again.
  private(set) var refills = 0
  /// The part of a commit that concerns this query, while the commit is applied.
  var pending: [DocumentUpdate] = []
  /// The query has to run again before further changes can be applied.
  private(set) var mustFetch = false
  /// The result before it became incomplete: the next event shows the changes since then.
  private var complete: ResultEvent?

  private var content: Content
  private var routes: [ListenerCondition] = []
  private var indexedUpperBound: ResultRow?
  private var others: OtherRoutes?

  init(
    _ target: Listener.Target, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.target = target
    content =
      switch target {
      case .document(let path): .document(path, ResultList())
      case .query(let query):
        query.search.map { .search(LiveSearch(query, $0)) }
          ?? .query(LimitWindow(query, tuning: tuning))
      case .totals(let query, let aggregations):
        .totals(LiveAggregates(query, aggregations, tuning), delivered: [])
      case .groups(let grouped): .totals(LiveAggregates(grouped, tuning), delivered: [])
      case .joined(let query): .joined(LiveJoin(query, tuning))
      }
    isTimed =
      switch target {
      case .document: false
      case .query(let query), .totals(let query, _):
        query.filters.hasRelativeTimes(inSemiJoins: true)
      case .groups(let grouped): grouped.query.filters.hasRelativeTimes(inSemiJoins: true)
      case .joined(let joined): joined.hasRelativeTimes
      }
    if canBeIncomplete { others = OtherRoutes() }
  }

  /// The result, all of it new. `sequence` may be later than the result's, if nothing in it
  /// changed.
  func event(as sequence: UInt64 = 0, isFullResync: Bool = false) -> ResultEvent {
    event(changes: nil, as: sequence, isFullResync: isFullResync)
  }

  private func event(
    changes: ResultChanges?, as sequence: UInt64 = 0, isFullResync: Bool = false
  ) -> ResultEvent {
    let sequence = max(self.sequence, sequence)
    let (list, values, included): (ResultList, [Value]?, IncludedDocuments?) =
      switch content {
      case .document(_, let list): (list, nil, nil)
      case .query(let window): (window.list, nil, nil)
      case .search(let search): (search.list, nil, nil)
      case .totals(_, let values): (ResultList(), values, nil)
      case .joined(let join): (join.root.list, nil, join.included)
      }
    return ResultEvent(
      list: list, values: values, included: included, changes: changes, sequence: sequence,
      isFullResync: isFullResync)
  }

  /// Number of documents it holds.
  var heldCount: Int {
    switch content {
    case .document(_, let list): list.count
    case .query(let window): window.heldCount
    case .totals(let totals, _): totals.heldCount
    case .joined(let join): join.heldCount
    case .search(let search): search.heldCount
    }
  }

  // MARK: Reading

  /// The next request for what is not known of the result; nil if all of it is. All requests are to
  /// one state.
  var request: ReadRequest? {
    switch content {
    case .document(let path, _): isDocumentKnown ? nil : .documents(at: [path])
    case .query(let window): window.request
    case .totals(let totals, _): totals.request
    case .joined(let join): join.request
    case .search(let search): search.request
    }
  }

  /// Of a document.
  private var isDocumentKnown = false

  /// Takes the answer to `request`, in the state after the change with this sequence.
  func hold(_ fetched: ReadAnswer, asOf sequence: UInt64) throws {
    pending = []
    self.sequence = sequence
    switch content {
    case .document(let path, _):
      content = .document(path, try ResultList(fetched: fetched))
      isDocumentKnown = true
    case .query(let window): try window.hold(fetched)
    case .totals(let totals, _):
      try totals.hold(fetched)
      if totals.request == nil { content = .totals(totals, delivered: try totals.values()) }
    case .joined(let join): try join.hold(fetched)
    case .search(let search): try search.hold(fetched)
    }
    if request == nil { mustFetch = false }
  }

  /// A change may show only a part of its effects.
  private var canBeIncomplete: Bool {
    switch content {
    case .document, .search: false
    case .query(let window): !window.semiJoins.isEmpty || window.isTimed
    case .totals(let totals, _): !totals.test.semiJoins.isEmpty || totals.test.isTimed
    case .joined: true
    }
  }

  /// For the result in an earlier state; nil if that is not kept.
  var pastRequest: ReadRequest? {
    switch content {
    case .document(let path, _): .documents(at: [path])
    case .query(let window): window.pastRequest
    case .totals, .joined, .search: nil
    }
  }

  /// The answer to `pastRequest`.
  func list(of fetched: ReadAnswer) throws -> ResultList {
    guard case .query(let window) = content else { return try ResultList(fetched: fetched) }
    return try window.list(of: fetched)
  }

  // MARK: Following

  enum Outcome {
    case unchanged
    case changed(ResultEvent)
    /// Make the requests, and then call `completed`. Until then no events are made; if `mustFetch`,
    /// nothing else is applied.
    case incomplete
  }

  /// Applies `pending`; the result is then as of `sequence`.
  func update(to sequence: UInt64) throws -> Outcome {
    defer { pending = [] }
    let before = canBeIncomplete && complete == nil ? event() : nil
    self.sequence = sequence
    let changes: ResultChanges
    switch content {
    case .document(let path, var list):
      guard let update = pending.last else { return .unchanged }
      changes = .several(list.replace(with: update.new))
      content = .document(path, list)
    case .query(let window):
      guard case .changed(let found) = try window.apply(pending) else { return refill(before) }
      changes = found
    case .totals(let totals, let delivered):
      guard try totals.apply(pending) else { return refill(before) }
      if totals.request != nil { return becomeIncomplete(before) }
      let values = try totals.values()
      content = .totals(totals, delivered: values)
      return values == delivered ? .unchanged : .changed(event(changes: nil))
    case .search(let search): changes = .several(try search.apply(pending))
    case .joined(let join):
      guard try join.apply(pending) else { return refill(before) }
      if complete != nil || join.request != nil { return becomeIncomplete(before) }
      guard let before else { return .unchanged }
      let changes = before.list.changes(to: join.root.list)
      let event = event(changes: .several(changes))
      return changes.isEmpty && before.includesSame(as: event) ? .unchanged : .changed(event)
    }
    if canBeIncomplete, complete != nil || request != nil {
      return becomeIncomplete(before)
    }
    return changes.isEmpty ? .unchanged : .changed(event(changes: changes))
  }

  private func refill(_ before: ResultEvent?) -> Outcome {
    refills += 1
    let outcome = becomeIncomplete(before)
    skipChanges()
    return outcome
  }

  /// `incomplete` for the first time, until it is complete again.
  private func becomeIncomplete(_ before: ResultEvent?) -> Outcome {
    guard complete == nil else { return .unchanged }
    complete = before ?? event()
    return .incomplete
  }

  // MARK: Relative times

  /// Whether the result changes when time passes.
  let isTimed: Bool

  /// When the result changes next without a commit, or before that; nil if never.
  var nextCrossing: Instant? {
    var next: Instant?
    if case .joined(let join) = content { next = join.nextCrossing }
    for case let crossing? in (window?.all ?? []).map(\.nextCrossing) {
      next = next.map { min($0, crossing) } ?? crossing
    }
    return next
  }

  /// Moves the time forward. True if requests have to be made that no other change needs.
  func advance(to now: Instant) -> Bool {
    let before = complete == nil ? event() : nil
    move(to: now)
    guard complete == nil, request != nil else { return false }
    complete = before
    return true
  }

  /// Sets the time of a query that is not loaded, or moves it forward.
  func move(to now: Instant) {
    switch content {
    case .document, .search: break
    case .query(let window): window.advance(to: now)
    case .totals(let totals, _): totals.test.advance(to: now)
    case .joined(let join): join.advance(to: now)
    }
  }

  /// All of the result is to be fetched, because changes are missing.
  func skipChanges() {
    if complete == nil { complete = event() }
    mustFetch = true
    switch content {
    case .document: isDocumentKnown = false
    case .query(let window): window.reset()
    case .totals(let totals, _): totals.reset()
    case .joined(let join): join.reset()
    case .search(let search): search.reset()
    }
  }

  /// Whether requests have to be made.
  var isIncomplete: Bool { complete != nil }

  /// All requests were answered. Returns the changes since the result was complete before; nil if
  /// there are none.
  func completed() -> ResultEvent? {
    guard let old = complete.take() else { return nil }
    let new = event()
    if let values = new.values { return values == old.values ? nil : new }
    let changes = old.list.changes(to: new.list)
    return changes.isEmpty && old.includesSame(as: new) ? nil : new.with(changes)
  }

  /// Uses the sort keys that all materialized queries with the same order share, until `giveBack`.
  func share(_ shared: SharedSortKeys) {
    switch content {
    case .document, .search: break
    case .query(let window): window.keys = shared.take(window.query.orders)
    case .totals(let totals, _): totals.keys = shared.take(totals.query.orders)
    case .joined(let join): join.root.keys = shared.take(join.root.query.orders)
    }
  }

  func giveBack(to shared: SharedSortKeys) {
    switch content {
    case .document, .search: break
    case .query(let window): shared.giveBack(window.query.orders)
    case .totals(let totals, _): shared.giveBack(totals.query.orders)
    case .joined(let join): shared.giveBack(join.root.query.orders)
    }
  }

  // MARK: Conditions

  /// The window of the query; nil for a document and for a search.
  private var window: LimitWindow? {
    switch content {
    case .document, .search: nil
    case .query(let window): window
    case .totals(let totals, _): totals.test
    case .joined(let join): join.root
    }
  }

  func addRoutes(to router: ListenerIndex) {
    if case .document(let path, _) = content { router.add(self, toDocument: path) }
    if case .search(let search) = content {
      routes = router.add(self, to: search.routedQuery, upperBound: nil)
    }
    guard let window else { return }
    indexedUpperBound = window.upperBound
    if others == nil {
      routes = router.add(self, to: window.query, upperBound: indexedUpperBound)
    } else {
      // Those in another router are forgotten with it.
      others = OtherRoutes()
      if case .joined(let join) = content {
        _ = join.takePaths()
        for path in join.includedPaths { others?.set(path, true, for: self, in: router) }
        _ = join.takeWindows()
        for window in join.windows { others?.set(window, for: self, in: router) }
      }
      renewOtherRoutes(in: router)
    }
  }

  func removeRoutes(from router: ListenerIndex) {
    if case .document(let path, _) = content { router.remove(self, fromDocument: path) }
    if case .search(let search) = content {
      router.remove(self, from: search.routedQuery, routes)
    }
    guard let window else { return }
    others?.removeAll(of: self, from: router)
    if others == nil { router.remove(self, from: window.query, routes) }
    routes = []
  }

  /// When the upper bound moves, other documents matter.
  func renewRoutes(in router: ListenerIndex) {
    if others != nil { return renewOtherRoutes(in: router) }
    guard window?.upperBound?.document !== indexedUpperBound?.document else { return }
    removeRoutes(from: router)
    addRoutes(to: router)
  }

  /// Costs as much as has changed, however many windows there are.
  private func renewOtherRoutes(in router: ListenerIndex) {
    if case .joined(let join) = content {
      let (new, old) = join.takePaths()
      for path in new + old { others?.set(path, join.isIncluded(path), for: self, in: router) }
      let (changed, removed) = join.takeWindows()
      for window in removed { others?.remove(window, for: self, in: router) }
      for window in changed { others?.set(window, for: self, in: router) }
    }
    if let window { others?.set(window, for: self, in: router) }
  }

  /// How often the routes of a window were compared with its conditions. Tests count it.
  var routeComparisons: Int { others?.comparisons ?? 0 }
}

/// The conditions that find a join, or a query with semi-joins: those of each of its windows, and the
/// documents that it includes.
private struct OtherRoutes {
  private struct Routed {
    var window: LimitWindow
    var query: EffectiveQuery
    var upperBound: ResultRow?
    var routes: [ListenerCondition]
    var valueVersion: Int
  }

  private var windows: [ObjectIdentifier: Routed] = [:]
  private var paths: Set<ResourcePath> = []
  private(set) var comparisons = 0

  mutating func set(
    _ path: ResourcePath, _ isIncluded: Bool, for view: MaterializedQuery, in router: ListenerIndex
  ) {
    if isIncluded {
      if paths.insert(path).inserted { router.add(view, including: path) }
    } else if paths.remove(path) != nil {
      router.remove(view, including: path)
    }
  }

  /// Also for the windows of its semi-joins.
  mutating func set(
    _ window: LimitWindow, for view: MaterializedQuery, in router: ListenerIndex
  ) {
    for window in window.all {
      comparisons += 1
      let id = ObjectIdentifier(window)
      let known = windows[id]
      let isCurrent =
        known?.upperBound?.document === window.upperBound?.document
        && known?.valueVersion == window.valueVersion
      if known != nil, isCurrent { continue }
      if let known { router.remove(view, from: known.query, known.routes) }
      let query = window.routedQuery
      windows[id] = Routed(
        window: window, query: query, upperBound: window.upperBound,
        routes: router.add(view, to: query, upperBound: window.upperBound),
        valueVersion: window.valueVersion)
    }
  }

  mutating func remove(
    _ window: LimitWindow, for view: MaterializedQuery, in router: ListenerIndex
  ) {
    for window in window.all {
      guard let gone = windows.removeValue(forKey: ObjectIdentifier(window)) else { continue }
      router.remove(view, from: gone.query, gone.routes)
    }
  }

  mutating func removeAll(of view: MaterializedQuery, from router: ListenerIndex) {
    for gone in windows.values { router.remove(view, from: gone.query, gone.routes) }
    windows = [:]
    for path in paths { router.remove(view, including: path) }
    paths = []
  }
}

extension ResultList {
  fileprivate init(fetched: ReadAnswer) throws {
    self.init(document: try fetched.documents.first ?? nil)
  }

  /// One document, or none.
  init(document: StoredDocument?) {
    self.init(ResultTree(sorted: document.map { [ResultRow(key: [], document: $0)] } ?? []))
  }

  fileprivate mutating func replace(with document: StoredDocument?) -> [ResultChange] {
    let new = ResultList(document: document)
    let changes = changes(to: new)
    self = new
    return changes
  }
}
