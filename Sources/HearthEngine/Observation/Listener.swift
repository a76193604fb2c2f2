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

  fileprivate enum Pending {
    /// The commit right after what is told before, with its changes.
    case next(ResultEvent)
    /// Several commits later, or the first.
    case latest(ResultEvent)
    indirect case failure(Status)
    /// Nothing more, and nothing is told.
    case end
  }

  /// Of an event what is compared with a later one: its changes are not kept.
  fileprivate struct Delivered {
    // In this order, so that what is behind it takes no padding.
    var values: [Value]?
    var list: ResultList
  }

  /// What is taken out of the mailbox at once.
  fileprivate struct Next {
    var untold: Pending?
    /// Before it.
    var told: Delivered?
    var mustTell = false
  }

  // Two enums and not a generic one: that would take a byte more for its cases, and with it another word.

  /// Mostly none or one, which costs no memory of its own.
  fileprivate enum Waiting {
    case none
    case one(Pending)
    case several([Pending])

    var count: Int {
      switch self {
      case .none: 0
      case .one: 1
      case .several(let all): all.count
      }
    }

    mutating func append(_ untold: Pending) {
      switch self {
      case .none: self = .one(untold)
      case .one(let first): self = .several([first, untold])
      case .several(var all):
        self = .none
        all.append(untold)
        self = .several(all)
      }
    }

    mutating func replaceLast(_ make: (Pending?) -> Pending) {
      switch self {
      case .none: self = .one(make(nil))
      case .one(let last): self = .one(make(last))
      case .several(var all):
        self = .none
        all[all.count - 1] = make(all.last)
        self = .several(all)
      }
    }

    mutating func popFirst() -> Pending? {
      switch self {
      case .none: return nil
      case .one(let first):
        self = .none
        return first
      case .several(var all):
        self = .none
        let first = all.removeFirst()
        if !all.isEmpty { self = .several(all) }
        return first
      }
    }
  }

  /// Mostly none or one, which costs no memory of its own.
  fileprivate enum Groups {
    case none
    case one(CallbackGroup)
    case several([CallbackGroup])

    mutating func append(_ group: CallbackGroup) {
      switch self {
      case .none: self = .one(group)
      case .one(let first): self = .several([first, group])
      case .several(var all):
        self = .none
        all.append(group)
        self = .several(all)
      }
    }

    mutating func take() -> Groups {
      defer { self = .none }
      return self
    }

    func delay(_ acknowledgement: Acknowledgement) -> Bool {
      switch self {
      case .none: false
      case .one(let first): first.delays(acknowledgement)
      case .several(let all): all.contains { $0.delays(acknowledgement) }
      }
    }

    func leave() {
      switch self {
      case .none: break
      case .one(let first): first.leave()
      case .several(let all): for group in all { group.leave() }
      }
    }
  }

  fileprivate struct State {
    var told: Delivered?
    let eventLimit: UInt8
    /// The first one is told even if nothing changed since what it goes on from.
    var mustTell = true
    var isRemoved = false
    var isScheduled = false
    var isRunning = false
    /// Writes are completed among others for this listener. Next: false, once.
    var isCounted = false
    /// A completion went on without its callback. Until it is called back.
    var isLate = false
    var untold = Waiting.none
    /// Left when what is untold was told: completions wait for that.
    var groups = Groups.none
    /// They wait for the callback to end.
    var removers: [DispatchSemaphore] = []
    var counts = Counts()
  }

  package struct Counts {
    package var told = 0
    /// Results that gave way to newer ones before they were told.
    package var skipped = 0
  }

  private let state: Guarded<State>
  private let callback: @Sendable (Result<ResultEvent, Status>) -> Void
  private let way: Way

  /// How it comes about that `deliver` is called soon, where the callback belongs.
  package enum Way: Sendable {
    case room(CallbackQueue)
    /// Arranges it, wherever callbacks belong that a thread may occupy which waits for a write; or on a queue of the
    /// listener's own. Never called while it is arranged.
    case schedule(@Sendable (Listener) -> Void)
    case ownQueue(@Sendable (Listener) -> Void)
    /// Nobody calls back: the consumer is told that it can ask.
    case ask(@Sendable () -> Void)
  }

  package init(
    _ way: Way, eventLimit: Int = Listener.eventLimit,
    callback: @escaping @Sendable (Result<ResultEvent, Status>) -> Void
  ) {
    self.way = way
    state = Guarded(State(eventLimit: UInt8(clamping: eventLimit)))
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
    let isInside = CallbackThread.isInside || WriterWaitGraph.isOnWritersThread
    let (mustWait, groups): (DispatchSemaphore?, Groups) = state.withLock { state in
      let groups = state.remove()
      guard state.isRunning, !isInside else { return (nil, groups) }
      let semaphore = DispatchSemaphore(value: 0)
      state.removers.append(semaphore)
      return (semaphore, groups)
    }
    groups.leave()
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
    if let past { state.withLock { $0.told = Delivered(list: past) } }
    post(for: acknowledgements) { $0.untold.append(.latest(event)) }
  }

  /// A commit changed the result the listener was told, or will be told before. Called back when the
  /// outbox is sent.
  func post(
    _ event: ResultEvent, for acknowledgements: [Acknowledgement] = [],
    _ outbox: inout PendingDeliveries
  ) {
    post(for: acknowledgements, &outbox) { state in
      // One more than the limit: what comes then takes its place.
      guard state.untold.count > Int(state.eventLimit) else {
        return state.untold.append(.next(event))
      }
      state.counts.skipped += 1
      state.untold.replaceLast { last in
        if case .latest(let first) = last, first.isReset { return .latest(event.reset) }
        return .latest(event)
      }
    }
  }

  /// The listener ends, with an error or without any further call. A consumer that asks gets what waits first.
  package func end(_ status: Status?) {
    if status == nil, !isAsked {
      return state.withLock { $0.remove() }.leave()
    }
    post(for: []) { $0.untold.append(status.map { .failure($0) } ?? .end) }
  }

  private var isAsked: Bool {
    if case .ask = way { true } else { false }
  }

  private func arrange() {
    switch way {
    case .room(let room): room.add(self)
    case .schedule(let schedule), .ownQueue(let schedule): schedule(self)
    case .ask(let tell): tell()
    }
  }

  private func post(for acknowledgements: [Acknowledgement], _ add: (inout State) -> Void) {
    guard !acknowledgements.isEmpty else {
      if post(nil, add).mustCall { arrange() }
      return
    }
    var outbox = PendingDeliveries()
    post(for: acknowledgements, &outbox, add)
    outbox.send()
  }

  /// Arranges `deliver`, with the outbox where that can be done for many.
  @inline(__always)
  private func post(
    for acknowledgements: [Acknowledgement], _ outbox: inout PendingDeliveries,
    _ add: (inout State) -> Void
  ) {
    let destination = way.destination
    guard let batch = outbox.batch(for: destination, acknowledgements, way) else {
      if post(nil, add).mustCall { arrange() }
      return
    }
    let (mustCall, isAwaited) = post(outbox.group(of: batch), add)
    if mustCall, !destination.isRoom { arrange() }
    outbox.add(
      self, to: batch, mustCall: mustCall && destination.isRoom, isAwaited: isAwaited)
  }

  /// Whether nobody has arranged for it to be called back, and whether it is in the group.
  @inline(__always)
  private func post(
    _ group: CallbackGroup?, _ add: (inout State) -> Void
  ) -> (mustCall: Bool, isAwaited: Bool) {
    state.withLock { state in
      guard !state.isRemoved else { return (false, false) }
      add(&state)
      // What runs may itself wait for the write, and what is late stays so.
      var isAwaited = false
      if let group, !state.isRunning, !state.isLate, !isRoomLate {
        state.groups.append(group)
        isAwaited = true
      }
      defer { state.isScheduled = true }
      return (!state.isScheduled, isAwaited)
    }
  }

  // MARK: Completions that wait

  private var isRoomLate: Bool {
    if case .room(let room) = way { room.isLate } else { false }
  }

  /// If the callback has not begun, completions wait for it no more until it has returned. The listener whose callback
  /// keeps them waiting, unless that is known already.
  func becomeLate(for acknowledgement: Acknowledgement) -> Listener? {
    state.withLock { state in
      guard state.groups.delay(acknowledgement) else { return nil }
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
    var next = Next()
    guard let turn = begin(&next) else { return }
    var count = turn.count
    let wasInside = CallbackThread.enter()
    while true {
      if let event = event(of: next) { callback(event) }
      count -= 1
      guard count > 0 else { break }
      next = state.withLock { $0.next() }
    }
    CallbackThread.leave(wasInside)
    if end() { arrange() }
    turn.groups.leave()
  }

  /// Takes the first event, and says how many there are. Nil if another thread is calling back: when that ends it
  /// sees that there is more.
  private func begin(_ next: inout Next) -> (count: Int, groups: Groups)? {
    state.withLock { state in
      state.isScheduled = false
      guard !state.isRunning else { return nil }
      state.isRunning = true
      state.isLate = false
      let count = state.untold.count
      next = state.next()
      return (count, state.groups.take())
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
      told = Listener.Delivered(values: event.values, list: event.list)
      mustTell = false
      counts.told += 1
    case .failure, .end: isRemoved = true
    }
    return next
  }

  /// The groups are to be left.
  fileprivate mutating func remove() -> Listener.Groups {
    isRemoved = true
    untold = .none
    told = nil
    return groups.take()
  }
}

extension Listener.Way {
  /// What listeners have in common whose callbacks the same completions wait for.
  enum Destination: Equatable {
    case room(ObjectIdentifier)
    case elsewhere
    case ownQueue
    case consumer

    var isRoom: Bool { if case .room = self { true } else { false } }
  }

  // Inlined, where the room is not retained: everybody would do that with the same one, on several threads.
  @inline(__always)
  var destination: Destination {
    switch self {
    case .room(let room): .room(ObjectIdentifier(room))
    case .schedule: .elsewhere
    case .ownQueue: .ownQueue
    case .ask: .consumer
    }
  }

  /// Whether completions of writes from there may wait for the callback.
  func mayDelay(_ origin: WriteOrigin) -> Bool {
    switch self {
    case .room(let room): origin.queue != room.mark
    // The thread may be the actor's. On its own queue the listener is running.
    case .schedule: !origin.isBlocking
    case .ownQueue: true
    case .ask: false
    }
  }
}
