import Dispatch
import Logging

/// Turns: one at a time reads the source, applies changes to the affected queries, posts their
/// events, and releases the writes that wait for them.
extension ListenerRegistry {
  /// Runs `body` on the queue when the turns before it have ended. It goes on to `conclude`, once.
  func turn(_ body: @escaping @Sendable () -> Void) {
    guard !state.isInTurn else { return state.waitingTurns.append(body) }
    state.isInTurn = true
    isInTurn.store(true, ordering: .relaxed)
    body()
  }

  /// The turn needs nothing more from the source.
  func conclude() {
    assert(state.isInTurn)
    state.turn.inState = nil
    state.turn.state = nil
    state.turn.isConcluded = true
    // Else when the source has released the state.
    if !state.turn.isAsking { finishTurn() }
  }

  func finishTurn() {
    notifySync()
    if let atEnd = state.turn.atEnd.take() {
      atEnd()
      notifySync()
    }
    if !state.turn.committed.isEmpty { release(committedBefore: state.turn.committed) }
    endTurn()
  }

  func endTurn() {
    if !state.timed.isEmpty { scheduleAlarm() }
    state.turn = Turn()
    state.isInTurn = false
    isInTurn.store(false, ordering: .relaxed)
    // Not recursively: many may wait.
    guard !state.waitingTurns.isEmpty, !state.isBeginningTurns else { return }
    state.isBeginningTurns = true
    while !state.isInTurn, let next = state.waitingTurns.popFirst() { turn(next) }
    state.isBeginningTurns = false
  }

  /// A completion that continues this turn with `body`, unless the end has abandoned the turn.
  @inline(__always)
  func continuing<Answer: Sendable>(
    _ body: @escaping Completion<Answer>
  ) -> Completion<Answer> {
    if completesInline { return body }
    return { [self] result in
      queue.async { [self] in
        if state.end == nil { body(result) }
      }
    }
  }

  /// Tries the whole turn again later, if the source says so. Steps that were applied are not
  /// applied again.
  func retry(after status: Status) -> Bool {
    guard let delay = source.retryDelay(after: status, attempt: state.turn.failedAttempts) else {
      return false
    }
    if state.turn.failedAttempts == 0 {
      logger.warning("Changes are read again after an error.", metadata: ["error": "\(status)"])
    }
    state.turn.failedAttempts += 1
    state.turn.state = nil
    after(delay) { [weak self] in
      guard let self, state.end == nil else { return }
      readState()
    }
    return true
  }

  // MARK: Changes

  func begin() {
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

  func signal(_ status: Status?) {
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
  func catchUp(
    inState: (@Sendable (any SourceState) -> Void)? = nil, atEnd: (@Sendable () -> Void)? = nil
  ) {
    state.turn.inState = inState
    state.turn.atEnd = atEnd
    guard inState != nil || state.isWatching else { return conclude() }
    readState()
  }

  func readState() {
    state.turn.isAsking = true
    source.read(continuing { [self] in take($0) })
    state.turn.isAsking = false
    if state.turn.isConcluded { finishTurn() }
  }

  func take(_ result: Result<any SourceState, Status>) {
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
  func follow(_ result: Result<ChangeSteps, Status>) {
    guard let source = state.turn.state else { return conclude() }
    do {
      let steps = try result.get().steps
      state.counts.commits += steps.count
      for step in steps {
        let ready = take(upTo: step.sequence)
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

  // MARK: Relative times

  /// Schedules a turn for when the result of a query changes next without a commit.
  func scheduleAlarm() {
    guard let next = state.timed.values.compactMap(\.nextCrossing).min() else { return }
    if let alarm = state.alarm, alarm <= next { return }
    state.alarm = next
    let (distance, overflow) = next.microseconds.subtractingReportingOverflow(
      source.now.microseconds)
    // A clock may be changed: no alarm is later than in a minute.
    let microseconds = overflow ? 60_000_000 : max(0, min(distance, 60_000_000))
    after(.microseconds(microseconds)) { [weak self] in self?.checkTimes() }
  }

  /// Brings queries with relative times to the present.
  func checkTimes() {
    queue.async { [self] in
      guard state.end == nil else { return }
      turn { [self] in
        state.alarm = nil
        catchUp()
      }
    }
  }

  private func advanceTimed() {
    let now = source.now
    for view in state.timed.values where view.nextCrossing.map({ $0 <= now }) == true {
      if view.advance(to: now) { state.turn.stale.append((view, state.turn.taken.count)) }
    }
  }

  /// Fetches the results that changes alone do not show.
  func fetchStale(in source: any SourceState) {
    if !state.timed.isEmpty { advanceTimed() }
    guard !state.turn.stale.isEmpty else { return caughtUp(to: source) }
    state.turn.unfetched = state.turn.stale.count
    for index in state.turn.stale.indices { fetchStale(index, in: source) }
  }

  /// Makes the requests of a query, one after another.
  func fetchStale(_ index: Int, in source: any SourceState) {
    guard let request = state.turn.stale[index].view.request else {
      return complete(index, with: .success(()), source)
    }
    source.fetch(
      request,
      continuing { [self] fetched in
        do {
          try state.turn.stale[index].view.hold(fetched.get(), asOf: source.sequence)
          fetchStale(index, in: source)
        } catch {
          complete(index, with: .failure(Status(observing: error)), source)
        }
      })
  }

  func complete(_ index: Int, with result: Result<Void, Status>, _ source: any SourceState) {
    let (view, firstTaken) = state.turn.stale[index]
    do {
      try result.get()
      if let event = view.completed() {
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
        view.skipChanges()
      } else {
        end(view, after: status)
      }
    }
    state.turn.unfetched -= 1
    guard state.turn.unfetched == 0 else { return }
    state.turn.outbox.send()
    state.keys.forget()
    state.turn.stale.removeAll { !$0.view.isIncomplete || state.views[$0.view.target] !== $0.view }
    if let failure = state.turn.fetchFailure.take() { fail(failure) } else { caughtUp(to: source) }
  }

  func caughtUp(to source: any SourceState) {
    state.sequence = max(state.sequence, source.sequence)
    take(upTo: source.sequence)
    guard let inState = state.turn.inState else { return conclude() }
    inState(source)
  }

  /// No state can be read, or no changes.
  func fail(_ status: Status) {
    if retry(after: status) { return }
    logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
    for view in state.views.values { end(view, with: status) }
    state.turn.failure = status
    conclude()
  }

  func end(_ view: MaterializedQuery, after status: Status) {
    logger.error("A listener ends with an error.", metadata: ["error": "\(status)"])
    end(view, with: status)
  }

  func notifySync() {
    guard state.hasDelivered else { return }
    state.hasDelivered = false
    for body in state.inSync.values { body(state.sequence) }
  }

  /// Releases each acknowledgement once all listeners that the write concerns hold it. A listener
  /// that was added before the write was submitted is attached by then: it was posted the change,
  /// or waits for a first result that shows it.
  func release(_ committed: [Acknowledgement]) {
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

  func release(committedBefore committed: [Acknowledgement]) {
    showInLoads(committed)
    acknowledgements.startTimer(for: committed)
    for acknowledgement in committed {
      take(upTo: acknowledgement.sequence)
      state.unreleased[ObjectIdentifier(acknowledgement)] = nil
      acknowledgement.release()
    }
  }

  /// The acknowledgements of writes up to a sequence, which first results being read will show, too.
  @discardableResult
  func take(upTo sequence: UInt64) -> [Acknowledgement] {
    let taken = acknowledgements.take(upTo: sequence)
    guard !taken.isEmpty else { return taken }
    for acknowledgement in taken {
      state.unreleased[ObjectIdentifier(acknowledgement)] = acknowledgement
    }
    if state.turn.taken.isEmpty { state.turn.taken = taken } else { state.turn.taken += taken }
    showInLoads(taken)
    return taken
  }

  /// First results being read will show these writes. A read that takes long is not waited for,
  /// like a callback.
  func showInLoads(_ acknowledgements: some Collection<Acknowledgement>) {
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

  /// The materialized queries that have yet to apply the step and may change by it. Sets their
  /// `pending`.
  func touched(by step: ChangeStep, _ router: ListenerIndex) throws -> [MaterializedQuery] {
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
  func update(
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
        // The documents of a commit are judged at the present, not at the time of the last crossing.
        if view.isTimed, view.advance(to: source.now) {
          state.turn.stale.append((view, firstTaken))
        }
        switch try view.update(to: step.sequence) {
        case .unchanged: view.renewRoutes(in: state.router)
        case .changed(let event):
          deliver(view, event, for: acknowledgements, &outbox)
          view.renewRoutes(in: state.router)
        case .incomplete:
          state.turn.stale.append((view, firstTaken))
          view.renewRoutes(in: state.router)
        }
      } catch {
        end(view, after: Status(observing: error))
      }
    }
  }

  func deliver(
    _ view: MaterializedQuery, _ event: ResultEvent, for acknowledgements: [Acknowledgement],
    _ outbox: inout PendingDeliveries
  ) {
    for listener in view.listeners { listener.post(event, for: acknowledgements, &outbox) }
    state.counts.updates += 1
    state.hasDelivered = true
  }
}
