import Collections
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
package final class Mailroom: Sendable {
  private struct State {
    var waiting: Deque<Listener> = []
    /// How many were served, ever.
    var served = 0
    /// There is a turn that has not begun.
    var isArranged = false
    /// Whose callback began last and, on a serial queue, has not returned.
    var running: Listener?
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
    private(set) weak var room: Mailroom?
    let id: ObjectIdentifier

    init(_ room: Mailroom) {
      self.room = room
      id = ObjectIdentifier(room)
    }
  }

  private static let rooms = Guarded([CallbackThread.Mark: Entry]())

  /// The one for all listeners of this queue, of whatever database.
  package static func of(_ queue: DispatchQueue) -> Mailroom {
    let mark = CallbackThread.mark(of: queue)
    return rooms.withLock { rooms in
      if let room = rooms[mark]?.room { return room }
      let room = Mailroom(queue, mark)
      rooms[mark] = Entry(room)
      return room
    }
  }

  /// Sees to it that `deliver` of each is called on the queue.
  func add(_ listeners: some Collection<Listener>) {
    state.withLock { state in
      state.waiting.append(contentsOf: listeners)
      arrangeTurn(&state)
    }
  }

  /// Under the lock: what somebody else puts on the queue next must come after the turn.
  private func arrangeTurn(_ state: inout State) {
    guard !state.isArranged, !state.waiting.isEmpty else { return }
    state.isArranged = true
    queue.async { [self] in serve() }
  }

  private func serve() {
    let end = state.withLock { state in
      state.isArranged = false
      return state.served + state.waiting.count
    }
    while let listener = take(before: end) { listener.deliver() }
  }

  private func take(before end: Int) -> Listener? {
    let (listener, last): (Listener?, Listener?) = state.withLock { state in
      let last = state.running
      state.running = nil
      guard state.served < end, let listener = state.waiting.popFirst() else { return (nil, last) }
      state.served += 1
      state.running = listener
      arrangeTurn(&state)
      return (listener, last)
    }
    // Without the lock: with its last listener a user's objects may go.
    withExtendedLifetime(last) {}
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

/// Listeners that have been posted something, and whose queues have yet to hear of it.
struct Outbox {
  private var places: [(room: Mailroom, listeners: [Listener])] = []
  private var count = 0
  /// With so many the queues are told: they call the first ones back while others are posted to.
  private var limit = 64
  /// A queue that is done is woken for more. So that it is not woken often, each batch is larger than the
  /// one before, up to this many.
  private static let largestLimit = 1024

  mutating func add(_ listener: Listener, _ room: Mailroom) {
    if let index = places.firstIndex(where: { $0.room === room }) {
      places[index].listeners.append(listener)
    } else {
      places.append((room, [listener]))
    }
    count += 1
    guard count == limit else { return }
    send()
    limit = min(2 * limit, Self.largestLimit)
  }

  mutating func send() {
    guard count > 0 else { return }
    for (room, listeners) in places { room.add(listeners) }
    places.removeAll(keepingCapacity: true)
    count = 0
  }
}
