/// The result of a joined query, updated from changes alone.
///
///     results ─▶ members of level 0 ─▶ the paths they refer to ─▶ members of level 1 ─▶ …
///                     └─ for a referring inclusion: a window for each member, whose rows are members
///
/// A document is a member of a level as often as documents of the level above lead to it. A member
/// whose document is not known is requested; what changes show needs no request.
final class LiveJoin: LiveResult {
  let query: JoinedQuery
  let root: LimitWindow
  /// See `IncludedDocuments.tables`.
  private var tables: [ResultTree]
  /// `tables`, unless they have changed since.
  private var known: IncludedDocuments?
  private let tuning: MaterializedQueryTuning
  /// That of all windows.
  private let time = ReadTime(.earliest)
  private let plan: JoinLevels
  private var levels: [Level]
  /// The rows of `root` that are members.
  private var rows = ResultTree()
  /// Since the last call of `takePaths`.
  private var newPaths: [ResourcePath] = []
  private var oldPaths: [ResourcePath] = []
  /// Windows of referring inclusions since the last call of `takeWindows`. None is in both.
  private var changedWindows: [ObjectIdentifier: LimitWindow] = [:]
  private var removedWindows: [LimitWindow] = []
  /// When the next document crosses a relative time of a referring inclusion, or before that; nil if
  /// never.
  private(set) var nextCrossing: Instant?

  private struct Member {
    var count = 0
    /// Nil if it is not known, or does not exist.
    var document: StoredDocument?
  }

  /// For one document of the level above.
  private struct Window {
    var window: LimitWindow
    /// The rows of `window` that are members.
    var rows = ResultTree()
  }

  private struct Level {
    var members: [ResourcePath: Member] = [:]
    /// Members whose documents have to be requested.
    var unknown: Set<ResourcePath> = []
    /// Of a referring inclusion.
    var windows: [ResourcePath: Window] = [:]
    /// Windows with a request.
    var open: Set<ResourcePath> = []
  }

  init(_ query: JoinedQuery, _ tuning: MaterializedQueryTuning = MaterializedQueryTuning()) {
    self.query = query
    self.tuning = tuning
    var effective = EffectiveQuery(query.query)
    effective.projection = []
    root = LimitWindow(effective, tuning: tuning, isPart: true, at: time)
    plan = JoinLevels(query.inclusions)
    tables = plan.levels.map { _ in ResultTree() }
    levels = plan.levels.map { _ in Level() }
  }

  var list: ResultList { root.list }
  var window: LimitWindow? { root }
  var join: LiveJoin? { self }
  var canBeIncomplete: Bool { true }
  var followsTime: Bool { query.hasRelativeTimes }

  /// One object for each state.
  var included: IncludedDocuments? {
    let included = known ?? IncludedDocuments(plan, tables)
    known = included
    return included
  }

  var heldCount: Int { root.heldCount + levels.reduce(0) { $0 + $1.members.count } }

  // MARK: Reading

  var request: ReadRequest? {
    if let request = root.request { return request }
    let paths = unknownPaths
    var requests = openWindows.compactMap(\.window.request)
    if !paths.isEmpty { requests.append(.documents(at: paths)) }
    return requests.isEmpty ? nil : .several(requests)
  }

  // The members do not change between a request and its answer: the order is the same.

  private var unknownPaths: [ResourcePath] { levels.flatMap(\.unknown) }

  private var openWindows: [(level: Int, path: ResourcePath, window: LimitWindow)] {
    levels.indices.flatMap { level in
      levels[level].open.compactMap { path in
        levels[level].windows[path].map { (level, path, $0.window) }
      }
    }
  }

  func hold(_ fetched: ReadAnswer) throws {
    if root.request != nil {
      try root.hold(fetched)
      if root.request == nil { try followRoot() }
      return
    }
    guard case .several(var results) = fetched else { throw Status.otherAnswer }
    let windows = openWindows
    let paths = unknownPaths
    if !paths.isEmpty {
      guard case .documents(let documents)? = results.popLast(), documents.count == paths.count
      else { throw Status.otherAnswer }
      let known = Dictionary(zip(paths, documents)) { one, _ in one }
      // These documents may lead to others that are not known.
      let answered = levels.map(\.unknown)
      for level in levels.indices { levels[level].unknown = [] }
      for level in levels.indices {
        // Documents before may have led elsewhere, and here again.
        for path in answered[level] where levels[level].members[path] != nil {
          levels[level].unknown.remove(path)
          try set(path, to: known[path] ?? nil, at: level)
        }
      }
    }
    guard results.count == windows.count else { throw Status.otherAnswer }
    for ((level, path, window), result) in zip(windows, results) {
      guard levels[level].windows[path]?.window === window else { continue }
      try window.hold(result)
      note(window)
      try follow(path, at: level)
    }
  }

  func reset() {
    root.reset()
    for level in levels.indices.dropFirst() {
      oldPaths += levels[level].members.keys
      removedWindows += levels[level].windows.values.map(\.window)
      levels[level] = Level()
    }
    levels[0] = Level()
    changedWindows = [:]
    nextCrossing = nil
    rows = ResultTree()
    tables = plan.levels.map { _ in ResultTree() }
    known = nil
  }

  // MARK: Following

  func apply(_ updates: [DocumentUpdate]) throws -> LiveChange {
    guard case .changed = try root.apply(updates) else { return .mustLoad }
    try followRoot()
    for level in levels.indices.dropFirst() {
      switch plan.levels[level].relation {
      case nil: break
      case .reference:
        for update in updates where levels[level].members[update.path] != nil {
          guard !levels[level].unknown.contains(update.path) else { continue }
          try set(update.path, to: update.new, at: level)
        }
      case .referring(_, let field, _):
        for path in try windows(at: level, concernedBy: updates, field) {
          guard let window = levels[level].windows[path]?.window, window.isLoaded else { continue }
          if case .mustLoad = try window.apply(updates) { window.reset() }
          note(window)
          try follow(path, at: level)
        }
      }
    }
    return .compared
  }

  private func windows(
    at level: Int, concernedBy updates: [DocumentUpdate], _ field: FieldSegments
  ) throws -> Set<ResourcePath> {
    guard let query = levels[level].windows.first?.value.window.query else { return [] }
    // A semi-join's values may concern all of them.
    if query.filters.hasSemiJoins { return Set(levels[level].windows.keys) }
    var paths: Set<ResourcePath> = []
    for update in updates where query.scope.contains(update.path) {
      for version in [update.old, update.new] {
        guard let version else { continue }
        paths.formUnion(try version.references(in: field))
      }
    }
    return paths.filter { levels[level].windows[$0] != nil }
  }

  /// Makes the rows of the root the members of level 0.
  private func followRoot() throws {
    let new = root.list.rows
    let (gone, come) = rows.difference(to: new)
    rows = new
    for row in come { try retain(row.document, at: 0) }
    for row in gone { try release(row.document.path, at: 0) }
  }

  /// Makes the rows of a window members of its level, once they are known.
  private func follow(_ path: ResourcePath, at level: Int) throws {
    guard var state = levels[level].windows[path] else { return }
    guard state.window.request == nil else {
      levels[level].open.insert(path)
      return
    }
    levels[level].open.remove(path)
    let new = state.window.list.rows
    let (gone, come) = state.rows.difference(to: new)
    state.rows = new
    levels[level].windows[path] = state
    if gone.isEmpty, come.isEmpty { return }
    known = nil
    let prefix = IncludedDocuments.key(path)
    for row in gone { tables[level].remove(prefix + row.key) }
    for row in come {
      tables[level].insert(ResultRow(key: prefix + row.key, document: row.document))
    }
    for row in come { try retain(row.document, at: level) }
    for row in gone { try release(row.document.path, at: level) }
  }

  // MARK: Members

  /// Adds a document that the level above, or a query, leads to.
  private func retain(_ document: StoredDocument, at level: Int) throws {
    levels[level].members[document.path, default: Member()].count += 1
    try set(document.path, to: document, at: level)
  }

  private func retain(_ path: ResourcePath, at level: Int) {
    if levels[level].members[path] != nil {
      levels[level].members[path]?.count += 1
      return
    }
    levels[level].members[path] = Member(count: 1)
    levels[level].unknown.insert(path)
    newPaths.append(path)
  }

  private func release(_ path: ResourcePath, at level: Int) throws {
    guard let member = levels[level].members[path] else { return }
    guard member.count == 1 else {
      levels[level].members[path]?.count -= 1
      return
    }
    if levels[level].unknown.remove(path) == nil { try set(path, to: nil, at: level) }
    levels[level].members[path] = nil
    if case .reference? = plan.levels[level].relation { oldPaths.append(path) }
  }

  /// The current version of a member; nil if it does not exist.
  private func set(_ path: ResourcePath, to new: StoredDocument?, at level: Int) throws {
    let old = levels[level].members[path]?.document
    if let old, let new, old.isSameVersion(as: new) { return }
    if old == nil, new == nil { return }
    levels[level].members[path]?.document = new
    if case .reference? = plan.levels[level].relation {
      known = nil
      let key = IncludedDocuments.key(path)
      if let new {
        tables[level].insert(ResultRow(key: key, document: new))
      } else {
        tables[level].remove(key)
      }
    }
    for child in plan.levels[level].children {
      switch plan.levels[child].relation {
      case nil: break
      case .reference(let field):
        let (before, after) = (try old?.references(in: field), try new?.references(in: field))
        if before == after { continue }
        // First, so that a document that both refer to stays known.
        for path in after ?? [] { retain(path, at: child) }
        for path in before ?? [] { try release(path, at: child) }
      case .referring:
        if old == nil { addWindow(for: path, at: child) }
        if new == nil { try removeWindow(for: path, at: child) }
      }
    }
  }

  private func addWindow(for path: ResourcePath, at level: Int) {
    guard let query = plan.levels[level].relation?.query(referringTo: path) else { return }
    let window = LimitWindow(EffectiveQuery(query), tuning: tuning, isPart: true, at: time)
    levels[level].windows[path] = Window(window: window)
    levels[level].open.insert(path)
    note(window)
  }

  private func removeWindow(for path: ResourcePath, at level: Int) throws {
    levels[level].open.remove(path)
    guard let window = levels[level].windows.removeValue(forKey: path) else { return }
    known = nil
    changedWindows[ObjectIdentifier(window.window)] = nil
    removedWindows.append(window.window)
    let prefix = IncludedDocuments.key(path)
    for row in window.rows {
      tables[level].remove(prefix + row.key)
      try release(row.document.path, at: level)
    }
  }

  // MARK: Relative times

  /// Moves the time forward; see `LimitWindow.advance`.
  func advance(to now: Instant) {
    let before = time.now
    guard now > before else { return }
    root.advance(to: now)
    let crosses = nextCrossing.map { $0 <= now } ?? false
    if crosses { nextCrossing = nil }
    for level in levels.indices {
      // Other windows have nothing to request.
      for path in crosses ? Array(levels[level].windows.keys) : Array(levels[level].open) {
        guard let window = levels[level].windows[path]?.window else { continue }
        window.noteCrossed(since: before)
        if window.request != nil { levels[level].open.insert(path) }
        if crosses { noteCrossing(of: window) }
      }
    }
  }

  /// Only later crossings: an earlier one is noted again when `window` has the answer to its request.
  private func noteCrossing(of window: LimitWindow) {
    for case let crossing? in window.all.map(\.nextCrossing) where crossing > time.now {
      nextCrossing = nextCrossing.map { min($0, crossing) } ?? crossing
    }
  }

  // MARK: Conditions

  /// After a window of a referring inclusion may have changed.
  private func note(_ window: LimitWindow) {
    changedWindows[ObjectIdentifier(window)] = window
    noteCrossing(of: window)
  }

  /// The windows whose conditions find the documents of referring inclusions.
  var windows: [LimitWindow] {
    levels.flatMap { $0.windows.values.map(\.window) }
  }

  /// Those of `windows` that are new or may have changed since the last call, and those removed.
  func takeWindows() -> (changed: [LimitWindow], removed: [LimitWindow]) {
    defer { (changedWindows, removedWindows) = ([:], []) }
    return (Array(changedWindows.values), removedWindows)
  }

  /// The documents that references lead to: those added and removed since the last call. A path may
  /// be in both.
  func takePaths() -> (new: [ResourcePath], old: [ResourcePath]) {
    defer { (newPaths, oldPaths) = ([], []) }
    return (newPaths, oldPaths)
  }

  var includedPaths: Set<ResourcePath> {
    var paths: Set<ResourcePath> = []
    for (level, state) in zip(plan.levels, levels) {
      if case .reference? = level.relation { paths.formUnion(state.members.keys) }
    }
    return paths
  }

  func isIncluded(_ path: ResourcePath) -> Bool {
    levels.indices.contains { level in
      guard case .reference? = plan.levels[level].relation else { return false }
      return levels[level].members[path] != nil
    }
  }
}
