import Dispatch

/// New listeners: their first results, and the queries that are added for them.
extension ListenerRegistry {
  struct Load {
    let target: Listener.Target
    let start: Start
    var listeners: [Listener]
    /// Acknowledgements of writes that the first result may show.
    var acknowledgements: [ObjectIdentifier: Acknowledgement] = [:]
    /// Ends the read when all of the listeners are removed.
    let reading = ReadCancellation()
    let began = ContinuousClock.now
    var failedAttempts = 0

    var isWanted: Bool { listeners.contains { !$0.isRemoved } }
  }

  /// First results being read.
  struct Loads {
    var all: [Int: Load] = [:]
    /// The one that later listeners of a target join.
    var shared: [Listener.Target: Int] = [:]
    private(set) var last = 0

    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ load: Load) -> Int {
      last += 1
      all[last] = load
      return last
    }

    /// Later listeners read for themselves.
    mutating func unshare(_ number: Int) {
      if let target = all[number]?.target, shared[target] == number { shared[target] = nil }
    }

    /// Ends the read if its listeners are removed. A file that is closed, and later listeners, would
    /// wait for it. The load stays until the read has ended.
    mutating func abandon(_ number: Int) {
      guard let load = all[number], !load.isWanted else { return }
      load.reading.cancel()
      unshare(number)
    }

    mutating func remove(_ number: Int) -> Load? {
      unshare(number)
      return all.removeValue(forKey: number)
    }

    /// The results will show these writes. A read that takes long is not waited for, like a callback.
    mutating func show(_ acknowledgements: some Collection<Acknowledgement>) {
      guard !acknowledgements.isEmpty, !all.isEmpty else { return }
      let earliest = ContinuousClock.now - Acknowledgements.patience
      for number in Array(all.keys) {
        guard let (scope, began) = all[number].map({ ($0.target.scope, $0.began) }),
          began > earliest
        else { continue }
        for acknowledgement in acknowledgements
        where acknowledgement.paths.contains(where: scope.contains) {
          let id = ObjectIdentifier(acknowledgement)
          let known = all[number]?.acknowledgements.updateValue(acknowledgement, forKey: id)
          if known == nil { acknowledgement.hold() }
        }
      }
    }
  }

  struct Loaded: Sendable {
    var view: MaterializedQuery
    /// The state that the listener resumes from.
    var past: ResultList?
    var isFullResync = false
  }

  /// Begins a turn for a new listener.
  func attach(_ listener: Listener, _ target: Listener.Target, from start: Start) -> Goal? {
    guard !listener.isRemoved else { return nil }
    if let end = state.end {
      self.end(listener, of: target, with: end.status)
      return nil
    }
    // First, so that completions find the listener in any case.
    let number = state.loads.add(Load(target: target, start: start, listeners: [listener]))
    listener.load = number
    state.loads.show(state.unreleased.values)
    if start == .now, state.views[target] != nil { return .join(load: number) }
    load(number)
    return nil
  }

  /// Reads the first result, or waits for one that is being read.
  func load(_ number: Int) {
    guard let load = wanted(number) else { return }
    if load.start == .now {
      if let shared = state.loads.shared[load.target] {
        state.loads.all[number] = nil
        state.loads.all[shared]?.listeners += load.listeners
        for listener in load.listeners { listener.load = shared }
        for (id, acknowledgement) in load.acknowledgements {
          let known = state.loads.all[shared]?.acknowledgements.updateValue(
            acknowledgement, forKey: id)
          known?.release()
        }
        return
      }
      state.loads.shared[load.target] = number
    }
    read(number)
  }

  /// The load, unless it has ended. If its listeners are removed, nobody may join it: it ends now.
  private func wanted(_ number: Int) -> Load? {
    if let load = state.loads.all[number], load.isWanted { return load }
    failLoad(number, with: nil)
    return nil
  }

  private func read(_ number: Int) {
    guard let load = state.loads.all[number] else { return }
    let (target, start, reading) = (load.target, load.start, load.reading)
    let read = { @Sendable [self] in
      self.read(target, from: start, until: .at(reading)) { [self] loaded in
        enqueueTurn { [self] in install(loaded, number) }
      }
    }
    if completesInline { loader.async(execute: read) } else { read() }
  }

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
  }

  /// The listeners of a load have their result, or will never get it.
  private func finishLoad(_ number: Int, _ body: (Load) -> Void) {
    guard var load = state.loads.remove(number) else { return }
    load.reading.cancel()
    load.listeners.removeAll(where: \.isRemoved)
    body(load)
    for acknowledgement in load.acknowledgements.values { acknowledgement.release() }
  }

  func failLoad(_ number: Int, with status: Status?) {
    finishLoad(number) { load in
      for listener in load.listeners { end(listener, of: load.target, with: status) }
    }
    stopUnlessNeeded()
  }

  /// Reads the result of a new query, and the earlier one that its listener knows.
  private func read(
    _ target: Listener.Target, from start: Start, until deadline: ReadDeadline,
    _ done: @escaping Completion<Loaded>
  ) {
    let view = MaterializedQuery(target, tuning)
    if view.isTimed { view.move(to: source.now) }
    source.read(until: deadline) { [self] result in
      do throws(Status) {
        let state = try result.get()
        fill(view, in: state, isFirst: true) { filled in
          if case .failure(let status) = filled { return done(.failure(status)) }
          // If the state of the token is newer, it was lost: the newest commits of a file without
          // flushes, or a file that was replaced by an older one.
          guard case .after(let sequence) = start, sequence <= view.sequence else {
            return done(.success(Loaded(view: view, isFullResync: start != .now)))
          }
          guard let request = view.content.pastRequest else {
            // Values are delivered as a whole anyway.
            let isFullResync = view.event().values == nil
            return done(.success(Loaded(view: view, isFullResync: isFullResync)))
          }
          state.fetch(request, asOf: sequence, isFirst: false) { fetched in
            do {
              done(.success(Loaded(view: view, past: try view.content.list(of: fetched.get()))))
            } catch let status as Status where status.isOfTheLog {
              done(.success(Loaded(view: view, isFullResync: true)))
            } catch {
              done(.failure(Status(observing: error)))
            }
          }
        }
      } catch {
        done(.failure(error))
      }
    }
  }

  private func install(_ loaded: Result<Loaded, Status>, _ number: Int) -> Goal? {
    guard let load = wanted(number) else { return nil }
    switch loaded {
    case .success(let loaded):
      // Later listeners read for themselves: this turn may end the load.
      state.loads.unshare(number)
      // In this order: a commit after the state that is read next gives a signal.
      watch()
      return .add(loaded, load: number)
    case .failure(let status):
      if let delay = source.retryDelay(after: status, attempt: load.failedAttempts) {
        state.loads.all[number]?.failedAttempts += 1
        after(delay) { [self] in read(number) }
      } else {
        failLoad(number, with: status)
      }
      return nil
    }
  }

  func join(
    _ number: Int, _ view: MaterializedQuery, after past: ResultList? = nil,
    isFullResync: Bool = false
  ) {
    finishLoad(number) { load in
      for listener in load.listeners {
        view.listeners.append(listener)
        state.observers.hasDelivered = true
        listener.begin(
          view.event(as: state.sequence, isFullResync: isFullResync), after: past,
          for: Array(load.acknowledgements.values))
      }
    }
  }

  func end(_ view: MaterializedQuery, with status: Status?) {
    // Not one after another out of the list: there may be a hundred thousand.
    let listeners = view.listeners
    view.listeners = []
    for listener in listeners {
      end(listener, of: view.target, with: status)
      state.counts.add(listener.counts)
    }
    drop(view)
  }

  func drop(_ view: MaterializedQuery) {
    view.removeRoutes(from: state.router)
    state.counts.refills += view.refills
    state.views[view.target] = nil
    state.timed.views[ObjectIdentifier(view)] = nil
    view.giveBack(to: state.keys)
    stopUnlessNeeded()
  }
}
