import Foundation
import Logging
import Synchronization

/// What a listener watches.
enum WatchTarget: Sendable {
  case document(ResourcePath)
  case collection(ResourcePath)
  case group(String)

  /// What two targets differ in. Text alone would take canonically equal ids for one.
  private var identity: (kind: Int, path: ResourcePath) {
    switch self {
    case .document(let path): (0, path)
    case .collection(let path): (1, path)
    case .group(let id): (2, ResourcePath([id]))
    }
  }

  var scope: ReadScope {
    switch self {
    case .document(let path): .document(path)
    case .collection(let path): .collection(path)
    case .group(let id): .group(id)
    }
  }
}

extension WatchTarget: Hashable {
  static func == (lhs: WatchTarget, rhs: WatchTarget) -> Bool { lhs.identity == rhs.identity }

  func hash(into hasher: inout Hasher) {
    hasher.combine(identity.kind)
    hasher.combine(identity.path)
  }
}

/// Finds the views that a commit touches, and brings them up to date from the change log.
///
///     commit ─▶ signal, or news of the file ─▶ read the log since the last time
///                                             ─▶ views touched ─▶ listeners' mailboxes
///
/// Works on a serial queue of its own: the writer only leaves a signal, and a slow consumer only
/// fills its own mailbox. A view costs what changes in it; a change finds its views by document,
/// collection and group, without asking the others.
final class Registry: Sendable {
  /// A watched target's result, shared by all who watch it.
  private final class View {
    let target: WatchTarget
    var list = ResultList()
    /// The result is as of this sequence.
    var sequence: UInt64 = 0
    var listeners: [Listener] = []

    init(_ target: WatchTarget) { self.target = target }
  }

  /// Touched on `queue` only.
  private final class State {
    var views: [WatchTarget: View] = [:]
    /// Every view is at least this far.
    var sequence: UInt64 = 0
    var commitToken: Int?
    /// Other processes' commits.
    var fileNews: FileNews?
    /// Told after the views that a commit touched.
    var inSync: [Int: @Sendable () -> Void] = [:]
    /// Since they were told.
    var hasToldNews = false
    /// What listeners that come after the end are told.
    var end: Status?
  }

  /// Above this many changes at once, or this many bytes of older versions, views go to the latest
  /// state without the steps between.
  static let stepLimit = 4096
  static let stepLimitBytes = 16 << 20

  private let store: Store
  private let writer: Writer
  private let logger: Logger
  private let queue = DispatchQueue(label: "hearth.observation")
  private let isScheduled = Atomic<Bool>(false)
  private let inSyncTokens = Atomic<Int>(0)
  /// Protected by `queue`.
  private nonisolated(unsafe) let state = State()

  init(_ store: Store, _ writer: Writer, logger: Logger) {
    self.store = store
    self.writer = writer
    self.logger = logger
  }

  /// Begins to tell `listener`: first the result as it is, with all writes that were handed over
  /// before this call; then every later change, none left out and none told twice.
  func add(_ listener: Listener, watching target: WatchTarget) {
    writer.whenSettled(target.scope) { [self] in
      queue.async { [self] in attach(listener, target) }
    }
  }

  func remove(_ listener: Listener, watching target: WatchTarget) {
    listener.remove()
    queue.async { [self] in
      guard let view = state.views[target] else { return }
      view.listeners.removeAll { $0 === listener || $0.isRemoved }
      if view.listeners.isEmpty { drop(target) }
    }
  }

  /// Ends all listeners with an error.
  func close(_ status: Status) {
    queue.sync {
      state.end = status
      state.inSync = [:]
      for view in state.views.values {
        for listener in view.listeners { listener.fail(status) }
      }
      for target in Array(state.views.keys) { drop(target) }
    }
  }

  /// Runs `body` after everything committed before this call has been put into the mailboxes.
  func afterNews(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      catchUp()
      body()
    }
  }

  /// Calls `body` once soon, and then whenever the listeners that a commit touches have been told.
  func addInSync(_ body: @escaping @Sendable () -> Void) -> Int {
    let token = inSyncTokens.wrappingAdd(1, ordering: .relaxed).newValue
    queue.async { [self] in
      guard state.end == nil else { return }
      state.inSync[token] = body
      body()
    }
    return token
  }

  func removeInSync(_ token: Int) {
    queue.async { [self] in state.inSync[token] = nil }
  }

  // MARK: On the queue

  private func attach(_ listener: Listener, _ target: WatchTarget) {
    guard !listener.isRemoved else { return }
    if let end = state.end { return listener.fail(end) }
    do {
      // In this order: should catching up end all views, listening has to begin anew.
      catchUp()
      begin()
      let view: View
      if let existing = state.views[target] {
        view = existing
      } else {
        view = View(target)
        try store.read { try load(view, $0) }
        if state.views.isEmpty { state.sequence = view.sequence }
        state.views[target] = view
      }
      view.listeners.append(listener)
      listener.begin(view.list)
    } catch {
      listener.fail(Status(observing: error))
      drop(nil)
    }
  }

  private func begin() {
    guard state.commitToken == nil else { return }
    state.commitToken = store.commits.observe { [weak self] _ in self?.newsArrived() }
    state.fileNews = FileNews(of: store.path, on: queue) { [weak self] in self?.catchUp() }
  }

  private func drop(_ target: WatchTarget?) {
    if let target { state.views[target] = nil }
    if state.views.isEmpty, let token = state.commitToken {
      store.commits.remove(token)
      state.commitToken = nil
      state.fileNews?.stop()
      state.fileNews = nil
    }
  }

  /// On the writer's thread: leaves a note and is gone.
  private func newsArrived() {
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.async { [self] in
      isScheduled.store(false, ordering: .releasing)
      catchUp()
    }
  }

  private func load(_ view: View, _ snapshot: StoreSnapshot) throws {
    view.sequence = try snapshot.state().lastSequence
    view.list = ResultList(sorted: try snapshot.documents(of: view.target))
  }

  private func catchUp() {
    guard !state.views.isEmpty else { return }
    do {
      try store.read { snapshot in
        let newest = try snapshot.state().lastSequence
        guard newest > state.sequence else { return }
        do {
          try follow(snapshot, to: newest)
        } catch let status as Status where status.code == .outOfRange {
          try reload(snapshot)
        }
        state.sequence = newest
      }
      if state.hasToldNews {
        state.hasToldNews = false
        for body in state.inSync.values { body() }
      }
    } catch {
      let status = Status(observing: error)
      logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
      for view in state.views.values {
        for listener in view.listeners { listener.fail(status) }
      }
      for target in Array(state.views.keys) { drop(target) }
    }
  }

  /// The views that look at a document.
  private func views(touchedBy path: ResourcePath) -> [View] {
    let collection = path.parent
    return [
      state.views[.document(path)], state.views[.collection(collection)],
      state.views[.group(collection.id)],
    ].compactMap { $0 }
  }

  /// Takes the changes since the last time out of the log, commit by commit.
  private func follow(_ snapshot: StoreSnapshot, to newest: UInt64) throws {
    var commits: [[Change]] = []
    var count = 0
    var byteCount = 0
    var hasSteps: Bool { count <= Self.stepLimit && byteCount <= Self.stepLimitBytes }
    var touched: Set<ResourcePath> = []
    try snapshot.changes(after: state.sequence) { change in
      if change.startsCommit || commits.isEmpty { commits.append([]) }
      guard !views(touchedBy: change.path).isEmpty else { return true }
      count += 1
      byteCount += change.before?.count ?? 0
      touched.insert(change.path)
      if hasSteps { commits[commits.count - 1].append(change) }
      return true
    }
    guard count > 0 else { return }
    var newestVersions: [ResourcePath: StoredDocument?] = [:]
    for path in touched {
      let name = DocumentName(path, limit: store.keyLimit)
      newestVersions[path] = .some(try snapshot.document(name))
    }
    if !hasSteps {
      update(newestVersions, to: newest)
      return
    }
    // Backwards, a change's version after it is the one before the next change of that document.
    var steps: [(sequence: UInt64, versions: [ResourcePath: StoredDocument?])] = []
    for commit in commits.reversed() where !commit.isEmpty {
      var versions: [ResourcePath: StoredDocument?] = [:]
      for change in commit.reversed() {
        versions[change.path] = newestVersions[change.path] ?? .some(nil)
        newestVersions[change.path] = .some(try change.versionBefore())
      }
      steps.append((commit[commit.count - 1].sequence, versions))
    }
    for step in steps.reversed() { update(step.versions, to: step.sequence) }
  }

  /// Brings the views that look at these documents to `sequence`.
  private func update(_ versions: [ResourcePath: StoredDocument?], to sequence: UInt64) {
    var updates: [ObjectIdentifier: (view: View, versions: [ResourcePath: StoredDocument?])] = [:]
    for (path, version) in versions {
      for view in views(touchedBy: path) where view.sequence < sequence {
        updates[ObjectIdentifier(view), default: (view, [:])].versions[path] = .some(version)
      }
    }
    for (view, versions) in updates.values {
      let changes = view.list.apply(versions)
      view.sequence = sequence
      guard !changes.isEmpty else { continue }
      tell(view, changes)
    }
  }

  private func tell(_ view: View, _ changes: [ResultChange]) {
    let event = ResultEvent(list: view.list, changes: changes)
    for listener in view.listeners { listener.post(event) }
    state.hasToldNews = true
  }

  /// The log no longer reaches back far enough: every view is read anew.
  private func reload(_ snapshot: StoreSnapshot) throws {
    for view in state.views.values {
      let old = view.list
      try load(view, snapshot)
      let changes = old.changes(to: view.list)
      guard !changes.isEmpty else { continue }
      tell(view, changes)
    }
  }
}

extension Change {
  /// The document as it was before this change; nil if it did not exist.
  func versionBefore() throws -> StoredDocument? {
    guard let before else { return nil }
    return StoredDocument(path: path, copying: try DocumentRecord(parsing: before))
  }
}

extension StoreSnapshot {
  /// A target's documents in the order of their paths, copied out.
  func documents(of target: WatchTarget) throws -> [StoredDocument] {
    var documents: [StoredDocument] = []
    switch target {
    case .document(let path):
      if let document = try document(DocumentName(path, limit: keyLimit)) {
        documents.append(document)
      }
    case .collection(let path):
      let scan = try CollectionScan(path, in: self)
      while let found = try scan.next() { documents.append(try copy(found)) }
    case .group(let id):
      let scan = try GroupScan(id, in: self)
      while let found = try scan.next() { documents.append(try copy(found)) }
    }
    return documents
  }

  func copy(_ found: ScannedDocument) throws -> StoredDocument {
    try copy(found.record, key: found.key, path: found.path)
  }
}

extension Status {
  init(observing error: any Error) {
    self = error as? Status ?? Status(.unavailable, "Listening failed.", cause: error)
  }
}
