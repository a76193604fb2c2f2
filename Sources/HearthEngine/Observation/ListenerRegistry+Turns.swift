import Logging

/// Turns: one at a time reads the source, applies changes to the affected queries, posts their
/// events, and releases the writes that wait for them.
///
///            a turn       the newest      changes          results of         a new query
///            begins       state           since the last   stale queries      follows, alone
///     idle ─────────▶ reading ─────▶ following ─────▶ fetching ─────▶ adding ─────▶ ended ─▶ idle
///                        │  ▲            │               │               │            ▲
///                        │  └── later ───┴── an error ───┴───────────────┘            │
///                        └──── an error that stays, or nothing more is needed ────────┘
///
/// `step` takes each answer of the source and makes the next requests; a phase with nothing to do is
/// skipped. `proceed` ends a turn and begins the next one. A source that completes inline answers
/// while `read` runs: the state is released when it returns, and only then does the turn end.
/// Otherwise an answer arrives in a block of its own on `queue`, and is ignored after the end.
extension ListenerRegistry {
  /// How far the present turn is. A phase that has a state waits for answers from it.
  enum Phase {
    case idle
    /// Asked for the newest state, or will ask again.
    case reading
    /// Asked for the changes of all materialized queries, to apply them commit by commit.
    case following(any SourceState)
    case fetching(Fetching)
    /// Asked for the changes that a new query has missed, or for its results.
    case adding(MaterializedQuery, any SourceState)
    /// Needs nothing more of the source; with the error that the turn failed with.
    case ended(Status?)
  }

  /// Requests for the results of all stale queries.
  struct Fetching {
    let source: any SourceState
    /// How many queries have not been fetched.
    var count: Int
    /// An error after which the turn reads again.
    var failure: Status?
    var outbox = CallbackOutbox()
  }

  /// The purpose of a turn: done when all materialized queries show the newest state, or after the
  /// turn has failed.
  enum Goal {
    /// Nothing: the source has signalled, or time has passed.
    case present
    case release([Acknowledgement])
    /// Listeners of a query that is there have their first result.
    case join(load: Int)
    /// A query that was read is added, and its listeners have their first result.
    case add(Loaded, load: Int)
  }

  /// The part of a turn that all its phases need.
  struct Turn {
    var goal: Goal?
    /// Acknowledgements that this turn took, in the order of their commits.
    var taken: [Acknowledgement] = []
    /// Queries whose results have to be fetched, and from which of `taken` on the results show the
    /// writes.
    var stale: [(view: MaterializedQuery, firstTaken: Int)] = []
    /// How many attempts to read have failed.
    var failedAttempts = 0
  }

  private enum Answer {
    case state(Result<any SourceState, Status>)
    case changes(Result<ChangeSteps, Status>)
    /// All requests of a query were answered: of the stale one with this index, or of the new one.
    case results(Int, Result<Void, Status>)
  }

  /// Runs `body` on the queue when the turns before it have ended. For the goal that it returns, the
  /// turn goes to the newest state; without one it needs nothing of the source.
  func turn(_ body: @escaping @Sendable () -> Goal?) {
    state.waitingTurns.append(body)
    if case .idle = state.phase { proceed() }
  }

  /// Ends the turn that needs nothing more, and begins those that wait, until one needs an answer.
  func proceed() {
    while true {
      switch state.phase {
      case .idle:
        guard let begin = state.waitingTurns.popFirst() else { return }
        isInTurn.store(true, ordering: .relaxed)
        state.phase = .reading
        state.turn.goal = begin()
        switch state.turn.goal {
        case .add?: read()
        case _? where state.isWatching: read()
        default: state.phase = .ended(nil)
        }
      case .ended(let failure):
        notifySync()
        finish(state.turn.goal, failure)
        notifySync()
        if !state.timed.views.isEmpty { scheduleAlarm() }
        state.turn = Turn()
        state.phase = .idle
        isInTurn.store(false, ordering: .relaxed)
      case .reading, .following, .fetching, .adding: return
      }
    }
  }

  private func finish(_ goal: Goal?, _ failure: Status?) {
    switch goal {
    case nil, .present: break
    case .release(let committed):
      state.loads.show(committed)
      acknowledgements.startTimer(for: committed)
      for acknowledgement in committed {
        take(upTo: acknowledgement.sequence)
        state.unreleased[ObjectIdentifier(acknowledgement)] = nil
        acknowledgement.release()
      }
    case .join(let number):
      // Catching up may have ended the materialized query.
      guard let target = state.loads.all[number]?.target, let view = state.views[target] else {
        return load(number)
      }
      join(number, view)
    case .add(let loaded, let number):
      guard let view = state.views[loaded.view.target] else {
        return failLoad(number, with: failure)
      }
      join(number, view, after: loaded.past, isFullResync: loaded.isFullResync)
    }
  }

  /// A completion that continues this turn with `body`, unless the end has abandoned the turn.
  @inline(__always)
  private func continuing<Reply: Sendable>(
    _ body: @escaping Completion<Reply>
  ) -> Completion<Reply> {
    if completesInline { return body }
    return { [self] result in
      queue.async { [self] in
        guard state.end == nil else { return }
        body(result)
        proceed()
      }
    }
  }

  private func read() {
    source.read(until: nil, continuing { [self] in step(.state($0)) })
  }

  /// Takes an answer of the source, and makes the next requests.
  private func step(_ answer: Answer) {
    do {
      switch (state.phase, answer) {
      case (.reading, .state(let read)):
        let source = try read.get()
        if source.sequence > state.observers.tailSequence {
          state.observers.tailSequence = source.sequence
          for tail in state.observers.tails.values { tail() }
        }
        guard source.sequence > state.sequence, !state.views.isEmpty else {
          return fetchStale(in: source)
        }
        state.phase = .following(source)
        source.changes(
          after: state.sequence, into: ChangeSteps(watchedBy: state.router, tuning),
          continuing { [self] in step(.changes($0)) })

      case (.following(let source), .changes(let read)):
        do {
          let steps = try read.get().steps
          state.counts.commits += steps.count
          for step in steps { try apply(step) }
        } catch {
          let status = Status(observing: error)
          guard status.isOfTheLog else { throw status }
          // A damaged document ends the materialized queries that hold it, not the others.
          state.counts.reloads += 1
          for view in state.views.values where !view.mustFetch {
            if !view.isIncomplete { state.turn.stale.append((view, 0)) }
            view.skipChanges()
          }
        }
        // The others show this state. If fetching fails and is tried again, it is in a later one.
        state.sequence = source.sequence
        fetchStale(in: source)

      case (.fetching(var fetching), .results(let index, let read)):
        // Its parts are changed in place: nothing else holds them.
        state.phase = .reading
        complete(state.turn.stale[index], with: read, &fetching)
        fetching.count -= 1
        guard fetching.count == 0 else { return state.phase = .fetching(fetching) }
        fetching.outbox.send()
        state.keys.forget()
        state.turn.stale.removeAll { view, _ in
          !view.isIncomplete || state.views[view.target] !== view
        }
        if let failure = fetching.failure { throw failure }
        caughtUp(to: fetching.source)

      case (.adding(let view, let source), .changes(let read)):
        do {
          let steps = try read.get()
          for step in steps.steps {
            for view in try touched(by: step, steps.index) {
              _ = try view.update(to: step.sequence)
              view.renewRoutes(in: steps.index)
            }
          }
        } catch {
          let status = Status(observing: error)
          guard status.isOfTheLog else { throw status }
          view.skipChanges()
        }
        fill(view, in: source) { [self] in step(.results(0, $0)) }

      case (.adding(let view, _), .results(_, let read)):
        // Answers in another state do not go with these.
        if case .failure = read { view.skipChanges() }
        try read.get()
        _ = view.completed()
        state.views[view.target] = view
        if view.isTimed { state.timed.views[ObjectIdentifier(view)] = view }
        view.share(state.keys)
        view.addRoutes(to: state.router)
        state.phase = .ended(nil)

      // A source that answers twice is wrong; a service does not stop for it.
      default: assertionFailure("A source answers only what the present turn has asked it.")
      }
    } catch {
      fail(Status(observing: error))
    }
  }

  /// Fetches the results that changes alone do not show.
  private func fetchStale(in source: any SourceState) {
    if !state.timed.views.isEmpty {
      let now = self.source.now
      for view in state.timed.views.values
      where view.nextCrossing.map({ $0 <= now }) == true && view.advance(to: now) {
        state.turn.stale.append((view, state.turn.taken.count))
      }
    }
    guard !state.turn.stale.isEmpty else { return caughtUp(to: source) }
    state.phase = .fetching(Fetching(source: source, count: state.turn.stale.count))
    for index in state.turn.stale.indices {
      fill(state.turn.stale[index].view, in: source) { [self] in step(.results(index, $0)) }
    }
  }

  /// Makes the requests of a query, one after another.
  ///
  /// - Parameter isFirst: It is for a new listener, and no turn waits for the answers.
  func fill(
    _ view: MaterializedQuery, in source: any SourceState, isFirst: Bool = false,
    _ done: @escaping Completion<Void>
  ) {
    guard let request = view.content.request else { return done(.success(())) }
    let hold: Completion<ReadAnswer> = { [self] fetched in
      do {
        try view.hold(fetched.get(), asOf: source.sequence)
      } catch {
        return done(.failure(Status(observing: error)))
      }
      fill(view, in: source, isFirst: isFirst, done)
    }
    source.fetch(request, asOf: nil, isFirst: isFirst, isFirst ? hold : continuing(hold))
  }

  /// The requests of a stale query were answered, or one of them failed.
  private func complete(
    _ stale: (view: MaterializedQuery, firstTaken: Int), with results: Result<Void, Status>,
    _ fetching: inout Fetching
  ) {
    let (view, firstTaken) = stale
    if case .failure(let status) = results {
      guard source.retryDelay(after: status, attempt: state.turn.failedAttempts) != nil else {
        return end(view, after: status)
      }
      fetching.failure = status
      return view.skipChanges()
    }
    if let event = view.completed() {
      // It shows later commits, too.
      let shown = state.turn.taken[firstTaken...] + acknowledgements.peek(upTo: view.sequence)
      deliver(view, event, for: Array(shown), &fetching.outbox)
      // The other results may come much later.
      if !completesInline { fetching.outbox.send() }
    }
    view.renewRoutes(in: state.router)
  }

  /// All materialized queries show the newest state. Lets a new one, and no other, apply what was
  /// committed since it was read.
  ///
  /// The others have applied these changes in one step. Replaying them would show intermediate
  /// versions that the others have skipped.
  private func caughtUp(to source: any SourceState) {
    state.sequence = max(state.sequence, source.sequence)
    take(upTo: source.sequence)
    guard case .add(let loaded, _) = state.turn.goal, state.views[loaded.view.target] == nil else {
      return state.phase = .ended(nil)
    }
    let view = loaded.view
    state.phase = .adding(view, source)
    // Like those that were added before; see `apply`.
    if view.isTimed, !view.mustFetch { view.move(to: self.source.now) }
    guard view.sequence < state.sequence, !view.mustFetch else {
      return fill(view, in: source) { [self] in step(.results(0, $0)) }
    }
    let alone = ListenerIndex()
    view.addRoutes(to: alone)
    source.changes(
      after: view.sequence, into: ChangeSteps(watchedBy: alone, tuning),
      continuing { [self] in step(.changes($0)) })
  }

  /// Tries the whole turn again later, if the source says so: steps that were applied are not
  /// applied again. Otherwise no materialized query is left, or the new one is not added.
  private func fail(_ status: Status) {
    if let delay = source.retryDelay(after: status, attempt: state.turn.failedAttempts) {
      if state.turn.failedAttempts == 0 {
        logger.warning("Changes are read again after an error.", metadata: ["error": "\(status)"])
      }
      state.turn.failedAttempts += 1
      state.phase = .reading
      return after(delay) { [weak self] in
        guard let self, state.end == nil else { return }
        read()
        proceed()
      }
    }
    switch state.phase {
    case .adding: break
    default:
      logger.error("Listeners end with an error.", metadata: ["error": "\(status)"])
      for view in state.views.values { end(view, with: status) }
    }
    state.phase = .ended(status)
  }

  func notifySync() {
    guard state.observers.hasDelivered else { return }
    state.observers.hasDelivered = false
    for body in state.observers.inSync.values { body(state.sequence) }
  }

  /// Schedules a turn for when the result of a query changes next without a commit.
  private func scheduleAlarm() {
    guard let next = state.timed.views.values.compactMap(\.nextCrossing).min() else { return }
    if let alarm = state.timed.alarm, alarm <= next { return }
    state.timed.alarm = next
    let (distance, overflow) = next.microseconds.subtractingReportingOverflow(
      source.now.microseconds)
    // A clock may be changed: no alarm is later than in a minute.
    let microseconds = overflow ? 60_000_000 : max(0, min(distance, 60_000_000))
    after(.microseconds(microseconds)) { [weak self] in self?.checkTimes() }
  }

  /// Brings queries with relative times to the present.
  func checkTimes() {
    enqueueTurn { [self] in
      state.timed.alarm = nil
      return .present
    }
  }

  /// The acknowledgements of writes up to a sequence, which first results being read will show, too.
  @discardableResult
  private func take(upTo sequence: UInt64) -> [Acknowledgement] {
    let taken = acknowledgements.take(upTo: sequence)
    guard !taken.isEmpty else { return taken }
    for acknowledgement in taken {
      state.unreleased[ObjectIdentifier(acknowledgement)] = acknowledgement
    }
    if state.turn.taken.isEmpty { state.turn.taken = taken } else { state.turn.taken += taken }
    state.loads.show(taken)
    return taken
  }

  // MARK: Changes

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
  private func apply(_ step: ChangeStep) throws {
    let ready = take(upTo: step.sequence)
    // Earlier ones belong to commits that no materialized query depends on.
    let awaiting = step.isMerged ? ready : ready.filter { $0.sequence == step.sequence }
    // A result fetched later shows them, too.
    let firstTaken = state.turn.taken.count - ready.count
    let touched = try touched(by: step, state.router)
    state.counts.visits += touched.count
    var outbox = CallbackOutbox()
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
        case .unchanged: break
        case .changed(let event): deliver(view, event, for: awaiting, &outbox)
        case .incomplete: state.turn.stale.append((view, firstTaken))
        }
        view.renewRoutes(in: state.router)
      } catch {
        end(view, after: Status(observing: error))
      }
    }
  }

  private func deliver(
    _ view: MaterializedQuery, _ event: ResultEvent, for acknowledgements: [Acknowledgement],
    _ outbox: inout CallbackOutbox
  ) {
    for listener in view.listeners { listener.post(event, for: acknowledgements, &outbox) }
    state.counts.updates += 1
    state.observers.hasDelivered = true
  }

  private func end(_ view: MaterializedQuery, after status: Status) {
    logger.error("A listener ends with an error.", metadata: ["error": "\(status)"])
    end(view, with: status)
  }
}
