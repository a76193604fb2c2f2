import Dispatch

/// One listener's mailbox: the last event that was delivered, and those not delivered yet.
///
///     commit ─▶ waits as an event of its own, while no more than `eventLimit` do
///            ─▶ else replaces the last one: its changes are then computed when it is delivered
///
/// Memory is bounded, however slow the consumer: waiting results share all unchanged documents.
package final class Listener: Recipient {
  /// How many commits wait as events of their own. Firebase's SDK keeps all of them, and delivers
  /// each.
  static let eventLimit = 16

  fileprivate enum Pending {
    /// The commit right after the event before, with its changes.
    case next(ResultEvent)
    /// A state several commits later, or the first one.
    case latest(ResultEvent)
    indirect case failure(Status)
    /// Nothing more comes, and nothing is delivered.
    case end
  }

  /// The part of an event that is compared with a later one: its changes are not kept.
  fileprivate struct Delivered {
    // In this order, so that the field after this struct needs no padding.
    var values: [Value]?
    var included: IncludedDocuments?
    var list: ResultList
  }

  /// An event taken out of the mailbox, and the state it is compared with.
  fileprivate struct Next {
    var pending: Pending?
    /// The event delivered before it.
    var delivered: Delivered?
    var mustDeliver = false
  }

  // Two enums, not a generic one: that would need another byte for its cases, and so another word.

  /// Usually none or one, which needs no memory of its own.
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

    mutating func append(_ pending: Pending) {
      switch self {
      case .none: self = .one(pending)
      case .one(let first): self = .several([first, pending])
      case .several(var all):
        self = .none
        all.append(pending)
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

  /// Usually none or one, which needs no memory of its own.
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
    var delivered: Delivered?
    let eventLimit: UInt8
    /// The first event is delivered even if nothing changed since the state that it resumes from.
    var mustDeliver = true
    var isRemoved = false
    var isScheduled = false
    var isRunning = false
    /// Writes that concern this listener complete after its callback. Next: false, once.
    var isCounted = false
    /// A completion continued without its callback. Until it is called back.
    var isLate = false
    var pending = Waiting.none
    /// Left when the pending events are delivered: completions wait for that.
    var groups = Groups.none
    /// Callers of `remove` that wait for the callback to end.
    var removers: [DispatchSemaphore] = []
    var counts = Counts()
  }

  package struct Counts {
    package var delivered = 0
    /// Results that were replaced by newer ones before they were delivered.
    package var skipped = 0
  }

  private let state: Guarded<State>
  private let callback: @Sendable (Result<ResultEvent, Status>) -> Void
  private let way: Way
  /// The registry's load that it waits for, or waited for. Protected by the registry's queue.
  nonisolated(unsafe) var load: Int?

  /// How `deliver` gets called soon, on the callback's queue or thread.
  package enum Way: Sendable {
    case queue(CallbackQueue)
    /// Schedules it on the target of callbacks, which a thread that waits for a write may block; or
    /// (`ownQueue`) on a queue of the listener's own. Never called while it is scheduled.
    case schedule(@Sendable (Listener) -> Void)
    case ownQueue(@Sendable (Listener) -> Void)
    /// There is no callback: the consumer is notified that it can call `take`.
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
  /// Has an event that its consumer has not taken.
  var isBehind: Bool { state.withLock { $0.pending.count > 0 } }

  /// After this returns no callback begins, and none is running unless this is called from a
  /// callback or a write closure: two callbacks that remove each other's listeners would deadlock,
  /// and so would a closure and a callback that waits to write.
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

  /// Writes that concern this listener are to complete after its callback. False if it has none.
  func count() -> Bool {
    guard !isAsked else { return false }
    state.withLock { $0.isCounted = true }
    return true
  }

  /// True once after `count` returned true.
  func discount() -> Bool {
    state.withLock { exchange(&$0.isCounted, with: false) }
  }

  /// Posts the first result. All of it is new, or what changed since `past`.
  func begin(
    _ event: ResultEvent, after past: ResultList? = nil,
    for acknowledgements: [Acknowledgement] = []
  ) {
    if let past { state.withLock { $0.delivered = Delivered(list: past) } }
    post(for: acknowledgements) { $0.pending.append(.latest(event)) }
  }

  /// Posts the result of a commit, with its changes since the event delivered or posted before. The
  /// callback is scheduled when `outbox` is sent.
  func post(
    _ event: ResultEvent, for acknowledgements: [Acknowledgement] = [],
    _ outbox: inout CallbackOutbox
  ) {
    post(for: acknowledgements, &outbox) { state in
      // One more than the limit may wait: a later event replaces that one.
      guard state.pending.count > Int(state.eventLimit) else {
        return state.pending.append(.next(event))
      }
      state.counts.skipped += 1
      state.pending.replaceLast { last in
        if case .latest(let first) = last, first.isFullResync { return .latest(event.reset) }
        return .latest(event)
      }
    }
  }

  /// Ends the listener, with an error or without a further call. A consumer that calls `take` gets
  /// the waiting events first.
  package func end(_ status: Status?) {
    if status == nil, !isAsked {
      return state.withLock { $0.remove() }.leave()
    }
    post(for: []) { $0.pending.append(status.map { .failure($0) } ?? .end) }
  }

  private var isAsked: Bool {
    if case .ask = way { true } else { false }
  }

  private func arrange() {
    switch way {
    case .queue(let queue): queue.add(self)
    case .schedule(let schedule), .ownQueue(let schedule): schedule(self)
    case .ask(let deliver): deliver()
    }
  }

  private func post(for acknowledgements: [Acknowledgement], _ add: (inout State) -> Void) {
    var outbox = CallbackOutbox()
    post(for: acknowledgements, &outbox, add)
    outbox.send()
  }

  /// Schedules `deliver`, with the outbox where that can be done for many.
  @inline(__always)
  private func post(
    for acknowledgements: [Acknowledgement], _ outbox: inout CallbackOutbox,
    _ add: (inout State) -> Void
  ) {
    let destination = way.destination
    let batch = outbox.batch(for: destination, acknowledgements, way)
    let group = batch.flatMap { outbox.batches[$0].group }
    let (mustCall, isAwaited): (Bool, Bool) = state.withLock { state in
      guard !state.isRemoved else { return (false, false) }
      add(&state)
      // A running callback may itself wait for the write, and a late listener stays late.
      let isAwaited = group != nil && !state.isRunning && !state.isLate && !isQueueLate
      if isAwaited, let group { state.groups.append(group) }
      defer { state.isScheduled = true }
      return (!state.isScheduled, isAwaited)
    }
    if mustCall, !destination.isSharedQueue { arrange() }
    guard let batch else { return }
    outbox.add(
      self, to: batch, mustCall: mustCall && destination.isSharedQueue, isAwaited: isAwaited)
  }

  // MARK: Completions that wait

  private var isQueueLate: Bool {
    if case .queue(let queue) = way { queue.isLate } else { false }
  }

  /// If the callback has not begun, completions no longer wait for it until it has returned.
  /// Returns the listener whose callback causes the delay, unless that is known already.
  func becomeLate(for acknowledgement: Acknowledgement) -> Listener? {
    state.withLock { state in
      guard state.groups.delay(acknowledgement) else { return nil }
      defer { state.isLate = true }
      // Under the lock: once the callback has begun, the queue is no longer late.
      if case .queue(let queue) = way { return queue.becomeLate(for: self) }
      return state.isLate ? nil : self
    }
  }

  // MARK: The consumer's side

  /// Calls back with the pending events. Events posted from now on get a turn of their own: a slow
  /// listener that always has more leaves the queue to others in between.
  package func deliver() {
    var next = Next()
    var count = 0
    let begun: Groups? = state.withLock { state in
      state.isScheduled = false
      // The other thread finds the new events when it ends.
      guard !state.isRunning else { return nil }
      state.isRunning = true
      state.isLate = false
      count = state.pending.count
      next = state.next()
      return state.groups.take()
    }
    guard let groups = begun else { return }
    let wasInside = CallbackThread.enter()
    while true {
      if let event = event(of: next) { callback(event) }
      count -= 1
      guard count > 0 else { break }
      next = state.withLock { $0.next() }
    }
    CallbackThread.leave(wasInside)
    if end() { arrange() }
    groups.leave()
  }

  /// Whether there are events whose delivery is not scheduled.
  private func end() -> Bool {
    let (mustArrange, waiting): (Bool, [DispatchSemaphore]) = state.withLock { state in
      state.isRunning = false
      let mustArrange = state.pending.count > 0 && !state.isScheduled
      if mustArrange { state.isScheduled = true }
      defer { state.removers = [] }
      return (mustArrange, state.removers)
    }
    for semaphore in waiting { semaphore.signal() }
    return mustArrange
  }

  /// The next pending event. After nil, and after each turn, the consumer is notified of the next
  /// one.
  package func take() -> Result<ResultEvent, Status>? {
    while true {
      let next = state.withLock { $0.next() }
      guard next.pending != nil else { return nil }
      if let event = event(of: next) { return event }
    }
  }

  /// The event to deliver; nil if nothing changed. Outside the lock: computing changes can take
  /// long.
  private func event(of next: Next) -> Result<ResultEvent, Status>? {
    switch next.pending {
    case nil, .end: return nil
    case .next(let event): return .success(event)
    case .failure(let status): return .failure(status)
    case .latest(let event):
      guard let delivered = next.delivered else { return .success(event.with(nil)) }
      // Changes that cancel out are not delivered; a first result is, even if it is empty.
      if let values = event.values {
        return values != delivered.values || next.mustDeliver ? .success(event) : nil
      }
      let changes = delivered.list.changes(to: event.list)
      let isSame = event.included.map { $0.isSame(as: delivered.included) } ?? true
      return !changes.isEmpty || !isSame || next.mustDeliver ? .success(event.with(changes)) : nil
    }
  }
}

extension Listener.State {
  fileprivate mutating func next() -> Listener.Next {
    guard !isRemoved, let pending = pending.popFirst() else {
      if !isRunning { isScheduled = false }
      return Listener.Next()
    }
    let next = Listener.Next(
      pending: pending, delivered: delivered.take(), mustDeliver: mustDeliver)
    switch pending {
    case .next(let event), .latest(let event):
      delivered = Listener.Delivered(
        values: event.values, included: event.included, list: event.list)
      mustDeliver = false
      counts.delivered += 1
    case .failure, .end: isRemoved = true
    }
    return next
  }

  /// The groups are to be left.
  fileprivate mutating func remove() -> Listener.Groups {
    isRemoved = true
    pending = .none
    delivered = nil
    return groups.take()
  }
}

extension Listener.Way {
  /// Listeners of one destination can be in one callback group.
  enum Destination: Equatable {
    case queue(ObjectIdentifier)
    case elsewhere
    case ownQueue
    case consumer

    var isSharedQueue: Bool { if case .queue = self { true } else { false } }
  }

  // Inlined, to avoid a retain of the queue: several threads would contend for its reference count.
  @inline(__always)
  var destination: Destination {
    switch self {
    case .queue(let queue): .queue(ObjectIdentifier(queue))
    case .schedule: .elsewhere
    case .ownQueue: .ownQueue
    case .ask: .consumer
    }
  }
}
