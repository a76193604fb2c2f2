extension Listener {
  /// What a listener watches.
  package enum Target: Hashable, Sendable {
    case document(ResourcePath)
    case query(EffectiveQuery)
    case totals(EffectiveQuery, [Aggregation])

    package static func results(of query: StructuredQuery) -> Listener.Target {
      .query(EffectiveQuery(query))
    }

    package static func totals(
      of query: StructuredQuery, _ aggregations: [Aggregation]
    ) -> Listener.Target {
      .totals(EffectiveQuery(query), aggregations)
    }

    /// Whose writes the first snapshot waits for.
    var scope: ReadScope {
      switch self {
      case .document(let path): .document(path)
      case .query(let query), .totals(let query, _): query.scope.readScope
      }
    }
  }
}

extension Listener.Target: CustomStringConvertible {
  /// For logs, without the values of filters.
  package var description: String {
    switch self {
    case .document(let path): "document \(path.text)"
    case .query(let query): "query of \(query.scope.name)"
    case .totals(let query, _): "aggregation over \(query.scope.name)"
    }
  }
}

extension StructuredQuery.Scope {
  fileprivate var name: String {
    switch self {
    case .collection(let path): "collection \(path.text)"
    case .group(let id, _): "collection group \(id)"
    case .subtree(let path): "everything below \(path.text)"
    }
  }
}

extension StructuredQuery.Scope {
  /// Whose writes an answer waits for.
  var readScope: ReadScope {
    switch self {
    case .collection(let path): .collection(path)
    case .group(let id, _): .group(id)
    case .subtree: .everything
    }
  }
}

/// What listeners are told; made once for all of a view's.
package final class ResultEvent: Sendable {
  package let list: ResultList
  /// Of a listener to totals.
  package let values: [Value]?
  private let news: ResultChanges?
  /// The state that this shows: after the change with this sequence.
  package let sequence: UInt64
  /// The listener asked to go on from a state that the log does not reach back to.
  package let isReset: Bool

  /// Since what the listener was told before; nil if all of it is new.
  package var changes: [ResultChange]? { news?.list }

  init(
    list: ResultList = ResultList(), values: [Value]? = nil, changes: ResultChanges? = nil,
    sequence: UInt64 = 0, isReset: Bool = false
  ) {
    self.list = list
    self.values = values
    news = changes
    self.sequence = sequence
    self.isReset = isReset
  }

  func with(_ changes: [ResultChange]?) -> ResultEvent {
    if changes == nil, news == nil { return self }
    return ResultEvent(
      list: list, values: values, changes: changes.map(ResultChanges.several), sequence: sequence,
      isReset: isReset)
  }

  var reset: ResultEvent {
    ResultEvent(list: list, values: values, changes: news, sequence: sequence, isReset: true)
  }
}

/// How much views hold beside what they tell. Tests make it little.
struct MaterializedQueryTuning: Sendable {
  /// A limit keeps this many spare results, and half as many as it tells.
  var leastSpare = 16
  /// Above this many changes at once, or this many bytes of older versions, views go to the latest
  /// state without the steps between.
  var stepLimit = 4096
  var stepLimitBytes = 16 << 20
}

/// What is watched, as it is, shared by all who watch it. Touched on the registry's queue only.
final class MaterializedQuery {
  private enum Content {
    case document(ResourcePath, ResultList)
    case query(LimitWindow)
    case totals(LiveAggregates, told: [Value])
  }

  let target: Listener.Target
  /// The result is as of this sequence, or a later one that changed nothing in it.
  private(set) var sequence: UInt64 = 0
  var listeners: [Listener] = []
  /// How often the query had to be run again.
  private(set) var refills = 0
  /// What of a commit concerns this view, while the commit is handed out.
  var pending: [DocumentUpdate] = []

  private var content: Content
  private var routes: [ListenerCondition] = []
  private var routedHorizon: ResultRow?
  /// Told what it took to run the query.
  private let note: (QueryTrace) -> Void

  init(
    _ target: Listener.Target, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning(),
    _ note: @escaping (QueryTrace) -> Void = { _ in }
  ) {
    self.target = target
    self.note = note
    content =
      switch target {
      case .document(let path): .document(path, ResultList())
      case .query(let query): .query(LimitWindow(query, tuning: tuning))
      case .totals(let query, let aggregations):
        .totals(LiveAggregates(query, aggregations, tuning), told: [])
      }
  }

  /// The result, all of it new. Shows the view's state, or a later one that changed nothing in it.
  func event(as sequence: UInt64 = 0, isReset: Bool = false) -> ResultEvent {
    event(changes: nil, as: sequence, isReset: isReset)
  }

  private func event(
    changes: ResultChanges?, as sequence: UInt64 = 0, isReset: Bool = false
  ) -> ResultEvent {
    let sequence = max(self.sequence, sequence)
    let (list, values): (ResultList, [Value]?) =
      switch content {
      case .document(_, let list): (list, nil)
      case .query(let window): (window.list, nil)
      case .totals(_, let values): (ResultList(), values)
      }
    return ResultEvent(
      list: list, values: values, changes: changes, sequence: sequence, isReset: isReset)
  }

  /// How many documents it keeps.
  var heldCount: Int {
    switch content {
    case .document(_, let list): list.count
    case .query(let window): window.heldCount
    case .totals(let totals, _): totals.heldCount
    }
  }

  // MARK: Reading

  /// - Parameter isStrict: Throws `failedPrecondition` if indexes do not serve the query.
  func load(_ snapshot: StoreSnapshot, isStrict: Bool = false) throws {
    let trace = QueryTrace(isStrict: isStrict)
    pending = []
    sequence = try snapshot.state().lastSequence
    switch content {
    case .document(let path, _):
      let document = try snapshot.document(DocumentName(path, limit: snapshot.keyLimit))
      content = .document(path, ResultList(document: document))
    case .query(let window):
      try window.load(snapshot, trace)
      note(trace)
    case .totals(let totals, _):
      try totals.load(snapshot, trace)
      note(trace)
      content = .totals(totals, told: totals.values)
    }
  }

  /// What it was after the change with this sequence.
  func list(_ snapshot: StoreSnapshot, asOf sequence: UInt64) throws -> ResultList {
    switch target {
    case .document(let path):
      return ResultList(document: try snapshot.document(at: path, asOf: sequence))
    case .query:
      guard case .query(let window) = content else { return ResultList() }
      return try window.list(snapshot, asOf: sequence)
    case .totals: return ResultList()
    }
  }

  // MARK: Following

  /// Takes in what waits in `pending`, and is then as of `sequence`; or as of the snapshot, if the
  /// query had to be run again. Nil if nothing changed.
  func update(to sequence: UInt64, _ snapshot: StoreSnapshot) throws -> ResultEvent? {
    defer { pending = [] }
    self.sequence = sequence
    switch content {
    case .document(let path, var list):
      guard let update = pending.last else { return nil }
      let changes = list.replace(with: update.new)
      content = .document(path, list)
      return changes.isEmpty ? nil : event(changes: .several(changes))
    case .query(let window):
      switch try window.apply(pending) {
      case .changed(let changes): return changes.isEmpty ? nil : event(changes: changes)
      case .mustLoad:
        refills += 1
        return try reload(snapshot)
      }
    case .totals(let totals, let told):
      if try !totals.apply(pending) {
        refills += 1
        return try reload(snapshot)
      }
      let values = totals.values
      content = .totals(totals, told: values)
      return values == told ? nil : event(changes: nil)
    }
  }

  /// Reads it anew. Nil if nothing changed.
  func reload(_ snapshot: StoreSnapshot) throws -> ResultEvent? {
    let old = event()
    try load(snapshot)
    let new = event()
    if let values = new.values { return values == old.values ? nil : new }
    let changes = old.list.changes(to: new.list)
    return changes.isEmpty ? nil : new.with(changes)
  }

  /// Makes use of what all views that order alike share, until it is given back.
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

  // MARK: Routes

  func addRoutes(to router: ListenerIndex) {
    switch content {
    case .document(let path, _): router.add(self, toDocument: path)
    case .query(let window):
      routedHorizon = window.horizon
      routes = router.add(self, to: window.query, horizon: routedHorizon)
    case .totals(let totals, _):
      routedHorizon = totals.horizon
      routes = router.add(self, to: totals.query, horizon: routedHorizon)
    }
  }

  func removeRoutes(from router: ListenerIndex) {
    switch target {
    case .document(let path): router.remove(self, fromDocument: path)
    case .query(let query), .totals(let query, _): router.remove(self, from: query, routes)
    }
    routes = []
  }

  /// After the horizon moved, other documents matter.
  func renewRoutes(in router: ListenerIndex) {
    let horizon =
      switch content {
      case .document: nil as ResultRow?
      case .query(let window): window.horizon
      case .totals(let totals, _): totals.horizon
      }
    guard horizon?.document !== routedHorizon?.document else { return }
    removeRoutes(from: router)
    addRoutes(to: router)
  }
}

extension ResultList {
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
