import DequeModule
import Dispatch
internal import LMDB
import Logging
import Synchronization

/// Finds the materialized queries that a commit affects, and updates them from the changes that a
/// source has.
///
///     signal ─▶ a turn: state ─▶ changes since the last turn ─▶ affected queries ─▶ mailboxes
///                                 └─ queries that changes cannot update ─▶ fetched ─┘
///
/// Works on a serial queue of its own: the writer only leaves a signal, and a slow consumer only
/// fills its own mailbox. First results are read apart, so that a long read does not delay events.
/// Updating a materialized query costs as much as changes in it; a change finds its queries without
/// visiting the others.
///
/// Law: one turn at a time. A turn may wait for the source, and the next one begins when it has
/// ended. Between turns every materialized query shows the same state; only turns change the index
/// and the list of queries. The exception is the end, which abandons a turn.
final class ListenerRegistry: Sendable {
  /// Used on `queue` only.
  final class State {
    var views: [Listener.Target: MaterializedQuery] = [:]
    /// Replaced at the end, when a source may still be reading it.
    var router = ListenerIndex()
    let keys = SharedSortKeys()
    /// First results being read, and which of them later listeners of the same target join.
    var loads: [Int: Load] = [:]
    var sharedLoads: [Listener.Target: Int] = [:]
    var lastLoad = 0
    /// Called when the loads up to a number have their results.
    var loadWaiters: [(last: Int, body: @Sendable () -> Void)] = []
    /// Acknowledgements that were taken and not released.
    var unreleased: [ObjectIdentifier: Acknowledgement] = [:]
    /// Acknowledgements of writes that are committed. The next turn that begins releases them.
    var committed: [Acknowledgement] = []
    // Exclusivity is unchecked, as for turns, below.
    /// Every materialized query is at least at this sequence.
    @exclusivity(unchecked) var sequence: UInt64 = 0
    var isSignalled = false
    /// Called when the log has changes after `tailSequence`.
    var tails: [Int: @Sendable () -> Void] = [:]
    @exclusivity(unchecked) var tailSequence: UInt64 = 0
    /// Called after the listeners of a commit were posted their events.
    var inSync: [Int: @Sendable (UInt64) -> Void] = [:]
    /// Whether anything was posted since `inSync` was called. First results and ends count, too.
    @exclusivity(unchecked) var hasDelivered = false
    /// How listeners that come after the end are ended.
    var end: End?
    var counts = Counts()

    // Exclusivity is unchecked: a turn reads and writes these some thirty times, each a whole value,
    // and calls nothing meanwhile. Checks would cost 2,500 instructions.
    /// Meaningful while `isInTurn`.
    @exclusivity(unchecked) var turn = Turn()
    @exclusivity(unchecked) var isInTurn = false
    @exclusivity(unchecked) var isBeginningTurns = false
    @exclusivity(unchecked) var waitingTurns: Deque<@Sendable () -> Void> = []
    /// Queries whose results change when time passes.
    var timed: [ObjectIdentifier: MaterializedQuery] = [:]
    /// When the next of them changes, if a turn is scheduled for that.
    var alarm: Instant?
    /// A turn that follows all signals so far is waiting.
    var isCatchUpWaiting = false
    /// A turn that releases `committed` is waiting.
    var isReleaseWaiting = false

    var isWatching: Bool { !views.isEmpty || !tails.isEmpty }
  }

  /// The state of a turn, while the source reads.
  struct Turn {
    var state: (any SourceState)?
    /// Acknowledgements that this turn took, in the order of their commits.
    var taken: [Acknowledgement] = []
    /// Queries whose results have to be fetched, and from which of `taken` on the results show the
    /// writes.
    var stale: [(view: MaterializedQuery, firstTaken: Int)] = []
    /// How many of them have not been fetched.
    var unfetched = 0
    var fetchFailure: Status?
    var outbox = PendingDeliveries()
    /// How many attempts to read have failed.
    var failedAttempts = 0
    /// Writes that complete after this turn.
    var committed: [Acknowledgement] = []
    /// Called with the newest state when all queries show it; then goes on to `conclude`.
    var inState: (@Sendable (any SourceState) -> Void)?
    /// Called when the state is released.
    var atEnd: (@Sendable () -> Void)?
    /// Why `atEnd` may not find what it needs.
    var failure: Status?
    var isAsking = false
    var isConcluded = false
  }

  struct Load {
    let target: Listener.Target
    let start: Start
    var listeners: [Listener]
    /// Acknowledgements of writes that the first result may show.
    var acknowledgements: [ObjectIdentifier: Acknowledgement] = [:]
    /// Ends the read when all of the listeners are removed.
    let reading = ReadCancellation()
    let began = ContinuousClock.now
  }

  enum End {
    /// The user closed the database: nothing is delivered to listeners.
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
    /// How often a materialized query was re-evaluated after a commit.
    var visits = 0
    /// How often its result changed.
    var updates = 0
    /// Queries that ran again because a limit's lookahead was used up.
    var refills = 0
    /// How often every query ran again because the log had been trimmed or is damaged.
    var reloads = 0
    /// Of listeners that have ended.
    var ended = Listener.Counts()
  }

  let source: any ChangeSource
  let completesInline: Bool
  let acknowledgements: Acknowledgements
  let logger: Logger
  let tuning: MaterializedQueryTuning
  let queue = DispatchQueue(label: "hearth.observation")
  let loader = DispatchQueue(label: "hearth.observation.loading")
  let tokens = Atomic<Int>(0)
  /// For the writer's thread. Same as `isInTurn` of the state.
  let isInTurn = Atomic<Bool>(false)
  /// Protected by `queue`.
  nonisolated(unsafe) let state = State()

  /// - Parameter acknowledgements: Those of the database's writes.
  init(
    _ source: any ChangeSource, _ acknowledgements: Acknowledgements, logger: Logger,
    tuning: MaterializedQueryTuning = MaterializedQueryTuning()
  ) {
    self.source = source
    completesInline = source.completesInline
    self.acknowledgements = acknowledgements
    self.logger = logger
    self.tuning = tuning
    acknowledgements.observe(
      committed: { [weak self] committed in
        guard let self else { return committed.forEach { $0.release() } }
        release(committed)
      },
      late: { [weak self] in self?.warn(ofLate: $0) })
  }

  /// - Parameters:
  ///   - isStrict: Refuses a query that no index serves.
  ///   - note: Called with the trace of each query that ran.
  convenience init(
    _ store: Store, _ writer: Writer, logger: Logger,
    tuning: MaterializedQueryTuning = MaterializedQueryTuning(), isStrict: Bool = false,
    note: @escaping @Sendable (QueryTrace) -> Void = { _ in }
  ) {
    self.init(
      StoreChangeSource(store, writer, isStrict: isStrict, note: note), writer.acknowledgements,
      logger: logger, tuning: tuning)
  }

  /// The state that a listener knows already.
  enum Start: Equatable {
    case now
    /// The state after the change with this sequence: the first result's changes are those since.
    /// If the log does not reach back that far, all of it is new, and `isFullResync` is true.
    case after(UInt64)
    /// A state that cannot be resumed from: all of the first result is new, and `isFullResync` is true.
    case reset
  }

  /// Posts to `listener` the current result, with all writes submitted before this call; then every
  /// later change, exactly once.
  func add(_ listener: Listener, watching target: Listener.Target, from start: Start = .now) {
    // From here on a write that is submitted completes after this listener was called.
    if listener.count() { acknowledgements.add(target.scope) }
    source.whenWritesAreDone(touching: target.scope) { [self] in
      queue.async { [self] in
        turn { [self] in attach(listener, target, from: start) }
      }
    }
  }

  func remove(_ listener: Listener, watching target: Listener.Target) {
    listener.remove()
    discount(listener, target)
    queue.async { [self] in
      abandonLoad(of: listener)
      turn { [self] in
        if let view = state.views[target] {
          forget(listener, in: view)
          if view.listeners.isEmpty { drop(view) }
        }
        conclude()
      }
    }
  }

  /// Runs `body` on the queue in a turn that needs nothing of the source.
  private func inTurn(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      turn { [self] in
        body()
        conclude()
      }
    }
  }

  /// Ends all listeners without calling them: the caller that closes the database knows.
  func close() {
    queue.sync { end(.closed) }
  }

  /// For present listeners, and for later ones. Does not wait for the source.
  func end(_ end: End) {
    guard state.end == nil else { return }
    state.end = end
    state.router = ListenerIndex()
    for view in state.views.values { self.end(view, with: end.status) }
    for number in Array(state.loads.keys) { failLoad(number, with: end.status) }
    state.sharedLoads = [:]
    if case .failed = end { notifySync() }
    state.inSync = [:]
    for tail in state.tails.values { tail() }
    state.tails = [:]
    stopUnlessNeeded()
    guard state.isInTurn else { return }
    state.turn.outbox.send()
    finishTurn()
  }

  func end(_ listener: Listener, of target: Listener.Target, with status: Status?) {
    discount(listener, target)
    listener.end(status)
    state.hasDelivered = true
  }

  func discount(_ listener: Listener, _ target: Listener.Target) {
    if listener.discount() { acknowledgements.remove(target.scope) }
  }

  /// Runs `body` after everything committed before this call is in the mailboxes.
  func afterEvents(_ body: @escaping @Sendable () -> Void) {
    inTurn { [self] in
      state.loadWaiters.append(
        (state.lastLoad, { [self] in turn { [self] in catchUp(atEnd: body) } }))
      callLoadWaiters()
    }
  }

  /// See `Backend.addSyncObserver`.
  func addInSync(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    inTurn { [self] in
      guard state.end == nil else { return }
      state.inSync[token] = body
      body(state.sequence)
    }
    return token
  }

  /// Another component has posted an event to a listener.
  func noteEvents() { inTurn { [self] in state.hasDelivered = true } }

  func removeInSync(_ token: Int) {
    // In a turn, so that it is after `addInSync`.
    inTurn { [self] in state.inSync[token] = nil }
  }

  /// Calls `body` when the log may have more changes, and at the end. It must return quickly.
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
      statistics.snapshotsDelivered = counts.ended.delivered
      statistics.snapshotsSkipped = counts.ended.skipped
      for view in state.views.values {
        statistics.listeners += view.listeners.count
        statistics.documents += view.heldCount
        statistics.largestView = max(statistics.largestView, view.heldCount)
        statistics.refills += view.refills
        for listener in view.listeners {
          let counts = listener.counts
          statistics.snapshotsDelivered += counts.delivered
          statistics.snapshotsSkipped += counts.skipped
          if listener.isBehind { statistics.waitingListeners += 1 }
        }
      }
      guard state.isWatching else { return body(statistics) }
      let sequence = state.sequence
      source.read { [statistics] result in
        var statistics = statistics
        if case .success(let newest) = result {
          statistics.changesBehind = Int(clamping: max(newest.sequence, sequence) - sequence)
        }
        body(statistics)
      }
    }
  }
}

extension Status {
  init(observing error: any Error) {
    self =
      error as? Status ?? (error as? LMDBError).map(Status.init(reading:))
      ?? Status(.unavailable, "Listening failed.", cause: error)
  }

  static let tokenOfTheFuture = Status(
    .outOfRange, "The token is of a later state than this database is in.")
}
