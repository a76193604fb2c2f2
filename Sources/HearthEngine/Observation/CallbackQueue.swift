import DequeModule
import Dispatch
import Synchronization

/// A queue on which many listeners call back: one turn of it serves all that have been posted something.
///
///     posted ─▶ waiting: a, b, c ─▶ a turn of the queue: a's callback, b's, c's
///                                    └─ while one of them waits: another turn is arranged
///
/// A commit that a thousand listeners hear of takes a turn of the queue, and not a thousand. Whether the
/// queue is serial nobody can ask it. So another turn is always arranged while somebody waits: on a
/// serial queue it finds those that came later, or nobody; on a concurrent one it goes on with those
/// behind a callback that is slow.
///
/// Law: on a serial queue, what is put there after a listener was added runs after its callback. A turn
/// therefore serves all who wait when it begins. Those who come later wait for the next one, so that
/// others get at the queue.
package final class CallbackQueue: Sendable {
  private struct State {
    var waiting = Batches()
    /// How many were served, ever.
    var served = 0
    /// There is a turn that has not begun.
    var isArranged = false
    /// Whose callback began last and, on a serial queue, has not returned.
    // Unowned, as that is a retain less for each callback: the turn that set it has the listener, and sets another one,
    // or none, before it lets go.
    unowned(unsafe) var running: Listener?
  }

  /// Listeners in the order they were added in. They come in arrays, which are kept as they are.
  private struct Batches {
    private enum Batch {
      case one(Listener)
      case several([Listener])
    }

    /// The rest of a batch: those from `index` on.
    private var first: [Listener] = []
    private var index = 0
    private var further: Deque<Batch> = []
    private(set) var count = 0

    mutating func append(_ listener: Listener) {
      further.append(.one(listener))
      count += 1
    }

    mutating func append(_ listeners: [Listener]) {
      if listeners.count == 1 { return append(listeners[0]) }
      guard !listeners.isEmpty else { return }
      further.append(.several(listeners))
      count += listeners.count
    }

    /// The next one, and the batch that it was the last of.
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
    Self.rooms.withLock { rooms in
      // Unless there is another one by now.
      if rooms[mark]?.id == id { rooms[mark] = nil }
    }
  }

  private final class Entry {
    private(set) weak var room: CallbackQueue?
    let id: ObjectIdentifier

    init(_ room: CallbackQueue) {
      self.room = room
      id = ObjectIdentifier(room)
    }
  }

  private static let rooms = Guarded([CallbackThread.Mark: Entry]())

  /// The one for all listeners of this queue, of whatever database.
  package static func of(_ queue: DispatchQueue) -> CallbackQueue {
    let mark = CallbackThread.mark(of: queue)
    return rooms.withLock { rooms in
      if let room = rooms[mark]?.room { return room }
      let room = CallbackQueue(queue, mark)
      rooms[mark] = Entry(room)
      return room
    }
  }

  /// Sees to it that `deliver` is called on the queue.
  func add(_ listener: Listener) {
    state.withLock { state in
      state.waiting.append(listener)
      arrangeTurn(&state)
    }
  }

  /// As `add(_:)`, of each.
  func add(_ listeners: [Listener]) {
    state.withLock { state in
      state.waiting.append(listeners)
      arrangeTurn(&state)
    }
  }

  /// Under the lock: what somebody else puts on the queue next must come after the turn.
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
      // Until here it may be what is running. Without the lock: with its last listener a user's objects may go.
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
    // Without the lock, as above.
    withExtendedLifetime(finished) {}
    if late.load(ordering: .relaxed) { late.store(false, ordering: .relaxed) }
    return listener
  }

  // MARK: Completions that wait

  /// A completion went on without callbacks of this queue, and the queue has not gone on since.
  var isLate: Bool { late.load(ordering: .relaxed) }

  /// The listener whose callback holds the queue up, which may be somebody else's; nil if that was known.
  func becomeLate(for listener: Listener) -> Listener? {
    guard !late.exchange(true, ordering: .relaxed) else { return nil }
    return state.withLock(\.running) ?? listener
  }
}
