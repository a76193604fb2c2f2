import Dispatch

/// New listeners: their first results, and the queries that are added for them.
extension ListenerRegistry {
  func attach(_ listener: Listener, _ target: Listener.Target, from start: Start) {
    guard !listener.isRemoved else { return conclude() }
    if let end = state.end {
      self.end(listener, of: target, with: end.status)
      return conclude()
    }
    // First, so that completions find the listener in any case.
    state.lastLoad += 1
    let number = state.lastLoad
    state.loads[number] = Load(target: target, start: start, listeners: [listener])
    listener.load = number
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
  func load(_ number: Int) {
    guard let load = state.loads[number] else { return }
    // Its read is cancelled: nobody may join it.
    guard isWanted(number) else { return failLoad(number, with: nil) }
    if load.start == .now {
      if let shared = state.sharedLoads[load.target] {
        state.loads[number] = nil
        state.loads[shared]?.listeners += load.listeners
        for listener in load.listeners { listener.load = shared }
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

  func read(
    _ number: Int, _ target: Listener.Target, from start: Start, failedAttempts: Int = 0
  ) {
    guard let reading = state.loads[number]?.reading else { return }
    let read = { @Sendable [self] in
      load(target, from: start, until: .at(reading)) { [self] loaded in
        queue.async { [self] in
          turn { [self] in install(loaded, number, failedAttempts: failedAttempts) }
        }
      }
    }
    if completesInline { loader.async(execute: read) } else { read() }
  }

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
  }

  /// The load exists, and one of its listeners was not removed.
  func isWanted(_ number: Int) -> Bool {
    state.loads[number]?.listeners.contains { !$0.isRemoved } == true
  }

  /// Ends the read for a listener that is removed, unless others wait for the same result. A file
  /// that is closed, and later listeners, would wait for it.
  func abandonLoad(of listener: Listener) {
    guard let number = listener.load, let load = state.loads[number], !isWanted(number) else {
      return
    }
    load.reading.cancel()
    // It stays until the read has ended. A listener that comes meanwhile reads for itself.
    if state.sharedLoads[load.target] == number { state.sharedLoads[load.target] = nil }
  }

  /// The listeners of a load have their result, or will never get it.
  func finishLoad(_ number: Int, _ body: (Load) -> Void) {
    guard var load = state.loads.removeValue(forKey: number) else { return }
    load.reading.cancel()
    if state.sharedLoads[load.target] == number { state.sharedLoads[load.target] = nil }
    load.listeners.removeAll(where: \.isRemoved)
    body(load)
    for acknowledgement in load.acknowledgements.values { acknowledgement.release() }
    callLoadWaiters()
  }

  func failLoad(_ number: Int, with status: Status?) {
    finishLoad(number) { load in
      for listener in load.listeners { end(listener, of: load.target, with: status) }
    }
    stopUnlessNeeded()
  }

  func callLoadWaiters() {
    guard !state.loadWaiters.isEmpty else { return }
    let earliest = state.loads.keys.min() ?? .max
    let due = state.loadWaiters.filter { $0.last < earliest }
    state.loadWaiters.removeAll { $0.last < earliest }
    for waiter in due { waiter.body() }
  }

  struct Loaded: Sendable {
    var view: MaterializedQuery
    /// The state that the listener resumes from.
    var past: ResultList?
    var isFullResync = false
  }

  func load(
    _ target: Listener.Target, from start: Start, until deadline: ReadDeadline,
    _ done: @escaping Completion<Loaded>
  ) {
    let view = MaterializedQuery(target, tuning)
    if view.isTimed { view.move(to: source.now) }
    source.read(until: deadline) { [self] result in
      do throws(Status) {
        let state = try result.get()
        fill(view, in: state, isFirst: true) { [self] filled in
          do {
            try filled.get()
            guard case .after(let sequence) = start else {
              return done(.success(Loaded(view: view, isFullResync: start == .reset)))
            }
            // The state of the token was lost: the newest commits of a file without flushes, or a file
            // that was replaced by an older one.
            guard sequence <= view.sequence else {
              return done(.success(Loaded(view: view, isFullResync: true)))
            }
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

  /// Makes the requests of a query that is in no turn, one after another.
  func fill(
    _ view: MaterializedQuery, in state: any SourceState, isFirst: Bool,
    _ done: @escaping Completion<Void>
  ) {
    guard let request = view.request else { return done(.success(())) }
    state.fetch(request, asOf: nil, isFirst: isFirst) { [self] fetched in
      do {
        try view.hold(fetched.get(), asOf: state.sequence)
      } catch {
        return done(.failure(Status(observing: error)))
      }
      fill(view, in: state, isFirst: isFirst, done)
    }
  }

  func load(
    _ view: MaterializedQuery, asOf sequence: UInt64, _ state: any SourceState,
    _ done: @escaping Completion<Loaded>
  ) {
    guard let request = view.pastRequest else {
      switch view.target {
      case .joined, .query: return done(.success(Loaded(view: view, isFullResync: true)))
      default: break
      }
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

  func install(_ loaded: Result<Loaded, Status>, _ number: Int, failedAttempts: Int) {
    guard isWanted(number), let load = state.loads[number] else {
      failLoad(number, with: nil)
      return conclude()
    }
    if case .failure(let status) = loaded,
      let delay = source.retryDelay(after: status, attempt: failedAttempts)
    {
      after(delay) { [self] in
        read(number, load.target, from: load.start, failedAttempts: failedAttempts + 1)
      }
      return conclude()
    }
    // Later listeners read for themselves: this turn may end the load.
    if state.sharedLoads[load.target] == number { state.sharedLoads[load.target] = nil }
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
  func add(_ view: MaterializedQuery, in source: any SourceState) {
    if state.views[view.target] != nil { return conclude() }
    if view.mustFetch { return fetch(view, in: source) }
    // Like those that were added before; see `update`.
    if view.isTimed { view.move(to: self.source.now) }
    guard view.sequence < state.sequence else { return complete(view, in: source) }
    let alone = ListenerIndex()
    view.addRoutes(to: alone)
    source.changes(
      after: view.sequence, into: ChangeSteps(watchedBy: alone, tuning),
      continuing { [self] result in
        do {
          let steps = try result.get()
          for step in steps.steps {
            for touched in try touched(by: step, steps.index) {
              _ = try touched.update(to: step.sequence)
              if touched.mustFetch { return fetch(view, in: source) }
              touched.renewRoutes(in: steps.index)
            }
          }
          complete(view, in: source)
        } catch let status as Status where status.isOfTheLog {
          fetch(view, in: source)
        } catch {
          failToAdd(Status(observing: error))
        }
      })
  }

  func fetch(_ view: MaterializedQuery, in source: any SourceState) {
    view.skipChanges()
    complete(view, in: source)
  }

  /// Makes the requests of a query, and inserts it.
  func complete(_ view: MaterializedQuery, in source: any SourceState) {
    guard let request = view.request else {
      _ = view.completed()
      return insert(view)
    }
    source.fetch(
      request,
      continuing { [self] fetched in
        do {
          try view.hold(fetched.get(), asOf: source.sequence)
          complete(view, in: source)
        } catch {
          // Answers in another state do not go with these.
          view.skipChanges()
          failToAdd(Status(observing: error))
        }
      })
  }

  func insert(_ view: MaterializedQuery) {
    state.views[view.target] = view
    if view.isTimed { state.timed[ObjectIdentifier(view)] = view }
    view.share(state.keys)
    view.addRoutes(to: state.router)
    conclude()
  }

  func failToAdd(_ status: Status) {
    if retry(after: status) { return }
    state.turn.failure = status
    conclude()
  }

  func join(
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

  func forget(_ listener: Listener, in view: MaterializedQuery) {
    guard let index = view.listeners.firstIndex(where: { $0 === listener }) else { return }
    view.listeners.remove(at: index)
    keepCounts(of: listener)
  }

  private func keepCounts(of listener: Listener) {
    let counts = listener.counts
    state.counts.ended.delivered += counts.delivered
    state.counts.ended.skipped += counts.skipped
  }

  func end(_ view: MaterializedQuery, with status: Status?) {
    // Not one after another out of the list: there may be a hundred thousand.
    let listeners = view.listeners
    view.listeners = []
    for listener in listeners {
      end(listener, of: view.target, with: status)
      keepCounts(of: listener)
    }
    drop(view)
  }

  func drop(_ view: MaterializedQuery) {
    view.removeRoutes(from: state.router)
    state.counts.refills += view.refills
    state.views[view.target] = nil
    state.timed[ObjectIdentifier(view)] = nil
    view.giveBack(to: state.keys)
    stopUnlessNeeded()
  }
}
