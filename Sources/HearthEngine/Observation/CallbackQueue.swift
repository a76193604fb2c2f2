import DequeModule
import Dispatch
import Synchronization

/// A queue on which many listeners call back. One turn (a work item) serves all that were posted an
/// event.
///
///     posted ─▶ waiting: a, b, c ─▶ a turn of the queue: a's callback, b's, c's
///                                    └─ while one of them waits: another turn is scheduled
///
/// A commit that concerns a thousand listeners takes one turn of the queue, not a thousand. A
/// dispatch queue does not say whether it is serial. So another turn is always scheduled while a
/// listener waits: on a serial queue it serves those that came later, if any; on a concurrent one
/// it continues with those behind a slow callback.
///
/// Law: on a serial queue, work added after a listener runs after that listener's callback. A turn
/// therefore serves all listeners that wait when it begins. Later ones wait for the next turn, so
/// that other work gets the queue in between.
package final class CallbackQueue: Sendable {
  private struct State {
    var waiting = Batches()
    /// How many were served since the beginning.
    var served = 0
    /// A turn is scheduled and has not begun.
    var isArranged = false
    /// The listener whose callback began last and, on a serial queue, has not returned.
    // Unowned, to save a retain for each callback: the turn that set it holds the listener, and
    // sets another one or nil before releasing it.
    unowned(unsafe) var running: Listener?
  }

  /// Listeners in the order in which they were added. Arrays of them are kept as they are.
  private struct Batches {
    private enum Batch {
      case one(Listener)
      case several([Listener])
    }

    /// The rest of a batch: its listeners from `index` on.
    private var first: [Listener] = []
    private var index = 0
    private var further: Deque<Batch> = []
    private(set) var count = 0

    mutating func append(_ listener: Listener) {
      further.append(.one(listener))
      count += 1
    }

    mutating func append(_ listeners: [Listener]) {
      guard !listeners.isEmpty else { return }
      further.append(listeners.count == 1 ? .one(listeners[0]) : .several(listeners))
      count += listeners.count
    }

    /// The next listener, and the batch that it was the last of.
    mutating func popFirst() -> (Listener, finished: [Listener])? {
      guard count > 0 else { return nil }
      count -= 1
      if first.isEmpty {
        switch further.removeFirst() {
        case .one(let listener): return (listener, [])
        case .several(let listeners): first = listeners
        }
      }
      let listener = first[index]
      index += 1
      guard index == first.count else { return (listener, []) }
      let finished = first
      (first, index) = ([], 0)
      return (listener, finished)
    }
  }

  private let state = Guarded(State())
  private let queue: DispatchQueue
  let mark: CallbackThread.Mark
  private let late = Atomic<Bool>(false)

  private init(_ queue: DispatchQueue, _ mark: CallbackThread.Mark) {
    self.queue = queue
    self.mark = mark
  }

  deinit {
    let (mark, id) = (mark, ObjectIdentifier(self))
    Self.queues.withLock { queues in
      // Unless there is a new one already.
      if queues[mark]?.id == id { queues[mark] = nil }
    }
  }

  private final class Entry {
    private(set) weak var queue: CallbackQueue?
    let id: ObjectIdentifier

    init(_ queue: CallbackQueue) {
      self.queue = queue
      id = ObjectIdentifier(queue)
    }
  }

  private static let queues = Guarded([CallbackThread.Mark: Entry]())

  /// The one for all listeners of this dispatch queue, in all databases.
  package static func of(_ queue: DispatchQueue) -> CallbackQueue {
    let mark = CallbackThread.mark(of: queue)
    return queues.withLock { queues in
      if let queue = queues[mark]?.queue { return queue }
      let queue = CallbackQueue(queue, mark)
      queues[mark] = Entry(queue)
      return queue
    }
  }

  /// Schedules a call of `deliver` on the queue.
  func add(_ listener: Listener) {
    state.withLock { state in
      state.waiting.append(listener)
      arrangeTurn(&state)
    }
  }

  /// As `add(_:)`, for each.
  func add(_ listeners: [Listener]) {
    state.withLock { state in
      state.waiting.append(listeners)
      arrangeTurn(&state)
    }
  }

  /// Call under the lock: work that others add to the queue next must run after the turn.
  private func arrangeTurn(_ state: inout State) {
    guard !state.isArranged, state.waiting.count > 0 else { return }
    state.isArranged = true
    queue.async { [self] in serve() }
  }

  private func serve() {
    let end = state.withLock { state in
      state.isArranged = false
      return state.served + state.waiting.count
    }
    var next = take(before: end)
    while let listener = next {
      listener.deliver()
      next = take(before: end)
      // It may be `running` until here. Outside the lock: the last reference may release a user's
      // objects.
      withExtendedLifetime(listener) {}
    }
  }

  private func take(before end: Int) -> Listener? {
    let (listener, finished): (Listener?, [Listener]) = state.withLock { state in
      state.running = nil
      guard state.served < end, let (listener, finished) = state.waiting.popFirst() else {
        return (nil, [])
      }
      state.served += 1
      state.running = listener
      arrangeTurn(&state)
      return (listener, finished)
    }
    // Outside the lock, as above.
    withExtendedLifetime(finished) {}
    if late.load(ordering: .relaxed) { late.store(false, ordering: .relaxed) }
    return listener
  }

  // MARK: Completions that wait

  /// A completion continued without callbacks of this queue, and no callback has begun since.
  var isLate: Bool { late.load(ordering: .relaxed) }

  /// The listener whose callback blocks the queue, possibly another one; nil if that is known
  /// already.
  func becomeLate(for listener: Listener) -> Listener? {
    guard !late.exchange(true, ordering: .relaxed) else { return nil }
    return state.withLock(\.running) ?? listener
  }
}
