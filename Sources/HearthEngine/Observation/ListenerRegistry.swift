import DequeModule
import Dispatch
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
  private final class State {
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
    /// Every materialized query is at least at this sequence.
    var sequence: UInt64 = 0
    var isSignalled = false
    /// Called when the log has changes after `tailSequence`.
    var tails: [Int: @Sendable () -> Void] = [:]
    var tailSequence: UInt64 = 0
    /// Called after the listeners of a commit were posted their events.
    var inSync: [Int: @Sendable (UInt64) -> Void] = [:]
    /// Whether anything was posted since `inSync` was called. First results and ends count, too.
    var hasDelivered = false
    /// How listeners that come after the end are ended.
    var end: End?
    var counts = Counts()

    // Exclusivity is unchecked: a turn reads and writes these some thirty times, each a whole value,
    // and calls nothing meanwhile. Checks would cost 2,500 instructions.
    /// Meaningful while `isInTurn`.
    @exclusivity(unchecked) var turn = Turn()
    /// How many turns have ended. A completion for an earlier turn is ignored.
    @exclusivity(unchecked) var turnNumber = 0
    @exclusivity(unchecked) var isInTurn = false
    @exclusivity(unchecked) var isBeginningTurns = false
    @exclusivity(unchecked) var waitingTurns: Deque<@Sendable () -> Void> = []
    /// A turn that follows all signals so far is waiting.
    var isCatchUpWaiting = false
    /// A turn that releases `committed` is waiting.
    var isReleaseWaiting = false

    var isWatching: Bool { !views.isEmpty || !tails.isEmpty }
  }

  /// The state of a turn, while the source reads.
  private struct Turn {
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

  private struct Load {
    let target: Listener.Target
    let start: Start
    var listeners: [Listener]
    /// Acknowledgements of writes that the first result may show.
    var acknowledgements: [ObjectIdentifier: Acknowledgement] = [:]
    let began = ContinuousClock.now
  }

  private enum End {
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
  private let completesInline: Bool
  private let acknowledgements: Acknowledgements
  private let logger: Logger
  private let tuning: MaterializedQueryTuning
  private let queue = DispatchQueue(label: "hearth.observation")
  private let loader = DispatchQueue(label: "hearth.observation.loading")
  private let tokens = Atomic<Int>(0)
  /// For the writer's thread. Same as `isInTurn` of the state.
  private let isInTurn = Atomic<Bool>(false)
  /// Protected by `queue`.
  private nonisolated(unsafe) let state = State()

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
      turn { [self] in
        if let view = state.views[target] {
          forget(listener, in: view)
          if view.listeners.isEmpty { drop(view) }
        }
        conclude()
      }
    }
  }

  /// Ends all listeners without calling them: the caller that closes the database knows.
  func close() {
    queue.sync { end(.closed) }
  }

  /// For present listeners, and for later ones. Does not wait for the source.
  private func end(_ end: End) {
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

  private func end(_ listener: Listener, of target: Listener.Target, with status: Status?) {
    discount(listener, target)
    listener.end(status)
    state.hasDelivered = true
  }

  private func discount(_ listener: Listener, _ target: Listener.Target) {
    if listener.discount() { acknowledgements.remove(target.scope) }
  }

  /// Runs `body` after everything committed before this call is in the mailboxes.
  func afterEvents(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      turn { [self] in
        state.loadWaiters.append(
          (
            state.lastLoad,
            { [self] in turn { [self] in catchUp(atEnd: body) } }
          ))
        callLoadWaiters()
        conclude()
      }
    }
  }

  /// See `Backend.addSyncObserver`.
  func addInSync(_ body: @escaping @Sendable (UInt64) -> Void) -> Int {
    let token = tokens.wrappingAdd(1, ordering: .relaxed).newValue
    queue.async { [self] in
      turn { [self] in
        if state.end == nil {
          state.inSync[token] = body
          body(state.sequence)
        }
        conclude()
      }
    }
    return token
  }

  /// Another component has posted an event to a listener.
  func noteEvents() {
    queue.async { [self] in
      turn { [self] in
        state.hasDelivered = true
        conclude()
      }
    }
  }

  func removeInSync(_ token: Int) {
    // In a turn, so that it is after `addInSync`.
    queue.async { [self] in
      turn { [self] in
        state.inSync[token] = nil
        conclude()
      }
    }
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

  // MARK: Listeners

  private func attach(_ listener: Listener, _ target: Listener.Target, from start: Start) {
    guard !listener.isRemoved else { return conclude() }
    if let end = state.end {
      self.end(listener, of: target, with: end.status)
      return conclude()
    }
    // First, so that completions find the listener in any case.
    state.lastLoad += 1
    let number = state.lastLoad
    state.loads[number] = Load(target: target, start: start, listeners: [listener])
    showInLoads(state.unreleased.values)
    guard start == .now, state.views[target] != nil else {
      load(number)
      return conclude()
    }
    catchUp(atEnd: { [self] in
      // Catching up may have ended the materialized query.
      guard let view = state.views[target] else { return load(number) }
      finishLoad(number) { join($0, view) }
    })
  }

  /// Reads the first result, or waits for one that is being read.
  private func load(_ number: Int) {
    guard let load = state.loads[number] else { return }
    if load.start == .now {
      if let shared = state.sharedLoads[load.target] {
        state.loads[number] = nil
        state.loads[shared]?.listeners += load.listeners
        for (id, acknowledgement) in load.acknowledgements {
          let known = state.loads[shared]?.acknowledgements.updateValue(acknowledgement, forKey: id)
          known?.release()
        }
        return
      }
      state.sharedLoads[load.target] = number
    }
    read(number, load.target, from: load.start)
  }

  private func read(
    _ number: Int, _ target: Listener.Target, from start: Start, failedAttempts: Int = 0
  ) {
    let read = { @Sendable [self] in
      load(target, from: start) { [self] loaded in
        queue.async { [self] in
          if case .failure(let status) = loaded, isWanted(number),
            let delay = source.retryDelay(after: status, attempt: failedAttempts)
          {
            return after(delay) { [self] in
              self.read(number, target, from: start, failedAttempts: failedAttempts + 1)
            }
          }
          turn { [self] in install(loaded, number) }
        }
      }
    }
    if completesInline { loader.async(execute: read) } else { read() }
  }

  private func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
  }

  /// The load exists, and one of its listeners was not removed.
  private func isWanted(_ number: Int) -> Bool {
    state.loads[number]?.listeners.contains { !$0.isRemoved } == true
  }

  /// The listeners of a load have their result, or will never get it.
  private func finishLoad(_ number: Int, _ body: (Load) -> Void) {
    guard var load = state.loads.removeValue(forKey: number) else { return }
    if state.sharedLoads[load.target] == number { state.sharedLoads[load.target] = nil }
    load.listeners.removeAll(where: \.isRemoved)
    body(load)
    for acknowledgement in load.acknowledgements.values { acknowledgement.release() }
    callLoadWaiters()
  }

  private func failLoad(_ number: Int, with status: Status?) {
    finishLoad(number) { load in
      for listener in load.listeners { end(listener, of: load.target, with: status) }
    }
    stopUnlessNeeded()
  }

  private func callLoadWaiters() {
    guard !state.loadWaiters.isEmpty else { return }
    let earliest = state.loads.keys.min() ?? .max
    let due = state.loadWaiters.filter { $0.last < earliest }
    state.loadWaiters.removeAll { $0.last < earliest }
    for waiter in due { waiter.body() }
  }

  private struct Loaded: Sendable {
    var view: MaterializedQuery
    /// The state that the listener resumes from.
    var past: ResultList?
    var isFullResync = false
  }

  private func load(
    _ target: Listener.Target, from start: Start, _ done: @escaping Completion<Loaded>
  ) {
    let view = MaterializedQuery(target, tuning)
    source.read { [self] result in
      do throws(Status) {
        let state = try result.get()
        state.fetch(view.request, asOf: nil, isFirst: true) { [self] fetched in
          do {
            try view.hold(fetched.get(), asOf: state.sequence)
            guard case .after(let sequence) = start else {
              return done(.success(Loaded(view: view, isFullResync: start == .reset)))
            }
            guard sequence <= view.sequence else { throw Status.tokenOfTheFuture }
            load(view, asOf: sequence, state, done)
          } catch {
            done(.failure(Status(observing: error)))
          }
        }
      } catch {
        done(.failure(error))
      }
    }
  }

  private func load(
    _ view: MaterializedQuery, asOf sequence: UInt64, _ state: any SourceState,
    _ done: @escaping Completion<Loaded>
  ) {
    guard let request = view.pastRequest else {
      return done(.success(Loaded(view: view, past: ResultList())))
    }
    state.fetch(request, asOf: sequence, isFirst: false) { fetched in
      do {
        done(.success(Loaded(view: view, past: try view.list(of: fetched.get()))))
      } catch let status as Status where status.isOfTheLog {
        done(.success(Loaded(view: view, isFullResync: true)))
      } catch {
        done(.failure(Status(observing: error)))
      }
    }
  }

  private func install(_ loaded: Result<Loaded, Status>, _ number: Int) {
    // Later listeners read for themselves: this turn may end the load.
    if let target = state.loads[number]?.target, state.sharedLoads[target] == number {
      state.sharedLoads[target] = nil
    }
    guard isWanted(number) else {
      failLoad(number, with: nil)
      return conclude()
    }
    switch loaded {
    case .failure(let status):
      failLoad(number, with: status)
      conclude()
    case .success(let loaded):
      // In this order: a commit after the state that is read here gives a signal.
      begin()
      catchUp(
        inState: { [self] state in add(loaded.view, in: state) },
        atEnd: { [self] in
          guard let view = state.views[loaded.view.target] else {
            return failLoad(number, with: state.turn.failure)
          }
          finishLoad(number) {
            join($0, view, after: loaded.past, isFullResync: loaded.isFullResync)
          }
        })
    }
  }

  // MARK: New queries

  /// Lets a new materialized query, and no other, apply what was committed since it was read.
  ///
  /// The others have applied these changes in one step. Replaying them would show intermediate
  /// versions that the others have skipped.
  private func add(_ view: MaterializedQuery, in source: any SourceState) {
    if state.views[view.target] != nil { return conclude() }
    if view.mustFetch { return fetch(view, in: source) }
    guard view.sequence < state.sequence else { return insert(view) }
    let alone = ListenerIndex()
    view.addRoutes(to: alone)
    source.changes(
      after: view.sequence, into: ChangeSteps(watchedBy: alone, tuning),
      continuing { [self] result in
        do {
          let steps = try result.get()
          for step in steps.steps {
            for touched in try touched(by: step, steps.index) {
              if case .mustFetch = try touched.update(to: step.sequence) {
                return fetch(view, in: source)
              }
              touched.renewRoutes(in: steps.index)
            }
          }
          insert(view)
        } catch let status as Status where status.isOfTheLog {
          fetch(view, in: source)
        } catch {
          failToAdd(Status(observing: error))
        }
      })
  }

  private func fetch(_ view: MaterializedQuery, in source: any SourceState) {
    view.skipChanges()
    source.fetch(
      view.request,
      continuing { [self] fetched in
        do {
          try view.hold(fetched.get(), asOf: source.sequence)
          insert(view)
        } catch {
          failToAdd(Status(observing: error))
        }
      })
  }

  private func insert(_ view: MaterializedQuery) {
    state.views[view.target] = view
    view.share(state.keys)
    view.addRoutes(to: state.router)
    conclude()
  }

  private func failToAdd(_ status: Status) {
    if retry(after: status) { return }
    state.turn.failure = status
    conclude()
  }

  private func join(
    _ load: Load, _ view: MaterializedQuery, after past: ResultList? = nil,
    isFullResync: Bool = false
  ) {
    for listener in load.listeners {
      view.listeners.append(listener)
      state.hasDelivered = true
      listener.begin(
        view.event(as: state.sequence, isFullResync: isFullResync), after: past,
        for: Array(load.acknowledgements.values))
    }
  }

  private func forget(_ listener: Listener, in view: MaterializedQuery) {
    guard let index = view.listeners.firstIndex(where: { $0 === listener }) else { return }
    view.listeners.remove(at: index)
    let counts = listener.counts
    state.counts.ended.delivered += counts.delivered
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

  // MARK: Turns

  /// Runs `body` on the queue when the turns before it have ended. It goes on to `conclude`, once.
  private func turn(_ body: @escaping @Sendable () -> Void) {
    guard !state.isInTurn else { return state.waitingTurns.append(body) }
    state.isInTurn = true
    isInTurn.store(true, ordering: .relaxed)
    body()
  }

  /// The turn needs nothing more from the source.
  private func conclude() {
    state.turn.inState = nil
    state.turn.state = nil
    state.turn.isConcluded = true
    // Else when the source has released the state.
    if !state.turn.isAsking { finishTurn() }
  }

  private func finishTurn() {
    notifySync()
    if let atEnd = state.turn.atEnd.take() {
      atEnd()
      notifySync()
    }
    if !state.turn.committed.isEmpty { release(committedBefore: state.turn.committed) }
    endTurn()
  }

  private func endTurn() {
    state.turn = Turn()
    state.turnNumber += 1
    state.isInTurn = false
    isInTurn.store(false, ordering: .relaxed)
    // Not recursively: many may wait.
    guard !state.waitingTurns.isEmpty, !state.isBeginningTurns else { return }
    state.isBeginningTurns = true
    while !state.isInTurn, let next = state.waitingTurns.popFirst() { turn(next) }
    state.isBeginningTurns = false
  }

  /// A completion that continues this turn with `body`, unless the turn is abandoned.
  @inline(__always)
  private func continuing<Answer: Sendable>(
    _ body: @escaping Completion<Answer>
  ) -> Completion<Answer> {
    if completesInline { return body }
    let number = state.turnNumber
    return { [self] result in
      queue.async { [self] in
        if state.turnNumber == number { body(result) }
      }
    }
  }

  /// Tries the whole turn again later, if the source says so. Steps that were applied are not
  /// applied again.
  private func retry(after status: Status) -> Bool {
    guard let delay = source.retryDelay(after: status, attempt: state.turn.failedAttempts) else {
      return false
    }
    if state.turn.failedAttempts == 0 {
      logger.warning("Changes are read again after an error.", metadata: ["error": "\(status)"])
    }
    state.turn.failedAttempts += 1
    state.turn.state = nil
    let number = state.turnNumber
    after(delay) { [weak self] in
      guard let self, state.turnNumber == number else { return }
      readState()
    }
    return true
  }

  // MARK: Events

  private func begin() {
    guard !state.isSignalled else { return }
    state.isSignalled = true
    source.watch(on: queue) { [weak self] in self?.signal($0) }
  }

  private func stopUnlessNeeded() {
    // A load that is done may be about to add its query in this turn.
    guard !state.isWatching, state.loads.isEmpty, state.isSignalled else { return }
    source.stopWatching()
    state.isSignalled = false
  }

  private func signal(_ status: Status?) {
    if let status {
      logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
      return end(.failed(status))
    }
    guard !state.isCatchUpWaiting else { return }
    state.isCatchUpWaiting = true
    turn { [self] in
      state.isCatchUpWaiting = false
      catchUp()
    }
  }

  /// Brings all materialized queries to the newest state. If that fails, none is left.
  ///
  /// - Parameters:
  ///   - inState: See `Turn`. Not called after a failure.
  ///   - atEnd: See `Turn`. Called in any case.
  private func catchUp(
    inState: (@Sendable (any SourceState) -> Void)? = nil, atEnd: (@Sendable () -> Void)? = nil
  ) {
    state.turn.inState = inState
    state.turn.atEnd = atEnd
    guard inState != nil || state.isWatching else { return conclude() }
    readState()
  }

  private func readState() {
    state.turn.isAsking = true
    source.read(continuing { [self] in take($0) })
    state.turn.isAsking = false
    if state.turn.isConcluded { finishTurn() }
  }

  private func take(_ result: Result<any SourceState, Status>) {
    switch result {
    case .failure(let status): fail(status)
    case .success(let source):
      state.turn.state = source
      let newest = source.sequence
      if newest > state.tailSequence {
        state.tailSequence = newest
        for tail in state.tails.values { tail() }
      }
      guard newest > state.sequence, !state.views.isEmpty else { return fetchStale(in: source) }
      source.changes(
        after: state.sequence, into: ChangeSteps(watchedBy: state.router, tuning),
        continuing { [self] in follow($0) })
    }
  }

  /// Applies the changes since the last time, commit by commit.
  private func follow(_ result: Result<ChangeSteps, Status>) {
    guard let source = state.turn.state else { return conclude() }
    do {
      let steps = try result.get().steps
      state.counts.commits += steps.count
      for step in steps {
        let ready = take(upTo: step.sequence)
        showInLoads(ready)
        // Earlier ones belong to commits that no materialized query depends on.
        try update(
          step, for: step.isMerged ? ready : ready.filter { $0.sequence == step.sequence },
          firstTaken: state.turn.taken.count - ready.count)
      }
    } catch {
      let status = Status(observing: error)
      guard status.isOfTheLog else { return fail(status) }
      // A damaged document ends the materialized queries that hold it, not the others.
      state.counts.reloads += 1
      for view in state.views.values where !view.mustFetch {
        view.skipChanges()
        state.turn.stale.append((view, 0))
      }
    }
    // The others show this state. If fetching fails and is tried again, it is in a later one.
    state.sequence = source.sequence
    fetchStale(in: source)
  }

  /// Fetches the results that changes alone do not show.
  private func fetchStale(in source: any SourceState) {
    guard !state.turn.stale.isEmpty else { return caughtUp(to: source) }
    let requests = state.turn.stale.map(\.view.request)
    state.turn.unfetched = requests.count
    for (index, request) in requests.enumerated() {
      source.fetch(request, continuing { [self] in replaceStale(index, with: $0, source) })
    }
  }

  private func replaceStale(
    _ index: Int, with fetched: Result<FetchedResult, Status>, _ source: any SourceState
  ) {
    let (view, firstTaken) = state.turn.stale[index]
    do {
      if let event = try view.replace(with: fetched.get(), asOf: source.sequence) {
        // It shows later commits, too.
        let shown =
          Array(state.turn.taken[firstTaken...]) + acknowledgements.peek(upTo: view.sequence)
        var outbox = state.turn.outbox
        deliver(view, event, for: shown, &outbox)
        // The other results may come much later.
        if !completesInline { outbox.send() }
        state.turn.outbox = outbox
      }
      view.renewRoutes(in: state.router)
    } catch {
      let status = Status(observing: error)
      if self.source.retryDelay(after: status, attempt: state.turn.failedAttempts) != nil {
        state.turn.fetchFailure = status
      } else {
        end(view, after: status)
      }
    }
    state.turn.unfetched -= 1
    guard state.turn.unfetched == 0 else { return }
    state.turn.outbox.send()
    state.keys.forget()
    state.turn.stale.removeAll { !$0.view.mustFetch || state.views[$0.view.target] !== $0.view }
    if let failure = state.turn.fetchFailure.take() { fail(failure) } else { caughtUp(to: source) }
  }

  private func caughtUp(to source: any SourceState) {
    state.sequence = max(state.sequence, source.sequence)
    showInLoads(take(upTo: source.sequence))
    guard let inState = state.turn.inState else { return conclude() }
    inState(source)
  }

  /// No state can be read, or no changes.
  private func fail(_ status: Status) {
    if retry(after: status) { return }
    logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
    for view in state.views.values { end(view, with: status) }
    state.turn.failure = status
    conclude()
  }

  private func end(_ view: MaterializedQuery, after status: Status) {
    logger.error("A listener ends with an error.", metadata: ["error": "\(status)"])
    end(view, with: status)
  }

  private func notifySync() {
    guard state.hasDelivered else { return }
    state.hasDelivered = false
    for body in state.inSync.values { body(state.sequence) }
  }

  /// Releases each acknowledgement once all listeners that the write concerns hold it. A listener
  /// that was added before the write was submitted is attached by then: it was posted the change,
  /// or waits for a first result that shows it.
  private func release(_ committed: [Acknowledgement]) {
    // A turn that takes long is not waited for, like a callback.
    if isInTurn.load(ordering: .relaxed) { acknowledgements.startTimer(for: committed) }
    queue.async { [self] in
      if state.committed.isEmpty {
        state.committed = committed
      } else {
        state.committed += committed
      }
      if !state.isReleaseWaiting {
        state.isReleaseWaiting = true
        turn { [self] in
          state.isReleaseWaiting = false
          state.turn.committed = state.committed
          state.committed = []
          catchUp()
        }
      }
      if state.isInTurn { acknowledgements.startTimer(for: committed) }
    }
  }

  private func release(committedBefore committed: [Acknowledgement]) {
    showInLoads(committed)
    acknowledgements.startTimer(for: committed)
    for acknowledgement in committed {
      _ = take(upTo: acknowledgement.sequence)
      state.unreleased[ObjectIdentifier(acknowledgement)] = nil
      acknowledgement.release()
    }
  }

  private func take(upTo sequence: UInt64) -> [Acknowledgement] {
    let taken = acknowledgements.take(upTo: sequence)
    guard !taken.isEmpty else { return taken }
    for acknowledgement in taken {
      state.unreleased[ObjectIdentifier(acknowledgement)] = acknowledgement
    }
    if state.turn.taken.isEmpty { state.turn.taken = taken } else { state.turn.taken += taken }
    return taken
  }

  /// First results being read will show these writes. A read that takes long is not waited for,
  /// like a callback.
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
            "database": "\(source.name)",
            "duration": "\(Acknowledgements.patience)",
            "listener": "\(view.map { "\($0.target)" } ?? "removed")",
          ])
      }
    }
  }

  /// The materialized queries that have yet to apply the step and may change by it. Sets their
  /// `pending`.
  private func touched(by step: ChangeStep, _ router: ListenerIndex) throws -> [MaterializedQuery] {
    var touched: [MaterializedQuery] = []
    for update in step.updates {
      try router.forEach(touchedBy: update) { view in
        guard view.sequence < step.sequence, !view.mustFetch else { return }
        guard !view.pending.isEmpty else {
          touched.append(view)
          // A step is usually one change, which all of them share.
          return view.pending = step.updates.count == 1 ? step.updates : [update]
        }
        // Several conditions may find the same change.
        if view.pending.last?.path != update.path { view.pending.append(update) }
      }
    }
    return touched
  }

  /// Applies a step to the materialized queries that it affects, and posts to their listeners.
  ///
  /// - Parameters:
  ///   - acknowledgements: These wait for the callbacks.
  ///   - firstTaken: The first of the turn's acknowledgements that a result fetched later shows.
  private func update(
    _ step: ChangeStep, for acknowledgements: [Acknowledgement], firstTaken: Int
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
        switch try view.update(to: step.sequence) {
        case .unchanged: view.renewRoutes(in: state.router)
        case .changed(let event):
          deliver(view, event, for: acknowledgements, &outbox)
          view.renewRoutes(in: state.router)
        case .mustFetch: state.turn.stale.append((view, firstTaken))
        }
      } catch {
        end(view, after: Status(observing: error))
      }
    }
  }

  private func deliver(
    _ view: MaterializedQuery, _ event: ResultEvent, for acknowledgements: [Acknowledgement],
    _ outbox: inout PendingDeliveries
  ) {
    for listener in view.listeners { listener.post(event, for: acknowledgements, &outbox) }
    state.counts.updates += 1
    state.hasDelivered = true
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
    self = error as? Status ?? Status(.unavailable, "Listening failed.", cause: error)
  }

  static let tokenOfTheFuture = Status(
    .outOfRange, "The token is of a later state than this database is in.")
}
