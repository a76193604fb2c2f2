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

  private var content: Content
  private var routes: [ListenerCondition] = []
  private var indexedUpperBound: ResultRow?

  init(
    _ target: Listener.Target, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.target = target
    content =
      switch target {
      case .document(let path): .document(path, ResultList())
      case .query(let query): .query(LimitWindow(query, tuning: tuning))
      case .totals(let query, let aggregations):
        .totals(LiveAggregates(query, aggregations, tuning), delivered: [])
      }
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
    let (list, values): (ResultList, [Value]?) =
      switch content {
      case .document(_, let list): (list, nil)
      case .query(let window): (window.list, nil)
      case .totals(_, let values): (ResultList(), values)
      }
    return ResultEvent(
      list: list, values: values, changes: changes, sequence: sequence, isFullResync: isFullResync)
  }

  /// Number of documents it holds.
  var heldCount: Int {
    switch content {
    case .document(_, let list): list.count
    case .query(let window): window.heldCount
    case .totals(let totals, _): totals.heldCount
    }
  }

  // MARK: Reading

  /// For everything that the query holds.
  var request: ResultRequest {
    switch content {
    case .document(let path, _): .document(path)
    case .query(let window): window.request
    case .totals(let totals, _): totals.request
    }
  }

  /// Takes the answer to `request`, in the state after the change with this sequence.
  func hold(_ fetched: FetchedResult, asOf sequence: UInt64) throws {
    pending = []
    self.sequence = sequence
    switch content {
    case .document(let path, _):
      content = .document(path, try ResultList(fetched: fetched))
    case .query(let window): try window.hold(fetched)
    case .totals(let totals, _):
      try totals.hold(fetched)
      content = .totals(totals, delivered: totals.values)
    }
    mustFetch = false
  }

  /// For the result in an earlier state; nil if that is not kept.
  var pastRequest: ResultRequest? {
    switch content {
    case .document(let path, _): .document(path)
    case .query(let window): window.pastRequest
    case .totals: nil
    }
  }

  /// The answer to `pastRequest`.
  func list(of fetched: FetchedResult) throws -> ResultList {
    guard case .query(let window) = content else { return try ResultList(fetched: fetched) }
    return try window.list(of: fetched)
  }

  // MARK: Following

  enum Outcome {
    case unchanged
    case changed(ResultEvent)
    /// Fetch the result, and `replace` it. Nothing else is applied until then.
    case mustFetch
  }

  /// Applies `pending`; the result is then as of `sequence`.
  func update(to sequence: UInt64) throws -> Outcome {
    defer { pending = [] }
    self.sequence = sequence
    switch content {
    case .document(let path, var list):
      guard let update = pending.last else { return .unchanged }
      let changes = list.replace(with: update.new)
      content = .document(path, list)
      return changes.isEmpty ? .unchanged : .changed(event(changes: .several(changes)))
    case .query(let window):
      switch try window.apply(pending) {
      case .changed(let changes):
        return changes.isEmpty ? .unchanged : .changed(event(changes: changes))
      case .mustLoad:
        refills += 1
        mustFetch = true
        return .mustFetch
      }
    case .totals(let totals, let delivered):
      if try !totals.apply(pending) {
        refills += 1
        mustFetch = true
        return .mustFetch
      }
      let values = totals.values
      content = .totals(totals, delivered: values)
      return values == delivered ? .unchanged : .changed(event(changes: nil))
    }
  }

  /// The result is to be fetched, because changes are missing.
  func skipChanges() { mustFetch = true }

  /// Takes the answer to `request` in place of the result. Nil if nothing changed.
  func replace(with fetched: FetchedResult, asOf sequence: UInt64) throws -> ResultEvent? {
    let old = event()
    try hold(fetched, asOf: sequence)
    let new = event()
    if let values = new.values { return values == old.values ? nil : new }
    let changes = old.list.changes(to: new.list)
    return changes.isEmpty ? nil : new.with(changes)
  }

  /// Uses the sort keys that all materialized queries with the same order share, until `giveBack`.
  func share(_ shared: SharedSortKeys) {
    switch content {
    case .document: break
    case .query(let window): window.keys = shared.take(window.query.orders)
    case .totals(let totals, _): totals.keys = shared.take(totals.query.orders)
    }
  }

  func giveBack(to shared: SharedSortKeys) {
    switch content {
    case .document: break
    case .query(let window): shared.giveBack(window.query.orders)
    case .totals(let totals, _): shared.giveBack(totals.query.orders)
    }
  }

  // MARK: Conditions

  func addRoutes(to router: ListenerIndex) {
    switch content {
    case .document(let path, _): router.add(self, toDocument: path)
    case .query(let window):
      indexedUpperBound = window.upperBound
      routes = router.add(self, to: window.query, upperBound: indexedUpperBound)
    case .totals(let totals, _):
      indexedUpperBound = totals.upperBound
      routes = router.add(self, to: totals.query, upperBound: indexedUpperBound)
    }
  }

  func removeRoutes(from router: ListenerIndex) {
    switch target {
    case .document(let path): router.remove(self, fromDocument: path)
    case .query(let query), .totals(let query, _): router.remove(self, from: query, routes)
    }
    routes = []
  }

  /// When the upper bound moves, other documents matter.
  func renewRoutes(in router: ListenerIndex) {
    let upperBound =
      switch content {
      case .document: nil as ResultRow?
      case .query(let window): window.upperBound
      case .totals(let totals, _): totals.upperBound
      }
    guard upperBound?.document !== indexedUpperBound?.document else { return }
    removeRoutes(from: router)
    addRoutes(to: router)
  }
}

extension Status {
  static let otherResult = Status(.internal, "A source fetched another result than requested.")
}

extension ResultList {
  fileprivate init(fetched: FetchedResult) throws {
    guard case .document(let document) = fetched else { throw Status.otherResult }
    self.init(document: document)
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
