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
    var timed = Timed()
    var loads = Loads()
    /// Acknowledgements that were taken and not released.
    var unreleased: [ObjectIdentifier: Acknowledgement] = [:]
    /// Acknowledgements of writes that are committed. Unless it is empty, a turn that releases them
    /// is waiting.
    var committed: [Acknowledgement] = []
    var isSignalled = false
    /// How listeners that come after the end are ended.
    var end: End?
    /// Without those of present queries and listeners.
    var counts = ListenerStatistics()

    // Exclusivity is unchecked: a turn reads and writes these some thirty times, each a whole value,
    // and calls nothing meanwhile. Checks would cost 2,500 instructions.
    /// Every materialized query is at least at this sequence.
    @exclusivity(unchecked) var sequence: UInt64 = 0
    @exclusivity(unchecked) var observers = Observers()
    @exclusivity(unchecked) var phase = Phase.idle
    /// The present turn, unless the phase is `idle`.
    @exclusivity(unchecked) var turn = Turn()
    @exclusivity(unchecked) var waitingTurns: Deque<@Sendable () -> Goal?> = []
    /// A turn that follows all signals so far is waiting.
    var isCatchUpWaiting = false

    var isWatching: Bool { !views.isEmpty || !observers.tails.isEmpty }
  }

  /// Queries whose results change when time passes.
  struct Timed {
    var views: [ObjectIdentifier: MaterializedQuery] = [:]
    /// When the next of them changes, if a turn is scheduled for that.
    var alarm: Instant?
  }

  struct Observers {
    /// Called when the log has changes after `tailSequence`.
    var tails: [Int: @Sendable () -> Void] = [:]
    var tailSequence: UInt64 = 0
    /// Called after the listeners of a commit were posted their events.
    var inSync: [Int: @Sendable (UInt64) -> Void] = [:]
    /// Whether anything was posted since `inSync` was called. First results and ends count, too.
    var hasDelivered = false
  }

  struct End {
    /// Nil if the user closed the database: nothing is delivered to listeners.
    var status: Status?
  }

  let source: any ChangeSource
  let completesInline: Bool
  let acknowledgements: Acknowledgements
  let logger: Logger
  let tuning: MaterializedQueryTuning
  let queue = DispatchQueue(label: "hearth.observation")
  let loader = DispatchQueue(label: "hearth.observation.loading")
  let tokens = Atomic<Int>(0)
  /// For the writer's thread: the phase is not `idle`.
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
      enqueueTurn { [self] in attach(listener, target, from: start) }
    }
  }

  func remove(_ listener: Listener, watching target: Listener.Target) {
    listener.remove()
    discount(listener, target)
    queue.async { [self] in
      if let number = listener.load { state.loads.abandon(number) }
      turn { [self] in
        guard let view = state.views[target] else { return nil }
        if let index = view.listeners.firstIndex(where: { $0 === listener }) {
          view.listeners.remove(at: index)
          state.counts.add(listener.counts)
        }
        if view.listeners.isEmpty { drop(view) }
        return nil
      }
    }
  }

  /// Runs `body` on the queue in a turn that needs nothing of the source.
  private func inTurn(_ body: @escaping @Sendable () -> Void) {
    enqueueTurn {
      body()
      return nil
    }
  }

  /// Adds a turn, from any thread.
  func enqueueTurn(_ body: @escaping @Sendable () -> Goal?) {
    queue.async { [self] in turn(body) }
  }

  /// Ends all listeners without calling them: the caller that closes the database knows.
  func close() {
    queue.sync { end(End()) }
  }

  /// For present listeners, and for later ones. Does not wait for the source.
  func end(_ end: End) {
    guard state.end == nil else { return }
    state.end = end
    state.router = ListenerIndex()
    for view in state.views.values { self.end(view, with: end.status) }
    for number in Array(state.loads.all.keys) { failLoad(number, with: end.status) }
    if end.status != nil { notifySync() }
    state.observers.inSync = [:]
    for tail in state.observers.tails.values { tail() }
    state.observers.tails = [:]
    stopUnlessNeeded()
    if case .idle = state.phase { return }
    // Abandons the turn: answers that come later are ignored.
    state.phase = .ended(nil)
    proceed()
  }

  func end(_ listener: Listener, of target: Listener.Target, with status: Status?) {
    discount(listener, target)
    listener.end(status)
    state.observers.hasDelivered = true
  }

  private func discount(_ listener: Listener, _ target: Listener.Target) {
    if listener.discount() { acknowledgements.remove(target.scope) }
  }

  /// See `Backend.addSyncObserver`.
  func addInSync(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    inTurn { [self] in
      guard state.end == nil else { return }
      state.observers.inSync[token] = body
      body(state.sequence)
    }
    return token
  }

  /// Another component has posted an event to a listener.
  func noteEvents() { inTurn { [self] in state.observers.hasDelivered = true } }

  func removeInSync(_ token: Int) {
    // In a turn, so that it is after `addInSync`.
    inTurn { [self] in state.observers.inSync[token] = nil }
  }

  /// Calls `body` when the log may have more changes, and at the end. It must return quickly.
  func addTail(_ body: @escaping @Sendable () -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    queue.async { [self] in
      guard state.end == nil else { return body() }
      state.observers.tails[token] = body
      watch()
      body()
    }
    return token
  }

  func removeTail(_ token: Int) {
    queue.async { [self] in
      state.observers.tails[token] = nil
      stopUnlessNeeded()
    }
  }

  // MARK: Signals

  func watch() {
    guard !state.isSignalled else { return }
    state.isSignalled = true
    source.watch(on: queue) { [weak self] in self?.signal($0) }
  }

  func stopUnlessNeeded() {
    // A load that is done may be about to add its query in this turn.
    guard !state.isWatching, state.loads.isEmpty, state.isSignalled else { return }
    source.stopWatching()
    state.isSignalled = false
  }

  private func signal(_ status: Status?) {
    if let status {
      logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
      return end(End(status: status))
    }
    guard !state.isCatchUpWaiting else { return }
    state.isCatchUpWaiting = true
    turn { [self] in
      state.isCatchUpWaiting = false
      return .present
    }
  }

  // MARK: Writes

  /// Releases each acknowledgement once all listeners that the write concerns hold it. A listener
  /// that was added before the write was submitted is attached by then: it was posted the change,
  /// or waits for a first result that shows it.
  func release(_ committed: [Acknowledgement]) {
    // A turn that takes long is not waited for, like a callback.
    if isInTurn.load(ordering: .relaxed) { acknowledgements.startTimer(for: committed) }
    queue.async { [self] in
      if state.committed.isEmpty {
        state.committed = committed
        turn { [self] in .release(exchange(&state.committed, with: [])) }
      } else {
        state.committed += committed
      }
      if isInTurn.load(ordering: .relaxed) { acknowledgements.startTimer(for: committed) }
    }
  }

  /// Warns of a few queries with late listeners: there may be a hundred thousand.
  func warn(ofLate recipients: [any Recipient]) {
    queue.async { [self] in
      var late = Set(recipients.map { ObjectIdentifier($0) })
      var targets: [(name: String, count: Int)] = []
      for view in state.views.values where !late.isEmpty {
        let count = view.listeners.count { late.remove(ObjectIdentifier($0)) != nil }
        if count > 0 { targets.append(("\(view.target)", count)) }
      }
      if !late.isEmpty { targets.append(("removed", late.count)) }
      let others = targets.dropFirst(Self.mostWarnings)
      targets.removeLast(others.count)
      if !others.isEmpty {
        targets.append(("\(others.count) others", others.reduce(0) { $0 + $1.count }))
      }
      for (name, count) in targets {
        logger.warning(
          "A write waited for a listener's callback, and was completed before it returned.",
          metadata: [
            "database": "\(source.name)",
            "duration": "\(Acknowledgements.patience)",
            "listener": "\(name)",
            "callbacks": "\(count)",
          ])
      }
    }
  }

  private static let mostWarnings = 8

  // MARK: Statistics

  func statistics(_ body: @escaping @Sendable (ListenerStatistics) -> Void) {
    queue.async { [self] in
      var statistics = state.counts
      statistics.views = state.views.count
      for view in state.views.values {
        statistics.listeners += view.listeners.count
        let held = view.content.heldCount
        statistics.documents += held
        statistics.largestView = max(statistics.largestView, held)
        statistics.refills += view.refills
        for listener in view.listeners {
          statistics.add(listener.counts)
          if listener.isBehind { statistics.waitingListeners += 1 }
        }
      }
      guard state.isWatching else { return body(statistics) }
      let sequence = state.sequence
      source.read(until: nil) { [statistics] result in
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
