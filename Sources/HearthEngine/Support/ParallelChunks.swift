import DequeModule
import Dispatch

/// Processes the items of a long walk on several threads, while the walk goes on.
///
///     walk ─▶ chunk ─▶ chunk ─▶ …      filled by the caller
///               │ work   │ work        by the caller and up to `threads - 1` helpers
///               ▼        ▼
///             emit ──▶ emit            by the caller, in the order of the walk
///
/// The caller waits only for chunks that a helper has begun, and processes the others itself: if
/// all threads are busy, the caller does all the work. A walk that fits into one chunk wakes no
/// helper. When `run` returns or throws, no helper holds any of its data.
final class ParallelChunks<Item, Output> {
  /// Returns false if no more output is wanted.
  typealias Deliver = (Output) throws -> Bool

  // Exclusivity is unchecked: only the caller's thread uses these; helpers have state of their own,
  // under a lock, and no property is accessed again while it is modified.

  /// Made when the first chunk is full: most work fits into one.
  @exclusivity(unchecked) private var helpers: Helpers<Item, Output>?
  private let threads: Int
  private let work: ([Item]) throws -> Output
  private let share: () throws -> Void
  private let emit: Deliver
  /// The bounds for the number of items in a chunk: an eighth of the items before it.
  private let sizes: ClosedRange<Int>
  @exclusivity(unchecked) private var size: Int
  /// The number of items in the chunks before.
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var items: [Item] = []
  /// The numbers of the chunk that is being filled, and of the chunk that is emitted next.
  @exclusivity(unchecked) private var filled = 0
  @exclusivity(unchecked) private var emitted = 0
  @exclusivity(unchecked) private var isWanted = true

  private init(
    threads: Int, sizes: ClosedRange<Int>, _ work: @escaping ([Item]) throws -> Output,
    _ share: @escaping () throws -> Void, _ emit: @escaping Deliver
  ) {
    self.threads = threads
    self.work = work
    self.share = share
    self.emit = emit
    self.sizes = sizes
    size = sizes.lowerBound
    items.reserveCapacity(size)
  }

  /// - Parameters:
  ///   - work: Called by several threads at once.
  ///   - share: Called before any thread except the caller's may work.
  ///   - walk: Passes the items one by one, until it receives false.
  static func run(
    threads: Int, sizes: ClosedRange<Int>, work: @escaping ([Item]) throws -> Output,
    share: @escaping () throws -> Void = {}, emit: Deliver,
    walk: ((Item) throws -> Bool) throws -> Void
  ) throws {
    try withoutActuallyEscaping(emit) { emit in
      let chunks = ParallelChunks(threads: threads, sizes: sizes, work, share, emit)
      defer { chunks.helpers?.dismiss() }
      try walk { try chunks.add($0) }
      try chunks.finish()
    }
  }

  @inline(__always)
  private func add(_ item: Item) throws -> Bool {
    if items.count == size { try handOver() }
    items.append(item)
    return isWanted
  }

  private func handOver() throws {
    if helpers == nil { try share() }
    let helpers = helpers ?? Helpers(limit: max(0, threads - 1), work)
    self.helpers = helpers
    helpers.add(filled, items)
    filled += 1
    count += items.count
    size = min(max(count / 8, sizes.lowerBound), sizes.upperBound)
    items = []
    items.reserveCapacity(size)
    try emitFinished()
    while isWanted, filled - emitted > 2 * helpers.limit { try goOn(helpers) }
  }

  private func finish() throws {
    // The caller processes the last chunk, then waits for helpers that are behind.
    let last = isWanted && !items.isEmpty ? Result { try work(items) } : nil
    while isWanted, emitted < filled, let helpers { try goOn(helpers) }
    guard isWanted, let last else { return }
    isWanted = try emit(last.get())
  }

  private func goOn(_ helpers: Helpers<Item, Output>) throws {
    helpers.workOrWait()
    try emitFinished()
  }

  private func emitFinished() throws {
    while isWanted, emitted < filled, let output = helpers?.output(of: emitted) {
      emitted += 1
      isWanted = try emit(output.get())
    }
  }
}

/// The state that the caller and its helpers share.
private final class Helpers<Item, Output>: Sendable {
  // Unchecked: these change hands under the lock.
  private struct Chunk: @unchecked Sendable {
    var number: Int
    var items: [Item]
  }
  private struct Done: @unchecked Sendable { var output: Result<Output, any Error> }
  // Unchecked: several threads may call it at once, as `ParallelChunks` says.
  private struct Work: @unchecked Sendable { var body: ([Item]) throws -> Output }

  private struct State {
    var waiting: Deque<Chunk> = []
    var done: [Int: Done] = [:]
    /// Nil when the run has ended: a helper that comes late holds nothing of the caller's.
    var work: Work?
    /// The helpers that were called, whether they have started or not, and those that are working.
    var called = 0
    var present = 0
  }

  let limit: Int
  private let state: Guarded<State>
  /// Signalled for each chunk that a helper has finished, and when a helper leaves.
  private let news = DispatchSemaphore(value: 0)

  init(limit: Int, _ work: @escaping ([Item]) throws -> Output) {
    self.limit = limit
    state = Guarded(State(work: Work(body: work)))
  }

  // MARK: The caller's side

  func add(_ number: Int, _ items: [Item]) {
    let chunk = Chunk(number: number, items: items)
    let mustCall = state.withLock { [limit] state in
      state.waiting.append(chunk)
      guard state.called < limit else { return false }
      state.called += 1
      return true
    }
    if mustCall { DispatchQueue.global().async { self.help() } }
  }

  func output(of number: Int) -> Result<Output, any Error>? {
    state.withLock { $0.done.removeValue(forKey: number) }?.output
  }

  /// Processes a chunk that no thread has begun. If there is none, waits for a helper's signal.
  func workOrWait() {
    if !workOnce() { news.wait() }
  }

  /// Ends the run. Waits for the helpers that are working, not for those that have yet to start.
  func dismiss() {
    let work = state.withLock { state in
      state.waiting = []
      state.done = [:]
      defer { state.work = nil }
      return state.work
    }
    while state.withLock({ $0.present > 0 }) { news.wait() }
    withExtendedLifetime(work) {}
  }

  // MARK: A helper's side

  private func help() {
    let isWanted = state.withLock { state in
      guard state.work != nil else { return false }
      state.present += 1
      return true
    }
    guard isWanted else { return }
    while workOnce() { news.signal() }
    state.withLock { state in
      state.present -= 1
      state.called -= 1
    }
    news.signal()
  }

  // MARK: Both

  /// Processes one chunk; false if none waits. Never inlined: after it returns, it holds nothing of
  /// the caller's.
  @inline(never)
  private func workOnce() -> Bool {
    let next = state.withLock { state -> (Chunk, Work)? in
      guard let work = state.work, let chunk = state.waiting.popFirst() else { return nil }
      return (chunk, work)
    }
    guard let (chunk, work) = next else { return false }
    let done = Done(output: Result { try work.body(chunk.items) })
    state.withLock { $0.done[chunk.number] = done }
    return true
  }
}
