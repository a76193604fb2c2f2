import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One listener's mailbox: what it was told last, and what it has not been told yet.
///
/// Holds at most one untold result, however slow its consumer: a newer one takes the place of the
/// one that waits, and the changes are then worked out from what was told. Memory is bounded by two
/// results, which share all documents that did not change.
final class Listener: Sendable {
  fileprivate enum Untold {
    /// The commit right after what was told, with its changes.
    case next(ResultEvent)
    /// Several commits later, or the first.
    case latest(ResultEvent)
    indirect case failure(Status)
  }

  /// Of an event what is compared with a later one: its changes are not kept.
  fileprivate struct Told {
    var list: ResultList
    var values: [Value]?
  }

  /// What is taken out of the mailbox at once.
  fileprivate struct Next {
    var untold: Untold?
    /// Before it.
    var told: Told?
    var mustTell = false
  }

  fileprivate struct State {
    var told: Told?
    var untold: Untold?
    /// The first one is told even if nothing changed since what it goes on from.
    var mustTell = true
    var isRemoved = false
    var isScheduled = false
    var isRunning = false
    /// They wait for the callback to end.
    var removers: [DispatchSemaphore] = []
    var counts = Counts()
  }

  struct Counts {
    var told = 0
    /// Results that gave way to newer ones before they were told.
    var skipped = 0
  }

  private let state = Guarded(State())
  private let callback: @Sendable (Result<ResultEvent, Status>) -> Void
  private let way: Way

  /// How it comes about that `deliver` is called soon, where the callback belongs.
  enum Way: Sendable {
    case room(Mailroom)
    /// Arranges it. Never called while it is arranged.
    case schedule(@Sendable (Listener) -> Void)
  }

  init(
    _ way: Way, callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    self.way = way
    self.callback = callback
  }

  var isRemoved: Bool { state.withLock(\.isRemoved) }
  var counts: Counts { state.withLock(\.counts) }
  /// It has been posted something that its consumer has not taken.
  var isBehind: Bool { state.withLock { $0.untold != nil } }

  /// No callback begins after this returned, and none is running unless this is called from one, or from a
  /// write closure: two callbacks that remove each other's listeners would wait for ever, and so would a
  /// closure for a callback that waits to write.
  func remove() {
    let isInside = Delivery.isOnThisThread || WriterWaits.isOnWritersThread
    let mustWait: DispatchSemaphore? = state.withLock { state in
      state.isRemoved = true
      state.untold = nil
      state.told = nil
      guard state.isRunning, !isInside else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.removers.append(semaphore)
      return semaphore
    }
    mustWait?.wait()
  }

  // MARK: The registry's side

  /// The first result. All of it is new, or what changed since `past`.
  func begin(_ event: ResultEvent, after past: ResultList? = nil) {
    if let past { state.withLock { $0.told = Told(list: past) } }
    postAlone { _ in .latest(event) }
  }

  /// A commit changed the result the listener was told, or will be told before. Called back when the
  /// outbox is sent.
  func post(_ event: ResultEvent, _ outbox: inout Outbox) {
    let mustSchedule = post { state in
      guard let untold = state.untold else { return .next(event) }
      state.counts.skipped += 1
      if case .latest(let first) = untold, first.isReset { return .latest(event.reset) }
      return .latest(event)
    }
    guard mustSchedule else { return }
    switch way {
    case .room(let room): outbox.add(self, room)
    case .schedule(let schedule): schedule(self)
    }
  }

  /// The listener ends with an error.
  func fail(_ status: Status) {
    postAlone { _ in .failure(status) }
  }

  private func postAlone(_ make: (inout State) -> Untold) {
    if post(make) { arrange() }
  }

  private func arrange() {
    switch way {
    case .room(let room): room.add(CollectionOfOne(self))
    case .schedule(let schedule): schedule(self)
    }
  }

  /// Whether `deliver` is to be arranged.
  @inline(__always)
  private func post(_ make: (inout State) -> Untold) -> Bool {
    state.withLock { state in
      guard !state.isRemoved else { return false }
      state.untold = make(&state)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  // MARK: The consumer's side

  /// Calls back with what is untold. What is posted from now on takes a turn of its own: a listener that is
  /// slow, and always has more, leaves the queue to others in between.
  func deliver() {
    guard let next = begin() else { return }
    let wasInside = Delivery.enter()
    if let event = event(of: next) { callback(event) }
    Delivery.leave(wasInside)
    if end() { arrange() }
  }

  /// Nil if another thread is calling back: when that ends it sees that there is more.
  private func begin() -> Next? {
    state.withLock { state in
      state.isScheduled = false
      guard !state.isRunning else { return nil }
      state.isRunning = true
      return state.next()
    }
  }

  /// Whether there is more that nobody has arranged for.
  private func end() -> Bool {
    let (mustArrange, waiting): (Bool, [DispatchSemaphore]) = state.withLock { state in
      state.isRunning = false
      let mustArrange = state.untold != nil && !state.isScheduled
      if mustArrange { state.isScheduled = true }
      defer { state.removers = [] }
      return (mustArrange, state.removers)
    }
    for semaphore in waiting { semaphore.signal() }
    return mustArrange
  }

  /// The next untold event. Once it is nil, and with each turn, `schedule` is called when there is one
  /// again.
  func take() -> Result<ResultEvent, Status>? {
    event(of: state.withLock { $0.next() })
  }

  /// What is told, of this or of what comes next. Working out changes can be long: not under the lock.
  private func event(of next: Next) -> Result<ResultEvent, Status>? {
    var next = next
    while true {
      switch next.untold {
      case nil: return nil
      case .next(let event): return .success(event)
      case .failure(let status): return .failure(status)
      case .latest(let event):
        guard let told = next.told else { return .success(event.with(nil)) }
        // Changes that cancelled each other are no news; a first result is, even if empty.
        if let values = event.values {
          if values != told.values || next.mustTell { return .success(event) }
        } else {
          let changes = told.list.changes(to: event.list)
          if !changes.isEmpty || next.mustTell { return .success(event.with(changes)) }
        }
      }
      next = state.withLock { $0.next() }
    }
  }
}

extension Listener.State {
  fileprivate mutating func next() -> Listener.Next {
    guard !isRemoved, let untold else {
      if !isRunning { isScheduled = false }
      return Listener.Next()
    }
    self.untold = nil
    let next = Listener.Next(untold: untold, told: told.take(), mustTell: mustTell)
    switch untold {
    case .next(let event), .latest(let event):
      told = Listener.Told(list: event.list, values: event.values)
      mustTell = false
      counts.told += 1
    case .failure: isRemoved = true
    }
    return next
  }
}

/// Whether a thread runs some listener's callback.
private enum Delivery {
  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  static var isOnThisThread: Bool { pthread_getspecific(key) != nil }

  /// Whether this thread runs a callback already.
  static func enter() -> Bool {
    if isOnThisThread { return true }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    return false
  }

  static func leave(_ wasInside: Bool) {
    if !wasInside { pthread_setspecific(key, nil) }
  }
}
