import DequeModule
import Dispatch
import Synchronization

/// A write's completion, called after the callbacks of the listeners that the write concerns.
///
///     planned ─▶ committed ────────────────────────────────────────────────┐
///        └─▶ found in the log ─▶ in the listeners' mailboxes ─▶ callbacks returned ─▶ complete
///
/// After `Acknowledgements.patience` it completes without the callbacks that have not returned.
final class Acknowledgement: Sendable {
  typealias Outcome = Writer.Outcome

  fileprivate struct State {
    var outcome: Outcome?
    /// Nil once called, or once withdrawn: the writer then completes the request itself.
    var complete: (@Sendable (Outcome) -> Void)?
    var callbacks: [any Callbacks] = []
  }

  /// The sequence of the write's last change.
  let sequence: UInt64
  /// The documents that the write touches.
  let paths: [ResourcePath]
  let origin: WriteOrigin
  /// Number of holders that have not released it: the writer, the registry, and each callback group
  /// that is waited for.
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

  /// The write is in the file. Called before `expire` can be; the writer's `release` follows.
  func commit(_ outcome: Outcome) {
    state.withLock { $0.outcome = outcome }
  }

  /// The commit failed or is retried: nothing is called.
  func withdraw() {
    state.withLock { $0.complete = nil }
  }

  func hold() { holds.wrappingAdd(1, ordering: .relaxed) }

  /// `callbacks` are late if this expires before `release(_:)`.
  func note(_ callbacks: any Callbacks) {
    state.withLock { state in
      if state.complete != nil { state.callbacks.append(callbacks) }
    }
  }

  /// - Parameter returned: Callbacks that held it, and have returned.
  func release(_ returned: (any Callbacks)? = nil) {
    if let returned {
      state.withLock { state in
        if let index = state.callbacks.firstIndex(where: { $0 === returned }) {
          state.callbacks.remove(at: index)
        }
      }
    }
    guard holds.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    let due: (complete: @Sendable (Outcome) -> Void, outcome: Outcome)? = state.withLock {
      $0.take()
    }
    if let due { due.complete(due.outcome) }
  }

  /// Completes now. Returns the callbacks that may not have returned; none if it completed before.
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

/// Where a write was submitted. A thread or queue that waits for the write cannot run a listener's
/// callback.
struct WriteOrigin: Sendable {
  /// The thread waits for the write.
  let isBlocking: Bool
  /// The mark of the queue that the thread occupies, or may occupy, until the write completes.
  let queue: CallbackThread.Mark?

  /// The origin of a write that this thread submits. Nil if there are no listeners: one that is added later finds the
  /// write in its first result.
  init?(isBlocking: Bool, _ acknowledgements: Acknowledgements) {
    if acknowledgements.isIdle { return nil }
    self.isBlocking = isBlocking
    queue = isBlocking || CallbackThread.isInside ? CallbackThread.queue : nil
  }
}

/// A receiver of callbacks that a completion waits for.
protocol Recipient: AnyObject, Sendable {}

/// Callbacks that a completion waits for.
protocol Callbacks: AnyObject, Sendable {
  /// Completions no longer wait for callbacks that have not begun, until those have returned.
  /// Returns the recipients whose callbacks cause the delay, except those already known.
  func becomeLate(for acknowledgement: Acknowledgement) -> [any Recipient]
}

/// The writes of a database whose completions wait for listeners.
///
/// The writer asks whether any listener watches what a request touches. If none does, the writer
/// completes the request itself.
final class Acknowledgements: Sendable {
  struct Waiting {
    var acknowledgements: Deque<(deadline: ContinuousClock.Instant, Acknowledgement)> = []
    var isTimerSet = false
  }

  private let listenerCount = Atomic<Int>(0)
  private let scopes = Guarded(WatchedScopes())
  /// Ordered by sequence. Taken by the registry.
  private let expected = Guarded<Deque<Acknowledgement>>([])
  let waiting = Guarded(Waiting())
  private let commitHandler = Guarded<(@Sendable ([Acknowledgement]) -> Void)?>(nil)
  let lateHandler = Guarded<(@Sendable ([any Recipient]) -> Void)?>(nil)
  let timer = DispatchQueue(label: "hearth.acknowledgements")

  /// - Parameters:
  ///   - committed: Called after a commit. Releases each acknowledgement once the listeners it
  ///     concerns hold it.
  ///   - late: Called with the recipients that completions no longer wait for.
  func observe(
    committed: @escaping @Sendable ([Acknowledgement]) -> Void,
    late: @escaping @Sendable ([any Recipient]) -> Void
  ) {
    commitHandler.withLock { $0 = committed }
    lateHandler.withLock { $0 = late }
  }

  // MARK: Listeners

  /// A listener watches `scope`. Each call is balanced by one call of `remove`.
  func add(_ scope: ReadScope) {
    scopes.withLock { $0.add(1, to: scope) }
    listenerCount.wrappingAdd(1, ordering: .releasing)
  }

  func remove(_ scope: ReadScope) {
    listenerCount.wrappingSubtract(1, ordering: .releasing)
    scopes.withLock { $0.add(-1, to: scope) }
  }

  /// There are no listeners.
  var isIdle: Bool { listenerCount.load(ordering: .acquiring) == 0 }

  /// Whether a listener watches one of these documents.
  func concern(_ paths: [ResourcePath]) -> Bool {
    scopes.withLock { scopes in paths.contains { scopes.contain($0) } }
  }

  // MARK: The writer's side

  /// The acknowledgement of a request that has succeeded; nil if no listener watches what it touches.
  ///
  /// - Parameter paths: The documents that it touches.
  func acknowledgement(
    of request: WriteRequest, _ outcome: Writer.Outcome, _ paths: (CommitResult) -> [ResourcePath]
  ) -> Acknowledgement? {
    guard let origin = request.origin, case .success(let result) = outcome else { return nil }
    let paths = paths(result)
    guard concern(paths) else { return nil }
    return Acknowledgement(result.sequence, paths, from: origin, complete: request.complete)
  }

  /// Called before the commit: a reader that finds the changes in the log also finds these.
  func expect(_ acknowledgements: [Acknowledgement]) {
    expected.withLock { $0.append(contentsOf: acknowledgements) }
  }

  /// The changes of these will not be in the log.
  func withdraw(_ acknowledgements: [Acknowledgement]) {
    guard !acknowledgements.isEmpty else { return }
    for acknowledgement in acknowledgements { acknowledgement.withdraw() }
    let withdrawn = Set(acknowledgements.map { ObjectIdentifier($0) })
    expected.withLock { expected in
      expected.removeAll { withdrawn.contains(ObjectIdentifier($0)) }
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

  /// Removes and returns those of commits up to this sequence. No other caller gets them.
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

  /// As `take`, but removes nothing.
  func peek(upTo sequence: UInt64) -> [Acknowledgement] {
    expected.withLock { expected in expected.prefix { $0.sequence <= sequence } }
  }
}

/// The number of listeners to each document, collection and group.
private struct WatchedScopes {
  private var documents: [ResourcePath: Int] = [:]
  private var collections: [ResourcePath: Int] = [:]
  // Canonically equivalent ids are different groups.
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
