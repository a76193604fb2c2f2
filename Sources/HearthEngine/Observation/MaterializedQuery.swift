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

  let content: any LiveResult
  private var routes: [ListenerCondition] = []
  private var indexedUpperBound: ResultRow?
  private var others: OtherRoutes?

  init(
    _ target: Listener.Target, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.target = target
    content =
      switch target {
      case .document(let path): LiveDocument(path)
      case .query(let query):
        if case .search(let search) = query.question {
          LiveSearch(query, search)
        } else {
          LimitWindow(query, tuning: tuning)
        }
      case .totals(let query, let aggregations): LiveAggregates(query, aggregations, tuning)
      case .groups(let grouped): LiveAggregates(grouped, tuning)
      case .joined(let query): LiveJoin(query, tuning)
      }
    isTimed = content.followsTime
    canBeIncomplete = content.canBeIncomplete
    if canBeIncomplete { others = OtherRoutes() }
  }

  /// The result; all of it is new without `changes`. `sequence` may be later than the result's, if
  /// nothing in it changed.
  func event(
    changes: ResultChanges? = nil, as sequence: UInt64 = 0, isFullResync: Bool = false
  ) -> ResultEvent {
    ResultEvent(
      list: content.list, values: content.values, included: content.included, changes: changes,
      sequence: max(self.sequence, sequence), isFullResync: isFullResync)
  }

  // MARK: Reading

  /// Takes the answer to the request of `content`, in the state after the change with this sequence. All
  /// requests are to one state.
  func hold(_ fetched: ReadAnswer, asOf sequence: UInt64) throws {
    pending = []
    self.sequence = sequence
    try content.hold(fetched)
    if content.request == nil { mustFetch = false }
  }

  /// A change may show only a part of its effects.
  private let canBeIncomplete: Bool

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
    switch try content.apply(pending) {
    case .mustLoad:
      refills += 1
      defer { skipChanges() }
      return becomeIncomplete(before)
    case _ where canBeIncomplete && (complete != nil || content.request != nil):
      return becomeIncomplete(before)
    case .changed(let changes):
      return changes.isEmpty ? .unchanged : .changed(event(changes: changes))
    case .changedValues: return .changed(event())
    case .compared: return before.flatMap(changed).map { .changed($0) } ?? .unchanged
    }
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
    var next = content.join?.nextCrossing
    for case let crossing? in (content.window?.all ?? []).map(\.nextCrossing) {
      next = next.map { min($0, crossing) } ?? crossing
    }
    return next
  }

  /// Moves the time forward. True if requests have to be made that no other change needs.
  func advance(to now: Instant) -> Bool {
    let before = complete == nil ? event() : nil
    move(to: now)
    guard complete == nil, content.request != nil else { return false }
    complete = before
    return true
  }

  /// Sets the time of a query that is not loaded, or moves it forward.
  func move(to now: Instant) { content.advance(to: now) }

  /// All of the result is to be fetched, because changes are missing.
  func skipChanges() {
    if complete == nil { complete = event() }
    mustFetch = true
    content.reset()
  }

  /// Whether requests have to be made.
  var isIncomplete: Bool { complete != nil }

  /// All requests were answered. Returns the changes since the result was complete before; nil if
  /// there are none.
  func completed() -> ResultEvent? {
    complete.take().flatMap(changed)
  }

  /// The changes since an earlier result; nil if there are none.
  private func changed(since old: ResultEvent) -> ResultEvent? {
    if let values = content.values { return values == old.values ? nil : event() }
    let changes = old.list.changes(to: content.list)
    let isSame = content.included.map { $0.isSame(as: old.included) } ?? true
    return changes.isEmpty && isSame ? nil : event(changes: .several(changes))
  }

  /// Uses the sort keys that all materialized queries with the same order share, until `giveBack`.
  func share(_ shared: SharedSortKeys) {
    if let window = content.window { window.keys = shared.take(window.query.orders) }
  }

  func giveBack(to shared: SharedSortKeys) {
    if let window = content.window { shared.giveBack(window.query.orders) }
  }

  // MARK: Conditions

  func addRoutes(to router: ListenerIndex) {
    if let path = content.watchedPath { router.add(self, toDocument: path) }
    guard let query = content.watchedQuery else { return }
    indexedUpperBound = content.window?.upperBound
    if others == nil {
      routes = router.add(self, to: query, upperBound: indexedUpperBound)
    } else {
      // Those in another router are forgotten with it.
      others = OtherRoutes()
      if let join = content.join {
        _ = join.takePaths()
        for path in join.includedPaths { others?.set(path, true, for: self, in: router) }
        _ = join.takeWindows()
        for window in join.windows { others?.set(window, for: self, in: router) }
      }
      renewOtherRoutes(in: router)
    }
  }

  func removeRoutes(from router: ListenerIndex) {
    if let path = content.watchedPath { router.remove(self, fromDocument: path) }
    guard let query = content.watchedQuery else { return }
    others?.removeAll(of: self, from: router)
    if others == nil { router.remove(self, from: query, routes) }
    routes = []
  }

  /// When the upper bound moves, other documents matter.
  func renewRoutes(in router: ListenerIndex) {
    if others != nil { return renewOtherRoutes(in: router) }
    guard content.window?.upperBound?.document !== indexedUpperBound?.document else { return }
    removeRoutes(from: router)
    addRoutes(to: router)
  }

  /// Costs as much as has changed, however many windows there are.
  private func renewOtherRoutes(in router: ListenerIndex) {
    if let join = content.join {
      let (new, old) = join.takePaths()
      for path in new + old { others?.set(path, join.isIncluded(path), for: self, in: router) }
      let (changed, removed) = join.takeWindows()
      for window in removed { others?.remove(window, for: self, in: router) }
      for window in changed { others?.set(window, for: self, in: router) }
    }
    if let window = content.window { others?.set(window, for: self, in: router) }
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
  /// One document, or none.
  init(document: StoredDocument?) {
    self.init(ResultTree(sorted: document.map { [ResultRow(key: [], document: $0)] } ?? []))
  }
}
