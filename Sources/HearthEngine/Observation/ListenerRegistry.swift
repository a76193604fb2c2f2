import Dispatch
import Logging
import Synchronization

/// Finds the views that a commit touches, and brings them up to date from the change log.
///
///     commit ─▶ signal, or news of the file ─▶ read the log since the last time
///                                             ─▶ views touched ─▶ listeners' mailboxes
///
/// Works on a serial queue of its own: the writer only leaves a signal, and a slow consumer only
/// fills its own mailbox. First results are read on another queue, so that a long one does not hold up
/// the news. A view costs what changes in it; a change finds its views without asking the others.
final class ListenerRegistry: Sendable {
  /// Touched on `queue` only.
  private final class State {
    var views: [Listener.Target: MaterializedQuery] = [:]
    let router = ListenerIndex()
    let keys = SharedSortKeys()
    /// First results that are being read, and the one of them that others wait for, too.
    var loads: [Int: Load] = [:]
    var sharedLoads: [Listener.Target: Int] = [:]
    var lastLoad = 0
    /// Completions that were taken and not settled.
    var unsettled: [ObjectIdentifier: Acknowledgement] = [:]
    /// Every view is at least this far.
    var sequence: UInt64 = 0
    var commitToken: Int?
    /// Other processes' commits.
    var fileNews: CommitWatcher?
    /// Called when there is more in the log than this far.
    var tails: [Int: @Sendable () -> Void] = [:]
    var tailSequence: UInt64 = 0
    /// Told after the views that a commit touched.
    var inSync: [Int: @Sendable (UInt64) -> Void] = [:]
    /// Since they were told. What a listener begins or ends with is news, too.
    var hasToldNews = false
    /// What listeners that come after the end are told.
    var end: End?
    var counts = Counts()

    var isWatching: Bool { !views.isEmpty || !tails.isEmpty }
  }

  private struct Load {
    let target: Listener.Target
    var listeners: [Listener]
    /// Completions of writes that the first result may show.
    var acknowledgements: [ObjectIdentifier: Acknowledgement] = [:]
    let began = ContinuousClock.now
  }

  private enum End {
    /// The database was closed by its user: listeners are told nothing.
    case closed
    case failed(Status)

    var status: Status? {
      if case .failed(let status) = self { status } else { nil }
    }
  }

  /// Since the database was opened.
  struct Counts: Sendable {
    /// Commits that touched a watched collection.
    var commits = 0
    /// Views that were asked to take in a commit.
    var visits = 0
    /// Of these, those that changed.
    var updates = 0
    /// Queries that were run again because a limit's spare results were used up.
    var refills = 0
    /// Times that every query was run again because the log had been trimmed.
    var reloads = 0
    /// Of listeners that ended since.
    var ended = Listener.Counts()
  }

  private let store: Store
  private let writer: Writer
  private let acknowledgements: Acknowledgements
  private let logger: Logger
  private let tuning: MaterializedQueryTuning
  private let isStrict: Bool
  private let note: @Sendable (QueryTrace) -> Void
  private let queue = DispatchQueue(label: "hearth.observation")
  private let loader = DispatchQueue(label: "hearth.observation.loading")
  private let isScheduled = Atomic<Bool>(false)
  private let tokens = Atomic<Int>(0)
  /// Protected by `queue`.
  private nonisolated(unsafe) let state = State()

  /// - Parameters:
  ///   - isStrict: A query that indexes do not serve is refused, and not listened to.
  ///   - note: Told what it took to run a query.
  init(
    _ store: Store, _ writer: Writer, logger: Logger,
    tuning: MaterializedQueryTuning = MaterializedQueryTuning(),
    isStrict: Bool = false,
    note: @escaping @Sendable (QueryTrace) -> Void = { _ in }
  ) {
    self.store = store
    self.writer = writer
    acknowledgements = writer.acknowledgements
    self.logger = logger
    self.tuning = tuning
    self.isStrict = isStrict
    self.note = note
    acknowledgements.observe(
      committed: { [weak self] committed in
        guard let self else { return committed.forEach { $0.release() } }
        settle(committed)
      },
      late: { [weak self] in self?.warn(ofLate: $0) })
  }

  /// What a listener knows already.
  enum Start: Equatable {
    case now
    /// The state after the change with this sequence: the first result's changes are those since. If the log
    /// does not reach back that far, all of it is new and says so.
    case after(UInt64)
    /// Something that cannot be gone on from: all of the first result is new and says so.
    case reset
  }

  /// Begins to tell `listener`: first the result as it is, with all writes that were handed over
  /// before this call; then every later change, none left out and none told twice.
  func add(_ listener: Listener, watching target: Listener.Target, from start: Start = .now) {
    // From now on: a write that is handed over later completes after this listener was told.
    if listener.count() { acknowledgements.add(target.scope) }
    writer.whenSettled(target.scope) { [self] in
      queue.async { [self] in attach(listener, target, from: start) }
    }
  }

  func remove(_ listener: Listener, watching target: Listener.Target) {
    listener.remove()
    discount(listener, target)
    queue.async { [self] in
      guard let view = state.views[target] else { return }
      forget(listener, in: view)
      if view.listeners.isEmpty { drop(view) }
    }
  }

  /// Ends all listeners, which are not told: whoever closes the database knows.
  func close() {
    queue.sync { end(.closed) }
  }

  /// Now, and for listeners that come later.
  private func end(_ end: End) {
    state.end = end
    for view in state.views.values { self.end(view, with: end.status) }
    if case .failed = end { tellSync() }
    state.inSync = [:]
    for tail in state.tails.values { tail() }
    state.tails = [:]
    stopUnlessNeeded()
  }

  private func end(_ listener: Listener, of target: Listener.Target, with status: Status?) {
    discount(listener, target)
    listener.end(status)
    state.hasToldNews = true
  }

  private func discount(_ listener: Listener, _ target: Listener.Target) {
    if listener.discount() { acknowledgements.remove(target.scope) }
  }

  /// Runs `body` after everything committed before this call has been put into the mailboxes.
  func afterNews(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      loader.async { [self] in
        queue.async { [self] in
          catchUp()
          body()
        }
      }
    }
  }

  /// See `Backend.addSyncObserver`.
  func addInSync(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    queue.async { [self] in
      guard state.end == nil else { return }
      state.inSync[token] = body
      body(state.sequence)
    }
    return token
  }

  /// A listener was told something by somebody else.
  func noteNews() {
    queue.async { [self] in
      state.hasToldNews = true
      tellSync()
    }
  }

  func removeInSync(_ token: Int) {
    queue.async { [self] in state.inSync[token] = nil }
  }

  /// Calls `body` whenever the log may hold more, and at the end. It must not linger.
  func addTail(_ body: @escaping @Sendable () -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    queue.async { [self] in
      guard state.end == nil else { return body() }
      state.tails[token] = body
      begin()
      body()
    }
    return token
  }

  func removeTail(_ token: Int) {
    queue.async { [self] in
      state.tails[token] = nil
      stopUnlessNeeded()
    }
  }

  // MARK: Listeners

  private func attach(_ listener: Listener, _ target: Listener.Target, from start: Start) {
    guard !listener.isRemoved else { return }
    defer { tellSync() }
    if let end = state.end { return self.end(listener, of: target, with: end.status) }
    // First, so that completions find the listener, whatever comes of it.
    state.lastLoad += 1
    let number = state.lastLoad
    state.loads[number] = Load(target: target, listeners: [listener])
    showInLoads(state.unsettled.values)
    if start == .now {
      if state.views[target] != nil {
        catchUp()
        // Catching up may have ended the view.
        if let view = state.views[target] { return finishLoad(number) { join($0, view) } }
      }
      if let shared = state.sharedLoads[target] {
        guard let load = state.loads.removeValue(forKey: number) else { return }
        state.loads[shared]?.listeners += load.listeners
        for (id, acknowledgement) in load.acknowledgements {
          let known = state.loads[shared]?.acknowledgements.updateValue(acknowledgement, forKey: id)
          known?.release()
        }
        return
      }
      state.sharedLoads[target] = number
    }
    loader.async { [self] in
      let loaded = Result { try load(target, from: start) }
      queue.async { [self] in
        if start == .now { state.sharedLoads[target] = nil }
        install(loaded, target, load: number)
        tellSync()
      }
    }
  }

  /// The listeners of a load have what they waited for, or never will.
  private func finishLoad(_ number: Int, _ body: (Load) -> Void) {
    guard var load = state.loads.removeValue(forKey: number) else { return }
    load.listeners.removeAll(where: \.isRemoved)
    body(load)
    for acknowledgement in load.acknowledgements.values { acknowledgement.release() }
  }

  private struct Loaded: @unchecked Sendable {
    // Unchecked: the view goes from the loader's queue to the registry's, and is touched there only.
    var view: MaterializedQuery
    /// What the listener goes on from.
    var past: ResultList?
    var isReset = false
  }

  private func load(_ target: Listener.Target, from start: Start) throws -> Loaded {
    let view = MaterializedQuery(target, tuning, note)
    return try store.read { snapshot in
      try view.load(snapshot, isStrict: isStrict)
      guard case .after(let sequence) = start else {
        return Loaded(view: view, isReset: start == .reset)
      }
      guard sequence <= view.sequence else { throw Status.tokenOfTheFuture }
      do throws {
        let past = try view.list(snapshot, asOf: sequence)
        return Loaded(view: view, past: past)
      } catch let status as Status where status.isOfTheLog {
        return Loaded(view: view, isReset: true)
      }
    }
  }

  private func install(
    _ loaded: Result<Loaded, any Error>, _ target: Listener.Target, load number: Int
  ) {
    func fail(_ status: Status?) {
      finishLoad(number) { load in
        for listener in load.listeners { end(listener, of: target, with: status) }
      }
      stopUnlessNeeded()
    }
    if let end = state.end { return fail(end.status) }
    guard state.loads[number]?.listeners.contains(where: { !$0.isRemoved }) == true else {
      return fail(nil)
    }
    switch loaded {
    case .failure(let error): fail(Status(observing: error))
    case .success(let loaded):
      // In this order: a commit after the one that is read here gives a signal.
      begin()
      let view = catchUp { snapshot in
        if let existing = state.views[target] { return existing }
        try bring(loaded.view, to: snapshot)
        state.views[target] = loaded.view
        loaded.view.share(state.keys)
        loaded.view.addRoutes(to: state.router)
        return loaded.view
      }
      switch view {
      case .failure(let error): fail(Status(observing: error))
      case .success(let view):
        finishLoad(number) { join($0, view, after: loaded.past, isReset: loaded.isReset) }
      }
    }
  }

  /// Lets a new view take in what was committed since it was read, and nobody else.
  ///
  /// Were the others to go that way again with it, they would meet versions in the middle of what they
  /// took in as one step.
  private func bring(_ view: MaterializedQuery, to snapshot: StoreSnapshot) throws {
    guard view.sequence < state.sequence else { return }
    let alone = ListenerIndex()
    view.addRoutes(to: alone)
    defer { view.removeRoutes(from: alone) }
    do {
      for step in try steps(snapshot, after: view.sequence, watchedBy: alone) {
        for touched in try touched(by: step, alone) {
          _ = try touched.update(to: step.sequence, snapshot)
          touched.renewRoutes(in: alone)
        }
      }
    } catch let status as Status where status.isOfTheLog {
      try view.load(snapshot)
    }
  }

  private func join(
    _ load: Load, _ view: MaterializedQuery, after past: ResultList? = nil, isReset: Bool = false
  ) {
    for listener in load.listeners {
      view.listeners.append(listener)
      state.hasToldNews = true
      listener.begin(
        view.event(as: state.sequence, isReset: isReset), after: past,
        for: Array(load.acknowledgements.values))
    }
  }

  private func forget(_ listener: Listener, in view: MaterializedQuery) {
    guard let index = view.listeners.firstIndex(where: { $0 === listener }) else { return }
    view.listeners.remove(at: index)
    let counts = listener.counts
    state.counts.ended.told += counts.told
    state.counts.ended.skipped += counts.skipped
  }

  private func end(_ view: MaterializedQuery, with status: Status?) {
    for listener in view.listeners {
      end(listener, of: view.target, with: status)
      forget(listener, in: view)
    }
    drop(view)
  }

  private func drop(_ view: MaterializedQuery) {
    view.removeRoutes(from: state.router)
    state.counts.refills += view.refills
    state.views[view.target] = nil
    view.giveBack(to: state.keys)
    stopUnlessNeeded()
  }

  // MARK: News

  private func begin() {
    guard state.commitToken == nil else { return }
    state.commitToken = store.commits.observe { [weak self] _ in self?.newsArrived() }
    state.fileNews = CommitWatcher(of: store, on: queue) { [weak self] in self?.fileNewsArrived() }
  }

  private func stopUnlessNeeded() {
    guard !state.isWatching, let token = state.commitToken else { return }
    store.commits.remove(token)
    state.commitToken = nil
    state.fileNews?.stop()
    state.fileNews = nil
  }

  /// On the writer's thread: leaves a note and is gone.
  private func newsArrived() {
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.async { [self] in
      isScheduled.store(false, ordering: .releasing)
      catchUp()
    }
  }

  /// Listeners of a file that is no longer at its path would hear nothing more, and keep those who open the new
  /// one from doing so.
  private func fileNewsArrived() {
    guard !store.environment.isInPlace else { return catchUp() }
    let status = Status(reading: .fileReplaced)
    logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
    end(.failed(status))
  }

  private func catchUp() {
    guard state.isWatching else { return }
    _ = catchUp { _ in }
  }

  /// Brings all views to the latest commit, and calls `body` there. If that fails, no view is left.
  private func catchUp<Result>(
    _ body: (StoreSnapshot) throws -> Result
  ) -> Swift.Result<Result, any Error> {
    do {
      let result = try store.read { snapshot in
        let newest = try snapshot.state().lastSequence
        if newest > state.tailSequence {
          state.tailSequence = newest
          for tail in state.tails.values { tail() }
        }
        if newest > state.sequence {
          if !state.views.isEmpty { try follow(snapshot) }
          state.sequence = newest
        }
        showInLoads(take(upTo: newest))
        return Swift.Result { try body(snapshot) }
      }
      tellSync()
      return result
    } catch {
      let status = Status(observing: error)
      logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
      for view in state.views.values { end(view, with: status) }
      tellSync()
      return .failure(status)
    }
  }

  private func tellSync() {
    guard state.hasToldNews else { return }
    state.hasToldNews = false
    for body in state.inSync.values { body(state.sequence) }
  }

  /// Releases each when everybody whom the write concerns holds it: who listened before the write was handed over
  /// is attached by then, and has been posted the change, or waits for a first result that shows it.
  private func settle(_ committed: [Acknowledgement]) {
    queue.async { [self] in
      catchUp()
      showInLoads(committed)
      acknowledgements.startTimer(for: committed)
      for acknowledgement in committed {
        _ = take(upTo: acknowledgement.sequence)
        state.unsettled[ObjectIdentifier(acknowledgement)] = nil
        acknowledgement.release()
      }
    }
  }

  private func take(upTo sequence: UInt64) -> [Acknowledgement] {
    let taken = acknowledgements.take(upTo: sequence)
    for acknowledgement in taken {
      state.unsettled[ObjectIdentifier(acknowledgement)] = acknowledgement
    }
    return taken
  }

  /// First results that are being read are going to show these writes. One that takes long is not waited for, as a
  /// callback is not.
  private func showInLoads(_ acknowledgements: some Collection<Acknowledgement>) {
    guard !acknowledgements.isEmpty, !state.loads.isEmpty else { return }
    let earliest = ContinuousClock.now - Acknowledgements.patience
    for number in Array(state.loads.keys) {
      guard let (target, began) = state.loads[number].map({ ($0.target, $0.began) }),
        began > earliest
      else { continue }
      for acknowledgement in acknowledgements
      where acknowledgement.paths.contains(where: target.scope.contains) {
        let id = ObjectIdentifier(acknowledgement)
        let known = state.loads[number]?.acknowledgements.updateValue(acknowledgement, forKey: id)
        if known == nil { acknowledgement.hold() }
      }
    }
  }

  private func warn(ofLate recipients: [any Recipient]) {
    queue.async { [self] in
      for recipient in recipients {
        let view = state.views.values.first { $0.listeners.contains { $0 === recipient } }
        logger.warning(
          "A write waited for a listener's callback, and was completed before it returned.",
          metadata: [
            "database": "\(store.path)",
            "duration": "\(Acknowledgements.patience)",
            "listener": "\(view.map { "\($0.target)" } ?? "removed")",
          ])
      }
    }
  }

  /// Takes the changes since the last time out of the log, commit by commit.
  private func follow(_ snapshot: StoreSnapshot) throws {
    do {
      let steps = try steps(snapshot, after: state.sequence, watchedBy: state.router)
      state.counts.commits += steps.count
      for step in steps {
        let due = take(upTo: step.sequence)
        showInLoads(due)
        // Earlier ones are of commits that no view looks at.
        try update(
          step, for: step.isMerged ? due : due.filter { $0.sequence == step.sequence }, snapshot)
      }
    } catch let status as Status where status.isOfTheLog {
      // A damaged document ends the views that hold it, not the others.
      reload(snapshot)
    }
  }

  private struct Step {
    var sequence: UInt64
    var updates: [DocumentUpdate]
    /// Of many commits, and not of one.
    var isMerged = false
  }

  /// What was committed after `sequence`, as far as `router` leads anywhere with it.
  private func steps(
    _ snapshot: StoreSnapshot, after sequence: UInt64, watchedBy router: ListenerIndex
  ) throws -> [Step] {
    var steps: [Step] = []
    var count = 0
    var byteCount = 0
    // The last change of each document: what it made of it stands before the next one, or is stored.
    var latest: [ResourcePath: (step: Int, update: Int)] = [:]
    var mustBegin = true
    var isMerged = false
    try snapshot.changes(after: sequence) { change in
      if change.startsCommit { mustBegin = true }
      // A step leads to the end of its commit, whoever watches the rest of it.
      if !mustBegin { steps[steps.count - 1].sequence = change.sequence }
      guard router.isWatched(change.path) else { return true }
      count += 1
      byteCount += change.before?.count ?? 0
      if !isMerged, count > tuning.stepLimit || byteCount > tuning.stepLimitBytes {
        isMerged = true
        Self.merge(&steps, &latest)
      }
      let known = latest[change.path]
      if isMerged, known != nil {
        steps[0].sequence = change.sequence
        mustBegin = false
        return true
      }
      let before = try snapshot.version(before: change)
      if let known { steps[known.step].updates[known.update].new = before }
      if mustBegin, !isMerged || steps.isEmpty {
        steps.append(Step(sequence: change.sequence, updates: []))
      }
      mustBegin = false
      let step = steps.count - 1
      steps[step].sequence = change.sequence
      latest[change.path] = (step, steps[step].updates.count)
      steps[step].updates.append(DocumentUpdate(path: change.path, old: before))
      return true
    }
    for (path, place) in latest {
      let name = DocumentName(path, limit: store.keyLimit)
      steps[place.step].updates[place.update].new = try snapshot.document(name)
    }
    return steps
  }

  /// Makes one step of all: each document's oldest version leads to its newest.
  private static func merge(
    _ steps: inout [Step], _ latest: inout [ResourcePath: (step: Int, update: Int)]
  ) {
    var merged = Step(sequence: steps.last?.sequence ?? 0, updates: [], isMerged: true)
    latest = [:]
    for step in steps {
      for update in step.updates where latest[update.path] == nil {
        latest[update.path] = (0, merged.updates.count)
        merged.updates.append(update)
      }
    }
    steps = [merged]
  }

  /// The views that have yet to take in the step and may change by it, with what of it concerns them.
  private func touched(by step: Step, _ router: ListenerIndex) throws -> [MaterializedQuery] {
    var touched: [MaterializedQuery] = []
    for update in step.updates {
      try router.forEach(touchedBy: update) { view in
        guard view.sequence < step.sequence else { return }
        guard !view.pending.isEmpty else {
          touched.append(view)
          // The usual step is one change: all views share it.
          return view.pending = step.updates.count == 1 ? step.updates : [update]
        }
        // By several routes the same change may come.
        if view.pending.last?.path != update.path { view.pending.append(update) }
      }
    }
    return touched
  }

  /// Brings the views that a step touches to where it leads, and tells their listeners.
  ///
  /// - Parameter acknowledgements: They wait for the callbacks.
  private func update(
    _ step: Step, for acknowledgements: [Acknowledgement], _ snapshot: StoreSnapshot
  ) throws {
    let touched = try touched(by: step, state.router)
    state.counts.visits += touched.count
    var outbox = PendingDeliveries()
    defer {
      outbox.send()
      state.keys.forget()
    }
    for view in touched {
      do {
        if let event = try view.update(to: step.sequence, snapshot) {
          // One that was read anew shows later commits, too.
          let later =
            view.sequence > step.sequence
            ? self.acknowledgements.peek(upTo: view.sequence) : []
          tell(
            view, event, for: later.isEmpty ? acknowledgements : acknowledgements + later, &outbox)
        }
        view.renewRoutes(in: state.router)
      } catch {
        let status = Status(observing: error)
        logger.error("A listener ends with an error.", metadata: ["error": "\(status)"])
        end(view, with: status)
      }
    }
  }

  private func tell(
    _ view: MaterializedQuery, _ event: ResultEvent, for acknowledgements: [Acknowledgement],
    _ outbox: inout PendingDeliveries
  ) {
    for listener in view.listeners { listener.post(event, for: acknowledgements, &outbox) }
    state.counts.updates += 1
    state.hasToldNews = true
  }

  /// The log does not reach back far enough, or not whole: every view is read anew.
  private func reload(_ snapshot: StoreSnapshot) {
    state.counts.reloads += 1
    var outbox = PendingDeliveries()
    defer {
      outbox.send()
      state.keys.forget()
    }
    for view in state.views.values {
      do {
        if let event = try view.reload(snapshot) {
          tell(view, event, for: acknowledgements.peek(upTo: view.sequence), &outbox)
        }
        view.renewRoutes(in: state.router)
      } catch {
        let status = Status(observing: error)
        logger.error("A listener ends with an error.", metadata: ["error": "\(status)"])
        end(view, with: status)
      }
    }
  }

  // MARK: Statistics

  func statistics(_ body: @escaping @Sendable (ListenerStatistics) -> Void) {
    queue.async { [self] in
      let counts = state.counts
      var statistics = ListenerStatistics()
      statistics.views = state.views.count
      statistics.commits = counts.commits
      statistics.visits = counts.visits
      statistics.updates = counts.updates
      statistics.refills = counts.refills
      statistics.reloads = counts.reloads
      statistics.snapshotsTold = counts.ended.told
      statistics.snapshotsSkipped = counts.ended.skipped
      for view in state.views.values {
        statistics.listeners += view.listeners.count
        statistics.documents += view.heldCount
        statistics.largestView = max(statistics.largestView, view.heldCount)
        statistics.refills += view.refills
        for listener in view.listeners {
          let counts = listener.counts
          statistics.snapshotsTold += counts.told
          statistics.snapshotsSkipped += counts.skipped
          if listener.isBehind { statistics.waitingListeners += 1 }
        }
      }
      if state.isWatching, let newest = try? store.read({ try $0.state().lastSequence }) {
        statistics.changesBehind = Int(clamping: newest - min(newest, state.sequence))
      }
      body(statistics)
    }
  }
}

extension Status {
  init(observing error: any Error) {
    self = error as? Status ?? Status(.unavailable, "Listening failed.", cause: error)
  }

  /// The log does not reach back far enough, or is damaged there: what is stored now has to be read instead.
  fileprivate var isOfTheLog: Bool { code == .outOfRange || code == .dataLoss }

  static let tokenOfTheFuture = Status(
    .outOfRange, "The token is of a later state than this database is in.")
}
