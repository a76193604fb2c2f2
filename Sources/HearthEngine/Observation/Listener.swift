import Dispatch

/// One listener's mailbox: what it was told last, and what it has not been told yet.
///
///     commit ─▶ waits as an event of its own, while no more than `eventLimit` do
///            ─▶ else takes the place of the last one: its changes are then worked out when it is told
///
/// Memory is bounded, however slow the consumer: the results that wait share all documents that did not change.
package final class Listener: Recipient {
  /// So many commits wait as events of their own. Firebase's SDK tells each commit, and keeps all of them.
  static let eventLimit = 16

  fileprivate enum Untold {
    /// The commit right after what is told before, with its changes.
    case next(ResultEvent)
    /// Several commits later, or the first.
    case latest(ResultEvent)
    indirect case failure(Status)
    /// Nothing more, and nothing is told.
    case end
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

  /// Mostly one, which costs no memory of its own.
  fileprivate struct Waiting {
    private(set) var first: Untold?
    private var rest: [Untold] = []

    var count: Int { first == nil ? 0 : 1 + rest.count }

    mutating func append(_ untold: Untold) {
      if first == nil { first = untold } else { rest.append(untold) }
    }

    mutating func replaceLast(_ make: (Untold?) -> Untold) {
      if rest.isEmpty { first = make(first) } else { rest[rest.count - 1] = make(rest.last) }
    }

    mutating func popFirst() -> Untold? {
      defer {
        first = rest.isEmpty ? nil : rest.removeFirst()
        if rest.isEmpty { rest = [] }
      }
      return first
    }
  }

  /// Mostly none or one, which costs no memory of its own.
  fileprivate enum Held {
    case none
    case one(Acknowledgement)
    case several([Acknowledgement])

    mutating func append(_ acknowledgement: Acknowledgement) {
      switch self {
      case .none: self = .one(acknowledgement)
      case .one(let first): self = .several([first, acknowledgement])
      case .several(var all):
        self = .none
        all.append(acknowledgement)
        self = .several(all)
      }
    }

    mutating func take() -> Held {
      defer { self = .none }
      return self
    }

    func contains(_ acknowledgement: Acknowledgement) -> Bool {
      switch self {
      case .none: false
      case .one(let first): first === acknowledgement
      case .several(let all): all.contains { $0 === acknowledgement }
      }
    }

    func release() {
      switch self {
      case .none: break
      case .one(let first): first.release()
      case .several(let all): for acknowledgement in all { acknowledgement.release() }
      }
    }
  }

  fileprivate struct State {
    var told: Told?
    var untold = Waiting()
    /// The first one is told even if nothing changed since what it goes on from.
    var mustTell = true
    var isRemoved = false
    var isScheduled = false
    var isRunning = false
    /// Writes are completed among others for this listener. Next: false, once.
    var isCounted = false
    /// A completion went on without its callback. Until it is called back.
    var isLate = false
    /// Completions that wait until what is untold was told.
    var acknowledgements = Held.none
    /// They wait for the callback to end.
    var removers: [DispatchSemaphore] = []
    var counts = Counts()
  }

  package struct Counts {
    package var told = 0
    /// Results that gave way to newer ones before they were told.
    package var skipped = 0
  }

  private let state = Guarded(State())
  private let callback: @Sendable (Result<ResultEvent, Status>) -> Void
  private let way: Way
  private let eventLimit: UInt8

  /// How it comes about that `deliver` is called soon, where the callback belongs.
  package enum Way: Sendable {
    case room(Mailroom)
    /// Arranges it, on a queue of the listener's own or wherever callbacks belong that a thread may occupy which
    /// waits for a write. Never called while it is arranged.
    case schedule(isOwnQueue: Bool, @Sendable (Listener) -> Void)
    /// Nobody calls back: the consumer is told that it can ask.
    case ask(@Sendable () -> Void)
  }

  package init(
    _ way: Way, eventLimit: Int = Listener.eventLimit,
    callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    self.way = way
    self.eventLimit = UInt8(clamping: eventLimit)
    self.callback = callback
  }

  package var isRemoved: Bool { state.withLock(\.isRemoved) }
  var counts: Counts { state.withLock(\.counts) }
  /// It has been posted something that its consumer has not taken.
  var isBehind: Bool { state.withLock { $0.untold.count > 0 } }

  /// No callback begins after this returned, and none is running unless this is called from one, or from a
  /// write closure: two callbacks that remove each other's listeners would wait for ever, and so would a
  /// closure for a callback that waits to write.
  package func remove() {
    let isInside = CallbackThread.isInside || WriterWaits.isOnWritersThread
    let (mustWait, acknowledgements): (DispatchSemaphore?, Held) = state.withLock { state in
      let acknowledgements = state.remove()
      guard state.isRunning, !isInside else { return (nil, acknowledgements) }
      let semaphore = DispatchSemaphore(value: 0)
      state.removers.append(semaphore)
      return (semaphore, acknowledgements)
    }
    acknowledgements.release()
    mustWait?.wait()
  }

  // MARK: The registry's side

  /// Writes that concern this listener are to complete after its callback. False if there is none.
  func count() -> Bool {
    guard !isAsked else { return false }
    state.withLock { $0.isCounted = true }
    return true
  }

  /// True once after `count` was.
  func discount() -> Bool {
    state.withLock { state in
      defer { state.isCounted = false }
      return state.isCounted
    }
  }

  /// The first result. All of it is new, or what changed since `past`.
  func begin(
    _ event: ResultEvent, after past: ResultList? = nil,
    for acknowledgements: [Acknowledgement] = []
  ) {
    if let past { state.withLock { $0.told = Told(list: past) } }
    if post(acknowledgements, { $0.untold.append(.latest(event)) }) { arrange() }
  }

  /// A commit changed the result the listener was told, or will be told before. Called back when the
  /// outbox is sent.
  func post(
    _ event: ResultEvent, for acknowledgements: [Acknowledgement] = [], _ outbox: inout Outbox
  ) {
    let mustSchedule = post(acknowledgements) { state in
      // One more than the limit: what comes then takes its place.
      guard state.untold.count > Int(eventLimit) else {
        return state.untold.append(.next(event))
      }
      state.counts.skipped += 1
      state.untold.replaceLast { last in
        if case .latest(let first) = last, first.isReset { return .latest(event.reset) }
        return .latest(event)
      }
    }
    guard mustSchedule else { return }
    switch way {
    case .room(let room): outbox.add(self, room)
    case .schedule, .ask: arrange()
    }
  }

  /// The listener ends, with an error or without any further call. A consumer that asks gets what waits first.
  package func end(_ status: Status?) {
    if status == nil, !isAsked {
      return state.withLock { $0.remove() }.release()
    }
    if post([], { $0.untold.append(status.map { .failure($0) } ?? .end) }) { arrange() }
  }

  private var isAsked: Bool {
    if case .ask = way { true } else { false }
  }

  private func arrange() {
    switch way {
    case .room(let room): room.add(CollectionOfOne(self))
    case .schedule(_, let schedule): schedule(self)
    case .ask(let tell): tell()
    }
  }

  /// Whether `deliver` is to be arranged.
  @inline(__always)
  private func post(
    _ acknowledgements: [Acknowledgement], _ add: (inout State) -> Void
  ) -> Bool {
    state.withLock { state in
      guard !state.isRemoved else { return false }
      add(&state)
      // What runs may itself wait for the write, and what is late stays so.
      if !acknowledgements.isEmpty, !state.isRunning, !state.isLate, !isRoomLate {
        for acknowledgement in acknowledgements
        where mayHold(acknowledgement.origin) && acknowledgement.hold(for: self) {
          state.acknowledgements.append(acknowledgement)
        }
      }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  // MARK: Completions that wait

  private func mayHold(_ origin: WriteOrigin) -> Bool {
    switch way {
    case .room(let room): origin.queue != room.mark
    // The thread may be the actor's. On its own queue the listener is running.
    case .schedule(let isOwnQueue, _): isOwnQueue || !origin.isBlocking
    case .ask: false
    }
  }

  private var isRoomLate: Bool {
    if case .room(let room) = way { room.isLate } else { false }
  }

  func becomeLate(for acknowledgement: Acknowledgement) -> (any Recipient)? {
    state.withLock { state in
      guard state.acknowledgements.contains(acknowledgement) else { return nil }
      defer { state.isLate = true }
      // Under the lock: once the callback has begun, the room is late no more.
      if case .room(let room) = way { return room.becomeLate(for: self) }
      return state.isLate ? nil : self
    }
  }

  // MARK: The consumer's side

  /// Calls back with what is untold. What is posted from now on takes a turn of its own: a listener that is
  /// slow, and always has more, leaves the queue to others in between.
  package func deliver() {
    guard let turn = begin() else { return }
    var (next, count) = (turn.next, turn.count)
    let wasInside = CallbackThread.enter()
    while true {
      if let event = event(of: next) { callback(event) }
      count -= 1
      guard count > 0 else { break }
      next = state.withLock { $0.next() }
    }
    CallbackThread.leave(wasInside)
    if end() { arrange() }
    turn.acknowledgements.release()
  }

  /// The first event, and how many there are. Nil if another thread is calling back: when that ends it sees that
  /// there is more.
  private func begin() -> (next: Next, count: Int, acknowledgements: Held)? {
    state.withLock { state in
      state.isScheduled = false
      guard !state.isRunning else { return nil }
      state.isRunning = true
      state.isLate = false
      let count = state.untold.count
      return (state.next(), count, state.acknowledgements.take())
    }
  }

  /// Whether there is more that nobody has arranged for.
  private func end() -> Bool {
    let (mustArrange, waiting): (Bool, [DispatchSemaphore]) = state.withLock { state in
      state.isRunning = false
      let mustArrange = state.untold.count > 0 && !state.isScheduled
      if mustArrange { state.isScheduled = true }
      defer { state.removers = [] }
      return (mustArrange, state.removers)
    }
    for semaphore in waiting { semaphore.signal() }
    return mustArrange
  }

  /// The next untold event. Once it is nil, and with each turn, the consumer is told when there is one again.
  package func take() -> Result<ResultEvent, Status>? {
    while true {
      let next = state.withLock { $0.next() }
      guard next.untold != nil else { return nil }
      if let event = event(of: next) { return event }
    }
  }

  /// What is told of this; nil if it is no news. Working out changes can be long: not under the lock.
  private func event(of next: Next) -> Result<ResultEvent, Status>? {
    switch next.untold {
    case nil, .end: return nil
    case .next(let event): return .success(event)
    case .failure(let status): return .failure(status)
    case .latest(let event):
      guard let told = next.told else { return .success(event.with(nil)) }
      // Changes that cancelled each other are no news; a first result is, even if empty.
      if let values = event.values {
        return values != told.values || next.mustTell ? .success(event) : nil
      }
      let changes = told.list.changes(to: event.list)
      return !changes.isEmpty || next.mustTell ? .success(event.with(changes)) : nil
    }
  }
}

extension Listener.State {
  fileprivate mutating func next() -> Listener.Next {
    guard !isRemoved, let untold = untold.popFirst() else {
      if !isRunning { isScheduled = false }
      return Listener.Next()
    }
    let next = Listener.Next(untold: untold, told: told.take(), mustTell: mustTell)
    switch untold {
    case .next(let event), .latest(let event):
      told = Listener.Told(list: event.list, values: event.values)
      mustTell = false
      counts.told += 1
    case .failure, .end: isRemoved = true
    }
    return next
  }

  /// What waited for the callback is to be released.
  fileprivate mutating func remove() -> Listener.Held {
    isRemoved = true
    untold = Listener.Waiting()
    told = nil
    return acknowledgements.take()
  }
}
