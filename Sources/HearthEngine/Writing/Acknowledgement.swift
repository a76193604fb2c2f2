import DequeModule
import Dispatch
import Synchronization

/// A write's completion, which comes after the callbacks of the listeners that the write concerns.
///
///     planned ─▶ committed ────────────────────────────────────────────────┐
///        └─▶ found in the log ─▶ in the listeners' mailboxes ─▶ callbacks returned ─▶ complete
///
/// It goes on without callbacks that have not returned after `Acknowledgements.patience`.
final class Acknowledgement: Sendable {
  typealias Outcome = Writer.Outcome

  fileprivate struct State {
    var outcome: Outcome?
    /// Nil once it was called, or the writer does that itself.
    var complete: (@Sendable (Outcome) -> Void)?
    var callbacks: [any Callbacks] = []
  }

  /// Of the commit's last change.
  let sequence: UInt64
  /// What the write touches.
  let paths: [ResourcePath]
  let origin: WriteOrigin
  /// Who has yet to let go: the writer, the registry, and each group of callbacks that is waited for.
  private let holds = Atomic(2)
  private let state: Guarded<State>

  init(
    _ sequence: UInt64, _ paths: [ResourcePath], from origin: WriteOrigin,
    complete: @escaping @Sendable (Outcome) -> Void
  ) {
    self.sequence = sequence
    self.paths = paths
    self.origin = origin
    state = Guarded(State(complete: complete))
  }

  /// It is in the file. Before `expire` can be called; the writer's `release` follows.
  func commit(_ outcome: Outcome) {
    state.withLock { $0.outcome = outcome }
  }

  /// The commit failed, or is tried again: nothing is called.
  func withdraw() {
    state.withLock { $0.complete = nil }
  }

  func hold() { holds.wrappingAdd(1, ordering: .relaxed) }

  /// These are held up if the completion goes on before `release(_:)`.
  func note(_ callbacks: any Callbacks) {
    state.withLock { state in
      if state.complete != nil { state.callbacks.append(callbacks) }
    }
  }

  /// They have returned.
  func release(_ callbacks: any Callbacks) {
    state.withLock { state in
      if let index = state.callbacks.firstIndex(where: { $0 === callbacks }) {
        state.callbacks.remove(at: index)
      }
    }
    release()
  }

  func release() {
    guard holds.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    let due: (complete: @Sendable (Outcome) -> Void, outcome: Outcome)? = state.withLock {
      $0.take()
    }
    if let due { due.complete(due.outcome) }
  }

  /// Completes now. The callbacks that may not have returned; none if it was complete already.
  func expire() -> [any Callbacks] {
    let (due, callbacks) = state.withLock { state in
      let callbacks = state.callbacks
      return (state.take(), callbacks)
    }
    guard let due else { return [] }
    due.complete(due.outcome)
    return callbacks
  }
}

extension Acknowledgement.State {
  fileprivate mutating func take() -> (
    complete: @Sendable (Writer.Outcome) -> Void, outcome: Writer.Outcome
  )? {
    callbacks = []
    guard let complete, let outcome else { return nil }
    self.complete = nil
    return (complete, outcome)
  }
}

/// From where a write was handed over: what keeps its thread busy cannot call a listener back there.
struct WriteOrigin: Sendable {
  /// The thread waits for the write.
  let isBlocking: Bool
  /// The mark of the queue that the thread occupies until the write is complete, or may.
  let queue: CallbackThread.Mark?

  /// That of this thread.
  init(isBlocking: Bool) {
    self.isBlocking = isBlocking
    queue = isBlocking || CallbackThread.isInside ? CallbackThread.queue : nil
  }
}

/// Whose callback a completion waits for.
protocol Recipient: AnyObject, Sendable {}

/// Callbacks that a completion waits for.
protocol Callbacks: AnyObject, Sendable {
  /// Completions wait no more for those that have not begun, until they have returned. The recipients whose callbacks
  /// keep them waiting, unless that is known already.
  func becomeLate(for acknowledgement: Acknowledgement) -> [any Recipient]
}

/// The writes of a database whose completions wait for listeners.
///
/// The writer asks here whether anybody listens to what a request touches. If nobody does, it completes the
/// request itself.
final class Acknowledgements: Sendable {
  /// How long a completion waits for callbacks.
  static let patience = Duration.milliseconds(100)

  private struct Waiting {
    var acknowledgements: Deque<(deadline: ContinuousClock.Instant, Acknowledgement)> = []
    var isTimerSet = false
  }

  private let listenerCount = Atomic<Int>(0)
  private let scopes = Guarded(WatchedScopes())
  /// In the order of their sequences. The registry takes them.
  private let expected = Guarded<Deque<Acknowledgement>>([])
  private let waiting = Guarded(Waiting())
  private let commitHandler = Guarded<(@Sendable ([Acknowledgement]) -> Void)?>(nil)
  private let lateHandler = Guarded<(@Sendable ([any Recipient]) -> Void)?>(nil)
  private let timer = DispatchQueue(label: "hearth.acknowledgements")

  /// - Parameters:
  ///   - committed: Called after a commit, to release each once the listeners it concerns hold it.
  ///   - late: Called with those that completions went on without.
  func observe(
    committed: @escaping @Sendable ([Acknowledgement]) -> Void,
    late: @escaping @Sendable ([any Recipient]) -> Void
  ) {
    commitHandler.withLock { $0 = committed }
    lateHandler.withLock { $0 = late }
  }

  // MARK: Listeners

  /// Somebody listens to `scope`. Once for each call of `remove`.
  func add(_ scope: ReadScope) {
    scopes.withLock { $0.add(1, to: scope) }
    listenerCount.wrappingAdd(1, ordering: .releasing)
  }

  func remove(_ scope: ReadScope) {
    listenerCount.wrappingSubtract(1, ordering: .releasing)
    scopes.withLock { $0.add(-1, to: scope) }
  }

  /// Nobody listens to anything.
  var isIdle: Bool { listenerCount.load(ordering: .acquiring) == 0 }

  /// Whether anybody listens to one of these.
  func concern(_ paths: [ResourcePath]) -> Bool {
    scopes.withLock { scopes in paths.contains { scopes.contain($0) } }
  }

  // MARK: The writer's side

  /// Before a commit, so that nobody finds its changes in the log and not these.
  func expect(_ acknowledgements: [Acknowledgement]) {
    expected.withLock { $0.append(contentsOf: acknowledgements) }
  }

  /// What was expected is not going to be in the log.
  func withdraw(_ acknowledgements: [Acknowledgement]) {
    guard !acknowledgements.isEmpty else { return }
    for acknowledgement in acknowledgements { acknowledgement.withdraw() }
    expected.withLock { expected in
      expected.removeAll { one in acknowledgements.contains { $0 === one } }
    }
  }

  func noteCommit(of acknowledgements: [Acknowledgement]) {
    guard !acknowledgements.isEmpty else { return }
    guard let handler = commitHandler.withLock(\.self) else {
      return acknowledgements.forEach { $0.release() }
    }
    handler(acknowledgements)
  }

  // MARK: The registry's side

  /// From now on they wait for callbacks, which have been arranged: on one queue, these come before the completions
  /// whatever the time.
  func startTimer(for acknowledgements: [Acknowledgement]) {
    let deadline = ContinuousClock.now + Self.patience
    let mustSet = waiting.withLock { waiting in
      for acknowledgement in acknowledgements {
        waiting.acknowledgements.append((deadline, acknowledgement))
      }
      defer { waiting.isTimerSet = true }
      return !waiting.isTimerSet
    }
    if mustSet { setTimer(Self.patience) }
  }

  /// Those of commits up to this sequence, which nobody else gets.
  func take(upTo sequence: UInt64) -> [Acknowledgement] {
    expected.withLock { expected in
      var taken: [Acknowledgement] = []
      while let first = expected.first, first.sequence <= sequence {
        taken.append(first)
        expected.removeFirst()
      }
      return taken
    }
  }

  /// As `take`, and others get them, too.
  func peek(upTo sequence: UInt64) -> [Acknowledgement] {
    expected.withLock { expected in expected.prefix { $0.sequence <= sequence } }
  }

  // MARK: The timer

  private func setTimer(_ delay: Duration) {
    // Held until then: what waits is completed, whoever lets go of the database.
    timer.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in expire() }
  }

  private func expire() {
    let now = ContinuousClock.now
    let (due, next) = waiting.withLock { waiting in
      var due: [Acknowledgement] = []
      while let first = waiting.acknowledgements.first, first.deadline <= now {
        due.append(first.1)
        waiting.acknowledgements.removeFirst()
      }
      let next = waiting.acknowledgements.first?.deadline
      waiting.isTimerSet = next != nil
      return (due, next)
    }
    var late: [any Recipient] = []
    for acknowledgement in due {
      for callbacks in acknowledgement.expire() {
        late += callbacks.becomeLate(for: acknowledgement)
      }
    }
    if !late.isEmpty { lateHandler.withLock(\.self)?(late) }
    if let next { setTimer(max(.zero, next - now)) }
  }
}

/// How many listeners there are to each document, collection and group.
private struct WatchedScopes {
  private var documents: [ResourcePath: Int] = [:]
  private var collections: [ResourcePath: Int] = [:]
  // Canonically equal ids are two groups.
  private var groups: [BytewiseString: Int] = [:]
  private var everything = 0

  mutating func add(_ count: Int, to scope: ReadScope) {
    func add<Key>(to table: inout [Key: Int], _ key: Key) {
      let sum = table[key, default: 0] + count
      table[key] = sum == 0 ? nil : sum
    }
    switch scope {
    case .document(let path): add(to: &documents, path)
    case .documents(let paths): for path in paths { add(to: &documents, path) }
    case .collection(let path): add(to: &collections, path)
    case .group(let id): add(to: &groups, BytewiseString(id))
    case .everything: everything += count
    }
  }

  func contain(_ path: ResourcePath) -> Bool {
    if everything > 0 || documents[path] != nil { return true }
    guard !collections.isEmpty || !groups.isEmpty else { return false }
    let collection = path.parent
    return collections[collection] != nil || groups[BytewiseString(collection.id)] != nil
  }
}

extension ReadScope {
  func contains(_ path: ResourcePath) -> Bool {
    switch self {
    case .document(let document): document == path
    case .documents(let documents): documents.contains(path)
    case .collection(let collection): path.isDirectly(in: collection)
    case .group(let id): UTF8Order.areEqual(path.parent.id, id)
    case .everything: true
    }
  }
}
