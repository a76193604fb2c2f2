import DequeModule
import Dispatch
import Synchronization

/// Transactions of this process that use the same documents, in the order in which they came.
///
///     conflict ─▶ the next attempt waits for its turn at every document read before
///              ─▶ block ─▶ commit ─▶ the next transaction
///     first read of a first attempt, of a document with a queue ─▶ waits for its turn there, too
///
/// Without conflicts, no transaction waits and nothing is stored here. Turns are optional: the
/// commit checks the read set in any case, and a transaction continues without a turn if no turn of
/// its queue has ended for `patience`. So a transaction whose block waits for another transaction
/// costs time, and no more.
final class DocumentQueues: Sendable {
  /// The default for `patience`.
  static let patience = Duration.seconds(1)
  /// A transaction that read more documents than this waits for none of them.
  static let pathLimit = 32
  /// The number of threads that may wait inside a block.
  private static let threadLimit = 64

  /// The turn of one transaction at some documents. Ends with `end`, once.
  final class Turn: Sendable {
    private let state = Guarded<(paths: [ResourcePath], isEnded: Bool)>(([], false))

    fileprivate var isEmpty: Bool { state.withLock(\.paths.isEmpty) }

    /// Returns false if the transaction has ended while it waited.
    fileprivate func take(_ path: ResourcePath) -> Bool {
      state.withLock { state in
        if !state.isEnded { state.paths.append(path) }
        return !state.isEnded
      }
    }

    /// Returns the documents whose turn ends.
    fileprivate func end() -> [ResourcePath] { state.exchange(([], true)).paths }

    /// The transaction gave up waiting, and does not wait again.
    fileprivate let isGivenUp = Atomic<Bool>(false)
  }

  private struct Line {
    var waiting: Deque<Waiter> = []
    var moved = ContinuousClock.now
  }

  private struct State {
    var lines: [ResourcePath: Line] = [:]
    var waitingThreads = 0
  }

  private final class Waiter: Sendable {
    let turn: Turn
    /// Nil once it is decided. Called with true when the turn comes.
    private let completion: Guarded<(@Sendable (Bool) -> Void)?>

    init(_ turn: Turn, _ completion: @escaping @Sendable (Bool) -> Void) {
      self.turn = turn
      self.completion = Guarded(completion)
    }

    var isWaiting: Bool { completion.withLock { $0 != nil } }

    /// Returns whether the turn was taken: not by one that no longer waits, or has ended.
    func decide(_ hasTurn: Bool, _ path: ResourcePath) -> Bool {
      var isTaken = false
      let completion: (@Sendable (Bool) -> Void)? = completion.withLock { completion in
        guard let decided = completion.take() else { return nil }
        // Under the lock: a waiter that gave up must not get a turn, which it would not end.
        isTaken = hasTurn && turn.take(path)
        return decided
      }
      if !isTaken, completion != nil { turn.isGivenUp.store(true, ordering: .relaxed) }
      completion?(isTaken)
      return isTaken
    }
  }

  /// How long to wait in a queue that does not move.
  let patience: Duration
  private let state = Guarded(State())
  private let timer = DispatchQueue(label: "hearth.transactions")

  init(patience: Duration = patience) { self.patience = patience }

  // MARK: Waiting

  /// Calls `body` once the transaction has its turn at each of these documents, has given up
  /// waiting, or is cancelled: at once, or later on another thread.
  func whenTurn(
    at paths: [ResourcePath], cancelledBy cancellation: CancellationSignal? = nil,
    _ body: @escaping @Sendable (Turn) -> Void
  ) {
    let turn = Turn()
    guard paths.count <= Self.pathLimit else { return body(turn) }
    // All transactions use this order: they cannot wait for each other in a circle.
    let sorted = paths.sorted { ResourcePath.compare($0, $1) < 0 }
    wait(for: sorted[...], turn, cancellation, body)
  }

  private func wait(
    for paths: ArraySlice<ResourcePath>, _ turn: Turn, _ cancellation: CancellationSignal?,
    _ body: @escaping @Sendable (Turn) -> Void
  ) {
    guard let path = paths.first, !turn.isGivenUp.load(ordering: .relaxed) else {
      return body(turn)
    }
    let waiter = enter(path, turn) { [self] _ in
      wait(for: paths.dropFirst(), turn, cancellation, body)
    }
    // If the waiter has been decided meanwhile, its continuation has set another handler.
    if let waiter, let cancellation {
      cancellation.onCancel(while: { waiter.isWaiting }) { _ = waiter.decide(false, path) }
    }
  }

  /// Same as `whenTurn`, for a thread that is about to read its first document. Waits only if the
  /// document has a queue, and the transaction has no turn at another.
  func waitBlocking(for path: ResourcePath, _ turn: Turn) {
    guard turn.isEmpty, !turn.isGivenUp.load(ordering: .relaxed) else { return }
    let mayWait = state.withLock { state in
      guard state.lines[path] != nil, state.waitingThreads < Self.threadLimit else { return false }
      state.waitingThreads += 1
      return true
    }
    guard mayWait else { return }
    let done = DispatchSemaphore(value: 0)
    _ = enter(path, turn) { _ in done.signal() }
    done.wait()
    state.withLock { $0.waitingThreads -= 1 }
  }

  /// Same as `waitBlocking`, without blocking: calls `body` at once, or later on another thread.
  func whenNext(at path: ResourcePath, _ turn: Turn, _ body: @escaping @Sendable () -> Void) {
    guard turn.isEmpty, !turn.isGivenUp.load(ordering: .relaxed),
      state.withLock({ $0.lines[path] != nil })
    else { return body() }
    _ = enter(path, turn) { _ in body() }
  }

  /// Calls `completion` once, with whether it has the turn. Returns the waiter; nil if called at
  /// once.
  private func enter(
    _ path: ResourcePath, _ turn: Turn, _ completion: @escaping @Sendable (Bool) -> Void
  ) -> Waiter? {
    let waiter: Waiter? = state.withLock { state in
      guard state.lines[path] != nil else {
        state.lines[path] = Line()
        return nil
      }
      let waiter = Waiter(turn, completion)
      state.lines[path]?.waiting.append(waiter)
      return waiter
    }
    guard let waiter else {
      let isTaken = turn.take(path)
      if !isTaken { leave(path) }
      completion(isTaken)
      return nil
    }
    giveUp(waiter, path, after: patience)
    return waiter
  }

  private func giveUp(_ waiter: Waiter, _ path: ResourcePath, after delay: Duration) {
    timer.asyncAfter(deadline: .now() + delay / .seconds(1)) { [weak self] in
      guard let self, waiter.isWaiting else { return }
      let moved = state.withLock { $0.lines[path]?.moved }
      let stood = moved.map { ContinuousClock.now - $0 } ?? patience
      if stood < patience { return giveUp(waiter, path, after: patience - stood) }
      _ = waiter.decide(false, path)
      state.withLock { state in state.lines[path]?.waiting.removeAll { $0 === waiter } }
    }
  }

  // MARK: The end of a turn

  func end(_ turn: Turn) {
    for path in turn.end() { leave(path) }
  }

  /// The transaction that has waited longest is next.
  private func leave(_ path: ResourcePath) {
    while true {
      let next: Waiter? = state.withLock { state in
        guard let next = state.lines[path]?.waiting.popFirst() else {
          state.lines[path] = nil
          return nil
        }
        state.lines[path]?.moved = .now
        return next
      }
      guard let next else { return }
      if next.decide(true, path) { return }
    }
  }

  /// The number of documents at which a transaction has a turn.
  var count: Int { state.withLock(\.lines.count) }

  /// The number of transactions that wait for their turn at a document. For tests.
  func waitingCount(at path: ResourcePath) -> Int {
    state.withLock { $0.lines[path]?.waiting.count ?? 0 }
  }
}
