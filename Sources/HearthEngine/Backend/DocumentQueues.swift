import DequeModule
import Dispatch
import Synchronization

/// Transactions of this process that want the same documents, in the order in which they came.
///
///     conflict ─▶ the next attempt waits for its turn at every document it had read ─▶ block ─▶ commit ─▶ next
///     first read of a first attempt, of a document that others wait for ─▶ waits for its turn there, too
///
/// Without conflicts nobody waits, and nothing is kept. Turns are a courtesy: the commit checks what was read all
/// the same, and who has waited for `patience` without anybody's turn ending goes on without one. So a
/// transaction that waits for another one in its block costs time and no more.
final class DocumentQueues: Sendable {
  /// What a database waits for.
  static let patience = Duration.seconds(1)
  /// A transaction that read more than this waits for none of it.
  static let pathLimit = 32
  /// So many threads may wait in the middle of a block.
  private static let threadLimit = 64

  /// The turn of one transaction at some documents. Ends with `end`.
  final class Turn: Sendable {
    fileprivate let paths = Guarded<[ResourcePath]>([])
    /// It did not come, and is not waited for again.
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
    /// Nil once it is decided. True: it is its turn.
    private let tell: Guarded<(@Sendable (Bool) -> Void)?>

    init(_ turn: Turn, _ tell: @escaping @Sendable (Bool) -> Void) {
      self.turn = turn
      self.tell = Guarded(tell)
    }

    var isWaiting: Bool { tell.withLock { $0 != nil } }

    /// False if it no longer waits.
    func decide(_ hasTurn: Bool, _ path: ResourcePath) -> Bool {
      let tell: (@Sendable (Bool) -> Void)? = tell.withLock { tell in
        guard let decided = tell.take() else { return nil }
        // Under the lock: who gave up has no turn to end.
        if hasTurn { turn.paths.withLock { $0.append(path) } }
        return decided
      }
      if !hasTurn, tell != nil { turn.isGivenUp.store(true, ordering: .relaxed) }
      tell?(hasTurn)
      return tell != nil
    }
  }

  /// How long to wait for a line that does not move.
  let patience: Duration
  private let state = Guarded(State())
  private let timer = DispatchQueue(label: "hearth.transactions")

  init(patience: Duration = patience) { self.patience = patience }

  // MARK: Waiting

  /// Calls `body` once it is the turn at each of these documents, or waiting for that has no point any more;
  /// cancellation ends it. At once, or on whichever thread ends another turn.
  func whenTurn(
    at paths: [ResourcePath], cancelledBy cancellation: CancellationSignal? = nil,
    _ body: @escaping @Sendable (Turn) -> Void
  ) {
    let turn = Turn()
    guard paths.count <= Self.pathLimit else { return body(turn) }
    // In one order everywhere: nobody waits in a circle.
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
    // One that was decided at once has gone on, and has set another.
    if let waiter, let cancellation {
      cancellation.onCancel(while: { waiter.isWaiting }) { _ = waiter.decide(false, path) }
    }
  }

  /// As `whenTurn`, for a thread that is about to read its first document, if others wait for that and it has no turn
  /// at another.
  func waitBlocking(for path: ResourcePath, _ turn: Turn) {
    guard turn.paths.withLock(\.isEmpty), !turn.isGivenUp.load(ordering: .relaxed) else { return }
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

  /// Calls `tell` once, with whether it is the turn; the waiter, if not at once.
  private func enter(
    _ path: ResourcePath, _ turn: Turn, _ tell: @escaping @Sendable (Bool) -> Void
  ) -> Waiter? {
    let waiter: Waiter? = state.withLock { state in
      guard state.lines[path] != nil else {
        state.lines[path] = Line()
        return nil
      }
      let waiter = Waiter(turn, tell)
      state.lines[path]?.waiting.append(waiter)
      return waiter
    }
    guard let waiter else {
      turn.paths.withLock { $0.append(path) }
      tell(true)
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
    let paths = turn.paths.withLock { paths in
      defer { paths = [] }
      return paths
    }
    for path in paths { leave(path) }
  }

  /// Whoever waits longest is next.
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

  /// Documents that somebody has a turn at.
  var count: Int { state.withLock(\.lines.count) }

  /// How many wait for their turn at a document. For tests.
  func waitingCount(at path: ResourcePath) -> Int {
    state.withLock { $0.lines[path]?.waiting.count ?? 0 }
  }
}
